/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Slots of connections, and the choice of the connection that ends for a new one. A new connection
 * is always admitted, so any number of slow clients leaves room for a scraper. Pure; web thread.
 */
#ifndef WEIR_EXPORTER_SLOTS_H
#define WEIR_EXPORTER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/socket.h>

#define SLOTS           64
#define SLOTS_MARGIN    16 /* connections that have been ended and are not closed yet */
#define SLOTS_ALL       (SLOTS + SLOTS_MARGIN)
#define SLOTS_ADDRESS   16 /* limit for one address, unless it is loopback */
#define SLOTS_STREAMING 8  /* streams of one address, unless it is loopback */

/* A connection younger than this in its state is probably not slow. */
#define SLOTS_GRACE_MS 5000

enum slot_state {
	SLOT_FREE,
	SLOT_ENDING,   /* ended, and not closed yet */
	SLOT_ASKS,     /* idle, or its request is not complete */
	SLOT_ANSWERED, /* reads its answer */
	SLOT_WAITS,    /* its answer needs a round */
	SLOT_STREAMS,  /* never ends for others; viewers.h bounds them */
};

struct slot {
	enum slot_state state;
	int fd;
	uint64_t address;  /* slot_address() */
	uint64_t since_ms; /* begin of the connection, or of its state */
	void *waits;       /* SLOT_WAITS: the connection; otherwise NULL */
};

/*
 * Key of an address: an IPv4 address, also in its IPv6 form, or a network of 64 bits of IPv6. All
 * loopback addresses are one: operators' proxies and tunnels connect from there for many clients.
 */
uint64_t slot_address(const struct sockaddr *address);

bool slot_is_loopback(uint64_t address);

/* Returns a free slot, or NULL: the daemon admits no more than SLOTS_ALL. */
struct slot *slot_take(struct slot slots[SLOTS_ALL]);

/*
 * Returns the slot whose connection ends because `newcomer` has come, or NULL. If the address of
 * the newcomer has too many, it is one of these. Otherwise, if all slots are taken, it is one of
 * the address with most connections. Slow ones end first.
 */
struct slot *slot_to_end(
	struct slot slots[SLOTS_ALL], const struct slot *newcomer, uint64_t now_ms);

/* Returns the slot that has read its answer for longest, or NULL. */
struct slot *slot_reads_longest(struct slot slots[SLOTS_ALL]);

/* Returns whether the address may have one more stream. */
bool slot_may_stream(const struct slot slots[SLOTS_ALL], uint64_t address);

#endif
