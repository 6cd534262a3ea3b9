/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What became of packets that were to wait, of each policy, since it began: in whole numbers, over
 * all workers, and over all slots that it has had; and how late workers were to release them. The
 * workers' bins have 32 bits, so that somebody has to look. Control, but for what says otherwise.
 */
#ifndef WEIR_APP_DELAYS_H
#define WEIR_APP_DELAYS_H

#include <stdint.h>

#include "delay_window.h"
#include "parts.h"
#include "police/shaped.h"
#include "shape/delay.h"

struct instance;

struct delays_totals {
	uint64_t waited, marked, dropped[DROP_SHAPE_REASONS];
	struct delay_sum delay; /* of those that left */
};

/* Reads the delays of the policy in a slot. */
struct slot_delays {
	struct delay_sum *sums;            /* n_workers; NULL where no packets wait */
	struct delays_totals *earlier;     /* of one whose packets waited in a slot before this */
	struct delay_window *delay_window; /* of one with an objective, else NULL */
};

struct delays {
	struct slot_delays *slots;
	struct delay_sum *lateness; /* n_workers, see delays_lateness() */
	unsigned next_fold;         /* the policy that delays_look() folds next */
	unsigned next_mark;         /* the one that it looks at next for its objective; */
	uint64_t marked_ns;         /* and when it looked at any */
};

/*
 * What a policy whose packets wait keeps beside its slot, all that in `delays` of struct instance.
 */
extern const struct policy_part delays_part;

/* The module of start-up: 0 or -ENOMEM, and then nothing is left. */
int delays_start(struct instance *inst);
void delays_stop(struct instance *inst);

/*
 * Looks at all workers and at some slots, so that none counts 2^32 packets between two looks, and
 * what is late in it is known: every tick.
 */
void delays_look(struct instance *inst, uint64_t now_ns);

/* Reads the delays of the policy in a slot. */
void delays_totals(struct instance *inst, uint32_t slot, struct delays_totals *totals);

/* Its window of the last seconds; NULL of a policy without an objective. */
const struct delay_window *delays_window(const struct instance *inst, uint32_t slot);

/* Packets of it that had waited in slots that it has left for good. */
uint64_t delays_waited_before(const struct instance *inst, uint32_t slot);

/* By how much a worker was late, of all that it has released. */
const struct delay_sum *delays_lateness(struct instance *inst, unsigned worker);

#endif
