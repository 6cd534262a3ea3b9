/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Fragments in any order and at any time, with a model that has room for all packets. With few
 * packets, for which the table has room as well, the table decides like the model. Otherwise it
 * gives only ports of the newest first fragment of a packet.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packet/fragment.h"

#define HZ      UINT64_C(1000000000)
#define PACKETS 64
#define LEN     70
#define PPPOE   8        /* bytes of its header, before IP */
#define TICK    (HZ / 8) /* the table's tick is no longer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fragments are 8 bytes each: the first, one after it, and the last. */
#define PIECES 3

struct model {
	bool used, first, closed, whole;
	unsigned next; /* piece */
	uint64_t time; /* when the first fragment arrived, or one before it */
	uint16_t port;
	/* Arrival of the newest first fragment, with or without its packet; and its port. */
	uint64_t newest;
	uint16_t newest_port;
};

static void check_fragment(int condition)
{
	if (!condition)
		abort();
}

/* The checksum of an IPv4 header without options. */
static void put_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned at = 0; at < 20; at += 2)
		sum += (uint32_t)(ip[at] << 8 | ip[at + 1]);
	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

/* A UDP fragment of packet `number`: 4 pairs of addresses of either family, 4 identifications. */
static uint32_t build_ether(uint8_t *frame, unsigned number, unsigned piece, uint16_t port)
{
	const bool ipv6 = number & 1, more = piece + 1 < PIECES;
	const uint8_t host = 1 + (number >> 1 & 3), id = number >> 3 & 3;

	memset(frame, 0, LEN);
	frame[12] = ipv6 ? 0x86 : 0x08;
	frame[13] = ipv6 ? 0xdd : 0x00;
	if (ipv6) {
		const uint8_t header[] = {0x60, 0, 0, 0, 0, 16, 44, 64};
		const uint8_t fragment[] = {17, 0, 0, (uint8_t)(piece * 8 | more), 0, 0, 0, id};

		memcpy(frame + 14, header, sizeof(header));
		frame[14 + 8 + 15] = host;
		memcpy(frame + 54, fragment, sizeof(fragment));
		frame[62] = port >> 8;
		frame[63] = port & 0xff;
		return LEN;
	}
	memcpy(frame + 14,
		(const uint8_t[]){0x45, 0, 0, 28, 0, id, more ? 0x20 : 0, (uint8_t)piece, 64, 17},
		10);
	frame[26] = host;
	frame[34] = port >> 8;
	frame[35] = port & 0xff;
	put_checksum(frame + 14);
	return LEN;
}

/* A fragment as above, of half of the packets in a session of PPPoE. */
static uint32_t build_fragment(
	uint8_t frame[LEN + PPPOE], unsigned number, unsigned piece, uint16_t port)
{
	const uint8_t header[] = {
		0x88, 0x64, 0x11, 0, 0, 7, 0, (uint8_t)(30 + piece), 0, number & 1 ? 0x57 : 0x21};
	uint32_t len = build_ether(frame, number, piece, port);

	if (!(number & 32))
		return len;
	memmove(frame + 14 + PPPOE, frame + 14, len - 14);
	memcpy(frame + 12, header, sizeof(header));
	return len + PPPOE;
}

static void forget(struct model *known)
{
	*known = (struct model){.newest = known->newest, .newest_port = known->newest_port};
}

static void step_first(
	struct model *known, const struct packet *packet, uint64_t now, uint16_t port, bool roomy)
{
	bool differs;

	check_fragment(packet->src_port == port);
	if (known->whole && !known->closed && now - known->time > FRAGMENT_LEND_S * HZ)
		forget(known);
	differs = known->first && known->port != port;
	if (roomy)
		check_fragment(differs == (packet->unparsed == UNPARSED_FRAGMENT_CONFLICT));
	if (packet->unparsed == UNPARSED_FRAGMENT_CONFLICT) {
		check_fragment(known->newest != 0 && known->newest_port != port);
		return;
	}
	*known = (struct model){
		.used = true,
		.first = true,
		.closed = known->used && (known->closed || !known->whole),
		.next = 1,
		.time = now,
		.port = port,
		.newest = now,
		.newest_port = port,
	};
}

static void step_later(
	struct model *known, const struct packet *packet, unsigned piece, uint64_t now, bool roomy)
{
	const bool lends = known->first && !known->closed && !known->whole &&
			   known->next == piece && now - known->time <= FRAGMENT_LEND_S * HZ;

	if (packet->src_port != 0) {
		check_fragment(known->newest != 0 && packet->src_port == known->newest_port);
		check_fragment(now - known->newest <= FRAGMENT_LEND_S * HZ + 2 * TICK);
	} else {
		check_fragment(packet->unparsed == UNPARSED_FRAGMENT_UNKNOWN);
	}
	if (roomy)
		check_fragment(lends == (packet->src_port != 0));
	if (lends) {
		known->next++;
		known->whole = known->next == PIECES;
		return;
	}
	if (!known->used)
		known->time = now;
	known->used = known->closed = true;
}

static void step_fragments(
	struct fragments *table, struct model *model, const uint8_t *op, uint64_t now, bool roomy)
{
	const unsigned number = op[0] % (roomy ? FRAGMENT_WAYS : PACKETS), piece = op[1] % PIECES;
	const uint16_t port = 1 + op[2] % 4;
	struct model *known = &model[number];
	uint8_t frame[LEN + PPPOE];
	struct packet packet;
	uint32_t len;

	if (known->used && now - known->time > FRAGMENT_SECONDS * HZ)
		forget(known);
	len = build_fragment(frame, number, piece, port);
	packet_parse(frame, len, &packet);
	check_fragment(packet.fragment == (piece ? PACKET_FRAGMENT_LATER : PACKET_FRAGMENT_FIRST));
	fragments_ports(table, frame, len, now, &packet);
	if (piece == 0)
		step_first(known, &packet, now, port, roomy);
	else
		step_later(known, &packet, piece, now, roomy);
}

static bool is_near(uint64_t age, uint64_t edge)
{
	return age + 2 * TICK >= edge && age <= edge + 2 * TICK;
}

/* The table's clock is coarse: returns a time that is not close to the end of any entry. */
static uint64_t clear_time(const struct model *model, uint64_t now)
{
	for (unsigned i = 0; i < PACKETS; i++) {
		const uint64_t age = now - model[i].time;

		if (is_near(age, FRAGMENT_SECONDS * HZ) || is_near(age, FRAGMENT_LEND_S * HZ))
			return clear_time(model, now + TICK);
	}
	return now;
}

/* First byte: the room. Then four bytes a step: packet, fragment, port, time since the last one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fragments table;
	struct model model[PACKETS] = {0};
	uint64_t now = HZ;

	if (size == 0)
		return 0;
	fragments_init(&table, data[0], HZ);
	for (size_t at = 1; at + 4 <= size; at += 4) {
		now += (uint64_t)data[at + 3] * data[at + 3] * (HZ / 1024);
		now = clear_time(model, now);
		step_fragments(&table, model, data + at, now, data[0] & 1);
	}
	check_fragment(
		table.first + table.found + table.unknown + table.conflict == (size - 1) / 4);
	return 0;
}
