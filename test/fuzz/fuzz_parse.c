/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a frame, of which the parser gets a copy of exactly the readable part.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "classify/parse.h"

#define L2_MAX (14 + 4 * 4 + 8 * 4) /* Ethernet, tags, labels: more than PPPoE takes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void check_addresses(const struct packet *packet, uint32_t len)
{
	const uint32_t size = packet->family == PACKET_IPV4 ? 4 : 16;

	check(packet->family == PACKET_IPV4 || packet->family == PACKET_IPV6);
	check(packet->src_off > packet->l2_len);
	check(packet->dst_off == packet->src_off + size);
	check(packet->dst_off + size <= len);
	check(packet->l4_off == 0 || packet->l4_off >= packet->dst_off + size);
	check(packet->l4_off == 0 || packet->fragment != PACKET_FRAGMENT_LATER);
	check((packet->id_off != 0) == (packet->fragment != PACKET_WHOLE));
	check(packet->id_off + (size == 4 ? 2 : 4) <= (int64_t)len);
}

static void check_packet(const struct packet *packet, uint32_t len)
{
	check(packet->l2_len <= len && packet->l2_len <= L2_MAX);
	check(packet->vlan == PARSE_NO_VLAN || packet->vlan < 4096);
	check(packet->dscp < 64 && packet->fragment <= 2 && packet->ecn < 4);
	check(packet->l4_off == 0 || packet->l4_off + 4u <= len);
	if (packet->family != PACKET_OTHER) {
		check_addresses(packet, len);
		return;
	}
	check(packet->src_off == 0 && packet->dst_off == 0 && packet->l4_off == 0);
	check(packet->dscp == 0 && packet->proto == 0 && packet->fragment == 0);
	check(packet->ecn == 0 && packet->tcp_flags == 0);
}

/* What a cut frame says must not contradict the whole. */
static void check_cut(const uint8_t *frame, uint32_t len, const struct packet *whole)
{
	struct packet cut;

	packet_parse(frame, len, &cut);
	check_packet(&cut, len);
	check(cut.vlan == whole->vlan || cut.vlan == PARSE_NO_VLAN);
	if (cut.family == PACKET_OTHER)
		return;
	check(cut.family == whole->family && cut.dscp == whole->dscp);
	check(cut.src_off == whole->src_off && cut.dst_off == whole->dst_off);
	check(cut.proto == whole->proto || cut.proto == 0);
	check(cut.l4_off == 0 || packet_flow_hash(&cut, frame) == packet_flow_hash(whole, frame));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t len = size < PARSE_BYTES_MAX ? size : PARSE_BYTES_MAX;
	uint8_t *frame = calloc(1, len);
	struct packet packet, again;

	if (len > 0)
		memcpy(frame, data, len);
	memset(&packet, 0, sizeof(packet));
	memset(&again, 0xff, sizeof(again));
	packet_parse(frame, len, &packet);
	packet_parse(frame, len == PARSE_BYTES_MAX ? UINT32_MAX : len, &again);
	check(memcmp(&packet, &again, sizeof(packet)) == 0);
	check_packet(&packet, len);
	if (len > 0)
		check_cut(frame, data[0] % len, &packet);
	free(frame);
	return 0;
}
