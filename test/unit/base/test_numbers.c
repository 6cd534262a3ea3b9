/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random numbers, hashes and numbers in messages, compared with the published results of their
 * authors. Messages between versions of Weir depend on them.
 */
#include "check.h"

#include <float.h>

#include "base/counter.h"
#include "base/hash.h"
#include "base/prng.h"
#include "base/wire.h"

TEST(test_splitmix64)
{
	static const uint64_t numbers[] = {6457827717110365317U, 3203168211198807973U,
		9817491932198370423U, 4593380528125082431U, 16408922859458223821U};
	uint64_t seed = 1234567, upper = 1234567;

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(splitmix64_next(&seed), numbers[i]);
		assert_int_equal(splitmix64_short(&upper) >> 33, numbers[i] >> 33);
	}
}

TEST(test_xoshiro256)
{
	static const uint64_t numbers[] = {11520, 0, 1509978240, 1215971899390074240,
		1216172134540287360, 607988272756665600, 16172922978634559625U, 8476171486693032832,
		10595114339597558777U, 2904607092377533576};
	struct prng prng = {{1, 2, 3, 4}};
	uint64_t seed = 1234567;

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(prng_next(&prng), numbers[i]);
	prng_seed(&prng, 1234567);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(prng.s[i], splitmix64_next(&seed));
}

/* A state whose next number this is. */
static struct prng prng_before(uint64_t number)
{
	/* Odd numbers have inverses modulo 2^64: of 9 and of 5. */
	uint64_t s = number * UINT64_C(0x8e38e38e38e38e39);

	s = (s >> 7 | s << 57) * UINT64_C(0xcccccccccccccccd);
	return (struct prng){{1, s, 3, 4}};
}

TEST(test_units)
{
	struct prng prng = prng_before(UINT64_MAX);

	assert_true(prng_unit(&prng) == 1 - DBL_EPSILON / 2);
	prng = prng_before(0);
	assert_true(prng_unit(&prng) == 0);
	prng = prng_before(UINT64_C(1) << 63);
	assert_true(prng_unit(&prng) == 0.5);
	prng = prng_before(UINT64_MAX);
	assert_int_equal(prng_within(&prng, 1000), 999);
	prng = prng_before(UINT64_C(1) << 63);
	assert_int_equal(prng_within(&prng, 1000), 500);
}

TEST(test_below)
{
	static const struct {
		uint32_t bound;
		uint64_t number; /* upper half of the drawn number */
		uint64_t result;
	} rows[] = {
		{1, UINT32_MAX, 0},
		{10, UINT32_MAX, 9},
		{10, UINT32_MAX / 10, 0},
		{10, UINT32_MAX / 10 + 2, 1},
		{UINT32_MAX, UINT32_MAX, UINT32_MAX - 1},
		{3, 0x55555556, 1},
		{3, 0xaaaaaaab, 2},
	};
	struct prng prng, next;

	for (size_t i = 0; i < COUNT(rows); i++) {
		prng = prng_before(rows[i].number << 32);
		assert_int_equal(prng_below(&prng, rows[i].bound), rows[i].result);
	}
	/* 2^32 is one more than three thirds: 0 is drawn again. */
	next = prng = prng_before(0);
	prng_next(&next);
	assert_int_equal(prng_below(&prng, 3), prng_below(&next, 3));
	assert_memory_equal(&prng, &next, sizeof(prng));
	prng = prng_before(UINT64_C(1) << 32);
	assert_int_equal(prng_below(&prng, 3), 0);
	/* Where the bound is a power of two none is. */
	next = prng = prng_before(0);
	prng_next(&next);
	prng_below(&prng, 4);
	assert_memory_equal(&prng, &next, sizeof(prng));
}

TEST(test_percent)
{
	unsigned hits = 0;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < 100000; i++) {
		assert_false(prng_percent(&prng, 0));
		assert_true(prng_percent(&prng, 100));
		hits += prng_percent(&prng, 30);
	}
	assert_in_range(hits, 29000, 31000);
}

