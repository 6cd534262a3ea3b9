/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Buckets of sources: each source has one, and sources that burst together have adjacent buckets.
 */
#include "check.h"

#include "reta.h"

#define ALONE           \
	{               \
		32, 128 \
	}

static const uint8_t macs[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

static struct packet make_ipv4_packet(uint8_t *frame, uint32_t src)
{
	const uint8_t addr[] = {src >> 24, src >> 16 & 0xff, src >> 8 & 0xff, src & 0xff};

	memcpy(frame, macs, sizeof(macs));
	memcpy(frame + 26, addr, sizeof(addr));
	return (struct packet){.family = PACKET_IPV4, .l2_len = 14, .src_off = 26};
}

static uint8_t bucket_of_ipv4(const struct place_key *key, uint32_t src)
{
	uint8_t frame[64] = {0};
	struct packet packet = make_ipv4_packet(frame, src);

	return reta_bucket(key, &packet, frame);
}

static uint8_t bucket_of_ipv6(const struct place_key *key, uint64_t subnet, uint64_t host)
{
	uint8_t frame[64] = {0};
	struct packet packet = {.family = PACKET_IPV6, .l2_len = 14, .src_off = 22};

	for (unsigned i = 0; i < 8; i++) {
		frame[22 + i] = (uint8_t)(subnet >> (56 - 8 * i));
		frame[30 + i] = (uint8_t)(host >> (56 - 8 * i));
	}
	return reta_bucket(key, &packet, frame);
}

/* Consecutive sources of a group have different, consecutive buckets. */
TEST(test_group)
{
	static const struct {
		struct place_key key;
		uint32_t first, step;
		unsigned n;
	} cases[] = {
		{{24, 64}, 0x0a000000, 1, 256},
		{{24, 64}, 0xc0000280, 1, 64},
		{{28, 64}, 0x0a0000f0, 1, 16},
		{{20, 64}, 0x0a001000, 256, 16},
		{{16, 64}, 0x0a010000, 256, 256}, /* hosts differ in another byte than the last */
		{{8, 64}, 0x0a000001, 65536, 256},
		{{23, 64}, 0x0a000200, 1, 256},
	};

	for (unsigned c = 0; c < COUNT(cases); c++) {
		uint8_t first = bucket_of_ipv4(&cases[c].key, cases[c].first);

		for (unsigned i = 0; i < cases[c].n; i++)
			if (bucket_of_ipv4(&cases[c].key, cases[c].first + i * cases[c].step) !=
				(uint8_t)(first + i))
				fail_msg("case %u: source %u", c, i);
	}
	for (uint64_t i = 0; i < 256; i++)
		assert_int_equal(bucket_of_ipv6(&(struct place_key){24, 64}, 1, i),
			(uint8_t)(bucket_of_ipv6(&(struct place_key){24, 64}, 1, 0) + i));
}

/*
 * Groups and sources without a group start at random buckets: no bucket has many more than others.
 */
TEST(test_spread)
{
	static const struct place_key keys[] = {{24, 64}, ALONE};

	for (unsigned k = 0; k < 2; k++) {
		unsigned counts4[RETA_SIZE] = {0}, counts6[RETA_SIZE] = {0};

		for (uint32_t i = 0; i < RETA_SIZE * 100; i++) {
			counts4[bucket_of_ipv4(&keys[k], 0x0a000000 + (i << 8))]++;
			counts6[bucket_of_ipv6(&keys[k], UINT64_C(0x20010db8) << 32 | i, 1)]++;
		}
		for (unsigned i = 0; i < RETA_SIZE; i++) { /* six standard deviations */
			assert_near(counts4[i], 100, 60);
			assert_near(counts6[i], 100, 60);
		}
	}
}

/* Only the source of a packet matters. A packet without IP uses its MAC address. */
TEST(test_source_alone)
{
	const struct place_key key = ALONE;
	uint8_t frame[64] = {0}, other[64] = {0};
	struct packet packet = make_ipv4_packet(frame, 0x0a000001), arp = {.l2_len = 14};
	unsigned differ = 0;

	memcpy(other, frame, sizeof(other));
	memset(other + 30, 0xff, 20); /* destination and ports */
	packet.dst_port = 53;
	assert_int_equal(reta_bucket(&key, &packet, frame), reta_bucket(&key, &packet, other));
	for (unsigned i = 0; i < 256; i++) {
		frame[11] = (uint8_t)i; /* sender's MAC */
		other[5] = (uint8_t)i;  /* receiver's MAC */
		differ += reta_bucket(&key, &arp, frame) != reta_bucket(&key, &arp, other);
	}
	assert_true(differ > 200);
	/* A runt is read only up to its length. */
	arp.l2_len = 3;
	assert_int_equal(reta_bucket(&key, &arp, frame), reta_bucket(&key, &arp, other));
}

TEST(test_tables)
{
	static struct reta_target reta_target;
	static struct reta reta;

	reta_target_init(&reta_target, &(struct place_key){24, 64}, 3);
	reta_target_set(&reta_target, 17, 1);
	memset(&reta, 0xff, sizeof(reta)); /* rest of an earlier table */
	reta_init(&reta, &reta_target);
	assert_ptr_equal(reta.reta_target, &reta_target);
	assert_false(reta.strict);
	assert_int_equal(reta_target_of(&reta_target, 16), 3);
	assert_int_equal(reta_worker(&reta, 17), 1);
	reta_count(&reta, 17, 100);
	reta_count(&reta, 17, 50);
	assert_int_equal(counter_read(&reta.packets[17]), 2);
	assert_int_equal(counter_read(&reta.bytes[17]), 150);
}
