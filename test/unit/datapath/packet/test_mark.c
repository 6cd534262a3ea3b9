/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests marked frames byte by byte. Frames are at the end of heap copies of exactly the bytes that
 * may be touched, so that AddressSanitizer detects any other access.
 */
#include "check.h"

#include "base/prng.h"
#include "packet/mark.h"
#include "policy/policy.h"

enum { NOT_ECT = 0, ECT1 = 1, ECT0 = 2, CE = 3 };
enum { ETHER = 14, TAG = 4, V4 = 20, V6 = 40, CHECKSUM = 10, FRAME = 120 };

/* RFC 1071, byte by byte, unlike the incremental update under test. */
static uint16_t checksum_of(const uint8_t *header, unsigned len)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < len; i++)
		if (i != CHECKSUM && i != CHECKSUM + 1)
			sum += (uint32_t)header[i] << (i % 2 ? 0 : 8);
	while (sum > 0xffff)
		sum = sum % 0x10000 + sum / 0x10000;
	return (uint16_t)(0xffff - sum);
}

static uint16_t checksum_in(const uint8_t *header)
{
	return (uint16_t)(header[CHECKSUM] << 8 | header[CHECKSUM + 1]);
}

static void put_checksum(uint8_t *header, uint16_t checksum)
{
	header[CHECKSUM] = checksum >> 8;
	header[CHECKSUM + 1] = checksum & 0xff;
}

/* Builds a random frame with a UDP packet; returns the offset of its IP header. */
static unsigned build_marked_frame(
	uint8_t *frame, int version, bool tagged, uint8_t dscp, uint8_t ecn, struct prng *prng)
{
	unsigned l3 = ETHER + (tagged ? TAG : 0), tc = (unsigned)dscp << 2 | ecn;
	uint8_t *ip = frame + l3;

	for (unsigned i = 0; i < FRAME; i++)
		frame[i] = (uint8_t)prng_next(prng);
	memcpy(frame + 12, "\x81\x00\x01\x23", tagged ? 4 : 0);
	memcpy(ip - 2, version == 4 ? "\x08\x00" : "\x86\xdd", 2);
	if (version == 4) {
		memcpy(ip, "\x45\x00\x00\x40", 4);
		ip[1] = (uint8_t)tc;
		ip[9] = 17;
		put_checksum(ip, checksum_of(ip, V4));
	} else {
		ip[0] = (uint8_t)(0x60 | tc >> 4);
		ip[1] = (uint8_t)(tc << 4 | (ip[1] & 0xf));
		memcpy(ip + 4, "\x00\x20\x11", 3);
	}
	return l3;
}

/* Marks a heap copy of exactly the bytes that may be touched, then copies it back. */
static bool mark_exactly(uint8_t *frame, uint32_t len, const struct packet *packet, int mark)
{
	uint8_t *copy = malloc(len ? len : 1);
	bool marked;

	assert_non_null(copy);
	memcpy(copy, frame, len);
	marked = mark_frame(copy, len, packet, mark);
	memcpy(frame, copy, len);
	free(copy);
	return marked;
}

static bool parse_and_mark(uint8_t *frame, uint32_t len, int mark)
{
	struct packet packet;

	packet_parse(frame, len, &packet);
	return mark_exactly(frame, len, &packet, mark);
}

static const struct {
	int mark;
	uint8_t dscp, ecn;
	bool marked;
	uint8_t dscp_after, ecn_after;
} cases[] = {
	{MARK_ECN, 0, NOT_ECT, false, 0, NOT_ECT},
	{MARK_ECN, 46, NOT_ECT, false, 46, NOT_ECT},
	{MARK_ECN, 0, ECT0, true, 0, CE},
	{MARK_ECN, 0, ECT1, true, 0, CE},
	{MARK_ECN, 63, ECT0, true, 63, CE},
	{MARK_ECN, 46, ECT1, true, 46, CE},
	{MARK_ECN, 46, CE, true, 46, CE},
	{0, 46, NOT_ECT, true, 0, NOT_ECT},
	{0, 46, CE, true, 0, CE},
	{8, 0, ECT0, true, 8, ECT0},
	{8, 63, ECT1, true, 8, ECT1},
	{8, 8, NOT_ECT, true, 8, NOT_ECT},
	{63, 0, NOT_ECT, true, 63, NOT_ECT},
	{63, 63, CE, true, 63, CE},
	{33, 30, ECT1, true, 33, ECT1},
};

