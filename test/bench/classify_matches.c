/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of several matches a policy in the classifier: 100,000 policies of three matches (two
 * IPv4 prefixes and an IPv6 one). They are compared with the same 300,000 matches as separate
 * policies, and with 100,000 policies of one match each. All get the same packets in turn, so only
 * the tables differ. Cycles are printed next to the cycles of reading the packet alone.
 *
 * 	bench_classify_matches [ROUNDS] [-- EAL ARGUMENTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include "base/prng.h"
#include "classify/classify.h"
#include "classify/frames.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define CUSTOMERS  100000
#define EACH       3 /* matches: IPv4, IPv6, IPv4 */
#define MATCHES    (CUSTOMERS * EACH)
#define BURST      32
#define ADDRESSES  (1u << 16)
#define BURSTS     512 /* bursts a round: less than a tick of the scheduler */
#define ROUNDS     201
#define ROUNDS_MAX 10001
#define FRAME      64

enum made { SEVERAL, SINGLES, FIRST_ONLY, MADE };

static const char *const made_words[MADE] = {
	[SEVERAL] = "100,000 policies of three",
	[SINGLES] = "300,000 policies of one",
	[FIRST_ONLY] = "100,000 policies of one",
};

/* The customer's prefix to which packets are sent. */
enum traffic { TO_FIRST, TO_IPV4, TO_IPV6, TRAFFICS };

static const char *const traffic_words[TRAFFICS] = {
	[TO_FIRST] = "IPv4, to the first match",
	[TO_IPV4] = "IPv4, to the first or the third",
	[TO_IPV6] = "IPv6",
};

static struct {
	struct match matches[MATCHES];
	struct policy policies[MADE][MATCHES];
	struct classifier *classifiers[MADE];
	uint8_t addresses[ADDRESSES][16];
	uint8_t bytes[BURST][FRAME];
	struct frames frames;
	uint64_t sum; /* keeps the compiler from removing the loops */
} bench;

static void random_prefix(struct prng *prng, bool v6, struct prefix *prefix)
{
	for (unsigned i = 0; i < 16; i++)
		prefix->addr[i] = (uint8_t)prng_below(prng, 256);
	prefix->family = v6 ? 6 : 4;
	prefix->length = v6 ? 48 : (uint8_t)(24 + prng_below(prng, 9));
	if (v6) {
		memcpy(prefix->addr, (uint8_t[]){0x20, 0x01, 0x0d}, 3);
		prefix->addr[3] = (uint8_t)prng_below(prng, 36);
	} else {
		prefix->addr[0] = (uint8_t)(1 + prng_below(prng, 200));
	}
	for (unsigned bit = prefix->length; bit < 128; bit++)
		prefix->addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static void make_policies(struct prng *prng)
{
	for (unsigned i = 0; i < MATCHES; i++) {
		bench.matches[i] = (struct match){
			.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY};
		random_prefix(prng, i % EACH == 1, &bench.matches[i].dst);
		bench.policies[SINGLES][i] = (struct policy){
			.match = bench.matches[i], .accounting = ACCOUNTING_L3};
	}
	for (unsigned i = 0; i < CUSTOMERS; i++) {
		struct match *first = &bench.matches[i * EACH];
		struct policy policy = {.match = *first, .accounting = ACCOUNTING_L3};

		bench.policies[FIRST_ONLY][i] = policy;
		policy.more = first + 1;
		policy.n_more = EACH - 1;
		bench.policies[SEVERAL][i] = policy;
	}
}

static double allocated_mb(void)
{
	struct rte_malloc_socket_stats stats;

	rte_malloc_get_socket_stats(0, &stats);
	return (double)stats.heap_allocsz_bytes / 1e6;
}

static void make_classifiers(void)
{
	for (enum made made = 0; made < MADE; made++) {
		const unsigned n = made == SINGLES ? MATCHES : CUSTOMERS;
		const double before = allocated_mb();
		const uint64_t start = rte_rdtsc();

		if (classifier_create(bench.policies[made], n, -1, &bench.classifiers[made]) < 0)
			exit(EXIT_FAILURE);
		printf("%s: created in %.0f ms, %.1f MB\n", made_words[made],
			1e3 * (double)(rte_rdtsc() - start) / (double)rte_get_tsc_hz(),
			allocated_mb() - before);
	}
}

static void make_traffic(struct prng *prng, enum traffic traffic)
{
	const bool v6 = traffic == TO_IPV6;

	for (unsigned i = 0; i < ADDRESSES; i++) {
		const unsigned which = v6 ? 1 : traffic == TO_FIRST ? 0 : 2 * prng_below(prng, 2);
		const struct prefix *dst =
			&bench.matches[prng_below(prng, CUSTOMERS) * EACH + which].dst;

		memcpy(bench.addresses[i], dst->addr, 16);
		bench.addresses[i][v6 ? 15 : 3] |= dst->length < 32 || v6;
	}
	for (unsigned i = 0; i < BURST; i++) {
		memset(bench.bytes[i], 0, FRAME);
		memcpy(bench.bytes[i] + 12,
			v6 ? (uint8_t[]){0x86, 0xdd, 0x60} : (uint8_t[]){8, 0, 0x45}, 3);
		bench.bytes[i][v6 ? 19 : 17] = v6 ? 10 : 50;
		bench.bytes[i][v6 ? 20 : 23] = 17;
		bench.frames.data[i] = bench.bytes[i];
		bench.frames.len[i] = FRAME;
	}
}

static void put_addresses(unsigned at, bool v6)
{
	for (unsigned i = 0; i < BURST; i++)
		if (v6)
			memcpy(bench.bytes[i] + 38, bench.addresses[at + i], 16);
		else
			memcpy(bench.bytes[i] + 30, bench.addresses[at + i], 4);
}

/* Returns cycles a packet. MADE reads the packets only. */
static double run_bursts(enum made made, bool v6, unsigned round)
{
	const unsigned first = round * BURSTS * BURST % ADDRESSES;
	const uint64_t start = rte_rdtsc();

	for (unsigned burst = 0; burst < BURSTS; burst++) {
		put_addresses(first + burst * BURST, v6);
		if (made == MADE)
			continue;
		classify_frames(bench.classifiers[made], 0, DIRECTION_A_TO_B, &bench.frames, BURST);
		bench.sum += bench.frames.policy[0];
	}
	return (double)(rte_rdtsc() - start) / (BURSTS * BURST);
}

static int compare_cycles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *words, double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), compare_cycles);
	printf("    %-44s %6.3f  (%.3f to %.3f)\n", words, values[n / 2], values[n / 10],
		values[n - 1 - n / 10]);
}

