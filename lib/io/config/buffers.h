/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packet buffers that a configuration needs. Pure; control thread.
 */
#ifndef WEIR_CONFIG_BUFFERS_H
#define WEIR_CONFIG_BUFFERS_H

#include "policy/config.h"

/* Returns the packet buffers of a port, without those that its queues hold. */
uint32_t config_buffers(const struct config *config, unsigned port);

/*
 * Returns the number of packets that can wait in the shaper of each worker, at least 1. It is the
 * worker's even part of the waiting packets of one port: the port with the fewest buffers, because
 * all packets can arrive there.
 */
uint32_t config_waiting(const struct config *config);

#endif
