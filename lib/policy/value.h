/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Text forms of names, addresses, prefixes and ports. Parsers return 0 or -EINVAL, and write their
 * results only if they return 0. Pure; any thread.
 */
#ifndef WEIR_POLICY_VALUE_H
#define WEIR_POLICY_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include <netinet/in.h>

#include "policy/policy.h"

#define ADDRESS_TEXT_MAX 64 /* "[IPv6]:port" with the terminator */
#define PREFIX_TEXT_MAX  64

#define EXPECTED_NAME "a name of 1 to 63 characters A-Z a-z 0-9 _ . -"

/* Returns true for a name of any kind: 1 to 63 of A-Z a-z 0-9 _ . - */
bool name_valid(const char *name);

/*
 * Returns true for a full PCI address, a vdev or an xdp: interface. A comma and arguments can
 * follow the first two. All characters are printable, and the string fits CONFIG_DEVICE_MAX.
 */
bool device_valid(const char *device);

/* Returns the length of the part that identifies the device: all before the first comma. */
size_t device_id_length(const char *device);

/* Parses numeric "10.0.0.1:7946" or "[2001:db8::1]:7946". Zeroes the rest of the address. */
int address_parse(const char *text, struct sockaddr_storage *address, socklen_t *len);
char *address_format(const struct sockaddr_storage *address, char *buf, size_t size);
bool address_is_any(const struct sockaddr_storage *address);
bool address_is_loopback(const struct sockaddr_storage *address);
bool address_is_one_host(const struct sockaddr_storage *address); /* no multicast or broadcast */

/*
 * Parses "192.0.2.0/24". Returns -EDOM if host bits are set; then out holds the prefix without
 * them.
 */
int prefix_parse(const char *text, struct prefix *out);

/*
 * Writes "any", "192.0.2.0/24" or "2001:db8::/32" into buf (at least PREFIX_TEXT_MAX bytes);
 * returns buf.
 */
char *prefix_format(const struct prefix *prefix, char *buf, size_t size);

/* Parses "443" or "1024-2047": 1 to 65535, not falling. */
int port_range_parse(const char *text, struct port_range *out);

/* Writes "any", "443" or "1024-2047" into buf (at least PORTS_TEXT_MAX bytes); returns buf. */
#define PORTS_TEXT_MAX 16
char *port_range_format(const struct port_range *range, char *buf, size_t size);

/*
 * Parses "2-5,8": at most max numbers, each at most `most`, as numbers and rising ranges. Returns
 * their number, or -EINVAL.
 */
int cpu_list_parse(const char *text, unsigned most, unsigned *out, unsigned max);

#define DSCP_MAX 63

/* Parses "ef", "af41", "cs5", "be", "le", "va", in any case. Returns the DSCP, or -EINVAL. */
int dscp_parse(const char *text);

#define SOURCE_V4_BITS   32
#define SOURCE_V6_BITS   128
#define SOURCE_V6_SUBNET 64 /* prefix of a subnet; a host has 2^64 addresses to choose from */

/* Parses "src" as 0 bits, or "src/N" as N bits, 1 to SOURCE_V6_BITS. */
int source_parse(const char *text, unsigned *bits);

/* Return the name of a number that "proto" accepts, or NULL; and the number of a name, or 0. */
const char *proto_name(uint8_t proto);
uint8_t proto_number(const char *name);

const char *direction_name(enum direction direction);
const char *accounting_name(enum accounting accounting);

#endif
