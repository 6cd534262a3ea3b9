/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Outcomes and delays of shaped packets of each policy since it began. Exact sums over all workers
 * and all slots that the policy has had; and how late workers released packets. The workers' bins
 * have 32 bits, so they must be read regularly. Control, except where noted.
 */
#ifndef WEIR_APP_DELAYS_H
#define WEIR_APP_DELAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "parts.h"
#include "police/shaped.h"
#include "shape/delay.h"

/*
 * Delays of recent packets: the last 10 and the last 60 seconds of a struct delay_sum, which grows
 * as long as its policy lives. The sum is marked regularly. A window has the packets since the
 * newest mark that is at least as old as the window is long. So it is up to half longer, and more
 * if nothing was marked for long. A window that began later has all packets since its begin.
 *
 * A window takes 4.9 kB, so only policies with an objective have one. Pure; control.
 */

enum delay_window_window { DELAY_WINDOW_10S, DELAY_WINDOW_60S, DELAY_WINDOW_WINDOWS };

#define DELAY_WINDOW_MARKS 3 /* two halves of a window, and the excess */

struct delay_window {
	struct delay_window_marks {
		unsigned newest;
		uint64_t ns[DELAY_WINDOW_MARKS];
		uint32_t bins[DELAY_WINDOW_MARKS][DELAY_BINS]; /* low 32 bits of the sum's bins */
	} windows[DELAY_WINDOW_WINDOWS];
};

/* Begins with the present total, which is in no window. */
void delay_window_init(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns);

/* Returns true if delay_window_mark() is due. Poll at least every few seconds. */
bool delay_window_is_due(const struct delay_window *delay_window, uint64_t now_ns);
void delay_window_mark(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns);

/* Writes the part of the total that is in a window; returns its length in nanoseconds. */
uint64_t delay_window_sum(const struct delay_window *delay_window, enum delay_window_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum);

struct instance;

struct delays_totals {
	uint64_t waited, marked, dropped[DROP_SHAPE_REASONS];
	struct delay_sum delay; /* delays of packets that left */
};

/* Delays of the policy in a slot. */
struct slot_delays {
	struct delay_sum *sums;            /* n_workers; NULL if no packets wait */
	struct delays_totals *earlier;     /* counts in previous slots, if packets waited there */
	struct delay_window *delay_window; /* NULL: the policy has no objective */
};

struct delays {
	struct slot_delays *slots;
	struct delay_sum *lateness; /* n_workers, see delays_lateness() */
	unsigned next_fold;         /* policy that delays_look() folds next */
	unsigned next_mark;         /* policy whose objective it checks next; */
	uint64_t marked_ns;         /* time of its last check */
};

/* State of a shaped policy in its slot, in `delays` of struct instance. */
extern const struct policy_part delays_part;

/* Start-up module. Returns 0 or -ENOMEM, and then nothing is left. */
int delays_start(struct instance *inst);
void delays_stop(struct instance *inst);

/*
 * Reads all workers and some slots. Called every tick, so that no worker counts 2^32 packets
 * between two reads, and the windows of objectives are up to date.
 */
void delays_look(struct instance *inst, uint64_t now_ns);

/* Reads the delays of the policy in a slot. */
void delays_totals(struct instance *inst, uint32_t slot, struct delays_totals *totals);

/* Returns the policy's window of recent delays; NULL without an objective. */
const struct delay_window *delays_window(const struct instance *inst, uint32_t slot);

/* Returns the policy's packets that waited in previous slots which no worker uses any more. */
uint64_t delays_waited_before(const struct instance *inst, uint32_t slot);

/* Returns how late a worker released packets, over all that it has released. */
const struct delay_sum *delays_lateness(struct instance *inst, unsigned worker);

#endif
