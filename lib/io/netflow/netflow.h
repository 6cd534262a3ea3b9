/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Datagrams of NetFlow version 9 (RFC 3954) and of IPFIX (RFC 7011), which is its version 10: what
 * an observation domain's policies have passed and dropped, and what these are called. Pure: a
 * domain has one writer, and whoever calls it sends what it has written, in that order.
 */
#ifndef WEIR_NETFLOW_NETFLOW_H
#define WEIR_NETFLOW_NETFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum netflow_version {
	NETFLOW_V9 = 9,
	NETFLOW_IPFIX = 10,
};

/* Bytes that a datagram's payload may have: of Ethernet, in IPv6. */
#define NETFLOW_MOST 1452

/* Bytes that it must be allowed: what every path of IPv4 takes has room for any one record. */
#define NETFLOW_LEAST 484

/* Bytes that are told of a name and of a description. */
#define NETFLOW_NAME        63
#define NETFLOW_DESCRIPTION 31

/* What is counted beside packets. */
enum netflow_unit { NETFLOW_OCTETS, NETFLOW_NOTHING, NETFLOW_FLOWS, NETFLOW_UNITS };

/* What became of packets: values of forwardingStatus (RFC 7270, 4.12). */
enum netflow_status {
	NETFLOW_FORWARDED = 64,
	NETFLOW_DROPPED = 128,
	NETFLOW_DROPPED_ACL = 129,
	NETFLOW_DROPPED_FRAGMENT = 133, /* too long, and not to be fragmented */
	NETFLOW_DROPPED_LENGTH = 135,   /* its total length is wrong */
	NETFLOW_DROPPED_POLICER = 138,
	NETFLOW_DROPPED_QUEUE = 139, /* "WRED" */
	NETFLOW_DROPPED_HARDWARE = 143,
};

/* Packets since the last record of that application and status. Times are ms since 1970. */
struct netflow_record {
	uint64_t packets, units;
	enum netflow_unit unit;
	uint64_t start_ms, end_ms;
	enum netflow_status status;
	uint32_t application; /* at most NETFLOW_SELECTORS */
};

/* Applications are numbered by us: engine 6 of RFC 6759, and a selector of 24 bits. */
#define NETFLOW_SELECTORS 0xffffffu

/* A stream of datagrams, and the one that is being written. */
struct netflow {
	enum netflow_version version;
	uint32_t domain;
	uint32_t sequence; /* of datagrams (9), or of records but for templates (10) */
	uint64_t boot_ms;  /* what times of version 9 are since: a whole second */
	size_t most, length;
	size_t set; /* where the open one begins; 0: none is */
	uint16_t set_id;
	unsigned records, templates; /* in this datagram; how many of these are templates */
	uint8_t bytes[NETFLOW_MOST];
};

/* Begins a stream. now_ms: since 1970. */
void netflow_open(
	struct netflow *netflow, enum netflow_version version, uint32_t domain, uint64_t now_ms);

/* Begins a datagram of at most so many bytes, NETFLOW_LEAST to NETFLOW_MOST. */
void netflow_begin(struct netflow *netflow, size_t most);

/*
 * Each of these adds to the datagram, or is false: there is no room, so that it is to be ended. The
 * first adds what all other things are described by, and so comes before them, and now and then.
 */
bool netflow_add_templates(struct netflow *netflow);
bool netflow_add_domain(struct netflow *netflow, const char *name);
bool netflow_add_name(
	struct netflow *netflow, uint32_t application, const char *name, const char *description);
bool netflow_add_record(struct netflow *netflow, const struct netflow_record *record);

/* Ends it: how many of netflow->bytes are to be sent, or 0, as there is nothing in it. */
size_t netflow_end(struct netflow *netflow, uint64_t now_ms);

#endif
