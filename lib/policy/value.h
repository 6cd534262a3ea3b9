/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What names, addresses, prefixes and ports are written as. Parsers return 0 or -EINVAL and leave
 * their results alone unless 0. Pure; any thread.
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

/* Names of all kinds: 1 to 63 of A-Z a-z 0-9 _ . - */
bool name_valid(const char *name);

/* A full PCI address or a vdev, with arguments after a comma; printable, shorter than the field. */
bool device_valid(const char *device);

/* Bytes of a device string that say which device it is: all before the first comma. */
size_t device_id_length(const char *device);

/* "10.0.0.1:7946" or "[2001:db8::1]:7946", numeric; what is not said of the address is zero. */
int address_parse(const char *text, struct sockaddr_storage *address, socklen_t *len);
char *address_format(const struct sockaddr_storage *address, char *buf, size_t size);
bool address_is_any(const struct sockaddr_storage *address);
bool address_is_loopback(const struct sockaddr_storage *address);
bool address_is_one_host(const struct sockaddr_storage *address); /* no group, no broadcast */

/* "192.0.2.0/24". Returns -EDOM when host bits are set; then out holds the prefix without them. */
int prefix_parse(const char *text, struct prefix *out);

/* "any", "192.0.2.0/24", "2001:db8::/32" into buf (at least PREFIX_TEXT_MAX); returns buf. */
char *prefix_format(const struct prefix *prefix, char *buf, size_t size);

/* "443", or "1024-2047": 1 to 65535, not falling. */
int port_range_parse(const char *text, struct port_range *out);

/* "any", "443", "1024-2047" into buf (at least PORTS_TEXT_MAX); returns buf. */
#define PORTS_TEXT_MAX 16
char *port_range_format(const struct port_range *range, char *buf, size_t size);

/*
 * "2-5,8": numbers and ranges that rise, up to `most`, of which no more than max. How many there
 * are, in out; or -EINVAL.
 */
int cpu_list_parse(const char *text, unsigned most, unsigned *out, unsigned max);

#define DSCP_MAX 63

/* "ef", "af41", "cs5", "be", "le", "va", in small letters or capitals. The DSCP, or -EINVAL. */
int dscp_parse(const char *text);

#define SOURCE_V4_BITS   32
#define SOURCE_V6_BITS   128
#define SOURCE_V6_SUBNET 64 /* of an IPv6 host one subnet: it has 2^64 addresses to choose from */

/* "src": 0 bits, or "src/N": N bits of 1 to SOURCE_V6_BITS. */
int source_parse(const char *text, unsigned *bits);

/* "tcp" and the other names that "proto" knows, or NULL; and the number of a name, or 0. */
const char *proto_name(uint8_t proto);
uint8_t proto_number(const char *name);

const char *direction_name(enum direction direction);
const char *accounting_name(enum accounting accounting);

#endif
