/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "flow/new_flow.h"

static struct new_flows *table_of(unsigned entries, uint64_t hz)
{
	struct new_flows *flows = aligned_alloc(64, new_flows_bytes(entries));

	assert_non_null(flows);
	new_flows_init(flows, entries, hz);
	return flows;
}

TEST(test_sizes)
{
	static const struct {
		unsigned entries;
		size_t lines;
	} cases[] = {{0, 1}, {1, 1}, {8, 1}, {9, 2}, {65536, 8192}, {65537, 16384}};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(new_flows_bytes(cases[i].entries),
			sizeof(struct new_flows) + 64 * cases[i].lines);
	assert_int_equal(new_flows_bytes(UINT32_MAX),
		sizeof(struct new_flows) + UINT64_C(8) * NEW_FLOW_MAX_ENTRIES);
}

/*
 * A flow stays in the table for 30 seconds after its last packet, with any clock rate. A refused
 * flow stays new.
 */
TEST(test_how_long)
{
	static const uint64_t hz[] = {1000, GHZ, 2499999999, 5 * GHZ};

	for (size_t i = 0; i < COUNT(hz); i++) {
		for (uint64_t now = hz[i] / 7; now < 100 * hz[i]; now += hz[i] * 10 / 3) {
			struct new_flows *flows = table_of(64, hz[i]);
			uint64_t then = now;

			assert_false(new_flows_known(flows, 5, then));
			assert_false(new_flows_known(flows, 5, then));
			new_flows_remember(flows, 5, then);
			assert_true(new_flows_known(flows, 5, then));
			/* The clock of another core, which is late. */
			assert_true(new_flows_known(flows, 5, then - hz[i] / 7));
			for (int k = 0; k < 3; k++) {
				then += 30 * hz[i];
				assert_true(new_flows_known(flows, 5, then));
			}
			assert_false(new_flows_known(flows, 5, then + 30 * hz[i] + hz[i] / 4 + 1));
			free(flows);
		}
	}
}

/* Every hash is valid, also 0; an empty table has no flow. */
TEST(test_any_hash)
{
	ENDED_BY(free_at) struct new_flows *flows = table_of(4096, GHZ);
	struct prng prng;

	prng_seed(&prng, 1);
	assert_false(new_flows_known(flows, 0, 0));
	new_flows_remember(flows, 0, 0);
	assert_true(new_flows_known(flows, 0, 0));
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t hash = (uint32_t)prng_next(&prng);

		assert_false(new_flows_known(flows, hash, i));
		new_flows_remember(flows, hash, i);
		assert_true(new_flows_known(flows, hash, i));
	}
}

/* In a full set the entry with the oldest last packet is evicted, not the oldest entry. */
TEST(test_who_gives_way)
{
	ENDED_BY(free_at) struct new_flows *flows = table_of(1, GHZ);
	uint64_t now = GHZ;

	for (uint32_t hash = 1; hash <= NEW_FLOW_WAYS; hash++, now += GHZ)
		new_flows_remember(flows, hash, now);
	assert_true(new_flows_known(flows, 1, now));
	new_flows_remember(flows, 100, now);
	assert_false(new_flows_known(flows, 2, now));
	for (uint32_t hash = 3; hash <= NEW_FLOW_WAYS; hash++)
		assert_true(new_flows_known(flows, hash, now));
	assert_true(new_flows_known(flows, 1, now));
	assert_true(new_flows_known(flows, 100, now));
}

/* A flow that starts again reuses its own entry and evicts no other. */
TEST(test_one_entry_a_flow)
{
	ENDED_BY(free_at) struct new_flows *flows = table_of(1, GHZ);
	uint64_t now = 40 * GHZ;

	new_flows_remember(flows, 1, 0);
	for (uint32_t hash = 2; hash <= NEW_FLOW_WAYS; hash++)
		new_flows_remember(flows, hash, now);
	assert_false(new_flows_known(flows, 1, now));
	new_flows_remember(flows, 1, now);
	new_flows_remember(flows, 1, now + GHZ);
	for (uint32_t hash = 1; hash <= NEW_FLOW_WAYS; hash++)
		assert_true(new_flows_known(flows, hash, now + GHZ));
}

/*
 * In a half-full table hardly any flow is forgotten, although all hashes have the same queue bits.
 * A flood of flows with one packet each does not evict the flows that continue.
 */
TEST(test_flood)
{
	enum { ENTRIES = 8192, SPEAKERS = 500 };
	ENDED_BY(free_at) struct new_flows *flows = table_of(ENTRIES, GHZ);
	uint32_t hash[ENTRIES / 2];
	unsigned forgotten = 0;
	struct prng prng;
	uint64_t now = 0;

	prng_seed(&prng, 2);
	for (unsigned i = 0; i < ENTRIES / 2; i++) {
		hash[i] = (uint32_t)prng_next(&prng) << 7 | 3;
		new_flows_remember(flows, hash[i], now);
	}
	for (unsigned i = 0; i < ENTRIES / 2; i++)
		forgotten += !new_flows_known(flows, hash[i], now);
	assert_in_range(forgotten, 1, ENTRIES / 2 / 50);
	forgotten = 0;
	for (unsigned i = 0; i < SPEAKERS; i++)
		new_flows_remember(flows, hash[i], now);
	for (unsigned second = 0; second < 60; second++) {
		now += GHZ;
		for (unsigned i = 0; i < SPEAKERS; i++) {
			forgotten += !new_flows_known(flows, hash[i], now);
			new_flows_remember(flows, hash[i], now);
		}
		for (unsigned i = 0; i < ENTRIES / 8; i++)
			new_flows_remember(flows, (uint32_t)prng_next(&prng), now + GHZ / 2);
	}
	assert_in_range(forgotten, 0, SPEAKERS * 60 / 1000);
}
