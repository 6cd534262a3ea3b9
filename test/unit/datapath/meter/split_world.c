/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "split_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"

#define FRAME   1500
#define RTT     (WORLD_SECOND / 50)
#define ON      (WORLD_SECOND / 20)
#define ON_PART 0.25

/* A meter as a worker has it. Only this part depends on the token bucket's representation. */
struct bucket {
	struct token_bucket_profile profile;
	struct token_bucket state;
};

struct policer {
	enum policer_kind kind;
	struct bucket bucket[WORLD_WORKERS_MAX]; /* POLICER_ONE uses the first one */
	struct share share[WORLD_WORKERS_MAX];
	uint64_t arrived[WORLD_WORKERS_MAX], looked;
	struct shared_bucket shared;
	uint64_t held[WORLD_WORKERS_MAX];
	double fill; /* level of a bucket without a lower bound, to find its depth */
	uint64_t filled;
};

struct flow {
	double rate;    /* bytes per second, while on */
	double window;  /* TCP: packets */
	uint64_t next;  /* tick of its next packet */
	uint64_t until; /* on-off: end of the burst; TCP: of the recovery */
	uint64_t moved; /* number of its stay with a worker */
	unsigned worker;
};

struct world {
	const struct world_params *params;
	struct prng prng;
	struct flow flows[WORLD_FLOWS_MAX];
	uint64_t now;
};

static void bucket_set(struct bucket *bucket, uint64_t bps, uint64_t burst, uint64_t now)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct token_bucket_profile next;

	if (token_bucket_profile_init(&next, &params, WORLD_SECOND))
		abort();
	token_bucket_change(&bucket->state, &bucket->profile, &next, now);
}

static void bucket_init(struct bucket *bucket, uint64_t bps, uint64_t burst)
{
	*bucket = (struct bucket){0};
	bucket_set(bucket, bps, burst, 0);
	token_bucket_init(&bucket->state, &bucket->profile, 0);
}

static void policer_init(
	struct policer *policer, enum policer_kind kind, const struct world_params *p)
{
	struct token_bucket_params whole = {.rate_bps = p->rate_bps, .burst_bytes = p->burst_bytes};
	unsigned n = kind == POLICER_ONE ? 1 : p->workers;
	struct shared_bucket_profile profile;

	*policer = (struct policer){.kind = kind, .looked = 0};
	for (unsigned w = 0; w < n; w++)
		bucket_init(&policer->bucket[w], p->rate_bps / n, p->burst_bytes / n);
	if (shared_bucket_profile_init(&profile, &whole, p->workers, FRAME, WORLD_SECOND))
		abort();
	shared_bucket_init(&policer->shared, &profile, 0);
}

/* Control's work for shares. All workers change at the same time. */
static void policer_look(struct policer *policer, const struct world_params *p, uint64_t now)
{
	double interval_s = (double)(now - policer->looked) / WORLD_SECOND;
	double keep = shares_keep(interval_s), parts[WORLD_WORKERS_MAX];

	for (unsigned w = 0; w < p->workers; w++)
		share_look(&policer->share[w], policer->arrived[w], interval_s, keep);
	shares_divide(policer->share, p->workers, parts);
	for (unsigned w = 0; w < p->workers; w++)
		bucket_set(&policer->bucket[w], (uint64_t)((double)p->rate_bps * parts[w]),
			(uint64_t)((double)p->burst_bytes * parts[w]), now);
	policer->looked = now;
}

static bool policer_conforms(
	struct policer *policer, unsigned worker, uint64_t now, uint32_t bytes, uint64_t *takes)
{
	struct bucket *bucket = &policer->bucket[policer->kind == POLICER_ONE ? 0 : worker];
	uint64_t before = policer->shared.state.allow_at;
	bool passes;

	if (policer->kind != POLICER_SHARED_BUCKET)
		return token_bucket_conforms(&bucket->state, &bucket->profile, now, bytes);
	passes = shared_bucket_conforms(&policer->shared, &policer->held[worker], now, bytes);
	*takes += policer->shared.state.allow_at != before;
	return passes;
}

static bool policer_packet(struct policer *policer, const struct world_params *p,
	struct world_result *result, unsigned flow, unsigned worker, uint64_t now, uint32_t bytes)
{
	bool passes;

