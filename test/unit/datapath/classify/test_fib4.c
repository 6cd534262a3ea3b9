/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv4, compared with a search through all prefixes. Addresses are at and
 * next to the edges of all prefixes. Built twice: with vectors, and for a CPU without.
 */
#include "check.h"
#include "scope.h"

#include <arpa/inet.h>

#include <rte_eal.h>

#include "base/prng.h"
#include "classify/fib4_private.h"
#include "classify/frames.h"
#include "classify/wide.h"

END_POINTER(fib4_destroy, struct fib4 *)

#define MANY      3000
#define OTHERWISE UINT32_MAX
#define ENOUGH    (3 * FIB4_BURST_MAX * (FIB4_BURST_MAX + 1) / 2) /* addresses of a set */
#define CROWD     20                                              /* too many ranges for n_few */

static unsigned n_wide; /* bursts also looked up by wide_lookup4() */

struct set {
	struct lpm_prefix prefix[MANY];
	unsigned n;
};

static uint32_t addr_of_prefix(const struct lpm_prefix *prefix)
{
	uint32_t addr;

	memcpy(&addr, prefix->addr, sizeof(addr));
	return ntohl(addr);
}

static uint32_t length_mask4(unsigned length)
{
	return (uint32_t)(UINT64_MAX << (32 - length));
}

static int compare_prefixes(const void *a, const void *b)
{
	const struct lpm_prefix *x = a, *y = b;
	const int addr = memcmp(x->addr, y->addr, 4);

	return addr ? addr : x->length - y->length;
}

static void add_test_prefix(struct set *set, uint32_t addr, unsigned length, uint32_t answer)
{
	struct lpm_prefix *prefix = &set->prefix[set->n++];

	*prefix = (struct lpm_prefix){.length = (uint8_t)length, .answer = answer};
	addr = htonl(addr & length_mask4(length));
	memcpy(prefix->addr, &addr, sizeof(addr));
}

/* Sorts the prefixes and removes duplicates, like the builder of classifiers does. */
static void sort_test_prefixes(struct set *set)
{
	unsigned n = 0;

	qsort(set->prefix, set->n, sizeof(set->prefix[0]), compare_prefixes);
	for (unsigned i = 0; i < set->n; i++)
		if (n == 0 || compare_prefixes(&set->prefix[n - 1], &set->prefix[i]) != 0)
			set->prefix[n++] = set->prefix[i];
	set->n = n;
}

static uint32_t expected_answer(const struct set *set, uint32_t addr)
{
	uint32_t answer = OTHERWISE;

	/* Sorted: of the prefixes that contain the address, a longer one comes later. */
	for (unsigned i = 0; i < set->n; i++)
		if (((addr ^ addr_of_prefix(&set->prefix[i])) &
			    length_mask4(set->prefix[i].length)) == 0)
			answer = set->prefix[i].answer;
	return answer;
}

/* Returns an address at the edges of a prefix, in it, or anywhere. */
static uint32_t interesting_address(const struct set *set, struct prng *prng, unsigned i)
{
	static const struct lpm_prefix some = {.length = 1};
	const struct lpm_prefix *prefix = set->n > 0 ? &set->prefix[i / 6 % set->n] : &some;
	const uint32_t first = addr_of_prefix(prefix), rest = ~length_mask4(prefix->length);

	switch (i % 6) {
	case 0:
		return first;
	case 1:
		return first - 1;
	case 2:
		return first | rest;
	case 3:
		return (first | rest) + 1;
	case 4:
		return first | ((uint32_t)prng_next(prng) & rest);
	default:
		return (uint32_t)prng_next(prng);
	}
}

/* Compares with the lookup that uses 512-bit vectors. */
static void check_wide(
	const struct fib4 *fib, const uint32_t *addr, unsigned n, const uint32_t *answers)
{
	static const char lines[1];
	uint32_t wide[FIB4_BURST_MAX], all, high = 0;

	if (!classify_has_wide() || n % WIDE_STEP || fib->n_few)
		return;
	if (!wide_lookup4(fib, addr, n, n % 3 ? NULL : lines, wide, &all))
		return;
	assert_memory_equal(wide, answers, n * sizeof(wide[0]));
	for (unsigned i = 0; i < n; i++)
		high |= answers[i] >> 31;
	assert_int_equal(all >> 31, high);
	n_wide++;
}

