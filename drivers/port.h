/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A DPDK port of any kind, set up for a bump in the wire. Main thread; EAL is up.
 */
#ifndef WEIR_DRIVERS_PORT_H
#define WEIR_DRIVERS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel_port.h"
#include "policy/config.h"

struct rte_mempool;

/*
 * Capabilities that a driver reports. Only these are kept, because rte_ethdev.h is long to include.
 */
struct port_abilities {
	uint64_t rx_offloads, tx_offloads, rss_types;
	uint32_t frame; /* longest frame that it receives, bytes */
	uint16_t mtu;   /* its largest MTU; 0 or UINT16_MAX: not reported */
	uint8_t rss_key_len;
};

struct port {
	const struct port_config *config;
	unsigned interface; /* kernel's index of its interface; 0: none */
	uint16_t id;
	uint16_t queues_max; /* receive and transmit queue pairs that the device has */
	uint16_t queues;     /* in use */
	bool started;
	bool rss;        /* the device distributes flows over its queues and reports their hash */
	uint64_t card;   /* pci_card_identity() at the start */
	bool timestamps; /* the device stamps packets by a clock that can be read */
	struct rte_mempool *pool;
	struct port_abilities can;
	struct kernel_state before; /* at the start, if it has a kernel interface */
	int promiscuous;            /* socket of kernel_promiscuous(), or 0 */
};

/* Reads the device's capabilities. Returns 0 or a negative errno, with the cause on stderr. */
int port_probe(struct port *port, const struct port_config *config, uint16_t id);

/*
 * Returns how many of `wanted` queue pairs, at most queues_max, the device accepts. If it accepts
 * fewer, sets queues_max and writes a line to stderr. Before port_start().
 */
uint16_t port_queues(struct port *port, uint16_t wanted);

/*
 * Configures the port with that many queue pairs (at most queues_max) and starts it: promiscuous,
 * with scatter, multi-segment transmission and RSS if the device has them. Packets of each queue
 * can occupy `held` buffers for longer than a burst. `buffers` more are for packets in transit or
 * in queues of policies. If `outlived`, a kernel program continues after a stop, and the interface
 * stays promiscuous. Returns 0 or a negative errno, with the cause on stderr.
 */
int port_start(struct port *port, uint16_t queues, unsigned held, uint32_t buffers, bool outlived);

/*
 * Returns the least bytes of DPDK memory for the packet buffers of such a port. No buffer crosses
 * the border of a page of `page` bytes; 0: no such borders.
 */
size_t port_pool_bytes(
	const struct port_config *config, uint16_t queues, uint32_t buffers, size_t page);

/*
 * Writes the present name of its kernel interface. Returns false if it has none, or the interface
 * is missing. Any thread.
 */
bool port_interface(const struct port *port, char name[IFNAMSIZ]);

/*
 * Returns a descriptor that is readable while a queue of a started port has packets, or -1. Only
 * AF_XDP ports have one. port_stop() closes it. Main thread.
 */
int port_socket(const struct port *port, uint16_t queue);

/*
 * Returns the ID of a port that receives and transmits nothing. Workers use it while the real one
 * is opened again. -ENOSPC: DPDK has no ID left for it.
 */
int port_parked(void);

/*
 * Returns true if port_reopen() can open the port. Memory that the driver of AF_XDP leaves behind
 * stays in use until the process ends.
 */
bool port_can_reopen(const struct port *port);

/* Describes the next step after the removal of a port's device, for events and alarms. */
const char *port_when_gone(const struct port *port);

/*
 * Opens an af_packet port again at the interface that has its configured name now, with its packet
 * buffers. No worker uses the port. Its ID can change, and its counters start at 0. 0 or a negative
 * errno, some causes on stderr; after an error it can be called again. Main thread.
 */
int port_reopen(struct port *port);

/*
 * Sets *up to whether the link is up, and *mbps to its speed in Mbit/s. Returns 0 or a negative
 * errno. Does not wait.
 */
int port_link(const struct port *port, bool *up, uint32_t *mbps);

/*
 * Returns true once its device or kernel interface was removed. The driver never uses one in
 * its place. Main thread.
 */
bool port_gone(const struct port *port);

/*
 * Switches the link up or down, so that the device at the other end detects it. Waits for the
 * device. Returns 0 or a negative errno: -ENOTSUP if the device cannot.
 */
int port_switch_link(const struct port *port, bool up);

/* Reads the clock of packet stamps, if `timestamps`. Returns 0 or a negative errno. */
int port_clock(const struct port *port, uint64_t *clock);

/*
 * Stops and closes the port. Workers have stopped. Call it for all ports, then port_free() for all:
 * packets that one port received can still be in another's transmit ring.
 */
void port_stop(struct port *port);

/*
 * After port_stop(): restores the interface's MTU. After a failed start, restores all settings of
 * the interface.
 */
void port_put_back(const struct port *port, bool failed);

/*
 * Frees the pool. Returns the number of mbufs that were not returned to it, less those that the
 * af_xdp driver never returns.
 */
unsigned port_free(struct port *port);

#endif
