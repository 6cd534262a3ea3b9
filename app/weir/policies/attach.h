/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Moves a policy into a slot and out of it: all its state, on control and each worker.
 *
 * No thread reads a free slot. So another thread can fill it to prepare a reload, while control and
 * workers use the other slots. That takes memory and time. publish_begin() then sets its first
 * limit, which takes neither.
 */
#ifndef WEIR_APP_ATTACH_H
#define WEIR_APP_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "parts.h"

struct instance;
struct limit_profile;

/*
 * Fills a free slot with the state of the policy, on a counter of hz ticks a second. Returns 0,
 * -ENOMEM, or -ERANGE for a limit that its meter cannot express; logged, and policy_detach() is
 * due.
 */
int policy_attach(struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz);

/*
 * Writes a profile with the whole limit. The limiter never grants more, so if the meter can express
 * this, publish_begin() cannot fail. Returns as engine_profile(). Any thread.
 */
int policy_whole_profile(const struct instance *inst, const struct policy *policy, uint32_t slot,
	uint64_t hz, struct limit_profile *profile);

/* Frees all state in the slot, which no thread uses any more, or ever did. */
void policy_detach(struct instance *inst, uint32_t slot);

/* Shares of the workers, for policies whose limit they divide. */
extern const struct policy_part shares_part;

/* Line on every worker. */
extern const struct policy_part lines_part;

/*
 * Returns the slots of policies with a meter for each source, then of policies with hard limits.
 * The caller frees it; NULL: no memory.
 */
unsigned *slots_per_source(const struct policy *policies, const uint32_t *slots, unsigned n,
	unsigned *n_sourced, unsigned *n_hard);

/*
 * Writes to *parents the slot of each policy's parent, by slot, as in struct snapshot; NULL if no
 * policy has a parent. The caller frees it. Returns 0 or -ENOMEM.
 */
int slots_of_parents(const struct policy *policies, const uint32_t *slots, unsigned n,
	unsigned n_slots, uint32_t **parents);

#endif
