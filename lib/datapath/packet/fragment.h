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
 * A look costs one cache line, the same that remembering writes; both are done for fragments only.
 * The lines of two addresses are FRAGMENT_LINES, chosen by a secret: who floods the table from one
 * address to another displaces what else is in those lines and nothing more, and who forges
 * addresses fills the table evenly, but does not choose whom he displaces. In a full line the
 * oldest goes.
 *
 * A later fragment that comes before its first, or on another worker's queue, or whose first was
 * displaced, is `unknown` and stays without ports. Of two first fragments the later one counts: it
 * is the next packet with this identification, or somebody's attempt to be charged to two policies
 * that he could have addressed anyhow.
 */
#ifndef WEIR_CLASSIFY_FRAGMENT_H
#define WEIR_CLASSIFY_FRAGMENT_H

#include <stdint.h>

#include "packet/parse.h"
#include "source/source_hash.h"

#define FRAGMENT_SECONDS 5    /* and up to an eighth more: time is coarse */
#define FRAGMENT_SETS    4096 /* lines: 256 KiB, 16384 packets */
#define FRAGMENT_WAYS    4
#define FRAGMENT_LINES   8 /* of two addresses: 32 packets under way at a time */

struct fragment {
	uint32_t tag;
	uint32_t time;               /* coarse, of the first fragment */
	uint16_t src_port, dst_port; /* host order */
	uint8_t proto;
	uint8_t used;
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
	struct fragment_set sets[FRAGMENT_SETS];
};

/*
 * An empty table, in memory aligned to 64 bytes, on a counter of hz ticks a second. Control, before
 * its owner starts.
 */
void fragments_init(struct fragments *fragments, uint64_t secret, uint64_t hz);

/*
 * Gives a fragment (packet->fragment is not PACKET_WHOLE) its src_port and dst_port, and in IPv6
 * its proto, if they are known; packet_flow_hash() is then that of the packet's flow. To be called
 * once for every fragment, in the order of their arrival. `data` is what it was parsed from; now is
 * in ticks. The owner.
 */
void fragments_ports(
	struct fragments *fragments, const uint8_t *data, uint64_t now, struct packet *packet);

#endif
