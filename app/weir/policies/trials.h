/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials of policies (policy/trial.h): where each counts on the workers, and how one begins and
 * ends while packets flow. A policy has two places for them (police/try.h). One that is changed, in
 * whatever way, begins anew in the other, as counts of two limits do not add up; and what was in
 * the former place is freed when no worker comes there any more. Control.
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

/* By slot. */
struct trial_lines {
	uint8_t next, former; /* lines that are prepared, or still in use; 0: none */
	bool changes;         /* prepared for a change: from engine_slot.trial to `next` */
	uint64_t since_ns;    /* when the present one began, by control_now() */
};

/*
 * Lists the policies that have stayed in their slots and whose trials have just changed, of n
 * policies, in changes[] (n); returns how many.
 */
unsigned trials_list_changes(const struct instance *inst, struct trial_change *changes);

/* What is known of a trial. */
struct trial_now {
	struct policy policy;        /* that it is, see policy_trial() */
	double local_limit;          /* units a second, of this limiter */
	uint64_t local_burst;        /* units */
	double age_s;                /* since when it counts */
	struct policy_totals totals; /* of that time: what it would have passed and dropped */
};

/* Looks at the trial of a policy; false if that has none. */
bool trials_look(struct instance *inst, unsigned policy, struct trial_now *now);

#endif