static void report_ratio(enum made against, double cycles[MADE][ROUNDS_MAX], unsigned rounds)
{
	static double ratios[ROUNDS_MAX];
	char words[64];

	for (unsigned i = 0; i < rounds; i++)
		ratios[i] = cycles[SEVERAL][i] / cycles[against][i];
	snprintf(words, sizeof(words), "three, to %s", made_words[against]);
	report(words, ratios, rounds);
}

static void measure(enum traffic traffic, unsigned rounds)
{
	static double cycles[MADE][ROUNDS_MAX];
	const bool v6 = traffic == TO_IPV6;
	/* The table with only the first matches gets no packets for others. */
	const enum made last = traffic == TO_FIRST ? FIRST_ONLY : SINGLES;

	for (unsigned round = 0; round < rounds; round++) {
		const double reading = run_bursts(MADE, v6, round);

		for (enum made made = 0; made <= last; made++) {
			run_bursts(made, v6, round);
			cycles[made][round] = run_bursts(made, v6, round) - reading;
		}
	}
	printf("  %s\n", traffic_words[traffic]);
	for (enum made made = SINGLES; made <= last; made++)
		report_ratio(made, cycles, rounds);
	for (enum made made = 0; made <= last; made++)
		report(made_words[made], cycles[made], rounds);
}

static int start_eal(int argc, char **argv)
{
	char *args[] = {argv[0], (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"1024"},
		(char[]){"--no-pci"}, (char[]){"--no-telemetry"}, (char[]){"-l"}, (char[]){"0"}};

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			argv[i] = argv[0];
			return rte_eal_init(argc - i, argv + i);
		}
	return rte_eal_init(COUNT(args), args);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	struct prng prng;

	if (rounds == 0 || rounds > ROUNDS_MAX)
		rounds = ROUNDS;
	if (start_eal(argc, argv) < 0)
		return EXIT_FAILURE;
	prng_seed(&prng, 1);
	make_policies(&prng);
	make_classifiers();
	printf("cycles a packet beyond writing its address, and their ratios round by round: "
	       "median (p10 to p90) of %u rounds\n",
		rounds);
	for (enum traffic traffic = 0; traffic < TRAFFICS; traffic++) {
		make_traffic(&prng, traffic);
		measure(traffic, rounds);
	}
	for (enum made made = 0; made < MADE; made++)
		classifier_destroy(bench.classifiers[made]);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}
