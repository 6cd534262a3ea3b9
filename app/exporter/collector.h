/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A socket to whoever collects flow records, who may be there or not. One thread.
 */
#ifndef WEIR_EXPORTER_COLLECTOR_H
#define WEIR_EXPORTER_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector {
	const char *address; /* "192.0.2.1:2055" or "[2001:db8::1]:2055"; borrowed */
	int fd;              /* -1: there is no way to it */
	bool ipv6;
	unsigned burst; /* datagrams that went without a pause */
};

/* 0, or -EINVAL for what is no address; whether anybody is there nobody knows. */
int collector_open(struct collector *collector, const char *address);
void collector_close(struct collector *collector);

/* Looks for a way again if there was none: bytes that a datagram may have (netflow.h). */
size_t collector_room(struct collector *collector);

/*
 * Whether the datagram went; false also if it did and a machine has said that nobody took the one
 * before. May pause for a millisecond, so that as many as there are find room at the other end.
 */
bool collector_send(struct collector *collector, const uint8_t *bytes, size_t n);

#endif
