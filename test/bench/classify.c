/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of classification: cycles a packet beyond a bare loop that reads the same headers. It
 * measures classify_frames(), and parsing each frame with classify_burst(). DPDK's own tables with
 * the same prefixes are compared, which only look addresses up. All take turns in one process,
 * burst after burst, of headers that are in the cache, as after a driver's prefetch; only the
 * address differs each time. Then time and memory of building the tables.
 *
 * 	bench_classify [ROUNDS [CASE]] [-- EAL ARGUMENTS]
 *
 * Without EAL arguments it uses no huge pages, and large tables then also cost TLB misses. CASE is
 * a part of the names of the cases to run. Prints the median over the rounds, and the tenth and
 * ninetieth percentile.
 */
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>

#include "base/prng.h"
#include "classify/frames.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define BURST      32
#define ADDRESSES  (1u << 16)
#define BURSTS     512 /* bursts of a mode, a round: less than a tick of the scheduler */
#define ROUNDS     201
#define ROUNDS_MAX 10001
#define FRAME_MAX  128

/* Prefixes of a case. */
enum prefixes {
	ANY,      /* no prefix: one policy of all packets */
	ANY_L2,   /* like ANY, charged with its L2 header */
	V4_MIX,   /* /24 to /32, anywhere */
	V4_32,    /* hosts of a few networks */
	V4_PORTS, /* /24 to /32; each policy also matches a protocol and a port */
	V6_48,    /* in a few dozen /32 */
	V6_64,    /* in a few dozen /32 */
	V6_128,   /* in a few dozen /32 */
	V6_MIX,   /* /32 to /64 and hosts */
};

enum traffic { UNIFORM, ZIPF, UNMATCHED };

/* Headers of the frames. */
enum form { PLAIN, TAG, QINQ, OPTIONS, FRAGMENTS, GRE, MIXED };

struct bench_case {
	const char *name;
	enum prefixes prefixes;
	unsigned n;
	enum traffic traffic;
	enum form form;
};

static const struct bench_case cases[] = {
	{"one policy, any packet", ANY, 1, UNIFORM, PLAIN},
	{"one policy, any packet, L2", ANY_L2, 1, UNIFORM, PLAIN},
	{"v4 /24-/32", V4_MIX, 1, UNIFORM, PLAIN},
	{"v4 /24-/32", V4_MIX, 10000, UNIFORM, PLAIN},
	{"v4 /24-/32, Zipf", V4_MIX, 10000, ZIPF, PLAIN},
	{"v4 /24-/32", V4_MIX, 100000, UNIFORM, PLAIN},
	{"v4 /24-/32, Zipf", V4_MIX, 100000, ZIPF, PLAIN},
	{"v4 dense /32", V4_32, 10000, UNIFORM, PLAIN},
	{"v4 dense /32", V4_32, 100000, UNIFORM, PLAIN},
	{"v4 tcp port 443", V4_PORTS, 10000, UNIFORM, PLAIN},
	{"v6 /48", V6_48, 10000, UNIFORM, PLAIN},
	{"v6 /48, Zipf", V6_48, 10000, ZIPF, PLAIN},
	{"v6 /64", V6_64, 10000, UNIFORM, PLAIN},
	{"v6 /128", V6_128, 10000, UNIFORM, PLAIN},
	{"v6 /32-/64, /128", V6_MIX, 10000, UNIFORM, PLAIN},
	{"v6 /48", V6_48, 100000, UNIFORM, PLAIN},
	{"v6 /32-/64, /128", V6_MIX, 100000, UNIFORM, PLAIN},
	{"v4 unmatched", V4_MIX, 10000, UNMATCHED, PLAIN},
	{"v6 unmatched", V6_MIX, 10000, UNMATCHED, PLAIN},
	{"v4 tagged", V4_MIX, 10000, UNIFORM, TAG},
	{"v4 QinQ", V4_MIX, 10000, UNIFORM, QINQ},
	{"v4 all with options", V4_MIX, 10000, UNIFORM, OPTIONS},
	{"v4 all fragments", V4_MIX, 10000, UNIFORM, FRAGMENTS},
	{"v4 all GRE", V4_MIX, 10000, UNIFORM, GRE},
	{"v4 one of each", V4_MIX, 10000, UNIFORM, MIXED},
};

