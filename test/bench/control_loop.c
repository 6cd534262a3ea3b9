/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of control in one limiter: CPU time of an estimate interval over its length, in a group
 * of 16 whose limiters are all real and share many aggregates. For the first limiter all work of an
 * interval is timed. That is the tick (measure and allocate), publishing profiles, sending (encode
 * and seal) and receiving (open and apply). System calls and packets are not included.
 *
 *   bench_control_loop [--json FILE] [--quick]
 *
 * Flows are many and noisy. Every active aggregate has flows at every limiter in every interval, in
 * numbers that change every second, and its demand is slightly above its limit. So all limits and
 * all records change all the time. The other limiters have one worker, and all have the same
 * traffic.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/prng.h"
#include "engine/profile.h"
#include "flow/flow_sample.h"

#define LIMITERS    16
#define BRANCHING   3
#define INTERVAL_NS UINT64_C(50000000)
#define TIMEOUT_NS  UINT64_C(1000000000)
#define DATAGRAM    1200
#define WORKERS     2
#define FLOWS_MIN   4 /* flows of an aggregate at a limiter, over its workers */
#define FLOWS_MAX   16
#define LIMIT_BPS   UINT64_C(10000000)
#define BURST       UINT64_C(131072)
#define HZ          UINT64_C(2500000000)
#define HEADERS     28 /* bytes of IPv4 and UDP */

struct counters {
	uint64_t arrived, dropped;
	uint64_t slots[FLOW_SLOTS]; /* slots of one worker */
};

/* Counters of the workers of the first limiter, or of any other. */
struct traffic {
	struct counters *counters; /* n_policies rows of n_workers */
	uint64_t *slots;           /* slots of the sample that is being read */
	unsigned n_workers;
};

enum part { PART_TICK, PART_MEASURE, PART_PUBLISH, PART_SEND, PART_RECEIVE, PARTS };

struct datagram {
	size_t len;
	uint8_t buf[DATAGRAM];
};

struct bench {
	unsigned n_policies, n_active;
	struct roster *roster;
	struct limiter *limiters[LIMITERS];
	struct keyring *rings[LIMITERS];
	struct limiter_policy *policies;
	struct policy *configs;
	struct limit_profile *profiles; /* n_policies rows of WORKERS */
	struct traffic own, others;
	struct prng prng;
	uint64_t now, sent_bytes;
	struct datagram *inbox;
	unsigned n_inbox, inbox_size;
	unsigned published;
};

static void *alloc_or_exit(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		perror("bench_control_loop");
		exit(1);
	}
	return p;
}

/* Returns CPU time in µs, so that other processes count less. */
static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Returns the policy of the i-th active aggregate; these are spread as far apart as possible. */
static unsigned active_policy(const struct bench *b, unsigned i)
{
	return (unsigned)((uint64_t)i * b->n_policies / b->n_active);
}

static void count_flow_bytes(struct counters *c, unsigned flow, uint64_t bytes)
{
	unsigned slot = (flow * 7) % FLOW_SLOTS;

	c->arrived += bytes;
	c->slots[slot] = (uint64_t)(flow + 1) << FLOW_COUNT_BITS |
			 ((c->slots[slot] + bytes) & FLOW_COUNT_MASK);
}

/* Returns an aggregate's number of flows, which changes every second. */
static unsigned flows_of(const struct bench *b, unsigned policy)
{
	uint64_t second = (b->now / INTERVAL_NS + policy) / 20;

	return FLOWS_MIN + (unsigned)(((policy + second) * UINT64_C(0x9e3779b97f4a7c15)) >> 33) %
				   (FLOWS_MAX - FLOWS_MIN + 1);
}

/* Adds one interval's traffic: limit/N and a little more, in equal parts, each ± a third. */
static void arrive_interval(struct bench *b, struct traffic *t)
{
	uint64_t fair = LIMIT_BPS / 8 / LIMITERS * INTERVAL_NS / 1000000000;

	for (unsigned i = 0; i < b->n_active; i++) {
		unsigned policy = active_policy(b, i), flows = flows_of(b, policy);
		struct counters *row = &t->counters[(size_t)policy * t->n_workers];
		uint64_t part = fair / flows;

		for (unsigned f = 0; f < flows; f++) {
			uint64_t noise = prng_next(&b->prng) % (2 * part / 3 + 1);

			count_flow_bytes(
				&row[f % t->n_workers], f, 2 * part / 3 + noise + part / 20);
		}
		row[0].dropped++;
	}
}

