/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker without packets waits in ppoll() at the sockets of its ports. A packet wakes it, and
 * control wakes it if it has published something. Control and the worker exchange one word, so that
 * no wake-up is lost. The worker announces that it waits and then looks for published data. Control
 * publishes and then looks for the announcement.
 */
#ifndef WEIR_APP_RX_WAIT_H
#define WEIR_APP_RX_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct rx_wait;

/*
 * Makes the wait of a worker at n sockets, each for at most `longest_ns`. 0 or a negative errno.
 * Control, before the worker starts.
 */
int rx_wait_create(const int *sockets, unsigned n, uint64_t longest_ns, struct rx_wait **wait);

/* Frees it, or does nothing for NULL. The sockets stay open. Control, after the worker's end. */
void rx_wait_destroy(struct rx_wait *wait);

/*
 * Returns the longest time of a wait in ns, or 0 if the worker cannot wait: it has no sockets, or
 * one has failed. The worker.
 */
uint64_t rx_wait_longest(const struct rx_wait *wait);

/* Announces a wait; rx_wait() or rx_wait_cancel() ends it. The worker. */
void rx_wait_announce(struct rx_wait *wait);
void rx_wait_cancel(struct rx_wait *wait);

/*
 * Waits for a packet, control, a signal, or `ns` nanoseconds. Returns true if the time has passed.
 * The worker, after rx_wait_announce().
 */
bool rx_wait(struct rx_wait *wait, uint64_t ns);

/*
 * Returns true if the worker has announced a wait that control has not ended. The worker sees all
 * that control has published before this call, or the answer is true. Control.
 */
bool rx_wait_is_announced(struct rx_wait *wait);

/* Ends an announced wait. Control. */
void rx_wait_end(struct rx_wait *wait);

#endif
