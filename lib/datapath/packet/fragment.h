/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ports of a packet's later fragments. Only the first fragment has them, and all must be
 * charged alike. So a table stores the ports of first fragments. Pure; no DPDK. One owner, a
 * worker. Any thread may read the counters.
 *
 * A fragment belongs to a packet by the bytes before its IP header (addresses of the link, tags,
 * labels, session), addresses, identification, and in IPv4 the protocol (RFC 791). In IPv6 the
 * next header of the first fragment counts (RFC 8200, 4.5), so a later one takes its protocol from
 * the first.
 *
 * A sender may try to have fragments charged by a first fragment that the receiver does not use
 * for them: the receiver drops it, or drops all fragments of the packet and starts again. So a
 * first fragment lends its ports only
 * - if all stock receivers take it: its headers are without options, and a transport header is all
 *   there. In two tunnels, one in the other, it lends none;
 * - for FRAGMENT_LEND_S, less than any receiver waits;
 * - to fragments that follow it in order and without a gap. After another one of the same packet,
 *   or one that a receiver would not take, it lends none any more;
 * - to fragments with a time to live that is no larger than its own.
 * Until the entry is displaced or FRAGMENT_SECONDS old, another first fragment of the packet with
 * other ports is in `conflict`. For FRAGMENT_LEND_S this also holds for a packet that is complete.
 *
 * packet->unparsed says why a fragment is not understood, and packet->unknown what of it. One way
 * is left to a sender: a first fragment that gets lost after this box, then other packets that
 * displace its entry, and then another first fragment.
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

#define FRAGMENT_SECONDS 60   /* receivers wait so long; and up to an eighth more: time is coarse */
#define FRAGMENT_LEND_S  2    /* senders send all fragments of a packet at once */
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
	uint8_t first : 1;  /* the first fragment has been seen */
	uint8_t closed : 1; /* lends no ports */
	uint8_t whole : 1;  /* all fragments have been seen, in order */
	uint16_t next;      /* offset of the next one, in units of 8 bytes */
};

struct fragment_set {
	struct fragment way[FRAGMENT_WAYS];
} __attribute__((aligned(64)));

struct fragments {
	struct source_key key;
	int32_t valid;      /* coarse ticks for which an entry counts */
	int32_t lends;      /* coarse ticks for which a first fragment lends its ports */
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
 * once for every fragment, in the order of their arrival. `data` is what it was parsed from; frame
 * is the length of the whole frame, and now is in ticks. The owner.
 */
void fragments_ports(struct fragments *fragments, const uint8_t *data, uint32_t frame, uint64_t now,
	struct packet *packet);

#endif
