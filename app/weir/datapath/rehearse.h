/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet's verdict, tried on what a worker has copied of itself (specimen.h): by the very
 * functions that workers run, on a worker that is made of copies alone. So whatever they change is
 * thrown away. Control.
 */
#ifndef WEIR_APP_REHEARSE_H
#define WEIR_APP_REHEARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "drop/drop_reason.h"
#include "packet/parse.h"
#include "police/policy_state.h"
#include "specimen.h"
#include "worker_data.h"

struct rx_burst;

enum rehearsed_verdict {
	REHEARSED_PASS,
	REHEARSED_DROP,
	REHEARSED_MARK,  /* passes, with a mark */
	REHEARSED_COUNT, /* passes, and is counted as over the limit */
	REHEARSED_WAIT,
};

struct rehearsed {
	enum rehearsed_verdict verdict;
	enum drop_reason reason; /* DROP_REASONS: it is not dropped */
	bool altered;            /* dropped before anybody asks what it is */
	struct packet packet;    /* as the classifier knew it */
	uint32_t slot;           /* or CLASSIFY_NONE */
	/* By whose doing that is, of its lineage: who drops, marks or counts it, or has it wait. */
	uint32_t doer;
	/* Others above its policy that had no room for it, or have not paid, and let it pass. */
	uint32_t also[POLICY_LEVELS_MOST];
	unsigned n_also;
	uint32_t cost;              /* units that its policy has charged */
	bool fallback;              /* not paid for by a total, but passes beside it */
	enum colour colour;         /* COLOURS: its policy has none */
	struct policy_state before; /* the line; what it leads to is gone */
	/* Units that the packet found: in the worker's own bucket, and in one that all share. */
	bool level_known, shared_known;
	uint64_t level, level_shared;
};

/*
 * What the worker would do with its specimen. policy: as its slot has it now; NULL of
 * CLASSIFY_NONE. n_slots: of policies, that there is room for. 0, -ENOMEM, or -E2BIG for a state
 * that no specimen has room for.
 */
int rehearse(struct specimen *specimen, const struct worker *worker, const struct policy *policy,
	struct rehearsed *out);

/*
 * Judges the one packet in burst->mbufs. It passes, or is counted as dropped, or waits
 * (burst->n_held). The packet stays the caller's: it is not sent, freed or sampled. Returns the
 * reason to drop the frame for any policy, or DROP_REASONS. The worker is a copy, or the
 * caller is its thread.
 */
enum drop_reason rehearse_judge(struct worker *worker, const struct path *path,
	struct rx_burst *burst, uint64_t now, bool *pass);

const char *rehearsed_verdict_name(enum rehearsed_verdict verdict);

#endif