/* Fowler, Noll and Vo's, of texts that they give. */
TEST(test_names)
{
	static const struct {
		const char *text;
		uint32_t hash;
		uint64_t hash64;
	} rows[] = {
		{"", 0x811c9dc5, UINT64_C(0xcbf29ce484222325)},
		{"a", 0xe40c292c, UINT64_C(0xaf63dc4c8601ec8c)},
		{"foobar", 0xbf9cf968, UINT64_C(0x85944171f73967e8)},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t hash = HASH64_BASIS;

		for (const char *at = rows[i].text; *at; at++)
			hash = hash64_step(hash, (unsigned char)*at);
		assert_int_equal(hash, rows[i].hash64);
		assert_int_equal(name_hash(rows[i].text), rows[i].hash);
	}
	/* A byte is not negative. */
	assert_int_equal(name_hash("\xff"), (0x811c9dc5U ^ 0xff) * 16777619U);
}

/* Numbers of each width lie one after the other, the highest byte first. */
TEST(test_wire)
{
	static const uint8_t expected[] = {0x01, 0x23, 0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45,
		0x67, 0x89, 0xab, 0xcd, 0xef, 0xc0, 0x45, 0, 0, 0, 0, 0, 0, 0xff};
	uint8_t buf[sizeof(expected)], *to = buf;
	const uint8_t *from = expected;
	double real;
	uint64_t n64;
	uint32_t n32;
	uint16_t n16;

	memset(buf, 0xff, sizeof(buf));
	to = wire_put64(wire_put32(wire_put16(to, 0x0123), 0x01234567), 0x0123456789abcdef);
	to = wire_put_double(to, -42);
	assert_ptr_equal(to, buf + sizeof(buf) - 1);
	assert_memory_equal(buf, expected, sizeof(buf));
	from = wire_get64(wire_get32(wire_get16(from, &n16), &n32), &n64);
	from = wire_get_double(from, &real);
	assert_ptr_equal(from, expected + sizeof(expected) - 1);
	assert_int_equal(n16, 0x0123);
	assert_int_equal(n32, 0x01234567);
	assert_int_equal(n64, 0x0123456789abcdef);
	assert_true(real == -42);
	assert_int_equal(read_be16(expected + 1), 0x2301);
	assert_int_equal(read_be32(expected + 1), 0x23012345);
	assert_int_equal(read_be64(expected + 7), 0x23456789abcdefc0);
	/* In the byte order of memory. */
	memcpy(&n16, expected + 1, sizeof(n16));
	memcpy(&n32, expected + 1, sizeof(n32));
	memcpy(&n64, expected + 1, sizeof(n64));
	assert_int_equal(read_raw16(expected + 1), n16);
	assert_int_equal(read_raw32(expected + 1), n32);
	assert_int_equal(read_raw64(expected + 1), n64);
}

/* Counters of 32 bits are folded into 64 bits, also after they have wrapped. */
TEST(test_counters)
{
	uint32_t counter = 0;
	uint64_t total = 0, wide = UINT32_MAX;

	counter_add32(&counter, 7);
	assert_int_equal(counter_read32(&counter), 7);
	assert_int_equal(counter_fold(&total, &counter), 7);
	assert_int_equal(counter_fold(&total, &counter), 7);
	counter_add32(&counter, UINT32_MAX - 7);
	assert_int_equal(counter_fold(&total, &counter), UINT32_MAX);
	counter_add32(&counter, 10);
	assert_int_equal(counter_fold(&total, &counter), UINT64_C(0xffffffff) + 10);
	assert_int_equal(total, UINT64_C(0xffffffff) + 10);
	counter_add(&wide, 10);
	assert_int_equal(counter_read(&wide), UINT64_C(0xffffffff) + 10);
}