/* Measures like the appliance: adds up the counters of all workers, and concatenates the slots. */
static void measure_traffic(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct traffic *t = context;

	*sample = (struct limiter_sample){.slots = t->slots};
	for (unsigned w = 0; w < t->n_workers; w++) {
		const struct counters *c = &t->counters[(size_t)policy * t->n_workers + w];

		sample->arrived_bytes += c->arrived;
		sample->dropped_packets += c->dropped;
		memcpy(t->slots + (size_t)w * FLOW_SLOTS, c->slots, sizeof(c->slots));
	}
}

static void make_traffic(struct traffic *t, unsigned n_policies, unsigned n_workers)
{
	t->n_workers = n_workers;
	t->counters = alloc_or_exit((size_t)n_policies * n_workers, sizeof(*t->counters));
	t->slots = alloc_or_exit(n_workers * FLOW_SLOTS, sizeof(*t->slots));
}

static void make_policies(struct bench *b)
{
	b->policies = alloc_or_exit(b->n_policies, sizeof(*b->policies));
	b->configs = alloc_or_exit(b->n_policies, sizeof(*b->configs));
	b->profiles = alloc_or_exit((size_t)b->n_policies * WORKERS, sizeof(*b->profiles));
	for (unsigned i = 0; i < b->n_policies; i++) {
		struct policy *config = &b->configs[i];

		*config = (struct policy){
			.limit_bps = LIMIT_BPS,
			.burst_bytes = BURST,
			.allocator = &allocator_fps,
			.interval_ns = INTERVAL_NS,
			.keep_per_second = 0.1,
			.mark = MARK_ECN,
		};
		snprintf(config->name, sizeof(config->name), "customer-%06u", i);
		b->policies[i] = limit_profile_policy(config, 0);
	}
}

static void make_limiter(struct bench *b, unsigned i)
{
	static const uint8_t key[DATAGRAM_KEY] = "the key of a group that is timed";
	struct keyring_params keys = {.roster = b->roster, .self = i, .n_keys = 1, .keys = &key};
	struct limiter_params params = {
		.gossip = {.roster = b->roster,
			.self = i,
			.epoch = 1 + i,
			.seed = 1 + i,
			.branching = BRANCHING,
			.timeout_ns = TIMEOUT_NS,
			.datagram_max = DATAGRAM},
		.policies = b->policies,
		.n_policies = b->n_policies,
		.n_workers = i == 0 ? WORKERS : 1,
		.skips_idle = true,
	};

	if (keyring_create(&keys, &b->rings[i]) == 0)
		params.gossip.keyring = b->rings[i];
	if (!b->rings[i] || limiter_create(&params, b->now, &b->limiters[i])) {
		fprintf(stderr, "bench_control_loop: no limiter\n");
		exit(1);
	}
}

static void bench_init(struct bench *b, unsigned n_policies, unsigned n_active)
{
	uint32_t ids[LIMITERS];

	*b = (struct bench){.n_policies = n_policies, .n_active = n_active, .now = INTERVAL_NS};
	prng_seed(&b->prng, 1);
	for (unsigned i = 0; i < LIMITERS; i++)
		ids[i] = 1000 + i;
	if (roster_create(ids, LIMITERS, &b->roster))
		exit(1);
	make_policies(b);
	make_traffic(&b->own, n_policies, WORKERS);
	make_traffic(&b->others, n_policies, 1);
	for (unsigned i = 0; i < LIMITERS; i++)
		make_limiter(b, i);
}

static void bench_free(struct bench *b)
{
	for (unsigned i = 0; i < LIMITERS; i++) {
		limiter_destroy(b->limiters[i]);
		keyring_destroy(b->rings[i]);
	}
	roster_destroy(b->roster);
	free(b->policies);
	free(b->configs);
	free(b->profiles);
	free(b->own.counters);
	free(b->own.slots);
	free(b->others.counters);
	free(b->others.slots);
	free(b->inbox);
}

/* Queues datagrams to the first limiter, so that their reception can be timed. */
static void limit_ring_datagram(struct bench *b, unsigned to, uint8_t *buf, size_t len)
{
	if (to != 0) {
		limiter_receive(b->limiters[to], b->now, buf, len);
		return;
	}
	if (b->n_inbox == b->inbox_size) {
		b->inbox_size = 2 * b->inbox_size + 64;
		b->inbox = realloc(b->inbox, b->inbox_size * sizeof(*b->inbox));
		if (!b->inbox)
			exit(1);
	}
	b->inbox[b->n_inbox].len = len;
	memcpy(b->inbox[b->n_inbox++].buf, buf, len);
}

