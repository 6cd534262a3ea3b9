/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other policies, while packets flow. Three steps:
 *
 *     prepare   reads the file, and makes aside all that takes time or can fail
 *     commit    the limiter's policies, the slots, the first limits, and then the classifier
 *     settle    when no worker is at anything of the former ones any more, that goes
 *
 * A worker holds one classifier for a whole burst, and what it answers are slots. So a packet is
 * its old policy's or its new one's, and is counted there: never a mixture. A policy that stays
 * keeps its slot, and with it bucket, counters, sources and samples. One whose action, mark,
 * accounting or weigh is another, which its line on a worker says once for all, moves to a slot of
 * its own with what it has counted, and with no burst to spend, as it may have spent that in the
 * other. What begins anew by its nature (enum policy_change) leaves as one policy and comes as
 * another.
 *
 * A slot that was left is nobody's before every worker acts on what it was told by the commit
 * (grace.h): limits that come later are of the new tenants only.
 */
#ifndef WEIR_APP_EXCHANGE_H
#define WEIR_APP_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct box;
struct config_diff;
struct exchange;

/*
 * Reads the file, and prepares the exchange of the box's policies for its. All that is refused is
 * reported to err, each with its place, as config_load() does. Returns 0 or a negative errno; then
 * the box is as it was. Any thread; meanwhile nobody may change the box's policies or slots, or
 * take DPDK's memory under a real-time class. hz: ticks a second.
 */
int exchange_prepare(
	struct box *box, const char *file, uint64_t hz, FILE *err, struct exchange **out);

/* What the exchange changes; nothing at all if it changes nothing, not even the order. */
const struct config_diff *exchange_diff(const struct exchange *x);
bool exchange_is_empty(const struct exchange *x);

/* Control; not of an empty one. Returns 0, or a negative errno, with the box as it was. */
int exchange_commit(struct exchange *x);

/* Control, after the commit, now and then: true when all that was before is gone. Does not wait. */
bool exchange_settle(struct exchange *x);

/*
 * Control. Before the commit, nothing will come of it; after it has settled, or the workers have
 * stopped, the box goes on with what it has. NULL is none.
 */
void exchange_free(struct exchange *x);

#endif
