/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of a classified packet until its verdict is decided and counted, by the appliance's own
 * decide(). It is compared with the least that memory access allows: read, change and write the
 * line of the packet's policy.
 *
 *     bench_police [--rounds N] [--json FILE]
 *
 * Packets of random sizes arrive in bursts of 32, for policies that are all equally likely. Every
 * policy's rate makes a certain part of its packets exceed, in an order that no branch predictor
 * could learn; one packet in 128 is sampled, or none. Other cases:
 *
 * - a quota that is never spent, from which a quantum at a time is taken into the worker's own
 *   credit;
 * - a policy that is not plain: a token bucket, or one that 32 flows share (meter "phantom");
 * - all packets conform, each policy is one of ten clients of a customer, and all customers are in
 *   one link.
 *
 * Contestants are interleaved round by round, because the machine's speed drifts more slowly than a
 * round: only the ratios count.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include <rte_cycles.h>

#include "base/prng.h"
#include "decide.h"
#include "worker_data.h"
#include "meter/phantom.h"
#include "police/eights.h"
#include "police/sample.h"

#define SEQUENCE    (1u << 21) /* packets until they repeat */
#define ROUND       (1u << 14) /* least packets: shorter than a time slice of the scheduler */
#define BURST_TICKS 1000       /* from burst to burst, on the bucket's clock */
#define SHIFT       7          /* sampling: one packet in 128 */
#define LENGTH      782        /* bytes, on average */
#define HUGEPAGE    (UINT64_C(2) << 20)

static const unsigned sizes[] = {1, 10000, 100000};

/* Percent of the packets. */
static const unsigned drops[] = {0, 33, 50, 100};

enum {
	LINE,
	BUCKET,
	SAMPLED = BUCKET + RTE_DIM(drops),
	TOTAL,
	OTHER,
	PHANTOM = OTHER + 2,
	LEVELS = PHANTOM + 2,
	CONTESTANTS,
};

/* Percent of dropped packets in the two policies of each kind that is not plain. */
static const unsigned extended_drops[] = {0, 50};

#define CLIENTS 10    /* clients a customer */
#define QUANTUM 65536 /* bytes of a quota that a worker takes at a time */

struct traffic {
	uint32_t *policy, *len;
	unsigned at;
};

struct contest {
	unsigned n_policies;
	unsigned packets; /* a round */
	struct traffic traffic;
	uint64_t (*lines)[8];
	struct worker *workers[CONTESTANTS];
	uint64_t now[CONTESTANTS];
	double *cycles[CONTESTANTS]; /* cycles a packet, of each round */
};

static void *alloc_huge(size_t bytes)
{
	size_t whole = (bytes + HUGEPAGE - 1) & ~(HUGEPAGE - 1);
	void *memory = aligned_alloc(HUGEPAGE, whole);

	if (!memory) {
		fprintf(stderr, "no %zu bytes\n", whole);
		exit(1);
	}
	madvise(memory, whole, MADV_HUGEPAGE);
	return memset(memory, 0, whole);
}

static void traffic_make(struct traffic *traffic, unsigned n_policies)
{
	struct prng prng;

	prng_seed(&prng, n_policies);
	traffic->policy = alloc_huge(SEQUENCE * sizeof(uint32_t));
	traffic->len = alloc_huge(SEQUENCE * sizeof(uint32_t));
	for (unsigned i = 0; i < SEQUENCE; i++) {
		traffic->policy[i] = prng_below(&prng, n_policies);
		traffic->len[i] = 64 + prng_below(&prng, 2 * (LENGTH - 64));
	}
}

/* Returns a policy's rate and burst: some ten packets, because a small bucket is often full. */
static struct policy_state line_make(unsigned n_policies, unsigned drop, bool sampled)
{
	double arrives = (double)LENGTH * BURST / n_policies / BURST_TICKS; /* bytes a tick */
	struct policy_state state = {
		.bucket.fraction = police_owner(
			POLICE_SIMPLE, sampled ? SHIFT : POLICE_UNSAMPLED, ACCOUNTING_L2),
		.limit.rate = (int64_t)(arrives * (100 - drop) / 100 * 0x1p56),
		.limit.burst = (uint64_t)(20 * LENGTH + 4 * BURST * LENGTH / n_policies)
			       << TOKEN_BYTE,
	};

	if (drop == 0)
		state.limit.rate *= 4;
	if (drop == 100)
		state.limit.burst = 0;
	return state;
}

