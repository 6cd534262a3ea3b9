/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Fragments in any order and time, beside a model that forgets nothing: what the table knows is
 * what the model knows, and it never knows what the model does not. Few packets at once, so that
 * the table has room for all of them, are known whenever the model knows them.
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
#define TICK    (HZ / 8) /* the table's is no longer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct model {
	bool seen;
	uint64_t time;
	uint16_t port;
};

static void check_fragment(int condition)
{
	if (!condition)
		abort();
}

/* A UDP fragment of packet `number`: 4 pairs of addresses of either family, 8 identifications. */
static uint32_t build_fragment(uint8_t *frame, unsigned number, bool first, uint16_t port)
{
	const bool ipv6 = number & 1;
	const uint8_t host = 1 + (number >> 1 & 3), id = number >> 3 & 7;

	memset(frame, 0, LEN);
	frame[12] = ipv6 ? 0x86 : 0x08;
	frame[13] = ipv6 ? 0xdd : 0x00;
	if (ipv6) {
		const uint8_t header[] = {0x60, 0, 0, 0, 0, 16, 44, 64};
		const uint8_t fragment[] = {17, 0, 0, first ? 1 : 16, 0, 0, 0, id};

		memcpy(frame + 14, header, sizeof(header));
		frame[14 + 8 + 15] = host;
		memcpy(frame + 54, fragment, sizeof(fragment));
		frame[62] = port >> 8;
		frame[63] = port & 0xff;
		return LEN;
	}
	memcpy(frame + 14,
		(const uint8_t[]){0x45, 0, 0, 28, 0, id, first ? 0x20 : 0, !first, 64, 17}, 10);
	frame[26] = host;
	frame[34] = port >> 8;
	frame[35] = port & 0xff;
	return LEN;
}

static void step_fragments(
	struct fragments *table, struct model *model, const uint8_t *op, uint64_t now, bool roomy)
{
	const unsigned number = op[0] % (roomy ? FRAGMENT_WAYS : PACKETS);
	const bool first = op[1] & 1;
	const uint16_t port = 1 + op[2];
	struct model *known = &model[number];
	uint8_t frame[LEN];
	struct packet packet;

	packet_parse(frame, build_fragment(frame, number, first, port), &packet);
	check_fragment(packet.fragment == (first ? PACKET_FRAGMENT_FIRST : PACKET_FRAGMENT_LATER));
	fragments_ports(table, frame, now, &packet);
	if (first) {
		*known = (struct model){true, now, port};
		check_fragment(packet.src_port == port);
		return;
	}
	if (packet.src_port != 0) {
		check_fragment(known->seen && packet.src_port == known->port);
		check_fragment(now - known->time <= FRAGMENT_SECONDS * HZ + 2 * TICK);
	} else if (roomy) {
		check_fragment(!known->seen || now - known->time > FRAGMENT_SECONDS * HZ);
	}
}

/* A byte for the room, then four a step: packet, which fragment, port, time since the last. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fragments table;
	struct model model[PACKETS] = {0};
	uint64_t now = HZ;

	if (size == 0)
		return 0;
	fragments_init(&table, data[0], HZ);
	for (size_t at = 1; at + 4 <= size; at += 4) {
		now += (uint64_t)data[at + 3] * data[at + 3] * (HZ / 8192);
		step_fragments(&table, model, data + at, now, data[0] & 1);
	}
	check_fragment(table.first + table.found + table.unknown == (size - 1) / 4);
	return 0;
}
