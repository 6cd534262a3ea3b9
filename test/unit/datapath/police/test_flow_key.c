/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flows that were crafted to have the same hash: packet_hash() is public, so an attacker can invert
 * it step by step from its end.
 */
#include "check.h"

#include "allocate/allocate.h"
#include "base/prng.h"
#include "police/charge.h"
#include "police/sample.h"
#include "police/extended.h"
#include "engine/profile.h"
#include "source/source_hash.h"

enum { UDP = 17, FLOWS = 500, V4 = 8, V6 = 32 };

struct crafted {
	struct packet packet;
	uint8_t data[V6];
};

/* Returns the word that makes a step of packet_hash() end with h: its inverse. */
static uint64_t unstep_hash(uint64_t h)
{
	const uint64_t c = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t inverse = c; /* Newton's method, modulo 2^64 */

	for (unsigned i = 0; i < 6; i++)
		inverse *= 2 - c * inverse;
	return (h ^ h >> 32) * inverse;
}

static uint64_t step_hash(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/*
 * Returns flow number n of flows that all have one hash. Their ports differ, and the last word of
 * their addresses compensates for it.
 */
static struct crafted craft_colliding_flow(unsigned family, uint32_t n, struct prng *prng)
{
	const uint16_t src_port = 1024 + n, dst_port = n * 7919;
	const uint32_t ports = __builtin_bswap32((uint32_t)src_port << 16 | dst_port);
	const uint64_t transport = (uint64_t)UDP << 32 | ports;
	struct crafted made = {.packet = {.family = (uint8_t)family,
				       .proto = UDP,
				       .src_port = src_port,
				       .dst_port = dst_port}};
	unsigned last = (family == PACKET_IPV4 ? V4 : V6) - 8;
	uint64_t h = 0, word;

	for (unsigned i = 0; i < last; i += 8) {
		word = prng_next(prng);
		memcpy(made.data + i, &word, 8);
		h = step_hash(h, word);
	}
	word = unstep_hash(UINT64_C(0x0123456789abcdef) ^ transport) ^ h;
	memcpy(made.data + last, &word, 8);
	return made;
}

static int compare_hashes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static unsigned count_distinct(uint32_t *hashes, unsigned n)
{
	unsigned found = 1;

	qsort(hashes, n, sizeof(*hashes), compare_hashes);
	for (unsigned i = 1; i < n; i++)
		found += hashes[i] != hashes[i - 1];
	return found;
}

static const unsigned families[] = {PACKET_IPV4, PACKET_IPV6};

/* 500 of 2^32 values: two of them are equal once in 34,000 keys. There are four keys. */
TEST(test_crafted_are_told_apart)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned f = 0; f < 2; f++) {
		uint32_t alike[FLOWS], keyed[2][FLOWS];
		struct source_key keys[2];
		unsigned same = 0;

		source_key_init(&keys[0], 1);
		source_key_init(&keys[1], 2);
		for (unsigned i = 0; i < FLOWS; i++) {
			struct crafted flow = craft_colliding_flow(families[f], i, &prng);

			alike[i] = packet_flow_hash(&flow.packet, flow.data);
			for (unsigned k = 0; k < 2; k++)
				keyed[k][i] = packet_keyed_hash(&keys[k], &flow.packet, flow.data);
			same += keyed[0][i] == keyed[1][i];
		}
		assert_int_equal(count_distinct(alike, FLOWS), 1);
		assert_int_equal(same, 0);
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(count_distinct(keyed[k], FLOWS), FLOWS);
	}
}

/* The key covers the flow's whole identity and nothing that the device reported. */
TEST(test_what_makes_a_flow)
{
	for (unsigned f = 0; f < 2; f++) {
		struct crafted flow = {.packet = {.family = (uint8_t)families[f], .proto = UDP}};
		unsigned bytes = f == 0 ? V4 : V6;
		uint32_t hashes[V6 + 5];
		struct source_key key;

		source_key_init(&key, 3);
		for (unsigned i = 0; i < bytes; i++) {
			flow.data[i] ^= 0x10;
			hashes[i] = packet_keyed_hash(&key, &flow.packet, flow.data);
			flow.data[i] ^= 0x10;
		}
		hashes[bytes] = packet_keyed_hash(&key, &flow.packet, flow.data);
		flow.packet.src_port = 1;
		hashes[bytes + 1] = packet_keyed_hash(&key, &flow.packet, flow.data);
		flow.packet.dst_port = 1;
		hashes[bytes + 2] = packet_keyed_hash(&key, &flow.packet, flow.data);
		flow.packet.proto = POLICE_TCP;
		hashes[bytes + 3] = packet_keyed_hash(&key, &flow.packet, flow.data);
		flow.packet.flow_hash = 1;
		hashes[bytes + 4] = packet_keyed_hash(&key, &flow.packet, flow.data);
		assert_int_equal(hashes[bytes + 4], hashes[bytes + 3]);
		assert_int_equal(count_distinct(hashes, bytes + 4), bytes + 4);
	}
}

/* Each crafted flow costs one, even if the device reports the same hash for all. */
TEST(test_crafted_are_counted)
{
	static const struct sampling every = {0};
	static const uint32_t told[] = {0, 0xdeadbeef};
	struct prng prng;

	prng_seed(&prng, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct policy policy = {.limit_bps = 8 * FLOWS,
			.burst_bytes = 2 * FLOWS,
			.meter = METER_TOKEN_BUCKET,
			.count = COUNT_FLOWS,
			.allocator = allocator_find("central")};
		const struct limiter_view view = {
			.limit = FLOWS, .local_limit = FLOWS, .local_burst = 2 * FLOWS};
		const struct policy_start start = {.now = 1, .hz = GHZ, .secret = 5};
		void *memory = aligned_alloc(CACHE_LINE, policy_extended_bytes(&policy));
		struct limit_profile profile;
		struct policy_state line;
		unsigned cost = 0;

		assert_non_null(memory);
		assert_int_equal(
			limit_profile_init(&profile, &policy, 0, &view, &every, 1, GHZ), 0);
		policy_state_init(&line, memory, &policy, &profile, &start);
		for (unsigned n = 0; n < 2 * FLOWS; n++) {
			struct crafted flow = craft_colliding_flow(PACKET_IPV4, n / 2, &prng);
			unsigned one;

			flow.packet.flow_hash = told[i];
			one = police_cost(&line, &flow.packet, flow.data, 100, 1);
			cost += one;
			police_charge(&line, &flow.packet, flow.data, one, 1);
		}
		assert_int_equal(cost, FLOWS);
		free(memory);
	}
}