struct bench {
	const struct bench_case *which;
	struct policy *policies;
	struct classifier *classifier;
	struct rte_lpm *lpm;
	struct rte_lpm6 *lpm6;
	struct rte_fib *fib;
	struct rte_fib6 *fib6;
	uint8_t (*addresses)[16]; /* ADDRESSES, in network order */
	unsigned dst[BURST];      /* offset in each frame */
	uint8_t bytes[BURST][FRAME_MAX];
	struct frames frames;
	uint64_t sum; /* keeps the compiler from removing the loops */
};

static bool is_v6(const struct bench *bench)
{
	return bench->which->prefixes >= V6_48;
}

/* The prefixes */

static unsigned random_length(struct prng *prng, enum prefixes prefixes)
{
	switch (prefixes) {
	case V4_MIX:
	case V4_PORTS:
		return 24 + prng_below(prng, 9);
	case V4_32:
		return 32;
	case V6_48:
		return 48;
	case V6_64:
		return 64;
	case V6_128:
		return 128;
	case V6_MIX:
		return prng_below(prng, 8) == 0 ? 128 : 32 + 4 * prng_below(prng, 9);
	default:
		return 0;
	}
}

/* Writes an address of a provider: in some dozens of networks, with a random rest. */
static void random_address(struct prng *prng, enum prefixes prefixes, uint8_t *addr)
{
	for (unsigned i = 0; i < 16; i++)
		addr[i] = (uint8_t)prng_below(prng, 256);
	if (prefixes == V4_32) {
		addr[0] = 10;
		addr[1] = (uint8_t)prng_below(prng, 4);
	} else if (prefixes >= V6_48) {
		memcpy(addr, (uint8_t[]){0x20, 0x01, 0x0d}, 3);
		addr[3] = (uint8_t)prng_below(prng, 36);
	} else {
		addr[0] = (uint8_t)(1 + prng_below(prng, 200));
	}
}