static struct worker *worker_make(
	unsigned n_policies, unsigned drop, bool sampled, enum police_kind kind)
{
	struct worker *w = alloc_huge(sizeof(*w));
	struct flow_sample *samples = alloc_huge(n_policies * sizeof(*samples));

	w->paths = alloc_huge(sizeof(*w->paths));
	w->own.view.kinds = 1U << kind;
	w->own.eights = police_has_eights();
	w->policies = alloc_huge(n_policies * sizeof(*w->policies));
	w->samples = alloc_huge(n_policies * sizeof(*w->samples));
	for (unsigned i = 0; i < n_policies; i++) {
		w->policies[i] = line_make(n_policies, drop, sampled);
		w->samples[i] = &samples[i];
	}
	return w;
}

/* Every policy has a quota and passes only the packets that it paid for. */
static struct worker *totals_make(unsigned n_policies)
{
	struct worker *w = worker_make(n_policies, 100, false, POLICE_TOTAL);
	struct policy_extended *others = alloc_huge(n_policies * sizeof(*others));
	struct credit *credits = alloc_huge(n_policies * sizeof(*credits));

	for (unsigned i = 0; i < n_policies; i++) {
		credits[i] = (struct credit){0};
		credit_put(&credits[i], CREDIT_MOST);
		others[i].kind = METER_CREDIT;
		credit_profile_join(&others[i].profile.credit, &credits[i], 0, QUANTUM);
		w->policies[i] = (struct policy_state){
			.bucket.fraction = police_owner(
				POLICE_TOTAL, POLICE_UNSAMPLED, ACCOUNTING_L2),
			.other = &others[i],
		};
	}
	return w;
}

/* Policies that other_init() would set up, with the limit of line_make(). */
static struct worker *others_make(unsigned n_policies, unsigned drop)
{
	struct worker *w = worker_make(n_policies, drop, false, POLICE_OTHER);
	struct policy_extended *others = alloc_huge(n_policies * sizeof(*others));

	for (unsigned i = 0; i < n_policies; i++) {
		others[i].kind = METER_TOKEN_BUCKET;
		others[i].profile.bucket = w->policies[i].limit;
		w->policies[i] = (struct policy_state){
			.bucket.fraction = police_owner(0, POLICE_UNSAMPLED, ACCOUNTING_L2),
			.other = &others[i],
		};
	}
	return w;
}

/* Workers with such policies, whose flows share their limits. */
static struct worker *phantoms_make(unsigned n_policies, unsigned drop)
{
	static const struct phantom_params params = {.classes = 64, .secret = 1};
	size_t bytes = RTE_ALIGN(phantom_bytes(&params), CACHE_LINE);
	struct worker *w = worker_make(n_policies, drop, false, POLICE_PHANTOM);
	uint8_t *phantoms = alloc_huge(n_policies * bytes);

	for (unsigned i = 0; i < n_policies; i++) {
		struct policy_state *state = &w->policies[i];

		token_bucket_set_owner(&state->bucket,
			police_owner(POLICE_PHANTOM, POLICE_UNSAMPLED, ACCOUNTING_L2));
		state->phantom = phantom_init(phantoms + i * bytes, &params, &state->limit);
	}
	return w;
}

/* Clients within their limits, in customers and a link that are never full. */
static struct worker *levels_make(unsigned n_policies)
{
	unsigned link = n_policies + n_policies / CLIENTS + 1, n = link + 1;
	struct worker *w = worker_make(n, 0, false, POLICE_SIMPLE);
	uint32_t *parents = alloc_huge(n * sizeof(*parents));

	for (unsigned i = 0; i < n; i++) {
		parents[i] = i < n_policies ? n_policies + i / CLIENTS : link;
		if (i >= n_policies)
			w->policies[i].limit = (struct token_bucket_profile){.rate = INT64_MAX / 2,
				.burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE};
		if (i != link)
			token_bucket_set_owner(
				&w->policies[i].bucket, police_owner(POLICE_SIMPLE | POLICE_BELOW,
								POLICE_UNSAMPLED, ACCOUNTING_L2));
	}
	parents[link] = SLOT_NONE;
	w->own.view.parents = parents;
	return w;
}

