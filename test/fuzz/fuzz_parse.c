/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a frame, of which the parser gets a copy of exactly the readable part. The first two
 * bytes say where it is cut and which port is VXLAN's.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packet/tunnel.h"

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

/* Inside or outside, the marks and the way to the header are those of outside. */
static void check_tunnels(const uint8_t *frame, uint32_t len, uint16_t port)
{
	const struct tunnels tunnels = {.classify = TUNNELS_INNER, .vxlan_port = port};
	struct packet outside, inside;

	packet_parse(frame, len, &outside);
	inside = outside;
	packet_enter_tunnels(frame, len, &tunnels, &inside);
	check_packet(&inside, len);
	check(inside.l2_len == outside.l2_len && inside.vlan == outside.vlan);
	check(inside.dscp == outside.dscp && inside.ecn == outside.ecn);
	check((inside.family == PACKET_OTHER) == (outside.family == PACKET_OTHER));
	check(inside.src_off >= outside.src_off);
	if (inside.src_off == outside.src_off)
		check(memcmp(&inside, &outside, sizeof(inside)) == 0);
	else
		check(outside.l4_off != 0 && inside.src_off > outside.l4_off);
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
	check(memcmp(&packet, &again, sizeof(packet)) == 0);
	check_packet(&packet, len);
	cut = len > 0 ? data[0] % len : 0;
	check_cut(frame, cut, &packet);
	check_tunnels(frame, len, data[1] & 1 ? 4789 : data[1]);
	check_tunnels(frame, cut, 4789);
	free(frame);
	return 0;
}