/* Replaces the appliance's detection of policies with new counts. */
static void wake_active(struct bench *b, unsigned limiter)
{
	for (unsigned i = 0; i < b->n_active; i++)
		limiter_wake(b->limiters[limiter], active_policy(b, i));
}

static void run_others(struct bench *b)
{
	uint8_t buf[DATAGRAM];
	unsigned to;
	size_t len;

	for (unsigned i = 1; i < LIMITERS; i++) {
		wake_active(b, i);
		limiter_tick(b->limiters[i], b->now, measure_traffic, &b->others);
		while ((len = limiter_send(b->limiters[i], buf, &to)) > 0)
			limit_ring_datagram(b, to, buf, len);
	}
}

static void measure_alone(struct bench *b)
{
	struct limiter_sample sample;

	for (unsigned i = 0; i < b->n_active; i++)
		measure_traffic(&b->own, active_policy(b, i), &sample);
}

static void publish_to_workers(struct bench *b)
{
	const struct sampling sampling = {0};
	struct limiter *l = b->limiters[0];

	for (unsigned p = limiter_next_change(l, 0); p < b->n_policies;
		p = limiter_next_change(l, p + 1)) {
		struct limiter_view view;

		limiter_view(l, p, &view);
		for (unsigned w = 0; w < WORKERS; w++) {
			struct limit_profile profile, *old = &b->profiles[(size_t)p * WORKERS + w];

			if (limit_profile_init(&profile, &b->configs[p], p, &view, &sampling,
				    1.0 / WORKERS, HZ))
				continue;
			b->published += memcmp(&profile, old, sizeof(profile)) != 0;
			*old = profile;
		}
	}
}

/* Sends and times the first limiter's datagrams. The others receive them immediately, untimed. */
static double send_all(struct bench *b)
{
	static struct datagram out[LIMITERS * 256];
	static unsigned to[LIMITERS * 256];
	unsigned n = 0;
	double begin = cpu_us(), end;

	while (n < LIMITERS * 256 &&
		(out[n].len = limiter_send(b->limiters[0], out[n].buf, &to[n])) > 0)
		n++;
	end = cpu_us();
	for (unsigned i = 0; i < n; i++) {
		b->sent_bytes += out[i].len + HEADERS;
		limiter_receive(b->limiters[to[i]], b->now, out[i].buf, out[i].len);
	}
	return end - begin;
}

static void receive_all(struct bench *b)
{
	for (unsigned i = 0; i < b->n_inbox; i++)
		limiter_receive(b->limiters[0], b->now, b->inbox[i].buf, b->inbox[i].len);
	b->n_inbox = 0;
}

static void run_interval(struct bench *b, double us[PARTS])
{
	double at[5];

	b->now += INTERVAL_NS;
	arrive_interval(b, &b->own);
	arrive_interval(b, &b->others);
	run_others(b);
	at[0] = cpu_us();
	receive_all(b);
	at[1] = cpu_us();
	measure_alone(b); /* repeated only for timing: the tick measures too */
	at[2] = cpu_us();
	wake_active(b, 0);
	limiter_tick(b->limiters[0], b->now, measure_traffic, &b->own);
	at[3] = cpu_us();
	publish_to_workers(b);
	at[4] = cpu_us();
	us[PART_RECEIVE] = at[1] - at[0];
	us[PART_MEASURE] = at[2] - at[1];
	us[PART_TICK] = at[3] - at[2];
	us[PART_PUBLISH] = at[4] - at[3];
	us[PART_SEND] = send_all(b);
}

static int compare_shares(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread {
	double median, p10, p90;
};

static struct spread spread_of(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), compare_shares);
	return (struct spread){values[n / 2], values[n / 10], values[n - 1 - n / 10]};
}

struct result {
	struct spread share, parts[PARTS];
	double gossip_bps, published;
	double error; /* mean error of the others' demand as the first limiter estimates it */
};

/*
 * Returns the mean error of the estimated sums. A loop that is cheap because it sends too little
 * would show here.
 */
static double error_of(const struct bench *b)
{
	double error = 0;

	for (unsigned i = 0; i < b->n_active; i++) {
		unsigned policy = active_policy(b, i);
		struct limiter_view view;
		double sum = 0, known;

		limiter_view(b->limiters[0], policy, &view);
		known = view.global_demand - view.demand;
		for (unsigned k = 1; k < LIMITERS; k++) {
			limiter_view(b->limiters[k], policy, &view);
			sum += view.demand;
		}
		error += fabs(known - sum) / sum;
	}
	return error / b->n_active;
}

