/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ports of the emulator: one queue each way, no offloads, every frame taken. One thread sets up,
 * uses and closes them.
 */
#ifndef WEIR_EMU_PORT_H
#define WEIR_EMU_PORT_H

#include <stdint.h>

#include <rte_mempool.h>

#define PORT_RX_DESCRIPTORS 1024 /* mbufs that the driver may hold; part of the pool's size */

/*
 * Opens the port that EAL calls `name`. EAL starts without a device that failed, so a name that is
 * missing here is an error: -ENODEV, said on stderr, as is every other one.
 */
int port_open(const char *name, struct rte_mempool *pool, uint16_t *port);

void port_close(uint16_t port);

#endif
