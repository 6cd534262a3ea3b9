/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Datagrams of NetFlow version 9 (RFC 3954) and of IPFIX (RFC 7011), which is its version 10. They
 * report packets that the policies of an observation domain passed and dropped, and the policies'
 * names. Pure. A domain has one writer, and its caller sends the datagrams in the order of writing.
 * Only the exporter (app/exporter/records.c) uses this room; the limiter process does not.
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

/* Largest payload of a datagram in bytes: IPv6 on Ethernet. */
#define NETFLOW_MOST 1452

/*
 * Smallest allowed payload limit in bytes. Every IPv4 path carries it, and any single record fits.
 */
#define NETFLOW_LEAST 484

/* Longest name and description that are exported, in bytes. */
#define NETFLOW_NAME        63
#define NETFLOW_DESCRIPTION 31

/* The unit that a record counts in addition to packets. */
enum netflow_unit { NETFLOW_OCTETS, NETFLOW_NOTHING, NETFLOW_FLOWS, NETFLOW_UNITS };

/* The outcome of packets: values of forwardingStatus (RFC 7270, section 4.12). */
enum netflow_status {
	NETFLOW_FORWARDED = 64,
	NETFLOW_DROPPED = 128,
	NETFLOW_DROPPED_ACL = 129,
	NETFLOW_DROPPED_FRAGMENT = 133, /* too long, and must not be fragmented */
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

/* Weir numbers the applications: engine 6 of RFC 6759, and a selector of 24 bits. */
#define NETFLOW_SELECTORS 0xffffffu

/* A stream of datagrams, and its datagram in progress. */
struct netflow {
	enum netflow_version version;
	uint32_t domain;
	uint32_t sequence; /* version 9: of datagrams; version 10: of records except templates */
	uint64_t boot_ms;  /* a whole second; version 9 counts times from it */
	size_t most, length;
	size_t set; /* offset of the open set; 0: none */
	uint16_t set_id;
	unsigned records, templates; /* records in this datagram; how many of them are templates */
	uint8_t bytes[NETFLOW_MOST];
};

/* Begins a stream. now_ms: since 1970. */
void netflow_open(
	struct netflow *netflow, enum netflow_version version, uint32_t domain, uint64_t now_ms);

/* Begins a datagram of at most `most` bytes, NETFLOW_LEAST to NETFLOW_MOST. */
void netflow_begin(struct netflow *netflow, size_t most);

/*
 * Add to the datagram. Return false if there is no room: end the datagram first. Templates describe
 * all other records, so they come first, and are repeated from time to time.
 */
bool netflow_add_templates(struct netflow *netflow);
bool netflow_add_domain(struct netflow *netflow, const char *name);
bool netflow_add_name(
	struct netflow *netflow, uint32_t application, const char *name, const char *description);
bool netflow_add_record(struct netflow *netflow, const struct netflow_record *record);

/* Ends the datagram. Returns the bytes of netflow->bytes to send, or 0 if it is empty. */
size_t netflow_end(struct netflow *netflow, uint64_t now_ms);

/*
 * Copies at most `most` bytes of a text, in whole UTF-8 characters, and returns how many. Each byte
 * that is invalid or not printable becomes a question mark. Adds no terminator. Pure.
 */
size_t netflow_text(uint8_t *out, size_t most, const char *text);

#endif
