/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ports of a packet's later fragments. Only the first fragment has them, and all are to be
 * charged alike; so a table remembers what first fragments said, for as long as a receiver waits
 * for the rest. Pure; no DPDK. One owner, a worker; the counters are for anybody to read.
 *
 * A fragment belongs to a packet by addresses, identification and VLAN, and IPv4's also by
 * protocol (RFC 791). IPv6's does not: there only the first fragment's next header counts (RFC
 * 8200, 4.5), so a later one takes its protocol from the first, whatever it says itself.
 *
 * An entry lives as a receiver's queue does, so that nobody can have a fragment charged to one
 * packet that ends up in another:
 * - it ends when all bytes of the packet have been seen: bytes are summed up and not marked one by
 *   one, so that with duplicates it ends too early, which leaves later ones `unknown`, and never
 *   too late;
 * - a later fragment before its first is `unknown`, and its bytes are remembered;
 * - of two first fragments that differ the former counts, as with receivers, who throw away what
 *   they have: the other one is in `conflict`. It would give the packet other ports than those
 *   that later fragments have been charged by;
 * - a first fragment that no receiver takes, by checksum or length, is not remembered, nor does it
 *   count for a later one that has farther to go (time to live).
 *
 * What is `unknown` or else not understood is said in packet->unparsed, with what is not known of
 * it. That leaves a sender whose first fragment gets lost behind this box, and only there, and who
 * displaces its entry before he sends another.
 *
 * A look costs one cache line, the same that remembering writes; both are done for fragments only.
 * The lines of two addresses are FRAGMENT_LINES, chosen by a secret: who floods the table from one
 * address to another displaces what else is in those lines and nothing more, and who forges
 * addresses fills the table evenly, but does not choose whom he displaces. In a full line the
 * oldest goes.
 */
#ifndef WEIR_CLASSIFY_FRAGMENT_H
#define WEIR_CLASSIFY_FRAGMENT_H

#include <stdint.h>

#include "base/extents.h"
#include "packet/parse.h"
#include "source/source_hash.h"

#define FRAGMENT_SECONDS 60   /* as receivers wait; and up to an eighth more: time is coarse */
#define FRAGMENT_SETS    4096 /* lines: 256 KiB, 16384 packets */
#define FRAGMENT_WAYS    4
#define FRAGMENT_LINES   8 /* of two addresses: 32 packets under way at a time */

struct fragment {
	uint32_t tag;
	uint32_t time : 24;          /* coarse, of the first fragment: wraps after 12 days */
	uint32_t ttl : 8;            /* of the first fragment */
	uint16_t src_port, dst_port; /* host order */
	uint8_t proto;
	uint8_t used : 1;
	uint8_t first : 1; /* it has been seen; */
	uint8_t vague : 1; /* but said neither protocol nor ports */
	uint8_t last : 1;  /* the last one has been seen: how long the packet is */
	int16_t missing;   /* units of 8 bytes; less by the packet's length until `last` */
};

struct fragment_set {
	struct fragment way[FRAGMENT_WAYS];
} __attribute__((aligned(64)));

struct fragments {
	struct source_key key;
	int32_t valid;      /* coarse ticks that a first fragment is remembered for */
	uint8_t time_shift; /* ticks to coarse ticks: 1/8 to 1/16 second, wraps after 8 years */
	uint64_t first;     /* first fragments seen */
	uint64_t found;     /* later ones that got their ports */
	uint64_t unknown;   /* later ones that did not */
	uint64_t conflict;  /* first ones that contradict another */
	struct fragment_set sets[FRAGMENT_SETS];
};

/*
 * An empty table, in memory aligned to 64 bytes, on a counter of hz ticks a second. Control, before
 * its owner starts.
 */
void fragments_init(struct fragments *fragments, uint64_t secret, uint64_t hz);

/*
 * Adds what of the table a fragment may touch: its head, and one line. As fragments_ports(), before
 * it. The owner.
 */
void fragments_extents(const struct fragments *fragments, const uint8_t *data,
	const struct packet *packet, struct extents *extents);

/*
 * Gives a fragment (packet->fragment is not PACKET_WHOLE) its src_port and dst_port, a first one of
 * TCP its flags, and in IPv6 its proto, if they are known; packet_flow_hash() is then that of the
 * packet's flow. If they are not, packet->unparsed says why, and packet->unknown what. To be called
 * once for every fragment, in the order of their arrival. `data` is what it was parsed from; now is
 * in ticks. The owner.
 */
void fragments_ports(
	struct fragments *fragments, const uint8_t *data, uint64_t now, struct packet *packet);

#endif
