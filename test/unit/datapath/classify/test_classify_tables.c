/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The tables of a classifier: prefixes of every kind, several tables at a time, and too little
 * memory.
 */
#include "classify_world.h"
#include "scope.h"

#include <pthread.h>

#include <rte_malloc.h>

END_POINTER(classifier_destroy, struct classifier *)

/* 2000 prefixes that differ in their first 24 bits need 2000 groups of slots. */
TEST(test_scattered_prefixes)
{
	enum { N = 2000 };
	ENDED_BY(free_at) struct policy *policies = calloc(N, sizeof(*policies));
	ENDED_BY(classifier_destroy_at) struct classifier *classifier = NULL;

	assert_non_null(policies);
	classify_world_seed(7);
	for (unsigned i = 0; i < N; i++) {
		struct prefix *dst = &policies[i].match.dst;

		policies[i].match = (struct match){.vlan = -1, .dscp = -1, .wire = -1};
		dst->family = i % 2 != 0 ? 4 : 6;
		dst->length = i % 2 != 0 ? 32 : 128;
		for (unsigned byte = 0; byte < dst->length / 8; byte++)
			dst->addr[byte] = random_next();
	}
	assert_int_equal(classifier_create(policies, N, -1, &classifier), 0);
	for (unsigned i = 0; i < N; i++) {
		const struct prefix *dst = &policies[i].match.dst;
		const struct packet packet = {
			.family = dst->family, .vlan = PARSE_NO_VLAN, .src_off = 0, .dst_off = 0};
		const uint8_t *data = dst->addr;
		uint32_t policy;

		classify_burst(classifier, 0, DIRECTION_A_TO_B, &packet, &data, 1, &policy);
		assert_int_equal(policy, i);
	}
}

/* Returns the policy of a packet to 10.0.group.last. */
static uint32_t policy_of(const struct classifier *classifier, uint8_t group, uint8_t last)
{
	const struct packet packet = {.family = PACKET_IPV4, .vlan = PARSE_NO_VLAN};
	const uint8_t addr[] = {10, 0, group, last}, *data = addr;
	uint32_t policy;

	classify_burst(classifier, 0, DIRECTION_A_TO_B, &packet, &data, 1, &policy);
	return policy;
}

/* Up to the maximum number of groups of slots, each with a prefix that ends with its group. */
TEST(test_full_groups)
{
	static const unsigned counts[] = {1, 63, 64, 65, 128};
	struct policy policies[128];
	struct classifier *classifier = NULL;

	for (unsigned i = 0; i < COUNT(policies); i++) {
		policies[i] = make_policy(&(struct row){.dst = "10.0.0.128/25"});
		policies[i].match.dst.addr[2] = i;
	}
	for (unsigned c = 0; c < COUNT(counts); c++) {
		assert_int_equal(classifier_create(policies, counts[c], -1, &classifier), 0);
		for (unsigned i = 0; i < COUNT(policies); i++) {
			assert_int_equal(policy_of(classifier, i, 127), CLASSIFY_NONE);
			assert_int_equal(
				policy_of(classifier, i, 128), i < counts[c] ? i : CLASSIFY_NONE);
		}
		classifier_destroy(classifier);
	}
}

static void check_one(const struct classifier *classifier, const char *dst, int expect)
{
	const struct row row = {.dst = dst, .direction = DIRECTION_A_TO_B, .expect = expect};

	check_packet(classifier, &row, dst, PLAIN);
}

/* Like a reload: the new table is built while the old one exists, which is then destroyed. */
TEST(test_two_at_once)
{
	const struct policy old[] = {make_policy(&(struct row){.dst = "10.0.0.0/8"}),
		make_policy(&(struct row){.dst = "2001:db8::/32"})};
	const struct policy new[] = {make_policy(&(struct row){.dst = "2001:db8::/33"}),
		make_policy(&(struct row){.dst = "10.0.0.0/9"})};
	struct classifier *first = NULL, *second = NULL;

	assert_int_equal(classifier_create(old, 2, -1, &first), 0);
	assert_int_equal(classifier_create(new, 2, -1, &second), 0);
	check_one(first, "10.128.0.0", 0);
	check_one(second, "10.128.0.0", NOTHING);
	classifier_destroy(first);
	check_one(second, "10.127.0.0", 1);
	check_one(second, "2001:db8::1", 0);
	classifier_destroy(second);
}

