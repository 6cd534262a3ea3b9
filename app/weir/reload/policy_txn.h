/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other policies, while packets flow. Three steps:
 *
 *     prepare   reads the file, and makes aside all that takes time or can fail
 *     commit    the limiter's policies, the slots, the first limits, and then the classifier
 *     commit    when no worker is at anything of the former ones any more, that goes
 *
 * A worker holds one classifier for a whole burst, and what it answers are slots. So a packet is
 * its old policy's or its new one's, and is counted there: never a mixture. A policy that stays
 * keeps its slot, and with it bucket, counters, sources and samples. One whose action, mark,
 * accounting, weigh or parent is another, or whose parent moves, which its line on a worker says
 * once for all, moves to a slot of its own with what it has counted, and with no burst to spend, as
 * it may have spent that in the other. What begins anew by its nature (enum policy_change) leaves
 * as one policy and comes as another.
 *
 * A slot that was left is nobody's before every worker acts on what it was told by the commit
 * (grace.h): limits that come later are of the new policies only.
 */
#ifndef WEIR_APP_POLICY_TXN_H
#define WEIR_APP_POLICY_TXN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct instance;
struct config;
struct config_diff;
struct policy_txn;

/*
 * instance.reload_gate: a file may take for ever to read, and who stops the box does not wait for
 * that. Who comes first sets the gate: the reader, who is waited for from then on, or who stops,
 * and then the reader touches nothing more of the box.
 */
enum { RELOAD_READING, RELOAD_PAST_READING, RELOAD_GIVEN_UP };

/*
 * Reads the file, and prepares the exchange of the box's policies for its. All that is refused is
 * reported to err, each with its place, as config_load() does. Returns 0 or a negative errno; then
 * the box is as it was. Any thread; meanwhile nobody may change the box's policies or slots, or
 * take DPDK's memory under a real-time class. hz: ticks a second.
 */
int policy_txn_prepare(
	struct instance *inst, const char *file, uint64_t hz, FILE *err, struct policy_txn **out);

/*
 * Prepares one that has been read, after the gate has been passed; takes it over, whatever comes of
 * it. `file` is what messages call it.
 */
int policy_txn_prepare_config(struct instance *inst, struct config *config, const char *file,
	uint64_t hz, FILE *err, struct policy_txn **out);

/* Whether who prepares may go on: false when the stop has given it up. Once for each reading. */
bool policy_txn_pass_gate(struct instance *inst);

/* What was read. Before the commit. */
const struct config *policy_txn_config(const struct policy_txn *x);

/* What the exchange changes; nothing at all if it changes nothing, not even the order. */
const struct config_diff *policy_txn_diff(const struct policy_txn *x);
bool policy_txn_is_empty(const struct policy_txn *x);

/* Control; not of an empty one. Returns 0, or a negative errno, with the box as it was. */
int policy_txn_commit(struct policy_txn *x);

/* Control, after the commit, now and then: true when all that was before is gone. Does not wait. */
bool policy_txn_finish(struct policy_txn *x);

/*
 * Control. Before the commit, nothing will come of it; after it has committed, or the workers have
 * stopped, the box goes on with what it has. NULL is none.
 */
void policy_txn_free(struct policy_txn *x);

#endif