	while (policer->kind == POLICER_SHARES && now - policer->looked >= p->period)
		policer_look(policer, p, policer->looked + p->period);
	policer->arrived[worker] += bytes;
	passes = policer_conforms(policer, worker, now, bytes, &result->takes);
	result->packets++;
	result->offered += bytes;
	result->flow_offered[flow] += bytes;
	if (!passes)
		return false;
	result->passed += bytes;
	result->flow_passed[flow] += bytes;
	policer->fill -= (double)(now - policer->filled) / WORLD_SECOND * (double)p->rate_bps / 8;
	policer->fill = fmax(policer->fill, 0) + bytes;
	policer->filled = now;
	result->depth = fmax(result->depth, policer->fill);
	return true;
}

/* Returns the part of the limit that a flow demands while it is on. */
static double flow_part(const struct world_params *p, unsigned flow)
{
	double harmonic = 0;

	for (unsigned k = 1; k <= p->flows; k++)
		harmonic += 1.0 / k;
	switch (p->traffic) {
	case TRAFFIC_UNDER:
		return 0.9 / p->flows;
	case TRAFFIC_ZIPF:
		return 1.5 / (flow + 1) / harmonic;
	case TRAFFIC_ELEPHANT:
		return flow == 0 ? 1.3 : 0.2 / (p->flows - 1);
	case TRAFFIC_ON_OFF:
		return 1.0 / ON_PART / p->flows;
	case TRAFFIC_TCP:
		return 1.0 / p->flows; /* initial value */
	default:
		return 1.5 / p->flows;
	}
}

static void world_init(struct world *world, const struct world_params *p)
{
	*world = (struct world){.params = p};
	prng_seed(&world->prng, p->seed);
	for (unsigned f = 0; f < p->flows; f++) {
		struct flow *flow = &world->flows[f];

		flow->rate = flow_part(p, f) * (double)p->rate_bps / 8;
		flow->window = fmax(flow->rate * RTT / WORLD_SECOND / FRAME, 0.1);
		flow->worker = prng_below(&world->prng, p->workers);
		flow->next = prng_below(&world->prng, WORLD_SECOND / 50);
		flow->until = flow->next + ON;
	}
}

static double split_exponential(struct world *world, double mean)
{
	return -mean * log(1 - prng_unit(&world->prng));
}

/* Internet-like: acknowledgements, something in between, full packets. */
static uint32_t packet_bytes(struct world *world)
{
	static const uint32_t sizes[] = {40, 576, FRAME, FRAME, FRAME};

	if (world->params->traffic == TRAFFIC_TCP)
		return FRAME;
	return sizes[prng_below(&world->prng, sizeof(sizes) / sizeof(sizes[0]))];
}

static void hop_flow(struct world *world, struct flow *flow)
{
	enum traffic traffic = world->params->traffic;
	uint64_t stay = WORLD_SECOND;

	if (traffic != TRAFFIC_HOP_FAST && traffic != TRAFFIC_HOP_SLOW)
		return;
	if (traffic == TRAFFIC_HOP_FAST)
		stay /= 10;
	/* Flows move at different times. */
	if ((flow->next + (uint64_t)(flow - world->flows) * 7919 * 1000) / stay == flow->moved)
		return;
	flow->moved = (flow->next + (uint64_t)(flow - world->flows) * 7919 * 1000) / stay;
	flow->worker = prng_below(&world->prng, world->params->workers);
}

/* Schedules a flow's next packet after one of this size. */
static void schedule_next_packet(struct world *world, struct flow *flow, uint32_t bytes)
{
	double gap_s = flow->rate > 0 ? bytes / flow->rate : 1;

	if (world->params->traffic == TRAFFIC_TCP)
		gap_s = (double)RTT / WORLD_SECOND / flow->window;
	/* Half of the gap is random, to avoid both periods and synchronisation. */
	gap_s = gap_s / 2 + split_exponential(world, gap_s / 2);
	flow->next += 1 + (uint64_t)(gap_s * WORLD_SECOND);
	if (world->params->traffic == TRAFFIC_ON_OFF && flow->next > flow->until) {
		flow->next = flow->until +
			     (uint64_t)split_exponential(world, ON * (1 / ON_PART - 1));
		flow->until = flow->next + ON;
	}
	hop_flow(world, flow);
}

