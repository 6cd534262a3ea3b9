/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The brain (limiter/limiter.h) in the appliance: what it is made with, its ticks, and the
 * datagrams that it hears and says. Control.
 */
#ifndef WEIR_APP_BRAIN_H
#define WEIR_APP_BRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct instance;
struct ledger_store;

/* The module of start-up, after the ledger's: 0 or a negative errno, and then nothing is left. */
int brain_start(struct instance *inst);
void brain_stop(struct instance *inst);

/*
 * Returns the result of brain_start() with this configuration and these records, and changes
 * nothing: -EINVAL if the records are not of its roster. Takes the store. Main thread.
 */
int brain_try(const struct config *config, struct ledger_store *opened);

/* When brain_run() is due: a tick, or limits that wait for room in a worker's ring. */
uint64_t brain_next(const struct instance *inst);

/* A tick that is due, or else more of the limits that wait. Never leaves news to tell. */
bool brain_run(struct instance *inst, uint64_t now_ns);

/* Limits that have changed go to the workers, and what there is to say to the peers. */
void brain_tell(struct instance *inst);

/* The group's socket: 0 or a negative errno, logged. */
int gossip_start(struct instance *inst);
void gossip_stop(struct instance *inst);

/* What becomes readable when a datagram has come; -1 of a limiter that is alone. */
int gossip_fd(const struct instance *inst);

/* When its address is looked for again, and that. */
uint64_t gossip_next(const struct instance *inst);
bool gossip_run(struct instance *inst, uint64_t now_ns);

/* Takes in what has come. Messages change limits and are answered at once; the rest has time. */
void gossip_take(struct instance *inst);

#endif
