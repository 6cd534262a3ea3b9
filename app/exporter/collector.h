/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A socket to a collector of flow records, which need not be reachable. One thread.
 */
#ifndef WEIR_EXPORTER_COLLECTOR_H
#define WEIR_EXPORTER_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector {
	const char *address; /* "192.0.2.1:2055" or "[2001:db8::1]:2055"; borrowed */
	int fd;              /* -1: no route */
	bool ipv6;
	unsigned burst; /* datagrams sent without a pause */
};

/* Returns 0, or -EINVAL for an invalid address. Does not check that the collector is reachable. */
int collector_open(struct collector *collector, const char *address);
void collector_close(struct collector *collector);

/* Looks for a route if there was none. Returns the most bytes of a datagram (netflow.h). */
size_t collector_room(struct collector *collector);

/*
 * Returns whether the datagram was sent. Also returns false if it was sent but the previous one was
 * refused. Can pause for a millisecond, so that the other end has room for all datagrams.
 */
bool collector_send(struct collector *collector, const uint8_t *bytes, size_t n);

#endif
