/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replaces the policies while packets flow, in three steps:
 *
 *     prepare   reads the file, and builds everything that takes time or can fail
 *     commit    exchanges the limiter's policies, slots and first limits, and then the classifier
 *     finish    frees the previous state when no worker uses it any more
 *
 * A worker uses one classifier for a whole burst, and its results are slots. So a packet belongs to
 * its old policy or to its new one, and is counted there: never a mixture. A policy that stays
 * keeps its slot, and with it bucket, counters, sources and samples.
 *
 * A policy moves to a new slot if its action, mark, accounting, weigh or parent changes, or if its
 * parent moves. These are fixed in its line on a worker. It takes its counts along, and begins
 * without a burst, which it might have spent in the old slot. A policy that must restart (enum
 * policy_change) leaves as one policy and begins as another.
 *
 * A left slot is free only after every worker uses all that the commit sent (publish.h): later
 * limits are only for the new policies.
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
 * Values of instance.reload_gate. A file can take for ever to read, and the stop does not wait for
 * that. The first to set the gate wins. If it is the reader, the stop waits for it from then on. If
 * it is the stop, the reader uses the instance no more.
 */
enum { RELOAD_READING, RELOAD_PAST_READING, RELOAD_GIVEN_UP };

/*
 * Reads the file, and prepares the exchange of the policies. Errors are reported to err with their
 * places, as config_load() does. Returns 0 or a negative errno; then nothing has changed. Any
 * thread. Meanwhile no thread may change the instance's policies or slots, or allocate DPDK memory
 * under a real-time class. hz: ticks a second.
 */
int policy_txn_prepare(
	struct instance *inst, const char *file, uint64_t hz, FILE *err, struct policy_txn **out);

/*
 * Prepares the exchange for a configuration that was read, after the gate has been passed. Takes it
 * over, also on errors. `file` is its name in messages.
 */
int policy_txn_prepare_config(struct instance *inst, struct config *config, const char *file,
	uint64_t hz, FILE *err, struct policy_txn **out);

/*
 * Returns true if the preparation can continue; false: the stop has abandoned it. Once for each
 * reading.
 */
bool policy_txn_pass_gate(struct instance *inst);

/* Returns the new configuration. Before the commit. */
const struct config *policy_txn_config(const struct policy_txn *x);

/* Returns the differences. policy_txn_is_empty(): nothing changes, not even the order. */
const struct config_diff *policy_txn_diff(const struct policy_txn *x);
bool policy_txn_is_empty(const struct policy_txn *x);

/* Control; not for an empty transaction. Returns 0, or a negative errno, with nothing changed. */
int policy_txn_commit(struct policy_txn *x);

/*
 * Control, polled after the commit: returns true when all previous state is freed. Does not wait.
 */
bool policy_txn_finish(struct policy_txn *x);

/*
 * Control. Before the commit, the exchange is dropped; after it has finished, or the workers have
 * stopped, the new policies stay. x can be NULL.
 */
void policy_txn_free(struct policy_txn *x);

#endif
