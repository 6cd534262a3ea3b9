/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy moves into a slot, and out of it: all that its state takes, on control and each worker.
 *
 * A free slot is looked at by nobody. So whoever prepares a reload may fill it on a thread of his
 * own, while control and workers are at the others; that takes memory and time. publish_begin()
 * then gives it its first limit, which does not.
 */
#ifndef WEIR_APP_ATTACH_H
#define WEIR_APP_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "parts.h"

struct instance;
struct limit_profile;

/*
 * Makes a free slot one of the policy, on a counter of hz ticks a second. Returns 0, -ENOMEM, or
 * -ERANGE for a limit that its meter cannot express; logged, and policy_detach() is due.
 */
int policy_attach(struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);

/*
 * A profile with the whole limit: what the limiter will grant is no more than that, so if the meter
 * can express this, publish_begin() cannot fail. Returns as engine_profile(). Any thread.
 */
int policy_whole_profile(const struct instance *inst, const struct policy *policy, uint32_t slot,
	uint64_t hz, struct limit_profile *profile);

/* All that is in the slot: nobody looks at it any more, or ever did. */
void policy_detach(struct instance *inst, uint32_t slot);

/* What a policy of several workers that they divide has: the parts of each. */
extern const struct policy_part shares_part;

/* Its line on every worker. */
extern const struct policy_part lines_part;

/* The slots of policies that have a meter for each source: free() them; NULL: no memory. */
unsigned *slots_per_source(const struct policy *policies, const uint32_t *slots, unsigned n,
	unsigned *n_sourced, unsigned *n_conserved);

/*
 * For n_slots slots those of their policies' parents, as struct snapshot has them, into *parents:
 * free() them. Returns 0 or -ENOMEM.
 */
int slots_of_parents(const struct policy *policies, const uint32_t *slots, unsigned n,
	unsigned n_slots, uint32_t **parents);

#endif
