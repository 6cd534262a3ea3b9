/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a frame; the parser gets a copy of exactly the readable part. The first two bytes
 * give the cut and the port of VXLAN.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packet/parse.h"

#define L2_MAX (14 + 4 * 4 + 8 * 4) /* Ethernet, tags, labels: more than PPPoE takes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parser(int condition)
{
	if (!condition)
		abort();
}

static void check_addresses(const struct packet *packet, uint32_t len)
{
	const uint32_t size = packet->family == PACKET_IPV4 ? 4 : 16;

	check_parser(packet->family == PACKET_IPV4 || packet->family == PACKET_IPV6);
	check_parser(packet->src_off > packet->l2_len);
	check_parser(packet->dst_off == packet->src_off + size);
	check_parser(packet->dst_off + size <= len);
	check_parser(packet->l4_off == 0 || packet->l4_off >= packet->dst_off + size);
	check_parser(packet->l4_off == 0 || packet->fragment != PACKET_FRAGMENT_LATER);
	check_parser((packet->id_off != 0) == (packet->fragment != PACKET_WHOLE));
	check_parser(packet->id_off + (size == 4 ? 2 : 4) <= (int64_t)len);
}

static void check_packet(const struct packet *packet, uint32_t len)
{
	check_parser(packet->l2_len <= len && packet->l2_len <= L2_MAX);
	check_parser(packet->vlan == PARSE_NO_VLAN || packet->vlan < 4096);
	check_parser(packet->dscp < 64 && packet->fragment <= 2 && packet->ecn < 4);
	check_parser(packet->l4_off == 0 || packet->l4_off + 4u <= len);
	if (packet->family != PACKET_OTHER) {
		check_addresses(packet, len);
		return;
	}
	check_parser(packet->src_off == 0 && packet->dst_off == 0 && packet->l4_off == 0);
	check_parser(packet->dscp == 0 && packet->proto == 0 && packet->fragment == 0);
	check_parser(packet->ecn == 0 && packet->tcp_flags == 0);
}

/* The fields of a cut frame must not contradict the whole one. */
static void check_cut(const uint8_t *frame, uint32_t len, const struct packet *whole)
{
	struct packet cut;

	packet_parse(frame, len, &cut);
	check_packet(&cut, len);
	check_parser(cut.vlan == whole->vlan || cut.vlan == PARSE_NO_VLAN);
	if (cut.family == PACKET_OTHER)
		return;
	check_parser(cut.family == whole->family && cut.dscp == whole->dscp);
	check_parser(cut.src_off == whole->src_off && cut.dst_off == whole->dst_off);
	check_parser(cut.proto == whole->proto || cut.proto == 0);
	check_parser(
		cut.l4_off == 0 || packet_flow_hash(&cut, frame) == packet_flow_hash(whole, frame));
}

/* For the inner or the outer packet, marks and the way to the header are those of the outer one. */
static void check_tunnels(const uint8_t *frame, uint32_t len, uint16_t port)
{
	const struct tunnels tunnels = {.classify = TUNNELS_INNER, .vxlan_port = port};
	struct packet outside, inside;

	packet_parse(frame, len, &outside);
	inside = outside;
	packet_enter_tunnels(frame, len, &tunnels, &inside);
	check_packet(&inside, len);
	check_parser(inside.l2_len == outside.l2_len && inside.vlan == outside.vlan);
	check_parser(inside.dscp == outside.dscp && inside.ecn == outside.ecn);
	check_parser((inside.family == PACKET_OTHER) == (outside.family == PACKET_OTHER));
	check_parser(inside.src_off >= outside.src_off);
	if (inside.src_off == outside.src_off) {
		/* The parser may have found that the inner packet cannot be parsed. */
		check_parser(inside.unparsed || !outside.unparsed);
		outside.unparsed = inside.unparsed;
		outside.unknown |= inside.unknown;
		check_parser(memcmp(&inside, &outside, sizeof(inside)) == 0);
	} else {
		check_parser(outside.l4_off != 0 && inside.src_off > outside.l4_off);
	}
	packet_flow_hash(&inside, frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t len, cut;
	struct packet packet, again;
	uint8_t *frame;

	if (size < 2)
		return 0;
	size -= 2;
	len = size < PARSE_BYTES_MAX ? size : PARSE_BYTES_MAX;
	frame = calloc(1, len);
	if (len > 0)
		memcpy(frame, data + 2, len);
	memset(&packet, 0, sizeof(packet));
	memset(&again, 0xff, sizeof(again));
	packet_parse(frame, len, &packet);
	packet_parse(frame, len == PARSE_BYTES_MAX ? UINT32_MAX : len, &again);
	check_parser(memcmp(&packet, &again, sizeof(packet)) == 0);
	check_packet(&packet, len);
	cut = len > 0 ? data[0] % len : 0;
	check_cut(frame, cut, &packet);
	check_tunnels(frame, len, data[1] & 1 ? 4789 : data[1]);
	check_tunnels(frame, cut, 4789);
	free(frame);
	return 0;
}
