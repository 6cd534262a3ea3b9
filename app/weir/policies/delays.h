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

#include "lately.h"
#include "police/shaped.h"
#include "shape/delay.h"

struct box;
struct policy;

struct delays_totals {
	uint64_t waited, marked, dropped[SHAPED_DROPS];
	struct delay_sum delay; /* of those that left */
};

/* Room for what workers are late. 0 or -ENOMEM; delays_stop() is due in either case. */
int delays_start(struct box *box);
void delays_stop(struct box *box);

/*
 * Room for the policy in a free slot, if its packets wait; and for what one that moves there from
 * another slot brings along. 0 or -ENOMEM. As tenant_prepare() is.
 */
int delays_prepare(struct box *box, const struct policy *policy, uint32_t slot);
int delays_prepare_move(struct box *box, uint32_t from, uint32_t slot);
void delays_remove(struct box *box, uint32_t slot);

/*
 * A policy is in its slot now. One that has moved there is still counted in the former one, until
 * delays_moved(): nobody counts there any more.
 */
void delays_move(struct box *box, uint32_t from, uint32_t to);
void delays_moved(struct box *box, uint32_t from, uint32_t to);
void delays_begin(struct box *box, uint32_t slot, uint64_t now_ns);

/*
 * Looks at all workers and at some slots, so that none counts 2^32 packets between two looks, and
 * what is late in it is known: every tick.
 */
void delays_look(struct box *box, uint64_t now_ns);

/* Of the policy in a slot. */
void delays_totals(struct box *box, uint32_t slot, struct delays_totals *totals);

/* Packets of it that had waited in slots that it has left for good. */
uint64_t delays_waited_before(const struct box *box, uint32_t slot);

/* By how much a worker was late, of all that it has released. */
const struct delay_sum *delays_lateness(struct box *box, unsigned worker);

#endif
