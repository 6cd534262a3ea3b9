/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tries a packet on the copied state of a worker (specimen.h), with the functions that workers run.
 * The worker consists only of copies, so all changes are discarded. Control.
 */
#ifndef WEIR_APP_DRY_RUN_H
#define WEIR_APP_DRY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "drop/drop_reason.h"
#include "packet/parse.h"
#include "police/policy_state.h"
#include "specimen.h"
#include "worker_data.h"

struct rx_burst;

enum dry_run_verdict {
	DRY_RUN_PASS,
	DRY_RUN_DROP,
	DRY_RUN_MARK,  /* passes, with a mark */
	DRY_RUN_COUNT, /* passes, and counts as exceeding the limit */
	DRY_RUN_WAIT,
};

struct dry_run_result {
	enum dry_run_verdict verdict;
	enum drop_reason reason; /* DROP_REASONS: not dropped */
	bool altered;            /* dropped before it is classified: see rx.h */
	struct packet packet;    /* parsed by the classifier */
	uint32_t slot;           /* slot of its policy, or CLASSIFY_NONE */
	/* Slot of the level of its lineage that drops, marks, counts or delays it. */
	uint32_t doer;
	/*
	 * Other levels above its policy that it exceeds, or that did not pay for it, but let it
	 * pass.
	 */
	uint32_t also[POLICY_LEVELS_MOST];
	unsigned n_also;
	uint32_t cost;              /* units that its policy has charged */
	bool fallback;              /* passes by the fallback of a spent quota */
	enum colour colour;         /* COLOURS: its policy has none */
	struct policy_state before; /* the policy's line; its pointers are invalid */
	/*
	 * Units that the packet found: in the worker's bucket, and in the one that all workers
	 * share.
	 */
	bool level_known, shared_known;
	uint64_t level, level_shared;
};

/*
 * Decides the specimen as its worker would. `policy` is the present one of the slot; NULL for
 * CLASSIFY_NONE. Returns 0, -ENOMEM, or -E2BIG if the state did not fit into the specimen.
 */
int dry_run(struct specimen *specimen, const struct worker *worker, const struct policy *policy,
	struct dry_run_result *out);

/*
 * Decides the one packet in burst->mbufs. It passes, or is counted as dropped, or waits
 * (burst->n_held). The packet stays the caller's: it is not sent, freed or sampled. Returns the
 * reason to drop the frame for any policy, or DROP_REASONS. The worker is a copy, or the
 * caller is its thread.
 */
enum drop_reason dry_run_decide(struct worker *worker, const struct path *path,
	struct rx_burst *burst, uint64_t now, bool *pass);

const char *dry_run_verdict_name(enum dry_run_verdict verdict);

#endif