/* Checks that marking changes only the byte of DSCP and ECN and the checksum. */
static void check_case(unsigned i, int version, bool tagged, struct prng *prng)
{
	uint8_t before[FRAME], after[FRAME], want[FRAME];
	unsigned l3 = build_marked_frame(
		before, version, tagged, cases[i].dscp, cases[i].ecn, prng);
	unsigned tc = (unsigned)cases[i].dscp_after << 2 | cases[i].ecn_after;

	memcpy(after, before, FRAME);
	memcpy(want, before, FRAME);
	if (version == 4) {
		want[l3 + 1] = (uint8_t)tc;
		put_checksum(want + l3, checksum_of(want + l3, V4));
	} else {
		want[l3] = (uint8_t)(0x60 | tc >> 4);
		want[l3 + 1] = (uint8_t)((tc & 0xf) << 4 | (before[l3 + 1] & 0xf));
	}
	if (parse_and_mark(after, FRAME, cases[i].mark) != cases[i].marked)
		fail_msg("case %u, IPv%d: %smarked", i, version, cases[i].marked ? "not " : "");
	if (memcmp(after, want, FRAME) != 0)
		fail_msg("case %u, IPv%d: the frame is not as expected", i, version);
}

TEST(test_cases)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < COUNT(cases); i++)
		for (unsigned variant = 0; variant < 4; variant++)
			check_case(i, variant & 1 ? 4 : 6, variant & 2, &prng);
}

/* Options are included in the checksum, and marking does not change them. */
TEST(test_options)
{
	enum { HEADER = 60 };
	uint8_t frame[FRAME];
	struct prng prng;
	unsigned l3;

	prng_seed(&prng, 2);
	l3 = build_marked_frame(frame, 4, false, 10, ECT0, &prng);
	frame[l3] = 0x4f;
	frame[l3 + 3] = HEADER + 8;
	put_checksum(frame + l3, checksum_of(frame + l3, HEADER));
	assert_true(parse_and_mark(frame, FRAME, 34));
	assert_int_equal(frame[l3 + 1], 34 << 2 | ECT0);
	assert_int_equal(checksum_in(frame + l3), checksum_of(frame + l3, HEADER));
}

/* Frames without IP, and frames with all bytes of the IP header and one fewer. */
TEST(test_unmarkable)
{
	static const struct {
		int version;
		bool tagged;
		uint32_t len;
		bool marked;
	} rows[] = {
		{4, false, ETHER + V4, true},
		{4, false, ETHER + V4 - 1, false},
		{4, true, ETHER + TAG + V4, true},
		{4, true, ETHER + TAG + V4 - 1, false},
		{6, false, ETHER + V6, true},
		{6, false, ETHER + V6 - 1, false},
		{6, true, ETHER + TAG + V6, true},
		{6, true, ETHER + TAG + V6 - 1, false},
		{4, false, ETHER + 1, false},
		{4, false, ETHER, false},
		{4, false, 0, false},
	};
	struct prng prng;

	prng_seed(&prng, 3);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint8_t frame[FRAME], before[FRAME];
		struct packet packet;

		build_marked_frame(frame, rows[i].version, rows[i].tagged, 0, ECT0, &prng);
		memcpy(before, frame, FRAME);
		packet_parse(frame, FRAME, &packet); /* e.g. a whole buffer chain */
		if (mark_exactly(frame, rows[i].len, &packet, MARK_ECN) != rows[i].marked)
			fail_msg("row %u", i);
		assert_int_equal(memcmp(frame, before, FRAME) != 0, rows[i].marked);
		packet.family = PACKET_OTHER;
		assert_false(mark_exactly(before, FRAME, &packet, MARK_ECN));
		assert_false(mark_exactly(before, FRAME, &packet, 8));
	}
}

/*
 * Every change from one value of the byte to another, in random headers. The updated checksum
 * equals a new one.
 */
