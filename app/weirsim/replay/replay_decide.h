/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides frames as weir would: with the parser, classifier, meters and actions of its workers, in
 * the order and at the times of the capture. The only connection of the replay to
 * lib/datapath/police.
 */
#ifndef WEIR_SIM_REPLAY_DECIDE_H
#define WEIR_SIM_REPLAY_DECIDE_H

#include <stdint.h>

#include "classify/classify.h"
#include "drop/drop_reason.h"
#include "capture/capture.h"
#include "engine/counts.h"
#include "police/charge.h"
#include "policy/config.h"

#define DECIDE_BURST 32 /* burst of a worker */

#define DECIDE_VERDICTS 4 /* size of enum verdict */

/* Reasons of a verdict: a worker's reasons, and some that only a replay has. */
enum reason {
	REASON_LIMIT = DROP_LIMIT,
	REASON_QUOTA = DROP_QUOTA,
	REASON_UNMARKABLE = DROP_UNMARKABLE,
	REASON_UNPARSED = DROP_UNPARSED,
	REASON_CONFORMS = DROP_REASONS,
	REASON_UNMATCHED, /* no policy takes it: it passes, or its wire's default drops it */
	REASON_TRUNCATED, /* too few bytes captured to find its policy: decided by these */
	REASONS
};

struct decision {
	uint32_t policy; /* or CLASSIFY_NONE */
	uint32_t cost;   /* charged by the policy: bytes, packets or flows; 0: no policy */
	enum verdict verdict;
	enum reason reason;
	enum packet_unparsed unparsed; /* for any verdict */
	struct prefix source;          /* for a policy per source; otherwise family 0 */
	/* Verdicts of its policy and of the parents that it reached, upwards. */
	enum verdict levels[POLICY_LEVELS_MOST];
	uint8_t n_levels;
};

struct decide_params {
	const struct config *config; /* outlives the decider */
	unsigned wire;
	enum direction direction;
	unsigned limiters; /* limiters that share each limit evenly, 1 or more */
	uint64_t start_ns; /* time of the first packet; buckets are full then */
};

struct decider;

/*
 * EAL must be up. Returns 0, -ENOMEM, -ERANGE or -EINVAL for a limit that no meter can hold, or the
 * negative errno of the classifier's tables.
 */
int decider_create(const struct decide_params *params, struct decider **out);
void decider_destroy(struct decider *decider);

/*
 * Decides n (at most DECIDE_BURST) frames, in their order. Marks are written to the frames. When
 * time steps back, the meters' clock stands still: it credits nothing until the time is reached
 * again.
 */
void decide(struct decider *decider, struct frame *frames, unsigned n, struct decision *decisions);

/* Reads the counts of a policy's trial; zero without one, or with a NULL decider. */
void decider_tried(struct decider *decider, unsigned policy, struct policy_totals *totals);

const char *verdict_name(enum verdict verdict);
const char *reason_name(enum reason reason);

#endif