static void contest_make(struct contest *contest, unsigned n_policies, unsigned rounds)
{
	contest->n_policies = n_policies;
	contest->packets = RTE_MAX(ROUND, rte_align32pow2(n_policies));
	traffic_make(&contest->traffic, n_policies);
	contest->lines = alloc_huge(n_policies * sizeof(contest->lines[0]));
	for (unsigned c = 0; c < CONTESTANTS; c++) {
		contest->cycles[c] = alloc_huge(rounds * sizeof(double));
		if (c == TOTAL)
			contest->workers[c] = totals_make(n_policies);
		else if (c == LEVELS)
			contest->workers[c] = levels_make(n_policies);
		else if (c >= PHANTOM)
			contest->workers[c] = phantoms_make(
				n_policies, extended_drops[c - PHANTOM]);
		else if (c >= OTHER)
			contest->workers[c] = others_make(n_policies, extended_drops[c - OTHER]);
		else if (c != LINE)
			contest->workers[c] = worker_make(n_policies,
				c == SAMPLED ? 0 : drops[c - BUCKET], c == SAMPLED, POLICE_SIMPLE);
	}
}

/* The bytes of all packets are equal; a packet's flow is the device's hash. */
static void burst_make(struct rx_burst *burst, struct rte_mbuf *mbufs)
{
	static const uint8_t frame[64];
	static struct rte_mbuf *received[BURST];

	memset(burst, 0, sizeof(*burst));
	burst->mbufs = received;
	burst->rx_hash = true;
	for (unsigned i = 0; i < BURST; i++) {
		burst->mbufs[i] = &mbufs[i];
		mbufs[i].ol_flags = RTE_MBUF_F_RX_RSS_HASH;
		mbufs[i].hash.rss = (i + 1) * POLICE_WEYL;
		burst->frames.data[i] = frame;
		burst->frames.len[i] = sizeof(frame);
		burst->frames.l2_len[i] = burst->frames.uncharged[i] = 14;
	}
}

static void take_burst(struct rx_burst *burst, const struct traffic *traffic, unsigned at)
{
	memcpy(burst->frames.policy, traffic->policy + at, BURST * sizeof(uint32_t));
	burst->len = traffic->len + at;
	burst->frames.parsed = 0;
}

static void run_line(const struct contest *contest, struct rx_burst *burst, unsigned at)
{
	for (unsigned end = at + contest->packets; at < end; at += BURST) {
		take_burst(burst, &contest->traffic, at);
		for (unsigned i = 0; i < BURST; i++)
			rte_prefetch0(contest->lines[burst->frames.policy[i]]);
		for (unsigned i = 0; i < BURST; i++)
			contest->lines[burst->frames.policy[i]][0] += burst->len[i];
	}
}

static void run_decide(struct contest *contest, unsigned c, struct rx_burst *burst, unsigned at)
{
	struct rte_mbuf *dropped[BURST];

	for (unsigned end = at + contest->packets; at < end; at += BURST) {
		take_burst(burst, &contest->traffic, at);
		contest->now[c] += BURST_TICKS;
		decide(contest->workers[c], burst, BURST, contest->now[c], dropped);
		decide_samples(burst);
	}
}

static double run_police_round(struct contest *contest, unsigned c, unsigned at)
{
	static struct rx_burst burst;
	static struct rte_mbuf mbufs[BURST];
	uint64_t began;

	burst_make(&burst, mbufs);
	began = rte_rdtsc_precise();
	if (c == LINE)
		run_line(contest, &burst, at);
	else
		run_decide(contest, c, &burst, at);
	return (double)(rte_rdtsc_precise() - began) / contest->packets;
}

static void run_rounds(struct contest *contest, unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		unsigned at = round * contest->packets % SEQUENCE;

		/* Runs each once before, untimed, so that caches do not depend on other rounds. */
		for (unsigned c = 0; c < CONTESTANTS; c++) {
			unsigned other = (c + round) % CONTESTANTS;

			run_police_round(contest, other, at);
			contest->cycles[other][round] = run_police_round(contest, other, at);
		}
	}
}