static void run_control_rounds(struct bench *b, unsigned rounds, struct result *result)
{
	double *share = alloc_or_exit(rounds, sizeof(double)), *parts[PARTS], us[PARTS];

	for (unsigned p = 0; p < PARTS; p++)
		parts[p] = alloc_or_exit(rounds, sizeof(double));
	for (unsigned i = 0; i < rounds; i++) {
		run_interval(b, us);
		for (unsigned p = 0; p < PARTS; p++)
			parts[p][i] = us[p];
		share[i] = (us[PART_TICK] + us[PART_PUBLISH] + us[PART_SEND] + us[PART_RECEIVE]) *
			   1e3 / INTERVAL_NS;
	}
	result->share = spread_of(share, rounds);
	for (unsigned p = 0; p < PARTS; p++) {
		result->parts[p] = spread_of(parts[p], rounds);
		free(parts[p]);
	}
	free(share);
}

static const struct {
	const char *name;
	unsigned n_policies, n_active;
} cases[] = {
	{"control", 10000, 10000},
	{"control_100k_10k", 100000, 10000},
	{"control_100k_1k", 100000, 1000},
};

static void print_control_result(const char *name, const struct result *r)
{
	printf("%-18s %5.1f %%  (%.1f to %.1f) of a core; us: measure %.0f, allocate %.0f, "
	       "publish %.0f, encode and seal %.0f, open and decode %.0f; gossip %.2f Mbit/s, "
	       "%.0f profiles, error %.2f %%\n",
		name, 100 * r->share.median, 100 * r->share.p10, 100 * r->share.p90,
		r->parts[PART_MEASURE].median,
		r->parts[PART_TICK].median - r->parts[PART_MEASURE].median,
		r->parts[PART_PUBLISH].median, r->parts[PART_SEND].median,
		r->parts[PART_RECEIVE].median, r->gossip_bps / 1e6, r->published, 100 * r->error);
	fflush(stdout);
}

static void print_json(FILE *out, const char *name, const struct result *r, bool first)
{
	fprintf(out,
		"%s\n\t\"%s\": {\"share_of_core\": {\"median\": %.4f, \"p10\": %.4f, \"p90\": "
		"%.4f}, \"breakdown_us\": {\"measure\": %.1f, \"allocate\": %.1f, \"publish\": "
		"%.1f, \"encode_seal\": %.1f, \"open_decode\": %.1f}, \"gossip_bps\": %.0f, \"demand_error\": %.5f}",
		first ? "{" : ",", name, r->share.median, r->share.p10, r->share.p90,
		r->parts[PART_MEASURE].median,
		r->parts[PART_TICK].median - r->parts[PART_MEASURE].median,
		r->parts[PART_PUBLISH].median, r->parts[PART_SEND].median,
		r->parts[PART_RECEIVE].median, r->gossip_bps, r->error);
}

static void run_case(unsigned i, bool quick, struct result *result)
{
	/* Until all limiters have received every policy. */
	unsigned warm = 50 + cases[i].n_policies / (quick ? 800 : 200), rounds = quick ? 15 : 40;
	double us[PARTS];
	struct bench b;

	bench_init(&b, cases[i].n_policies, cases[i].n_active);
	for (unsigned k = 0; k < warm; k++)
		run_interval(&b, us);
	b.sent_bytes = b.published = 0;
	run_control_rounds(&b, rounds, result);
	result->gossip_bps = (double)b.sent_bytes * 8 / ((double)(rounds * INTERVAL_NS) / 1e9);
	result->published = (double)b.published / rounds;
	result->error = error_of(&b);
	bench_free(&b);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", required_argument, NULL, 'j'},
		{"quick", no_argument, NULL, 'q'},
		{0},
	};
	FILE *json = NULL;
	bool quick = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'q')
			quick = true;
		else if (opt != 'j' || !(json = fopen(optarg, "w"))) {
			fprintf(stderr, "bench_control_loop [--json FILE] [--quick]\n");
			return 2;
		}
	}
	if (sodium_init() < 0)
		return 1;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result result;

		run_case(i, quick, &result);
		print_control_result(cases[i].name, &result);
		if (json)
			print_json(json, cases[i].name, &result, i == 0);
	}
	if (json)
		fputs("\n}\n", json);
	return json && fclose(json) ? 1 : 0;
}