TEST(test_checksum_everywhere)
{
	const uint64_t seed = 4;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned tos = 0; tos < 256; tos++)
		for (int mark = MARK_ECN; mark < 64; mark++) {
			uint8_t frame[FRAME];
			unsigned l3 = build_marked_frame(frame, 4, false, tos >> 2, tos & 3, &prng);

			parse_and_mark(frame, FRAME, mark);
			if (checksum_in(frame + l3) != checksum_of(frame + l3, V4))
				fail_msg("seed %" PRIu64 ", TOS %#x, mark %d", seed, tos, mark);
		}
}

/*
 * The two zeros of one's complement. The checksum is 0 before or after the mark, where a wrong
 * update writes 0xffff. Or it is 0xffff before, which receivers accept as 0.
 */
TEST(test_checksum_zeros)
{
	unsigned before_zero = 0, after_zero = 0, before_ones = 0;
	struct prng prng;

	prng_seed(&prng, 5);
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t frame[FRAME], dscp = prng_below(&prng, 64), mark = prng_below(&prng, 64);
		unsigned l3 = build_marked_frame(
			frame, 4, false, i % 3 == 1 ? mark : dscp, ECT1, &prng);
		uint8_t *ip = frame + l3;
		uint32_t id;

		/*
		 * The identification compensates for the checksum, so that the header adds up to
		 * 0xffff.
		 */
		memset(ip + 4, 0, 2);
		id = checksum_of(ip, V4);
		ip[4] = (uint8_t)(id >> 8);
		ip[5] = (uint8_t)id;
		assert_int_equal(checksum_of(ip, V4), 0);
		put_checksum(ip, i % 3 == 2 ? 0xffff : 0);
		if (i % 3 == 1) { /* the same for the header after the mark */
			ip[1] = (uint8_t)(dscp << 2 | ECT1);
			put_checksum(ip, checksum_of(ip, V4));
			after_zero += dscp != mark;
		}
		before_zero += i % 3 == 0 && dscp != mark;
		before_ones += i % 3 == 2 && dscp != mark;
		assert_true(parse_and_mark(frame, FRAME, mark));
		if (dscp != mark)
			assert_int_equal(checksum_in(ip), checksum_of(ip, V4));
		else if (i % 3 == 2) /* no change, so no write */
			assert_int_equal(checksum_in(ip), 0xffff);
	}
	assert_true(before_zero > 900 && after_zero > 900 && before_ones > 900);
}

/* A damaged checksum is not repaired, so that the receiver detects the damage. */
TEST(test_wrong_stays_wrong)
{
	struct prng prng;

	prng_seed(&prng, 6);
	for (unsigned i = 0; i < 2000; i++) {
		uint8_t frame[FRAME];
		unsigned l3 = build_marked_frame(frame, 4, false, 0, ECT0, &prng);
		uint32_t damage = 1 + prng_below(&prng, 0xfffe);
		uint32_t got, want;

		put_checksum(frame + l3, (uint16_t)(checksum_in(frame + l3) ^ damage));
		got = checksum_in(frame + l3) + 0xffffu - checksum_of(frame + l3, V4);
		assert_true(parse_and_mark(frame, FRAME, 46));
		want = checksum_in(frame + l3) + 0xffffu - checksum_of(frame + l3, V4);
		assert_int_equal(got % 0xffff, want % 0xffff);
		assert_int_not_equal(want % 0xffff, 0);
	}
}

/* mark_understood() returns the same as marking with ECN, for any header and length. */
TEST(test_understood)
{
	struct prng prng;

	prng_seed(&prng, 7);
	for (unsigned i = 0; i < 256 * 4; i++) {
		uint8_t frame[FRAME];
		struct packet packet;
		uint32_t len = FRAME;

		build_marked_frame(frame, i & 256 ? 4 : 6, i & 512, i >> 2 & 63, i & 3, &prng);
		packet_parse(frame, FRAME, &packet);
		if (prng_percent(&prng, 50))
			len = prng_below(&prng, FRAME + 1);
		if (prng_percent(&prng, 5))
			packet.family = PACKET_OTHER;
		assert_int_equal(mark_understood(frame, len, &packet),
			mark_frame(frame, len, &packet, MARK_ECN));
	}
}
