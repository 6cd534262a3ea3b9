/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "frame_layers.h"

static void put_layer_u8(struct frame *frame, uint8_t byte)
{
	assert_true(frame->len < sizeof(frame->bytes));
	frame->bytes[frame->len++] = byte;
}

static void put_layer_u16(struct frame *frame, uint16_t word)
{
	put_layer_u8(frame, word >> 8);
	put_layer_u8(frame, word & 0xff);
}

static void put_pattern(struct frame *frame, unsigned n, uint8_t start)
{
	for (unsigned i = 0; i < n; i++)
		put_layer_u8(frame, start + i);
}

static void begin_ip(struct frame *frame, bool ipv6)
{
	assert_true(frame->n_ip < COUNT(frame->l3));
	frame->l3[frame->n_ip] = frame->len;
	frame->ipv6[frame->n_ip++] = ipv6;
}

static void put_ipv4(struct frame *frame, const unsigned *args)
{
	begin_ip(frame, false);
	put_layer_u8(frame, 0x45 + args[2]);
	put_layer_u8(frame, DSCP_EF << 2 | ECT1);
	put_layer_u16(frame, 0); /* total length, set at the end */
	put_layer_u16(frame, 0x1234);
	put_layer_u16(frame, args[3]);
	put_layer_u8(frame, 64);
	put_layer_u8(frame, args[1]);
	put_layer_u16(frame, 0);
	put_pattern(frame, 8, 10 * frame->n_ip);
	put_pattern(frame, args[2] * 4, 1);
}

static void put_ipv6(struct frame *frame, const unsigned *args)
{
	begin_ip(frame, true);
	put_layer_u16(frame, 6 << 12 | DSCP_EF << 6 | ECT1 << 4);
	put_layer_u16(frame, 0xf10);
	put_layer_u16(frame, 0); /* payload length, set at the end */
	put_layer_u8(frame, args[1]);
	put_layer_u8(frame, 64);
	put_pattern(frame, 32, 0x20 * frame->n_ip);
}

static void put_tunnel(struct frame *frame, const unsigned *args)
{
	if (args[0] == GRE_HEADER) {
		put_layer_u16(frame, args[1]);
		put_layer_u16(frame, args[2]);
		for (unsigned flag = 0x8000; flag >= 0x1000; flag >>= 1)
			put_pattern(frame, flag != 0x4000 && args[1] & flag ? 4 : 0, 0x90);
	} else if (args[0] == UDP_HEADER) {
		put_layer_u16(frame, 0xc123);
		put_layer_u16(frame, args[1]);
		put_pattern(frame, 4, 0);
	} else {
		put_layer_u8(frame, args[1]);
		put_pattern(frame, 7, 0x30);
	}
}

static void put_layer(struct frame *frame, const unsigned *args)
{
	switch (args[0]) {
	case ETHER:
		put_pattern(frame, 12, 0xa0);
		put_layer_u16(frame, args[1]);
		break;
	case TAG:
		put_layer_u16(frame, args[1]);
		put_layer_u16(frame, args[2]);
		break;
	case V4:
		put_ipv4(frame, args);
		break;
	case V6:
		put_ipv6(frame, args);
		break;
	case EXT:
		put_layer_u8(frame, args[1]);
		put_layer_u8(frame, args[2]);
		put_pattern(frame, args[3] - 2, 0);
		break;
	case V6FRAG:
		put_layer_u8(frame, args[1]);
		put_layer_u8(frame, 0);
		put_layer_u16(frame, args[2]);
		put_layer_u16(frame, 0xabcd);
		put_layer_u16(frame, 0xef01);
		break;
	case LABEL:
		put_layer_u16(frame, args[1] >> 4);
		put_layer_u16(frame, (args[1] & 0xf) << 12 | args[2] << 8 | 64);
		break;
	case PPPOE:
		put_layer_u16(frame, 0x1100);
		put_pattern(frame, 4, 0x70);
		put_layer_u16(frame, args[1]);
		break;
	case GRE_HEADER:
	case UDP_HEADER:
	case VXLAN_HEADER:
		put_tunnel(frame, args);
		break;
	case PATCH:
		return;
	default:
		put_pattern(frame, args[1], PATTERN);
	}
	if (args[0] != PADDING)
		frame->end = frame->len;
}

static void put_lengths(struct frame *frame)
{
	for (unsigned i = 0; i < frame->n_ip; i++) {
		const unsigned length = frame->end - frame->l3[i] - (frame->ipv6[i] ? 40 : 0);
		uint8_t *at = frame->bytes + frame->l3[i] + (frame->ipv6[i] ? 4 : 2);

		at[0] = length >> 8;
		at[1] = length & 0xff;
	}
}

void build_frame(const layer *layers, struct frame *frame)
{
	*frame = (struct frame){0};
	for (unsigned i = 0; i < LAYERS_MAX && layers[i][0] != END; i++)
		put_layer(frame, layers[i]);
	put_lengths(frame);
	for (unsigned i = 0; i < LAYERS_MAX && layers[i][0] != END; i++)
		if (layers[i][0] == PATCH)
			frame->bytes[layers[i][1]] = layers[i][2];
}

void expect_fields(const char *name, const struct packet *got, const struct packet *want)
{
	const int rows[][2] = {
		{got->family, want->family},
		{got->dscp, want->dscp},
		{got->proto, want->proto},
		{got->fragment, want->fragment},
		{got->l2_len, want->l2_len},
		{got->vlan, want->vlan},
		{got->src_off, want->src_off},
		{got->dst_off, want->dst_off},
		{got->l4_off, want->l4_off},
		{got->ecn, want->ecn},
		{got->id_off, want->id_off},
	};
	static const char *const fields[] = {"family", "dscp", "proto", "fragment", "l2_len",
		"vlan", "src_off", "dst_off", "l4_off", "ecn", "id_off"};

	for (unsigned i = 0; i < COUNT(rows); i++)
		if (rows[i][0] != rows[i][1])
			fail_msg("%s: %s is %d, not %d", name, fields[i], rows[i][0], rows[i][1]);
}

void put_checksum(uint8_t *bytes, unsigned l3)
{
	uint32_t sum = 0;

	bytes[l3 + 10] = bytes[l3 + 11] = 0;
	for (unsigned at = 0; at < (bytes[l3] & 0xfu) * 4; at += 2)
		sum += (uint32_t)(bytes[l3 + at] << 8 | bytes[l3 + at + 1]);
	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	bytes[l3 + 10] = (uint8_t)(~sum >> 8);
	bytes[l3 + 11] = (uint8_t)~sum;
}