/* The caller chooses the answers. They have no influence on the order of the policies. */
TEST(test_answers)
{
	struct policy policies[] = {make_policy(&(struct row){.dst = "10.0.0.0/8"}),
		make_policy(&(struct row){.dst = "10.0.0.0/9", .direction = DIRECTION_A_TO_B}),
		make_policy(&(struct row){.dst = "2001:db8::/32"})};
	const uint32_t answers[] = {7, 5, (1u << 30) - 1};
	const struct row both = {.dst = "10.1.0.0",
		.proto = 6,
		.sport = {9, 9},
		.direction = DIRECTION_A_TO_B,
		.expect = 7};
	ENDED_BY(classifier_destroy_at) struct classifier *classifier = NULL;

	assert_int_equal(classifier_create_as(policies, answers, 3, -1, &classifier), 0);
	check_one(classifier, "10.128.0.0", 7);
	check_one(classifier, "10.127.0.0", 5);
	check_one(classifier, "2001:db8::1", (1u << 30) - 1);
	check_one(classifier, "11.0.0.0", NOTHING);
	classifier_destroy(classifier);
	/* The first of two overlapping ranges takes the ports that are in both. */
	for (unsigned i = 0; i < 2; i++)
		policies[i] = make_policy(&(struct row){.proto = 6, .sport = {9 - i, 10 - i}});
	assert_int_equal(classifier_create_as(policies, answers, 2, -1, &classifier), 0);
	check_packet(classifier, &both, "both", PLAIN);
}

static unsigned count_table_allocs(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

/* Builds and destroys tables in a thread without EAL. Returns the number of failures. */
static void *build_some(void *arg)
{
	const struct policy *policy = arg;
	struct classifier *classifier = NULL;
	uintptr_t failed = 0;

	for (unsigned i = 0; i < 8; i++) {
		if (classifier_create(policy, 1, -1, &classifier) == 0 &&
			policy_of(classifier, 0, 1) == 0 &&
			policy_of(classifier, 1, 1) == CLASSIFY_NONE)
			classifier_destroy(classifier);
		else
			failed++;
	}
	return (void *)failed;
}

/* Two other threads build and destroy tables. They leave nothing, and lookups here continue. */
TEST(test_built_aside)
{
	struct policy used = make_policy(&(struct row){.dst = "10.0.0.0/23"});
	struct policy other = make_policy(&(struct row){.dst = "10.0.0.1/32"});
	ENDED_BY(classifier_destroy_at) struct classifier *classifier = NULL;
	unsigned before;
	pthread_t threads[2];
	void *failed;

	assert_int_equal(classifier_create(&used, 1, -1, &classifier), 0);
	before = count_table_allocs();
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, build_some, &other), 0);
	for (unsigned i = 0; i < COUNT(threads); i++) {
		while (pthread_tryjoin_np(threads[i], &failed) != 0)
			assert_int_equal(policy_of(classifier, 1, 1), 0);
		assert_null(failed);
	}
	assert_int_equal(count_table_allocs(), before);
}

/* Allocates all memory of EAL in blocks of a size, so that it can be freed step by step. */
static void *hoard_memory(size_t block)
{
	void **newest = NULL, **older;

	for (;;) {
		older = newest;
		newest = rte_malloc("hoard", block, 0);
		if (newest == NULL)
			return older;
		*newest = older;
	}
}

/*
 * A classifier that does not fit is refused and leaves nothing. With increasing memory each of its
 * allocations is the first to fail in some round.
 */
static void fill_memory(const struct policy *policies, unsigned n_policies, size_t block)
{
	const unsigned before = count_table_allocs();
	void **hoarded = hoard_memory(block), **older;
	struct classifier *classifier = NULL;
	unsigned refused = 0, held;
	int rc;

	for (;;) {
		held = count_table_allocs();
		rc = classifier_create(policies, n_policies, -1, &classifier);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(count_table_allocs(), held);
		refused++;
		assert_non_null(hoarded);
		older = *hoarded;
		rte_free(hoarded);
		hoarded = older;
	}
	assert_true(refused > 0);
	check_one(classifier, "10.0.0.1", 0);
	classifier_destroy(classifier);
	for (; hoarded != NULL; hoarded = older) {
		older = *hoarded;
		rte_free(hoarded);
	}
	assert_int_equal(count_table_allocs(), before);
}

TEST(test_out_of_memory)
{
	const struct policy v4[] = {make_policy(&(struct row){.dst = "10.0.0.0/8"}),
		make_policy(&(struct row){.vlan = NAMED(1)})};
	const struct policy v6[] = {make_policy(&(struct row){.used = true}),
		make_policy(&(struct row){.dst = "2001:db8::/32"})};
	const struct policy all[] = {v4[0], v6[1], v4[1],
		make_policy(&(struct row){.src = "10.0.0.0/8"}),
		make_policy(&(struct row){.src = "2001:db8::/32"})};

	fill_memory(v4, COUNT(v4), 1 << 12);
	fill_memory(v6, COUNT(v6), 1 << 12);
	fill_memory(all, COUNT(all), 1 << 12);
}

TEST(test_too_many)
{
	const struct policy policy = make_policy(&(struct row){.used = true});
	struct classifier *classifier = NULL;

	assert_int_equal(classifier_create(&policy, (1u << 21) + 1, -1, &classifier), -E2BIG);
	assert_null(classifier);
	classifier_destroy(NULL);
}

TEST_GROUP(start_eal, stop_eal)