static void check_burst(
	const struct fib4 *fib, const struct set *set, const uint32_t *addr, unsigned n)
{
	static const char lines[1]; /* prefetched, never read */
	uint32_t answers[FIB4_BURST_MAX], want, high = 0, got;

	got = fib4_lookup(fib, addr, n, n % 2 ? NULL : lines, answers);
	for (unsigned i = 0; i < n; i++) {
		want = expected_answer(set, addr[i]);
		if (answers[i] != want)
			fail_msg("%#" PRIx32 " of %u prefixes: %" PRIu32 ", expected %" PRIu32,
				addr[i], set->n, answers[i], want);
		high |= want >> 31;
	}
	assert_int_equal(got >> 31, high);
	check_wide(fib, addr, n, answers);
}

/* Looks up bursts of all sizes, several times. */
static void check_set(struct set *set, struct prng *prng)
{
	uint32_t addr[FIB4_BURST_MAX];
	ENDED_BY(fib4_destroy_at) struct fib4 *fib;
	unsigned n = 0, burst = 1;

	sort_test_prefixes(set);
	assert_int_equal(fib4_create(set->prefix, set->n, OTHERWISE, -1, &fib), 0);
	for (unsigned i = 0; i < 6 * set->n || i < ENOUGH || n > 0; i++) {
		addr[n++] = interesting_address(set, prng, i);
		if (n < burst)
			continue;
		check_burst(fib, set, addr, n);
		burst = burst % FIB4_BURST_MAX + 1;
		n = 0;
	}
}

/* Checks a set of few prefixes alone and then with many others, because the lookup differs. */
static void check_alone_and_not(struct set *set, struct prng *prng)
{
	const unsigned n = set->n;

	check_set(set, prng);
	set->n = n;
	for (uint32_t k = 0; k < CROWD; k++)
		add_test_prefix(set, 0xc0000000 + (k << 17), 16, 1000 + k);
	check_set(set, prng);
}

static uint64_t seed_of_run(void)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 0x5eed0f1b;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	return seed;
}

TEST(test_random)
{
	/* Prefixes within one, of lengths `from` to `to`, with this number of answers. */
	static const struct {
		uint32_t within;
		unsigned within_length, from, to, n, answers;
	} rows[] = {
		{0, 0, 1, 32, 1, MANY}, {0, 0, 1, 32, 300, MANY}, {0, 0, 20, 32, MANY, MANY},
		{0x0a000000, 8, 24, 24, MANY, MANY},  /* tables, no ranges */
		{0x0a000000, 12, 20, 28, MANY, MANY}, /* both */
		{0xc0a80000, 16, 17, 32, MANY, MANY}, /* tables that point to tables */
		{0xc0a80100, 24, 25, 32, 200, MANY},  /* the same for 256 addresses */
		{0xfffffff0, 28, 29, 32, 20, MANY},   /* the last addresses */
		{0, 24, 25, 32, 100, MANY},           /* the first ones */
		{0xc0a80000, 20, 21, 32, 1000, 2},    /* neighbours with one answer */
		{0, 0, 9, 18, 1000, MANY},            /* longer and shorter than a block */
	};
	static struct set set;
	struct prng prng;

	prng_seed(&prng, seed_of_run());
	for (unsigned i = 0; i < COUNT(rows); i++) {
		set.n = 0;
		for (unsigned k = 0; k < rows[i].n; k++) {
			const uint32_t host = rows[i].within_length == 0
						      ? UINT32_MAX
						      : ~length_mask4(rows[i].within_length);

			add_test_prefix(&set, rows[i].within | ((uint32_t)prng_next(&prng) & host),
				rows[i].from + prng_below(&prng, rows[i].to - rows[i].from + 1),
				prng_below(&prng, rows[i].answers));
		}
		check_set(&set, &prng);
	}
}

