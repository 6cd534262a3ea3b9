/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * libpcap reads the written file packet by packet. The test's own reader, which follows only the
 * format, reads it block by block, and finds interfaces and comments.
 */
#include "check.h"
#include "scope.h"

#include "capture/capture.h"
#include "capture/pcapng.h"

#define PACKETS 40

static uint8_t frame[1514];

static char *written_text(size_t *size)
{
	struct pcapng pcapng;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_int_equal(pcapng_begin(&pcapng, out, 256, "weirctl test"), 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		char comment[64];

		snprintf(comment, sizeof(comment), "policy p%u: %s", i,
			i % 3 ? "pass" : "drop, limit");
		assert_int_equal(pcapng_write(&pcapng,
					 &(struct pcapng_packet){
						 .interface = i % 2 ? "w b-to-a" : "w a-to-b",
						 .comment = comment,
						 .time_ns = UINT64_C(1700000000123456789) + i,
						 .bytes = 1514,
						 .captured = 14 + i,
						 .data = frame,
					 }),
			0);
	}
	assert_int_equal(fclose(out), 0);
	return text;
}

TEST(libpcap_reads_it)
{
	size_t size;
	ENDED_BY(free_at) char *text = written_text(&size);
	FILE *file = fmemopen(text, size, "rb");
	struct capture_packet packet;
	ENDED_BY(capture_free) struct capture capture;

	capture_init(&capture, file);
	for (unsigned i = 0; i < PACKETS; i++) {
		if (capture_next(&capture, &packet) != 1)
			fail_msg("packet %u: %s", i, capture_error(&capture));
		assert_int_equal(packet.bytes, 1514);
		assert_int_equal(packet.captured, 14 + i);
		assert_true(packet.time_ns == UINT64_C(1700000000123456789) + i);
		assert_memory_equal(packet.data, frame, 14 + i);
	}
	assert_int_equal(capture_next(&capture, &packet), 0);
}

static uint32_t u32_at(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint16_t u16_at(const char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The value of an option up to the end of its block, which must end with the option 0. */
static const char *option_of(const char *at, const char *end, uint16_t wanted, uint16_t *n)
{
	const char *found = NULL;

	for (;;) {
		uint16_t code = u16_at(at), length = u16_at(at + 2);

		assert_true(at + 4 <= end);
		if (code == 0) {
			assert_int_equal(length, 0);
			assert_ptr_equal(at + 4, end);
			return found;
		}
		if (code == wanted) {
			found = at + 4;
			*n = length;
		}
		at += 4 + (length + 3) / 4 * 4;
	}
}

TEST(blocks_are_strict)
{
	size_t size;
	char *text = written_text(&size), *at = text, *end = text + size;
	unsigned packets = 0, interfaces = 0;

	while (at < end) {
		uint32_t type = u32_at(at), bytes = u32_at(at + 4), captured;
		const char *value, *last = at + bytes - 4;
		char comment[64];
		uint16_t n = 0;

		assert_true(bytes % 4 == 0 && at + bytes <= end);
		assert_int_equal(u32_at(last), bytes);
		if (type == 0x0a0d0d0a) {
			assert_ptr_equal(at, text);
			assert_int_equal(u32_at(at + 8), 0x1a2b3c4d);
			assert_non_null(option_of(at + 24, last, 4, &n));
		} else if (type == 1) {
			value = option_of(at + 16, last, 2, &n);
			assert_memory_equal(value, interfaces++ ? "w b-to-a" : "w a-to-b", n);
			assert_int_equal(*option_of(at + 16, last, 9, &n), 9);
		} else {
			assert_int_equal(type, 6);
			assert_int_equal(u32_at(at + 8), packets % 2);
			captured = u32_at(at + 20);
			value = option_of(at + 28 + (captured + 3) / 4 * 4, last, 1, &n);
			snprintf(comment, sizeof(comment), "policy p%u: %s", packets,
				packets % 3 ? "pass" : "drop, limit");
			assert_int_equal(n, strlen(comment));
			assert_memory_equal(value, comment, n);
			packets++;
		}
		at += bytes;
	}
	assert_int_equal(packets, PACKETS);
	assert_int_equal(interfaces, 2);
	free(text);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)i;
	return run_all_tests();
}
