/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials of policies (policy/trial.h): where each counts on the workers, and how one begins and
 * ends while packets flow. A policy has two places for them (police/try.h). A changed trial starts
 * again in the other place, because counts of two limits do not add up. The old place is freed when
 * no worker uses it any more. Control.
 */
#ifndef WEIR_APP_TRIALS_H
#define WEIR_APP_TRIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/counts.h"
#include "parts.h"
#include "policy/trial.h"
#include "snapshot.h"

extern const struct policy_part trial_part;

/* Trial lines of the policy in a slot. */
struct trial_lines {
	uint8_t next, previous; /* lines that are prepared, or still in use; 0: none */
	bool changes;           /* prepared for a change: from engine_slot.trial to `next` */
	uint64_t since_ns;      /* begin of the present trial, by control_now() */
};

/*
 * Writes to changes[] (room for n policies) the policies that stayed in their slots and whose
 * trials have just changed. Returns their number.
 */
unsigned trials_list_changes(const struct instance *inst, struct trial_change *changes);

/* State of a trial, for operators. */
struct trial_now {
	struct policy policy;        /* the tried policy, see policy_trial() */
	double local_limit;          /* units a second, of this limiter */
	uint64_t local_burst;        /* units */
	double age_s;                /* time that it has counted */
	struct policy_totals totals; /* during `age_s`: would have passed or dropped */
};

/* Reads the trial of a policy; returns false if it has none. */
bool trials_look(struct instance *inst, unsigned policy, struct trial_now *now);

#endif