/* Additive increase, multiplicative decrease. */
static void adapt_flow_window(struct flow *flow, uint64_t now, bool passed)
{
	if (passed) {
		flow->window += 1 / fmax(flow->window, 1);
	} else if (now > flow->until) {
		flow->window = fmax(flow->window / 2, 0.1);
		flow->until = now + RTT;
	}
}

static struct flow *next_flow(struct world *world)
{
	struct flow *next = &world->flows[0];

	for (unsigned f = 1; f < world->params->flows; f++)
		if (world->flows[f].next < next->next)
			next = &world->flows[f];
	return next;
}

/* Plays the traffic once, for some of the policers. */
static void play_split_world(const struct world_params *p, struct policer *policers,
	struct world_result *results, unsigned n)
{
	struct world world;

	world_init(&world, p);
	for (;;) {
		struct flow *flow = next_flow(&world);
		unsigned f = (unsigned)(flow - world.flows);
		uint32_t bytes = packet_bytes(&world);
		bool passed = true;

		if (flow->next >= p->ticks)
			return;
		for (unsigned k = 0; k < n; k++)
			passed = policer_packet(
				&policers[k], p, &results[k], f, flow->worker, flow->next, bytes);
		if (p->traffic == TRAFFIC_TCP)
			adapt_flow_window(flow, flow->next, passed);
		schedule_next_packet(&world, flow, bytes);
	}
}

void world_run(const struct world_params *p, struct world_result results[POLICERS])
{
	struct policer policers[POLICERS];

	memset(results, 0, POLICERS * sizeof(results[0]));
	for (unsigned k = 0; k < POLICERS; k++)
		policer_init(&policers[k], (enum policer_kind)k, p);
	if (p->traffic != TRAFFIC_TCP)
		play_split_world(p, policers, results, POLICERS);
	for (unsigned k = 0; p->traffic == TRAFFIC_TCP && k < POLICERS; k++)
		play_split_world(p, &policers[k], &results[k], 1);
}

double world_lost(
	const struct world_params *p, const struct world_result *results, enum policer_kind kind)
{
	double granted = (double)p->rate_bps / 8 * (double)p->ticks / WORLD_SECOND;

	return (results[POLICER_ONE].passed - results[kind].passed) / granted;
}

/* Returns the part of its demand that a flow got; for TCP, the part of an equal share. */
static double flow_satisfaction(
	const struct world_params *p, const struct world_result *result, unsigned flow)
{
	if (p->traffic == TRAFFIC_TCP)
		return result->flow_passed[flow] / (result->passed / p->flows);
	return result->flow_passed[flow] / result->flow_offered[flow];
}

double world_unfair(
	const struct world_params *p, const struct world_result *results, enum policer_kind kind)
{
	double worst = 0;

	for (unsigned f = 0; f < p->flows; f++) {
		double less = flow_satisfaction(p, &results[POLICER_ONE], f) -
			      flow_satisfaction(p, &results[kind], f);

		if (less > worst) /* fmax() here causes an internal error of gcc 12 for arm64 */
			worst = less;
	}
	return worst;
}

double world_jain(const struct world_params *p, const struct world_result *result)
{
	double sum = 0, squares = 0;

	for (unsigned f = 0; f < p->flows; f++) {
		double x = flow_satisfaction(p, result, f);

		sum += x;
		squares += x * x;
	}
	return sum * sum / (squares * p->flows);
}

const char *world_traffic_name(enum traffic traffic)
{
	static const char *const names[TRAFFICS] = {
		[TRAFFIC_UNDER] = "under",
		[TRAFFIC_STEADY] = "steady",
		[TRAFFIC_ZIPF] = "zipf",
		[TRAFFIC_ELEPHANT] = "elephant",
		[TRAFFIC_HOP_SLOW] = "hop_1s",
		[TRAFFIC_HOP_FAST] = "hop_100ms",
		[TRAFFIC_ON_OFF] = "on_off",
		[TRAFFIC_TCP] = "tcp",
	};

	return names[traffic];
}

const char *world_policer_name(enum policer_kind kind)
{
	static const char *const names[POLICERS] = {
		[POLICER_ONE] = "one",
		[POLICER_EVEN] = "even",
		[POLICER_SHARES] = "shares",
		[POLICER_SHARED_BUCKET] = "reserve",
	};

	return names[kind];
}