static void clear_host(struct prefix *prefix)
{
	for (unsigned bit = prefix->length; bit < 128; bit++)
		prefix->addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static struct policy random_policy(struct prng *prng, enum prefixes prefixes)
{
	struct policy policy = {
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.accounting = prefixes == ANY_L2 ? ACCOUNTING_L2 : ACCOUNTING_L3,
	};
	struct prefix *dst = &policy.match.dst;

	if (prefixes == ANY || prefixes == ANY_L2)
		return policy;
	dst->family = prefixes >= V6_48 ? 6 : 4;
	dst->length = (uint8_t)random_length(prng, prefixes);
	random_address(prng, prefixes, dst->addr);
	clear_host(dst);
	if (prefixes == V4_PORTS) {
		policy.match.proto = 6;
		policy.match.dst_port = (struct port_range){443, 443};
	}
	return policy;
}

/* The packets */

/* Returns a policy's rank, with probability proportional to 1 / rank. */
static unsigned zipf_rank(struct prng *prng, unsigned n)
{
	const unsigned rank = (unsigned)pow(n + 1.0, prng_unit(prng));

	return rank > n ? n - 1 : rank - 1;
}

static void random_destination(struct prng *prng, struct bench *bench, uint8_t *addr)
{
	const struct bench_case *which = bench->which;
	const unsigned i = which->traffic == ZIPF ? zipf_rank(prng, which->n)
						  : prng_below(prng, which->n);
	const struct prefix *dst = &bench->policies[i].match.dst;

	random_address(prng, which->prefixes, addr);
	if (which->traffic == UNMATCHED) {
		addr[0] = 0xfd;
		return;
	}
	for (unsigned bit = 0; bit < dst->length; bit++) {
		addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
		addr[bit / 8] |= dst->addr[bit / 8] & 0x80 >> bit % 8;
	}
}

/* Writes TCP to port 443 in 64 bytes of that form. */
static void make_frame(struct bench *bench, unsigned i, enum form form)
{
	uint8_t *frame = bench->bytes[i];
	const bool v6 = is_v6(bench);
	unsigned l2 = 14, header;

	if (form == MIXED)
		form = i % MIXED;
	memset(frame, 0, FRAME_MAX);
	for (unsigned tags = form == TAG ? 1 : form == QINQ ? 2 : 0; tags > 0; tags--, l2 += 4)
		memcpy(frame + l2 - 2, (uint8_t[]){0x81, 0, 0, 7}, 4);
	memcpy(frame + l2 - 2, v6 ? (uint8_t[]){0x86, 0xdd} : (uint8_t[]){8, 0}, 2);
	frame[l2] = v6 ? 0x60 : form == OPTIONS ? 0x46 : 0x45;
	header = v6 ? 40 : form == OPTIONS ? 24 : 20;
	frame[l2 + (v6 ? 5 : 3)] = 46;
	frame[l2 + (v6 ? 6 : 9)] = form == GRE ? 47 : 6;
	if (!v6 && form == FRAGMENTS)
		frame[l2 + 7] = 9;
	memcpy(frame + l2 + header, (uint8_t[]){0x80, 1, 443 >> 8, 443 & 0xff}, 4);
	bench->dst[i] = l2 + (v6 ? 24 : 16);
	bench->frames.data[i] = frame;
	bench->frames.len[i] = 100;
}

static void make_traffic(struct prng *prng, struct bench *bench)
{
	for (unsigned i = 0; i < ADDRESSES; i++)
		random_destination(prng, bench, bench->addresses[i]);
	for (unsigned i = 0; i < BURST; i++)
		make_frame(bench, i, bench->which->form);
}

/* The modes; each is one burst. */

static inline void put_addresses(struct bench *bench, unsigned at)
{
	const unsigned size = is_v6(bench) ? 16 : 4;

	for (unsigned i = 0; i < BURST; i++) {
		uint8_t *dst = bench->bytes[i] + bench->dst[i];

		if (size == 4)
			memcpy(dst, bench->addresses[at + i], 4);
		else
			memcpy(dst, bench->addresses[at + i], 16);
	}
}

static inline void gather_addr4(const struct bench *bench, uint32_t *addr)
{
	for (unsigned i = 0; i < BURST; i++) {
		memcpy(&addr[i], bench->frames.data[i] + bench->dst[i], 4);
		addr[i] = be32toh(addr[i]);
	}
}

/* Returns an IPv6 address for DPDK: bytes, which have their own type since 24.11. */
static inline void *any_addr(const void *addr)
{
	return (void *)(uintptr_t)addr;
}

static inline void gather_addr6(const struct bench *bench, uint8_t addr[][16])
{
	for (unsigned i = 0; i < BURST; i++)
		memcpy(addr[i], bench->frames.data[i] + bench->dst[i], 16);
}

static void run_read(struct bench *bench)
{
	uint8_t addr6[BURST][16];
	uint32_t addr4[BURST];

	if (is_v6(bench)) {
		gather_addr6(bench, addr6);
		__asm__ volatile("" : : "m"(addr6));
	} else {
		gather_addr4(bench, addr4);
		__asm__ volatile("" : : "m"(addr4));
	}
}

static void run_frames(struct bench *bench)
{
	bench->frames.wide = classify_has_wide();
	classify_frames(bench->classifier, 0, DIRECTION_A_TO_B, &bench->frames, BURST);
	bench->sum += bench->frames.policy[0];
}

static void run_parse(struct bench *bench)
{
	struct frames *frames = &bench->frames;

	frames->parsed = 0;
	for (unsigned i = 0; i < BURST; i++)
		frames->l2_len[i] = frames_packet(frames, i)->l2_len;
	classify_burst(bench->classifier, 0, DIRECTION_A_TO_B, frames->packet, frames->data, BURST,
		frames->policy);
	bench->sum += frames->policy[0];
}

static void run_lpm_bulk(struct bench *bench)
{
	uint32_t addr[BURST], hop[BURST];

	gather_addr4(bench, addr);
	rte_lpm_lookup_bulk(bench->lpm, addr, hop, BURST);
	bench->sum += hop[0];
}

static void run_lpm_x4(struct bench *bench)
{
	uint32_t addr[BURST], hop[BURST];

	gather_addr4(bench, addr);
	for (unsigned i = 0; i < BURST; i += 4) {
		xmm_t four;

		memcpy(&four, &addr[i], sizeof(four));
		rte_lpm_lookupx4(bench->lpm, four, &hop[i], UINT32_MAX);
	}
	bench->sum += hop[0];
}

static void run_fib(struct bench *bench)
{
	uint32_t addr[BURST];
	uint64_t hop[BURST];

	gather_addr4(bench, addr);
	rte_fib_lookup_bulk(bench->fib, addr, hop, BURST);
	bench->sum += hop[0];
}

static void run_lpm6(struct bench *bench)
{
	uint8_t addr[BURST][16];
	int32_t hop[BURST];

	gather_addr6(bench, addr);
	rte_lpm6_lookup_bulk_func(bench->lpm6, any_addr(addr), hop, BURST);
	bench->sum += (uint32_t)hop[0];
}

static void run_fib6(struct bench *bench)
{
	uint8_t addr[BURST][16];
	uint64_t hop[BURST];

	gather_addr6(bench, addr);
	rte_fib6_lookup_bulk(bench->fib6, any_addr(addr), hop, BURST);
	bench->sum += hop[0];
}

static const struct mode {
	const char *name;
	void (*run)(struct bench *bench);
	size_t needs; /* offset of an optional table, or 0 */
} modes[] = {
	{"read", run_read, 0}, /* first: the others are measured against it */
	{"classify_frames", run_frames, 0},
	{"parse, classify_burst", run_parse, 0},
	{"rte_lpm bulk", run_lpm_bulk, offsetof(struct bench, lpm)},
	{"rte_lpm x4", run_lpm_x4, offsetof(struct bench, lpm)},
	{"rte_fib bulk", run_fib, offsetof(struct bench, fib)},
	{"rte_lpm6 bulk", run_lpm6, offsetof(struct bench, lpm6)},
	{"rte_fib6 bulk", run_fib6, offsetof(struct bench, fib6)},
};

static bool mode_applies(const struct bench *bench, const struct mode *mode)
{
	void *table;

	if (mode->needs == 0)
		return true;
	memcpy(&table, (const char *)bench + mode->needs, sizeof(table));
	return table != NULL;
}

static double run_bursts(struct bench *bench, const struct mode *mode, unsigned round)
{
	const unsigned first = round * BURSTS * BURST % ADDRESSES;
	const uint64_t start = rte_rdtsc();

	for (unsigned burst = 0; burst < BURSTS; burst++) {
		put_addresses(bench, first + burst * BURST);
		mode->run(bench);
	}
	return (double)(rte_rdtsc() - start) / (BURSTS * BURST);
}

/* Runs once before, untimed, to warm its table: two modes share one, and caches would differ. */
static double measure_lookups(struct bench *bench, const struct mode *mode, unsigned round)
{
	run_bursts(bench, mode, round);
	return run_bursts(bench, mode, round);
}

static int compare_lookups(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report_lookups(const char *name, double *cycles, unsigned rounds)
{
	qsort(cycles, rounds, sizeof(*cycles), compare_lookups);
	printf("    %-24s %6.1f  (%.1f to %.1f)\n", name, cycles[rounds / 2], cycles[rounds / 10],
		cycles[rounds - 1 - rounds / 10]);
}

static void measure_all(struct bench *bench, unsigned rounds)
{
	static double cycles[COUNT(modes)][ROUNDS_MAX];

	for (unsigned round = 0; round < rounds; round++)
		for (unsigned m = 0; m < COUNT(modes); m++)
			if (mode_applies(bench, &modes[m]))
				cycles[m][round] = measure_lookups(bench, &modes[m], round);
	for (unsigned m = 1; m < COUNT(modes); m++) {
		for (unsigned round = 0; round < rounds; round++)
			cycles[m][round] -= cycles[0][round];
		if (mode_applies(bench, &modes[m]))
			report_lookups(modes[m].name, cycles[m], rounds);
	}
	report_lookups(modes[0].name, cycles[0], rounds);
}

/* DPDK's tables with the same prefixes. */

#define SLOW 20000 /* prefixes; more are left out: rte_lpm_add() of 100k takes half a minute */

static double ms_between(uint64_t from, uint64_t to)
{
	return 1e3 * (double)(to - from) / (double)rte_get_tsc_hz();
}

static uint32_t host_order(const uint8_t *addr)
{
	uint32_t word;

	memcpy(&word, addr, sizeof(word));
	return be32toh(word);
}

static void make_v4(struct bench *bench)
{
	const unsigned n = bench->which->n;
	const uint64_t start = rte_rdtsc();
	uint64_t middle;

	if (n <= SLOW)
		bench->lpm = rte_lpm_create("lpm", SOCKET_ID_ANY,
			&(struct rte_lpm_config){.max_rules = n, .number_tbl8s = n + 1});
	for (unsigned i = 0; bench->lpm != NULL && i < n; i++)
		rte_lpm_add(bench->lpm, host_order(bench->policies[i].match.dst.addr),
			bench->policies[i].match.dst.length, i);
	middle = rte_rdtsc();
	bench->fib = rte_fib_create("fib", SOCKET_ID_ANY,
		&(struct rte_fib_conf){
			.type = RTE_FIB_DIR24_8,
			.default_nh = UINT32_MAX >> 1,
			.max_routes = (int)n + 1,
			.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = n + 1},
		});
	for (unsigned i = 0; bench->fib != NULL && i < n; i++)
		rte_fib_add(bench->fib, host_order(bench->policies[i].match.dst.addr),
			bench->policies[i].match.dst.length, i);
	printf("  rte_lpm %.0f ms, rte_fib %.0f ms", ms_between(start, middle),
		ms_between(middle, rte_rdtsc()));
}

static void make_v6(struct bench *bench)
{
	const unsigned n = bench->which->n;
	const unsigned tbl8s = bench->which->prefixes == V6_128 ? n * 12 : n * 5 + 1000;
	const uint64_t start = rte_rdtsc();
	uint64_t middle;

	if (n <= SLOW)
		bench->lpm6 = rte_lpm6_create("lpm6", SOCKET_ID_ANY,
			&(struct rte_lpm6_config){.max_rules = n, .number_tbl8s = tbl8s});
	for (unsigned i = 0; bench->lpm6 != NULL && i < n; i++)
		rte_lpm6_add(bench->lpm6, any_addr(bench->policies[i].match.dst.addr),
			bench->policies[i].match.dst.length, i);
	middle = rte_rdtsc();
	bench->fib6 = rte_fib6_create("fib6", SOCKET_ID_ANY,
		&(struct rte_fib6_conf){
			.type = RTE_FIB6_TRIE,
			.default_nh = UINT32_MAX >> 1,
			.max_routes = (int)n + 1,
			.trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = tbl8s},
		});
	for (unsigned i = 0; bench->fib6 != NULL && i < n; i++)
		rte_fib6_add(bench->fib6, any_addr(bench->policies[i].match.dst.addr),
			bench->policies[i].match.dst.length, i);
	printf("  rte_lpm6 %.0f ms, rte_fib6 %.0f ms", ms_between(start, middle),
		ms_between(middle, rte_rdtsc()));
}

