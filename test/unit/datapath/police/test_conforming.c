/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Senders exactly at their limit: each packet leaves at the first tick at which a bucket in whole
 * numbers has its tokens. No meter refuses more than one of them in a run. Above the limit each
 * verdict is that of the bucket, within a tolerance. Rates, clocks, sizes and bursts are random;
 * WEIR_SEED is the first seed.
 */
#include "check.h"
#include "scope.h"
#include "lane.h"

#include "allocate/allocate.h"
#include "base/math.h"
#include "base/prng.h"
#include "policy/kind.h"
#include "source/source_table.h"

#define SEEDS   ROUNDS(1200)
#define PACKETS 2000

/*
 * One tick earns limit_bps parts. That is 8 times the units in `limit_s` seconds, so one unit is 8
 * · seconds · hz parts.
 */
struct whole_bucket {
	unsigned __int128 level, burst, unit;
	uint64_t per_tick, at;
};

static void whole_begin(struct whole_bucket *bucket, const struct policy *policy, uint64_t hz)
{
	*bucket = (struct whole_bucket){
		.unit = (unsigned __int128)8 * policy_limit_s(policy) * hz,
		.per_tick = policy->limit_bps,
		.at = 1,
	};
	bucket->burst = policy->burst_bytes * bucket->unit;
	bucket->level = bucket->burst;
}

static void whole_refill(struct whole_bucket *bucket, uint64_t now)
{
	bucket->level += (unsigned __int128)(now - bucket->at) * bucket->per_tick;
	bucket->level = bucket->level < bucket->burst ? bucket->level : bucket->burst;
	bucket->at = now;
}

static bool whole_takes(struct whole_bucket *bucket, uint64_t now, uint32_t cost)
{
	bool fits;

	whole_refill(bucket, now);
	fits = bucket->level >= cost * bucket->unit;
	bucket->level -= fits ? cost * bucket->unit : 0;
	return fits;
}

/* Returns the first tick, not before `now`, at which a packet conforms. */
static uint64_t whole_due(struct whole_bucket *bucket, uint64_t now, uint32_t cost)
{
	unsigned __int128 need = cost * bucket->unit;

	whole_refill(bucket, now);
	if (bucket->level >= need)
		return now;
	return now + (uint64_t)((need - bucket->level + bucket->per_tick - 1) / bucket->per_tick);
}

static const struct {
	enum meter_kind meter;
	bool per_source;
	bool one_packet; /* keeps a part of a deeper bucket for other classes */
} kinds[] = {
	{METER_TOKEN_BUCKET, false, false},
	{METER_GCRA, false, false},
	{METER_GCRA, true, false},
	{METER_PHANTOM, false, true},
	{METER_SRTCM, false, false},
	{METER_TRTCM, false, false},
	{METER_TRTCM_4115, false, false},
};

#define KINDS (COUNT(kinds))

struct scene {
	struct policy policy;
	uint64_t hz;
	uint32_t length, cost;
	struct prng prng;
};

static const uint64_t clocks[] = {
	400000000, GHZ, UINT64_C(2099999973), UINT64_C(3693249999), UINT64_C(1) << 31, 5 * GHZ};

/* Returns a random number of at most this many bits, of any residue. */
static uint64_t any_number(struct prng *prng, unsigned bits)
{
	return 1 + (prng_next(prng) >> (64 - 1 - prng_below(prng, bits)));
}

/* Draws packets a second, a minute, an hour, a day or any other time; or bits a second. */
static void draw_limit(struct scene *scene)
{
	static const uint32_t spans[] = {1, 60, 3600, 86400};
	struct prng *prng = &scene->prng;
	struct policy *policy = &scene->policy;
	uint32_t frame = 60 + prng_below(prng, 9000);

	policy->count = prng_below(prng, 2) ? COUNT_PACKETS : COUNT_BYTES;
	scene->length = frame;
	if (policy->count == COUNT_BYTES) {
		scene->cost = frame;
		policy->limit_bps = 8000 + any_number(prng, 37);
		policy->limit_s = 1;
	} else {
		scene->cost = 1;
		policy->limit_bps = 8 * any_number(prng, 20);
		policy->limit_s = prng_below(prng, 5) ? spans[prng_below(prng, 4)]
						      : 1 + prng_below(prng, 100000);
	}
}

