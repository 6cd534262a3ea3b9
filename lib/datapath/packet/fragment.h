/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ports of a packet's later fragments. Only the first fragment has ports, and all fragments
 * must be charged to the same policy. So a table stores the ports of first fragments. Pure; no
 * DPDK. One owner, a worker. Any thread may read the counters.
 *
 * A fragment belongs to a packet by the bytes before its IP header (addresses of the link, tags,
 * labels, session), addresses, identification, and in IPv4 the protocol (RFC 791). In IPv6 the next
 * header of the first fragment counts (RFC 8200, 4.5), so a later one takes its protocol from the
 * first.
 *
 * A sender can try to have fragments charged by a first fragment that the receiver does not use for
 * them. The receiver drops it, or drops all fragments of the packet and starts again. So a first
 * fragment lends its ports only
 * - if all stock receivers accept it: its headers have no options, and its transport header is
 *   complete. Inside two nested tunnels, it lends none;
 * - for FRAGMENT_LEND_S, which is less than any receiver waits;
 * - to fragments that follow it in order and without a gap. After any other fragment of the same
 *   packet, or a fragment that a receiver would not accept, it lends no more;
 * - to fragments with a time to live that is no larger than its own.
 * Until the entry is displaced or FRAGMENT_SECONDS old, another first fragment of the packet with
 * other ports is a `conflict`. For FRAGMENT_LEND_S this is also true of a packet that is complete.
 *
 * packet->unparsed has the reason why a fragment is not understood, and packet->unknown its unknown
 * fields. One attack remains: a first fragment that gets lost after this node, then other packets
 * that displace its entry, and then another first fragment.
 *
 * A lookup takes one cache line, and an insertion writes the same line. Only fragments take either.
 * A pair of addresses has FRAGMENT_LINES lines, chosen by a secret. So a flood between two
 * addresses displaces only entries in those lines. A sender that forges addresses fills the table
 * evenly, but cannot choose which entries it displaces. In a full line, the oldest entry is
 * replaced.
 */
#ifndef WEIR_PACKET_FRAGMENT_H
#define WEIR_PACKET_FRAGMENT_H

#include <stdint.h>

#include "base/extents.h"
#include "packet/parse.h"
#include "source/source_hash.h"

#define FRAGMENT_SECONDS 60   /* receivers wait this long; up to an eighth more: time is coarse */
#define FRAGMENT_LEND_S  2    /* senders send all fragments of a packet in one burst */
#define FRAGMENT_SETS    4096 /* lines: 256 KiB, 16384 packets */
#define FRAGMENT_WAYS    4
#define FRAGMENT_LINES   8 /* per pair of addresses: 32 packets at a time */

struct fragment {
	uint32_t tag;
	uint32_t time : 24;          /* coarse, of the first fragment: wraps after 12 days */
	uint32_t ttl : 8;            /* TTL of the first fragment */
	uint16_t src_port, dst_port; /* host order */
	uint8_t proto;
	uint8_t used : 1;
	uint8_t first : 1;  /* the first fragment was received */
	uint8_t closed : 1; /* lends no ports */
	uint8_t whole : 1;  /* all fragments were received, in order */
	uint16_t next;      /* offset of the next one, in units of 8 bytes */
};

struct fragment_set {
	struct fragment way[FRAGMENT_WAYS];
} __attribute__((aligned(64)));

struct fragments {
	struct source_key key;
	int32_t valid;      /* coarse ticks for which an entry is valid */
	int32_t lends;      /* coarse ticks for which a first fragment lends its ports */
	uint8_t time_shift; /* ticks to coarse ticks: 1/8 to 1/16 second, wraps after 8 years */
	uint64_t first;     /* first fragments received */
	uint64_t found;     /* later ones that got their ports */
	uint64_t unknown;   /* later ones that did not */
	uint64_t conflict;  /* first ones in conflict with another */
	struct fragment_set sets[FRAGMENT_SETS];
};

/*
 * Initializes an empty table in memory aligned to 64 bytes. hz: ticks per second. Control, before
 * its owner starts.
 */
void fragments_init(struct fragments *fragments, uint64_t secret, uint64_t hz);

/*
 * Adds the parts of the table that a fragment can access: its head and one set. To be called before
 * fragments_ports(), with the same arguments. The owner.
 */
void fragments_extents(const struct fragments *fragments, const uint8_t *data,
	const struct packet *packet, struct extents *extents);

/*
 * Sets src_port and dst_port of a fragment (packet->fragment is not PACKET_WHOLE), and in IPv6 its
 * proto, if they can be found. packet_flow_hash() is then that of the packet's flow. Otherwise sets
 * packet->unparsed to the reason and packet->unknown to the unknown fields. To be called once for
 * every fragment, in order of arrival. data: the bytes that were parsed. frame: length of the whole
 * frame. now: ticks. The owner.
 */
void fragments_ports(struct fragments *fragments, const uint8_t *data, uint32_t frame, uint64_t now,
	struct packet *packet);

#endif
