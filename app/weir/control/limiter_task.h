/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The task of the limiter (limiter/limiter.h) in the appliance: its construction, its ticks, and
 * the datagrams that it receives and sends. Control.
 */
#ifndef WEIR_APP_LIMITER_TASK_H
#define WEIR_APP_LIMITER_TASK_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct gossip_config;
struct instance;
struct keyring;
struct ledger_store;

/* Start-up module, after the ledger's. Returns 0 or a negative errno, and then nothing is left. */
int limiter_task_start(struct instance *inst);
void limiter_task_stop(struct instance *inst);

/*
 * Returns the result of limiter_task_start() with this configuration and these records, and changes
 * nothing: -EINVAL if the records are not of its roster. Takes the store. Main thread.
 */
int limiter_task_try(const struct config *config, struct ledger_store *opened);

/*
 * Continues with another roster and the keys that were made for it (NULL: plain gossip). Limits,
 * counters and peers that stay are kept. Exchanges the roster of `live`, which is the configuration
 * of the instance, for that of `next`, and the keys for *keyring: the caller has the previous ones.
 * Returns 0; or -ENOTSUP (with a ledger) or -ENOMEM, and nothing has changed. Not between two
 * datagrams of one tick.
 */
int limiter_task_regroup(struct instance *inst, struct gossip_config *live,
	struct gossip_config *next, struct keyring **keyring);

/*
 * Returns when limiter_task_run() is due: at a tick, or while limits wait for room in a worker's
 * ring.
 */
uint64_t limiter_task_next(const struct instance *inst);

/*
 * Runs a tick that is due; otherwise sends more of the limits that wait. Returns false: see
 * control.h.
 */
bool limiter_task_run(struct instance *inst, uint64_t now_ns);

/* Sends changed limits to the workers, and messages to the peers. */
void limiter_task_publish(struct instance *inst);

/* Opens and closes the group's socket. Start returns 0 or a negative errno, logged. */
int gossip_start(struct instance *inst);
void gossip_stop(struct instance *inst);

/* Returns the descriptor that becomes readable when a datagram arrives; -1 without peers. */
int gossip_fd(const struct instance *inst);

/* The task that looks for the socket's address if that was missing. */
uint64_t gossip_next(const struct instance *inst);
bool gossip_run(struct instance *inst, uint64_t now_ns);

/* Reads datagrams. Messages change limits, so their answers and limits are sent immediately. */
void gossip_take(struct instance *inst);

#endif