/* A block has exactly the number of adjacent ranges that fits, one fewer, and one more. */
TEST(test_full_blocks)
{
	static struct set set;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned n = 1; n <= 12; n++)
		for (unsigned touching = 0; touching < 2; touching++) {
			set.n = 0;
			for (uint32_t k = 0; k < n; k++)
				add_test_prefix(
					&set, 0x0a010000 + (k << (touching ? 4 : 5)), 28, k);
			check_alone_and_not(&set, &prng);
			/* The last address of the block is the last of a range. */
			add_test_prefix(&set, 0x0a01ffff, 32, n);
			check_set(&set, &prng);
		}
}

/*
 * An increasing number of ranges over all addresses: first few, then many. The last ends at the
 * last address or before.
 */
TEST(test_few)
{
	static struct set set;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned n = 0; n <= CROWD; n++)
		for (unsigned last = 0; last < 2; last++) {
			set.n = 0;
			for (uint32_t k = 0; k < n; k++)
				add_test_prefix(&set, 0x78000000 + (k << 23), 8 + k,
					k % 3 ? k : OTHERWISE - k);
			if (last)
				add_test_prefix(&set, 0xffffff00, 24, 5);
			check_set(&set, &prng);
		}
}

/* Two ranges that meet at any address, also where the highest bit changes. */
TEST(test_halves)
{
	static struct set set;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned length = 1; length <= 32; length++)
		for (unsigned upper = 0; upper < 2; upper++) {
			set.n = 0;
			add_test_prefix(&set, upper ? UINT32_MAX : 0, length, length);
			check_alone_and_not(&set, &prng);
		}
}

/* 32 nested prefixes, at the lower or upper edge of each other. */
TEST(test_nested)
{
	static struct set set;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned upper = 0; upper < 2; upper++) {
		set.n = 0;
		for (unsigned length = 1; length <= 32; length++)
			add_test_prefix(&set, upper ? UINT32_MAX : 0, length, length);
		check_set(&set, &prng);
	}
}

/*
 * Answers with their upper bits set, for chains of rules, and prefixes with the answer "nothing".
 */
TEST(test_answers)
{
	static struct set set;
	struct prng prng;

	prng_seed(&prng, 1);
	set.n = 0;
	add_test_prefix(&set, 0x0a000000, 8, 7);
	add_test_prefix(&set, 0x0a010000, 16, UINT32_C(3) << 30 | 5);
	add_test_prefix(&set, 0x0a010200, 24, 8);
	add_test_prefix(&set, 0x0a010280, 25, OTHERWISE);
	add_test_prefix(&set, 0x0b000000, 8, (UINT32_C(1) << 30) - 1);
	check_alone_and_not(&set, &prng);
}

TEST(test_out_of_memory)
{
	static struct set set;
	struct fib4 *fib, *made[4096];
	unsigned n = 0;

	set.n = 0;
	for (uint32_t k = 0; k < CROWD; k++)
		add_test_prefix(&set, 0x0a000000 + (k << 17), 16, k);
	while (n < COUNT(made) && fib4_create(set.prefix, set.n, OTHERWISE, -1, &made[n]) == 0)
		n++;
	assert_in_range(n, 1, COUNT(made) - 1);
	assert_int_equal(fib4_create(set.prefix, set.n, OTHERWISE, -1, &fib), -ENOMEM);
	while (n > 0)
		fib4_destroy(made[--n]);
	fib4_destroy(NULL);
}

static int start_eal(void **state)
{
	char *args[] = {(char[]){"test_fib4"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
		(char[]){"-m"}, (char[]){"64"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=1"}, (char[]){"-l"}, (char[]){"0"}};

	return rte_eal_init(COUNT(args), args) < 0 ? -1 : 0;
}

static int stop_eal(void **state)
{
	return rte_eal_cleanup();
}

/* If the CPU has vectors of 512 bits, their lookup was tested too. */
TEST(test_wide)
{
	print_message("%u bursts were also looked at by vectors of 512 bits\n", n_wide);
	if (!classify_has_wide())
		skip();
	assert_true(n_wide > 0);
}

TEST_GROUP(start_eal, stop_eal)
