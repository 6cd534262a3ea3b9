/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frames → what the appliance would do with them: the parser, classifier, meters and actions of its
 * workers, in the order and at the times of the capture. Between the replay and lib/datapath/police
 * only.
 */
#ifndef WEIR_SIM_REPLAY_DECIDE_H
#define WEIR_SIM_REPLAY_DECIDE_H

#include <stdint.h>

#include "classify/classify.h"
#include "drop/drop_reason.h"
#include "capture/link.h"
#include "engine/counts.h"
#include "police/charge.h"
#include "policy/config.h"

#define DECIDE_BURST 32 /* as a worker takes them */

#define DECIDE_VERDICTS 4 /* of enum verdict */

/* Why a verdict is as it is: a worker's reasons, and those that only a replay has. */
enum reason {
	REASON_LIMIT = DROP_LIMIT,
	REASON_QUOTA = DROP_QUOTA,
	REASON_UNMARKABLE = DROP_UNMARKABLE,
	REASON_UNPARSED = DROP_UNPARSED,
	REASON_CONFORMS = DROP_REASONS,
	REASON_UNMATCHED, /* no policy takes it: it passes, or its wire's default is to drop it */
	REASON_TRUNCATED, /* too little was captured to know its policy: taken for what is there */
	REASONS
};

struct decision {
	uint32_t policy; /* or CLASSIFY_NONE */
	uint32_t cost;   /* what the policy charges: bytes, packets or flows; 0 without a policy */
	enum verdict verdict;
	enum reason reason;
	enum packet_unparsed unparsed; /* whatever became of it */
	struct prefix source;          /* of a policy per source; family 0 without */
	/* What its policy itself says of it, and those above that it has come to, upwards. */
	enum verdict levels[POLICY_LEVELS_MOST];
	uint8_t n_levels;
};

struct decide_params {
	const struct config *config; /* outlives the decider */
	unsigned wire;
	enum direction direction;
	unsigned limiters; /* that share each limit evenly, 1 or more */
	uint64_t start_ns; /* when buckets are full; the first packet's time */
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
 * time steps back the meters' clock stands still, and credits nothing until it is reached again.
 */
void decide(struct decider *decider, struct frame *frames, unsigned n, struct decision *decisions);

/* What the trial of a policy has counted; zero where it has none. Of no decider, too: NULL. */
void decider_tried(struct decider *decider, unsigned policy, struct policy_totals *totals);

const char *verdict_name(enum verdict verdict);
const char *reason_name(enum reason reason);

#endif
