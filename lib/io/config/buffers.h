/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packet buffers that a configuration asks for. Pure; control thread.
 */
#ifndef WEIR_CONFIG_BUFFERS_H
#define WEIR_CONFIG_BUFFERS_H

#include "policy/config.h"

/* Packet buffers that a port has beside those that its queues hold. */
uint32_t config_buffers(const struct config *config, unsigned port);

/*
 * Packets that may wait in the shaper of each worker: its even part, one at least, of the share of
 * the port's that has fewest, as all may have come in there.
 */
uint32_t config_waiting(const struct config *config);

#endif
