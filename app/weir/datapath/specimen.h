/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a worker would do with a packet now, asked by control, without any of it happening. Control
 * hands the worker a frame; between two bursts the worker finds out by its own snapshot which
 * policy takes it, and copies what of its state the packet depends on, a few lines mostly. Then
 * control tries the frame on that copy, by the code that workers run (rehearse.h).
 *
 * The worker is held up once for each question, for as long as a burst or so takes, and asks in
 * each turn whether there is one: a load and a branch.
 */
#ifndef WEIR_APP_SPECIMEN_H
#define WEIR_APP_SPECIMEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/extents.h"
#include "classify/frames.h"
#include "meter/credit.h"
#include "meter/shared_bucket.h"
#include "packet/fragment.h"
#include "police/policy_state.h"
#include "worker_data.h"

#define SPECIMEN_FRAME UINT16_MAX   /* bytes of the longest frame */
#define SPECIMEN_BYTES (128 * 1024) /* that are copied at most */

/* One of the levels above a policy: all that there is of it (police/lineage.h). */
struct specimen_level {
	uint32_t slot;
	struct policy_state state;
	struct policy_extended other; /* unless that is simple */
	uint8_t ending;
	struct shared_bucket shared;
	struct credit credit; /* where that has one */
};

/* A packet, and what it depends on of one policy on a worker. */
struct specimen {
	/* Control, before it asks. */
	uint16_t path; /* of the worker's, by which the frame comes */
	uint32_t len;
	uint8_t frame[SPECIMEN_FRAME];

	/* The worker. */
	bool taken;    /* all is here: atomics only */
	bool complete; /* and there was room for it */
	uint64_t now;  /* tick at which it was */
	struct worker_own own;
	uint32_t slot; /* of the policy, or CLASSIFY_NONE */
	struct policy_state state;
	uint8_t ending;
	bool sampled; /* its policy samples flows */
	bool shares;  /* all workers take its packets' tokens from one bucket */
	struct shared_bucket shared;
	struct credit credit;
	unsigned n_above;
	struct specimen_level above[POLICY_LEVELS_MOST - 1];
	struct extents extents; /* where what lies in bytes[] was, one after the other */
	struct extents before;  /* likewise, in first[]: of the table of fragments */
	uint8_t first[sizeof(struct fragments) - sizeof(((struct fragments *)0)->sets) +
		      sizeof(struct fragment_set)];
	uint8_t bytes[SPECIMEN_BYTES];

	/* Whoever looks the frame up. */
	struct frames frames;
	struct fragments fragments; /* all but what is in first[] is of former questions */
};

/*
 * Asks a worker; the specimen is his until specimen_is_taken(). Control, one question at a time
 * to a worker.
 */
void specimen_ask(struct worker *worker, struct specimen *specimen);
bool specimen_is_taken(const struct specimen *specimen);

/* Takes the question back: false if the worker has begun with it. Control. */
bool specimen_withdraw(struct worker *worker, struct specimen *specimen);

/* Answers what is asked. The worker. */
void specimen_take(struct worker *worker);

/* Puts the fragments' line in its place in specimen->fragments; NULL: the packet asks for none. */
struct fragments *specimen_fragments(struct specimen *specimen);

#endif