static void draw_scene(struct scene *scene, uint64_t seed, unsigned kind)
{
	struct policy *policy = &scene->policy;
	uint32_t packets;

	*scene = (struct scene){0};
	prng_seed(&scene->prng, seed);
	*policy = (struct policy){
		.allocator = allocator_find("central"),
		.meter = kinds[kind].meter,
		.per_v4 = kinds[kind].per_source ? 32 : 0,
		.per_v6 = kinds[kind].per_source ? 128 : 0,
		.sources = 1024,
		.accounting = ACCOUNTING_L2,
		.classes = {.by = CLASSES_BY_DSCP, .n = 64},
		.colours.actions = {{ACTION_PASS, 0}, {ACTION_DROP, 0}, {ACTION_DROP, 0}},
	};
	for (unsigned i = 0; i < PHANTOM_DSCPS; i++)
		policy->classes.weights[i] = 1;
	draw_limit(scene);
	packets = prng_below(&scene->prng, 2) ? 1 : 1 + prng_below(&scene->prng, 6);
	policy->burst_bytes = scene->cost * (kinds[kind].one_packet ? 1 : packets);
	policy->colours.second = (struct limit_terms){
		.limit_bps = policy->limit_bps,
		.limit_s = policy->limit_s,
		.burst_bytes = policy->burst_bytes,
	};
	scene->hz = clocks[prng_below(&scene->prng, COUNT(clocks))];
}

static void scene_fail(const struct scene *scene, uint64_t seed, unsigned kind, const char *what)
{
	fail_msg("seed %" PRIu64 ", %s%s: %" PRIu64 " bit in %u s, burst %" PRIu64
		 ", packets of %u, %" PRIu64 " Hz: %s",
		seed, meter_name(kinds[kind].meter), kinds[kind].per_source ? " per source" : "",
		scene->policy.limit_bps, scene->policy.limit_s, scene->policy.burst_bytes,
		scene->cost, scene->hz, what);
}

/* Sends only conforming packets, some of them after pauses. */
static void check_conforming(struct scene *scene, uint64_t seed, unsigned kind)
{
	unsigned pause = prng_below(&scene->prng, 2) ? 0 : 20;
	ENDED_BY(lane_stop) struct lane limit;
	struct whole_bucket bucket;
	unsigned refused = 0;
	uint64_t now = 1;

	lane_begin(&limit, &scene->policy, policy_rate(&scene->policy), scene->hz);
	whole_begin(&bucket, &scene->policy, scene->hz);
	for (unsigned i = 0; i < PACKETS; i++) {
		now = whole_due(&bucket, now, scene->cost);
		assert_true(whole_takes(&bucket, now, scene->cost));
		refused += !lane_passes(&limit, scene->length, scene->cost, now);
		if (pause && prng_below(&scene->prng, pause) == 0)
			now += prng_below(&scene->prng, UINT32_MAX);
	}
	if (refused > 1)
		scene_fail(scene, seed, kind, "refuses packets that conform");
}

/*
 * Packets above the limit. Many come just when they conform, or a tick before. The bucket takes the
 * packets that passed. It shows when the meter passes or refuses one wrongly. The tolerance is two
 * ticks and a 256th of a packet.
 */
static void check_above(struct scene *scene, uint64_t seed, unsigned kind)
{
	unsigned __int128 cost, off;
	struct whole_bucket bucket;
	ENDED_BY(lane_stop) struct lane limit;
	uint64_t now = 1;

	lane_begin(&limit, &scene->policy, policy_rate(&scene->policy), scene->hz);
	whole_begin(&bucket, &scene->policy, scene->hz);
	cost = scene->cost * bucket.unit;
	off = cost / 256 + 2 * bucket.per_tick;
	/* Keeps the bucket above 0. */
	bucket.level += off;
	bucket.burst += off;
	for (unsigned i = 0; i < PACKETS; i++) {
		uint64_t due = whole_due(&bucket, now, scene->cost);
		double gap = (double)cost / (double)bucket.per_tick;

		if (prng_below(&scene->prng, 2))
			now = due - (due > now ? prng_below(&scene->prng, 2) : 0);
		else
			now += (uint64_t)(gap * prng_unit(&scene->prng));
		whole_refill(&bucket, now);
		if (!lane_passes(&limit, scene->length, scene->cost, now)) {
			if (bucket.level >= cost + 2 * off)
				scene_fail(scene, seed, kind, "refuses a packet that conforms");
			continue;
		}
		if (bucket.level < cost)
			scene_fail(scene, seed, kind, "passes a packet above the limit");
		bucket.level -= cost;
	}
}

static void check_all(void (*check)(struct scene *scene, uint64_t seed, unsigned kind))
{
	const char *text = getenv("WEIR_SEED");
	uint64_t first = text ? strtoull(text, NULL, 0) : 1;

	for (uint64_t seed = first; seed < first + SEEDS; seed++) {
		for (unsigned kind = 0; kind < KINDS; kind++) {
			struct scene scene;

			draw_scene(&scene, seed, kind);
			check(&scene, seed, kind);
		}
	}
}

TEST(test_conforming)
{
	check_all(check_conforming);
}

TEST(test_above)
{
	check_all(check_above);
}
