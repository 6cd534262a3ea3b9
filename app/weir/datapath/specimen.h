/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Control requests the verdict that a worker would return for a packet now, without any effect. It
 * gives the worker a frame. Between two bursts the worker finds the policy with its own snapshot,
 * and copies the state that the verdict depends on, mostly a few lines. Then control tries the
 * frame on the copy, with the code that workers run (dry_run.h).
 *
 * A request delays the worker once, by the time of about one burst. The worker checks for a request
 * in each turn: a load and a branch.
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
#define SPECIMEN_BYTES (128 * 1024) /* most bytes that are copied */

/* The whole state of one level above a policy (police/lineage.h). */
struct specimen_level {
	uint32_t slot;
	struct policy_state state;
	struct policy_extended other; /* unset if the level is simple */
	uint8_t ending;
	struct shared_bucket shared;
	struct credit credit; /* if the level has one */
};

/* A packet, and the state of a worker that its verdict depends on. */
struct specimen {
	/* Set by control before the request. */
	uint16_t path; /* index of the worker's path that the frame arrives on */
	uint32_t len;
	uint8_t frame[SPECIMEN_FRAME];

	/* Set by the worker. */
	bool taken;    /* the worker has finished: atomics only */
	bool complete; /* there was room for all pieces */
	uint64_t now;  /* tick of the copy */
	struct worker_own own;
	uint32_t slot; /* slot of the policy, or CLASSIFY_NONE */
	struct policy_state state;
	uint8_t ending;
	bool sampled; /* its policy samples flows */
	bool shares;  /* all workers take the policy's tokens from one bucket */
	struct shared_bucket shared;
	struct credit credit;
	unsigned n_above;
	struct specimen_level above[POLICY_LEVELS_MOST - 1];
	struct extents extents; /* places of the pieces in bytes[], in their order */
	struct extents before;  /* the same for first[]: pieces of the table of fragments */
	uint8_t first[sizeof(struct fragments) - sizeof(((struct fragments *)0)->sets) +
		      sizeof(struct fragment_set)];
	uint8_t bytes[SPECIMEN_BYTES];

	/* Used by the thread that classifies the frame. */
	struct frames frames;
	struct fragments fragments; /* all except first[] is left from earlier requests */
};

/*
 * Sends a request to a worker, which owns the specimen until specimen_is_taken(). Control, one
 * request at a time for each worker.
 */
void specimen_ask(struct worker *worker, struct specimen *specimen);
bool specimen_is_taken(const struct specimen *specimen);

/* Withdraws the request. Returns false if the worker has begun with it. Control. */
bool specimen_withdraw(struct worker *worker, struct specimen *specimen);

/* Serves the request, if there is one. The worker. */
void specimen_take(struct worker *worker);

/*
 * Puts the fragments' line into its place in specimen->fragments and returns that. Returns NULL if
 * the packet does not need it.
 */
struct fragments *specimen_fragments(struct specimen *specimen);

#endif