static int compare_police(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct ratio {
	double median, p10, p90;
};

static struct ratio ratio_of(const double *a, const double *b, unsigned rounds)
{
	double *ratios = alloc_huge(rounds * sizeof(*ratios));
	struct ratio ratio;

	for (unsigned i = 0; i < rounds; i++)
		ratios[i] = a[i] / b[i];
	qsort(ratios, rounds, sizeof(*ratios), compare_police);
	ratio = (struct ratio){
		ratios[rounds / 2], ratios[rounds / 10], ratios[rounds - 1 - rounds / 10]};
	free(ratios);
	return ratio;
}

static double median_of(const double *values, unsigned rounds)
{
	double *sorted = alloc_huge(rounds * sizeof(*sorted)), median;

	memcpy(sorted, values, rounds * sizeof(*sorted));
	qsort(sorted, rounds, sizeof(*sorted), compare_police);
	median = sorted[rounds / 2];
	free(sorted);
	return median;
}

static double dropped_share(const struct worker *w, unsigned n_policies)
{
	double packets = 0, dropped = 0;

	for (unsigned i = 0; i < n_policies; i++) {
		packets += w->policies[i].packets;
		dropped += w->policies[i].dropped_packets;
	}
	return dropped / packets;
}

static void json_ratio(FILE *json, const char *key, unsigned n, struct ratio ratio)
{
	static bool first = true;

	if (!json)
		return;
	fprintf(json, "%s\"%s_%u\": {\"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f}",
		first ? "" : ", ", key, n, ratio.median, ratio.p10, ratio.p90);
	first = false;
}

/* Compares with a token bucket of the same load: of other_init(), and plain. */
static void report_phantom(const struct contest *contest, unsigned c, unsigned rounds, FILE *json)
{
	unsigned load = (c - PHANTOM) % 2;
	const double *cycles = contest->cycles[c];
	struct ratio other = ratio_of(cycles, contest->cycles[OTHER + load], rounds);
	struct ratio plain = ratio_of(cycles, contest->cycles[BUCKET + 2 * load], rounds);
	char key[32];

	printf("           to a bucket of its kind %.3f (%.3f to %.3f), to a plain one %.3f (%.3f "
	       "to %.3f)\n",
		other.median, other.p10, other.p90, plain.median, plain.p10, plain.p90);
	snprintf(key, sizeof(key), "phantom%u_to_other", extended_drops[load]);
	json_ratio(json, key, contest->n_policies, other);
	snprintf(key, sizeof(key), "phantom%u_to_plain", extended_drops[load]);
	json_ratio(json, key, contest->n_policies, plain);
}

static void report_police(const struct contest *contest, unsigned rounds, FILE *json)
{
	unsigned n = contest->n_policies;

	printf("%u policies: a bare line %.1f cycles\n", n,
		median_of(contest->cycles[LINE], rounds));
	for (unsigned c = BUCKET; c < CONTESTANTS; c++) {
		struct ratio line = ratio_of(contest->cycles[c], contest->cycles[LINE], rounds);
		struct ratio none = ratio_of(contest->cycles[c], contest->cycles[BUCKET], rounds);
		char key[32];

		snprintf(key, sizeof(key), "%s", c == TOTAL ? "total" : "sampled");
		if (c >= OTHER)
			snprintf(key, sizeof(key), "%s%u", c < PHANTOM ? "other" : "phantom",
				extended_drops[(c - OTHER) % 2]);
		if (c < SAMPLED)
			snprintf(key, sizeof(key), "drop%u", drops[c - BUCKET]);
		if (c == LEVELS)
			snprintf(key, sizeof(key), "levels");
		printf("  %-8s %5.1f cycles, %4.1f %% dropped; to a line %.2f (%.2f to %.2f), to "
		       "neither %.3f (%.3f to %.3f)\n",
			key, median_of(contest->cycles[c], rounds),
			100 * dropped_share(contest->workers[c], n), line.median, line.p10,
			line.p90, none.median, none.p10, none.p90);
		json_ratio(json, key, n, line);
		snprintf(key + strlen(key), sizeof(key) - strlen(key), "_to_none");
		json_ratio(json, key, n, none);
		if (c >= PHANTOM && c < LEVELS)
			report_phantom(contest, c, rounds, json);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
		{"json", required_argument, NULL, 'j'}, {0}};
	unsigned rounds = 101;
	FILE *json = NULL;

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (option == 'r')
			rounds = (unsigned)strtoul(optarg, NULL, 10);
		if (option == 'j')
			json = fopen(optarg, "w");
		if (option == '?' || rounds == 0 || (option == 'j' && !json)) {
			fprintf(stderr, "bench_police [--rounds N] [--json FILE]\n");
			return 1;
		}
	}
	if (json)
		fprintf(json, "{\"ratios\": {");
	for (unsigned s = 0; s < RTE_DIM(sizes); s++) {
		static struct contest contest;

		contest_make(&contest, sizes[s], rounds);
		run_rounds(&contest, rounds);
		report_police(&contest, rounds, json);
	}
	if (json)
		fprintf(json, "}}\n");
	return json ? fclose(json) != 0 : 0;
}
