/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ports of the emulator: one queue in each direction, no offloads, promiscuous. One thread sets up,
 * uses and closes them.
 */
#ifndef WEIR_EMU_PORT_H
#define WEIR_EMU_PORT_H

#include <stdint.h>

#include <rte_mempool.h>

#define PORT_RX_DESCRIPTORS 1024 /* mbufs that the driver can hold; part of the pool's size */

/*
 * Opens the port that EAL calls `name`. EAL starts without devices that failed, so a missing name
 * is an error here: returns -ENODEV. Prints every error to stderr.
 */
int port_open(const char *name, struct rte_mempool *pool, uint16_t *port);

void port_close(uint16_t port);

#endif