static double allocated_mb(void)
{
	struct rte_malloc_socket_stats stats;

	rte_malloc_get_socket_stats(0, &stats);
	return (double)stats.heap_allocsz_bytes / 1e6;
}

static int make_classifier(struct bench *bench)
{
	const double before = allocated_mb();
	const uint64_t start = rte_rdtsc();
	int rc = classifier_create(bench->policies, bench->which->n, -1, &bench->classifier);

	printf("  created in %.0f ms, %.1f MB;", ms_between(start, rte_rdtsc()),
		allocated_mb() - before);
	return rc;
}

static void run_case(const struct bench_case *which, unsigned rounds)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct prng prng;

	prng_seed(&prng, 1);
	bench->which = which;
	bench->addresses = calloc(ADDRESSES, sizeof(*bench->addresses));
	bench->policies = calloc(which->n, sizeof(*bench->policies));
	for (unsigned i = 0; i < which->n; i++)
		bench->policies[i] = random_policy(&prng, which->prefixes);
	make_traffic(&prng, bench);
	printf("%u policies, %s\n", which->n, which->name);
	if (make_classifier(bench) < 0)
		exit(EXIT_FAILURE);
	if (which->form == PLAIN && is_v6(bench))
		make_v6(bench);
	else if (which->form == PLAIN && which->prefixes >= V4_MIX)
		make_v4(bench);
	printf("\n");
	measure_all(bench, rounds);
	fflush(stdout);
	classifier_destroy(bench->classifier);
	rte_lpm_free(bench->lpm);
	rte_lpm6_free(bench->lpm6);
	rte_fib_free(bench->fib);
	rte_fib6_free(bench->fib6);
	free(bench->policies);
	free(bench->addresses);
	free(bench);
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
	const char *only = argc > 2 && argv[2][0] != '-' ? argv[2] : "";
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;

	if (rounds == 0 || rounds > ROUNDS_MAX)
		rounds = ROUNDS;
	if (start_eal(argc, argv) < 0)
		return EXIT_FAILURE;
	printf("cycles a packet beyond reading its address, median (p10 to p90) of %u rounds\n",
		rounds);
	for (unsigned i = 0; i < COUNT(cases); i++)
		if (strstr(cases[i].name, only) != NULL)
			run_case(&cases[i], rounds);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}
