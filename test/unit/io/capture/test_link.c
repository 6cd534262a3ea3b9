/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of each supported link type, converted to frames: raw ones get a header.
 */
#include "check.h"

#include <pcap/dlt.h>

#include "capture/capture.h"

#define RAW_OF_OPENBSD 14
#define BYTES          4096

static uint8_t bytes[BYTES];

static struct frame frame_of(int link, uint32_t captured, uint32_t on_wire)
{
	struct frame frame;
	const struct capture_packet packet = {.link = link,
		.time_ns = 123456789,
		.bytes = on_wire,
		.captured = captured,
		.data = bytes};

	memset(&frame, 0xee, sizeof(frame));
	for (unsigned i = 1; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	link_frame(&packet, &frame);
	assert_true(frame.time_ns == 123456789);
	assert_true(frame.index == UINT64_C(0xeeeeeeeeeeeeeeee)); /* the caller's */
	return frame;
}

TEST(test_supported)
{
	static const int known[] = {DLT_EN10MB, DLT_RAW, DLT_IPV4, DLT_IPV6, RAW_OF_OPENBSD};
	static const int unknown[] = {DLT_NULL, DLT_LINUX_SLL, DLT_PPP, DLT_IEEE802_11, 13, 15, -1};

	for (size_t i = 0; i < COUNT(known); i++)
		assert_true(link_supported(known[i]));
	for (size_t i = 0; i < COUNT(unknown); i++)
		assert_false(link_supported(unknown[i]));
}

TEST(test_ethernet)
{
	static const struct {
		uint32_t captured, bytes, in_frame;
		bool cut;
	} rows[] = {
		{60, 60, 60, false},
		{60, 61, 60, true},
		{0, 60, 0, true},
		{0, 0, 0, false},
		{FRAME_BYTES, FRAME_BYTES, FRAME_BYTES, false},
		{FRAME_BYTES + 1, FRAME_BYTES + 1, FRAME_BYTES, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct frame frame = frame_of(DLT_EN10MB, rows[i].captured, rows[i].bytes);

		assert_int_equal(frame.bytes, rows[i].bytes);
		assert_int_equal(frame.captured, rows[i].in_frame);
		assert_int_equal(frame.cut, rows[i].cut);
		assert_memory_equal(frame.data, bytes, rows[i].in_frame);
		if (rows[i].in_frame < FRAME_BYTES)
			assert_int_equal(frame.data[rows[i].in_frame], 0xee);
	}
}

TEST(test_raw)
{
	static const int links[] = {DLT_RAW, DLT_IPV4, DLT_IPV6, RAW_OF_OPENBSD};
	static const struct {
		uint8_t first;
		uint16_t type;
	} rows[] = {{0x45, 0x0800}, {0x4f, 0x0800}, {0x60, 0x86dd}, {0x6f, 0x86dd}, {0x55, 0},
		{0x05, 0}};
	static const uint8_t zero[12];

	for (size_t i = 0; i < COUNT(links); i++)
		for (size_t k = 0; k < COUNT(rows); k++) {
			struct frame frame;

			bytes[0] = rows[k].first;
			frame = frame_of(links[i], 40, 50);
			assert_int_equal(frame.bytes, 64);
			assert_int_equal(frame.captured, 54);
			assert_true(frame.cut);
			assert_memory_equal(frame.data, zero, sizeof(zero));
			assert_int_equal(frame.data[12] << 8 | frame.data[13], rows[k].type);
			assert_memory_equal(frame.data + 14, bytes, 40);
			assert_int_equal(frame.data[54], 0xee);
		}
}

/* An empty packet: the header ends before the type. A long one is cut to the available room. */
TEST(test_raw_ends)
{
	struct frame frame;

	bytes[0] = 0x45;
	frame = frame_of(DLT_RAW, 0, 20);
	assert_int_equal(frame.captured, 12);
	assert_int_equal(frame.bytes, 34);
	assert_true(frame.cut);
	frame = frame_of(DLT_RAW, FRAME_BYTES, FRAME_BYTES);
	assert_int_equal(frame.captured, FRAME_BYTES);
	assert_int_equal(frame.bytes, FRAME_BYTES + 14);
	assert_false(frame.cut);
	assert_memory_equal(frame.data + 14, bytes, FRAME_BYTES - 14);
}
