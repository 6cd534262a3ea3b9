/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv6, compared with a search through a list. Also checks the length of
 * the chains of buckets and the memory.
 */
#include "classify_world.h"
#include "scope.h"

#include "classify/lpm6.h"

END_POINTER(lpm6_destroy, struct lpm6 *)

#define OTHERWISE UINT32_MAX

/* Kinds of prefixes in a set. */
enum kind { SITES, HOSTS, NESTED };

struct set {
	struct lpm_prefix *prefix;
	unsigned n;
};

static int compare_prefixes(const void *a, const void *b)
{
	const struct lpm_prefix *x = a, *y = b;
	const int addr = memcmp(x->addr, y->addr, sizeof(x->addr));

	return addr ? addr : x->length - y->length;
}

static void clear_behind(uint8_t *addr, unsigned length)
{
	for (unsigned bit = length; bit < 128; bit++)
		addr[bit / 8] &= ~(0x80 >> bit % 8);
}

/* Returns a random prefix. A nested one often begins like an existing one. */
static struct lpm_prefix set_prefix(const struct set *set, enum kind kind)
{
	struct lpm_prefix prefix = {.answer = set->n};

	for (unsigned i = 0; i < 16; i++)
		prefix.addr[i] = (uint8_t)random_next();
	prefix.length = kind == SITES ? 48 : 128;
	if (kind == NESTED && !one_in(4))
		prefix.length = 1 + random_next() % 128;
	if (kind == NESTED && set->n > 0 && one_in(2))
		memcpy(prefix.addr, set->prefix[random_next() % set->n].addr, random_next() % 16);
	clear_behind(prefix.addr, prefix.length);
	return prefix;
}

/* Returns sorted prefixes without duplicates, like the builder of classifiers. */
static struct set make_set(enum kind kind, unsigned n)
{
	struct set set = {.prefix = calloc(n, sizeof(*set.prefix))};
	unsigned different = 0;

	assert_non_null(set.prefix);
	for (set.n = 0; set.n < n; set.n++)
		set.prefix[set.n] = set_prefix(&set, kind);
	qsort(set.prefix, n, sizeof(*set.prefix), compare_prefixes);
	for (unsigned i = 0; i < n; i++)
		if (i == 0 || compare_prefixes(&set.prefix[different - 1], &set.prefix[i]) != 0)
			set.prefix[different++] = set.prefix[i];
	set.n = different;
	return set;
}

static struct lpm6 *create_table(const struct set *set)
{
	struct lpm6 *lpm = NULL;

	assert_int_equal(lpm6_create(set->prefix, set->n, OTHERWISE, -1, &lpm), 0);
	return lpm;
}

/* Sorted: of the prefixes that contain the address, a longer one comes later. */
static uint32_t expected_answer(const struct set *set, const uint8_t *addr)
{
	uint32_t answer = OTHERWISE;

	for (unsigned i = 0; i < set->n; i++) {
		uint8_t rest[16];

		memcpy(rest, addr, sizeof(rest));
		clear_behind(rest, set->prefix[i].length);
		if (memcmp(rest, set->prefix[i].addr, sizeof(rest)) == 0)
			answer = set->prefix[i].answer;
	}
	return answer;
}

/* Returns a prefix's first or last address, one within it, or one that differs in a bit. */
static void near_address(const struct set *set, unsigned kind, uint8_t *addr)
{
	const struct lpm_prefix *prefix = &set->prefix[random_next() % set->n];
	const unsigned other = random_next() % 128;

	memcpy(addr, prefix->addr, 16);
	for (unsigned bit = prefix->length; bit < 128; bit++)
		if (kind == 1 || (kind > 1 && one_in(2)))
			addr[bit / 8] |= 0x80 >> bit % 8;
	if (kind == 3)
		addr[other / 8] ^= 0x80 >> other % 8;
}

static void check_answers(const struct set *set, unsigned n)
{
	ENDED_BY(lpm6_destroy_at) struct lpm6 *lpm = create_table(set);

	for (unsigned i = 0; i < n; i++) {
		uint8_t bytes[16];
		struct lpm6_addr addr;
		uint32_t answer, want;

		near_address(set, i % 4, bytes);
		memcpy(&addr, bytes, sizeof(addr));
		lpm6_lookup(lpm, &addr, 1, &answer);
		want = expected_answer(set, bytes);
		if (answer != want)
			fail_msg("address %u of %u prefixes: %" PRIu32 ", expected %" PRIu32, i,
				set->n, answer, want);
	}
}

TEST(test_answers)
{
	classify_world_seed(0x5eed0012);
	for (unsigned n = 1; n <= 1000; n = n * 3 + 1)
		for (enum kind kind = SITES; kind <= NESTED; kind++) {
			struct set set = make_set(kind, n);

			check_answers(&set, ROUNDS(400));
			free(set.prefix);
		}
}

/* Returns the number of buckets chained to one; more than LPM6_FURTHER_MAX is an error. */
static unsigned count_further(const struct lpm6 *lpm, uint32_t at)
{
	unsigned n = 0;

	for (; lpm->buckets[at].further != 0 && n <= LPM6_FURTHER_MAX; n++) {
		at = lpm->buckets[at].further;
		assert_true(at < lpm->n_buckets);
	}
	return n;
}

/*
 * Chains stay short, however many prefixes there are. For that no table is larger than twice the
 * size at half load.
 */
static void check_chains(const struct set *set, double bytes_max)
{
	ENDED_BY(lpm6_destroy_at) struct lpm6 *lpm = create_table(set);
	const double bytes = 64.0 * lpm->n_buckets / set->n;

	for (unsigned i = 1; i < 1 << LPM6_STEPS_MAX; i++)
		for (uint32_t at = 0; at < lpm->nodes[i].n_buckets; at++)
			assert_true(
				count_further(lpm, lpm->nodes[i].first + at) <= LPM6_FURTHER_MAX);
	print_message("%u prefixes: %.1f bytes each\n", set->n, bytes);
	assert_true(bytes <= bytes_max);
}

TEST(test_chains)
{
	classify_world_seed(0x5eed0013);
	for (unsigned n = 1000; n <= ROUNDS(1000000); n *= 10)
		for (enum kind kind = SITES; kind <= HOSTS; kind++) {
			struct set set = make_set(kind, n);

			check_chains(&set, 2 * 64 * 2 / 3.0);
			free(set.prefix);
		}
}

/* Two tables of one set are equal, also after other tables. */
TEST(test_same_again)
{
	struct lpm6 *first, *second;
	struct set set;

	classify_world_seed(0x5eed0014);
	set = make_set(NESTED, ROUNDS(20000));
	first = create_table(&set);
	second = create_table(&set);
	assert_int_equal(first->n_buckets, second->n_buckets);
	assert_memory_equal(
		first, second, sizeof(*first) + first->n_buckets * sizeof(first->buckets[0]));
	lpm6_destroy(second);
	lpm6_destroy(first);
	free(set.prefix);
}

TEST_GROUP(start_eal, stop_eal)
