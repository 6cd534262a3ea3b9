/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares every meter with a model of its definition in exact arithmetic, which remembers all
 * packets and keeps no state. Rates, bursts, costs and gaps are random. `test_meter [SEED [COUNT]]`
 * runs COUNT seeds from SEED on. A failure prints its seed.
 */
#include "check.h"

#include "base/prng.h"
#include "meter/meter.h"
#include "datapath/meter/meter_checks.h"

#define EVENTS 120 /* packets of one seed */

static uint64_t first_seed = 1, n_seeds = 400;

#define FOR_EACH_SEED(seed) for (uint64_t seed = first_seed; seed - first_seed < n_seeds; seed++)

#define assert_seed(seed, condition)                                                    \
	do {                                                                            \
		if (!(condition))                                                       \
			fail_msg("seed %" PRIu64 ": %s", (uint64_t)(seed), #condition); \
	} while (0)

static uint64_t meter_rand_below(struct prng *prng, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)prng_next(prng) * bound) >> 64);
}

/* Each magnitude from 1 to bound is equally likely. */
static uint64_t random_magnitude(struct prng *prng, uint64_t bound)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(bound);
	uint64_t value = prng_next(prng) >> (63 - prng_below(prng, bits));

	return value == 0 ? 1 : value < bound ? value : bound;
}

static bool one_in(struct prng *prng, uint32_t n)
{
	return prng_below(prng, n) == 0;
}

/*
 * The literal definition of "at most r·t + b over any window". After event j, the passed units are
 * at most the burst valid at j plus the units granted since. Amounts are in 1/(8·hz) of a unit, so
 * that a tick grants rate_bps of them.
 */
struct linear {
	uint64_t hz;
	unsigned n;
	struct {
		__int128 granted;
		uint64_t at, burst, passed;
	} event[EVENTS + 2];
};

/*
 * Bounds of the units that can pass now. They differ by the most that a meter's rounding of the
 * rate can take.
 */
struct room {
	__int128 least, most;
};

static __int128 unit_of(const struct linear *model)
{
	return (__int128)model->hz * 8;
}

static struct room linear_room(struct linear *model, uint64_t at, uint64_t burst, __int128 granted)
{
	struct room room = {burst * unit_of(model), burst * unit_of(model)};
	uint64_t passed = 0;

	for (unsigned j = model->n; j-- > 0;) {
		uint64_t ticks = at > model->event[j].at ? at - model->event[j].at
							 : model->event[j].at - at;
		__int128 slack = ((__int128)ticks * unit_of(model) >> TOKEN_SHIFT) + 1;
		__int128 tokens;

		passed += model->event[j].passed;
		tokens = ((__int128)model->event[j].burst - (__int128)passed) * unit_of(model) +
			 granted - model->event[j].granted;
		room.most = tokens + slack < room.most ? tokens + slack : room.most;
		room.least = tokens - slack < room.least ? tokens - slack : room.least;
	}
	return room;
}

static void linear_add(
	struct linear *model, uint64_t at, uint64_t burst, __int128 granted, uint64_t passed)
{
	model->event[model->n].at = at;
	model->event[model->n].burst = burst;
	model->event[model->n].granted = granted;
	model->event[model->n++].passed = passed;
}

/* Often draws the largest cost that fits, or one unit more. */
static uint32_t linear_cost(struct prng *prng, const struct linear *model, __int128 room)
{
	__int128 fits = room > 0 ? room / unit_of(model) : 0;

	if (fits < UINT32_MAX && !one_in(prng, 3))
		return (uint32_t)fits + prng_below(prng, 2);
	return (uint32_t)random_magnitude(prng, UINT32_C(1) << prng_below(prng, 31));
}

/* Draws gaps of each magnitude and many of 0. None is long enough for 2^55 units. */
static uint64_t linear_gap(struct prng *prng, uint64_t bps, uint64_t hz)
{
	unsigned __int128 most = ((unsigned __int128)8 * hz << 55) / (bps + 1);

	if (one_in(prng, 4))
		return 0;
	return random_magnitude(
		prng, most < UINT64_C(1) << 54 ? (uint64_t)most : UINT64_C(1) << 54);
}

static uint64_t random_hz(struct prng *prng)
{
	static const uint64_t hz[] = {GHZ, 1 << 30, 2500000000, 3693249999, 5 * GHZ};

	return hz[prng_below(prng, 5)];
}

static uint64_t random_rate(struct prng *prng, uint64_t hz)
{
	uint64_t most = hz / 10 * 8 * 64 / 7 * 10; /* above 64 units per tick */
	uint64_t bps = one_in(prng, 20) ? 0 : random_magnitude(prng, most);

	return bps < hz * 8 * 64 ? bps : 400 * GHZ;
}

static union meter_profile random_linear(
	struct prng *prng, enum meter_kind kind, uint64_t hz, struct meter_params *params)
{
	union meter_profile profile;

	*params = (struct meter_params){
		.kind = kind,
		.rate_bps = random_rate(prng, hz),
		.burst = random_magnitude(prng, one_in(prng, 4) ? TOKEN_BUCKET_MAX_BURST : 100000) -
			 1,
	};
	assert_int_equal(meter_profile_init(&profile, params, hz), 0);
	return profile;
}

struct clock {
	uint64_t now, latest; /* times seen by the meter */
};

/* Advances the clock. Sometimes it steps back by less than a second, and then returns. */
static void clock_step(struct clock *clock, struct prng *prng, uint64_t gap, uint64_t hz)
{
	clock->now = clock->latest + gap;
	if (one_in(prng, 8))
		clock->now = clock->latest - random_magnitude(prng, hz) / 2;
	clock->latest = clock->now > clock->latest ? clock->now : clock->latest;
}

/*
 * A bucket earns nothing while the clock is back. GCRA's virtual time goes back with it, but not to
 * before the profile's start.
 */
static void check_linear(uint64_t seed, enum meter_kind kind, bool changes)
{
	struct linear model = {.n = 0};
	struct meter_params params;
	union meter_profile profile, next;
	struct clock clock = {GHZ * 100, GHZ * 100};
	uint64_t since = 0, burst;
	__int128 before = 0;
	union meter meter = {0};
	struct prng prng;

	prng_seed(&prng, seed);
	model.hz = random_hz(&prng);
	profile = random_linear(&prng, kind, model.hz, &params);
	meter_init(kind, &meter, &profile, clock.now, 0);
	linear_add(&model, clock.now, params.burst, (__int128)clock.now * params.rate_bps, 0);
	while (model.n <= EVENTS) {
		uint64_t at, resolution = kind == METER_GCRA ? model.hz * 8 >> GCRA_SHIFT : 0;
		struct room room;
		__int128 granted;
		uint32_t cost;
		bool conforms;

		clock_step(&clock, &prng, linear_gap(&prng, params.rate_bps, model.hz), model.hz);
		if (changes && one_in(&prng, 5)) {
			before += (__int128)(clock.latest - since) * params.rate_bps;
			since = clock.latest;
			burst = params.burst;
			next = random_linear(&prng, kind, model.hz, &params);
			/* Virtual time goes back with the clock; a bucket earns nothing then. */
			meter_change(kind, &meter, &profile, &next,
				kind == METER_GCRA ? since : clock.now);
			/* A bucket is cut immediately, virtual time only at the next packet. */
			if (kind == METER_TOKEN_BUCKET)
				linear_add(&model, since,
					burst < params.burst ? burst : params.burst, before, 0);
		}
		at = kind == METER_GCRA ? clock.now : clock.latest;
		at = at > since ? at : since;
		granted = before + (__int128)(at - since) * params.rate_bps;
		room = linear_room(&model, at, params.burst, granted);
		cost = linear_cost(&prng, &model, room.most);
		conforms = meter_conforms(kind, &meter, &profile, clock.now, cost);
		if (conforms)
			assert_seed(seed,
				!cost || cost * unit_of(&model) <= room.most + resolution + 1);
		else
			assert_seed(seed, cost * unit_of(&model) > room.least - resolution - 1);
		linear_add(&model, at, params.burst, granted, conforms ? cost : 0);
	}
}

TEST(test_token_bucket_is_linear)
{
	FOR_EACH_SEED(seed)
	check_linear(seed, METER_TOKEN_BUCKET, false);
}

TEST(test_token_bucket_is_linear_over_changes)
{
	FOR_EACH_SEED(seed)
	check_linear(seed, METER_TOKEN_BUCKET, true);
}

/*
 * A limit in parts of units is the same as one in units with larger numbers, for both kinds of
 * bucket.
 */
TEST(test_parts_of_units)
{
	for (unsigned bits = 0; bits <= 32; bits++) {
		uint64_t most = TOKEN_BUCKET_MAX_BURST >> bits;
		struct token_bucket_params parts = {.rate_bps = 200,
			.burst_bytes = most < 1000 ? most : 1000,
			.unit_bits = (uint8_t)bits};
		struct token_bucket_params units = {.rate_bps = parts.rate_bps << bits,
			.burst_bytes = parts.burst_bytes << bits};
		struct token_bucket_profile bucket, same_bucket;
		struct gcra_profile gcra, same_gcra;

		assert_int_equal(token_bucket_profile_init(&bucket, &parts, 1000000007), 0);
		assert_int_equal(token_bucket_profile_init(&same_bucket, &units, 1000000007), 0);
		assert_true(bucket.rate > 0);
		assert_true(bucket.rate == same_bucket.rate && bucket.burst == same_bucket.burst);
		assert_int_equal(gcra_profile_init(&gcra, &parts, 1000000007), 0);
		assert_int_equal(gcra_profile_init(&same_gcra, &units, 1000000007), 0);
		assert_true(gcra.rate == same_gcra.rate && gcra.burst == same_gcra.burst);
		assert_true(gcra.second == same_gcra.second);
		parts.burst_bytes = most;
		assert_int_equal(token_bucket_profile_init(&bucket, &parts, 1000000007), 0);
		assert_int_equal(gcra_profile_init(&gcra, &parts, 1000000007), 0);
		parts.burst_bytes++;
		assert_int_equal(token_bucket_profile_init(&bucket, &parts, 1000000007), -ERANGE);
		assert_int_equal(gcra_profile_init(&gcra, &parts, 1000000007), -ERANGE);
	}
}

TEST(test_gcra_is_linear)
{
	FOR_EACH_SEED(seed)
	check_linear(seed, METER_GCRA, false);
}

TEST(test_gcra_is_linear_over_changes)
{
	FOR_EACH_SEED(seed)
	check_linear(seed, METER_GCRA, true);
}

/* For each packet, the tokens of both differ by less than the resolution of virtual time. */
TEST(test_gcra_is_a_token_bucket)
{
	const int64_t resolution = (INT64_C(1) << TOKEN_SHIFT) / 256;

	FOR_EACH_SEED(seed)
	{
		struct meter_params params;
		union meter_profile p, q;
		struct token_bucket bucket = {0};
		uint64_t hz, now = 12345;
		struct prng prng;
		struct gcra gcra;

		prng_seed(&prng, seed);
		hz = random_hz(&prng);
		p = random_linear(&prng, METER_TOKEN_BUCKET, hz, &params);
		params.kind = METER_GCRA;
		assert_int_equal(meter_profile_init(&q, &params, hz), 0);
		token_bucket_init(&bucket, &p.bucket, now);
		gcra_init(&gcra, &q.gcra, now);
		for (unsigned i = 0; i < 10 * EVENTS; i++) {
			uint32_t cost;
			tokens_t tokens;
			__int128 difference;
			bool conforms;

			now += linear_gap(&prng, params.rate_bps, hz) >> 8;
			token_bucket_refill(&bucket, &p.bucket, now);
			tokens = token_bucket_level(&bucket);
			cost = (uint32_t)(tokens >> TOKEN_SHIFT);
			cost = one_in(&prng, 2) ? cost + prng_below(&prng, 2)
						: 1 + prng_below(&prng, 9000);
			conforms = token_bucket_conforms(&bucket, &p.bucket, now, cost);
			if (gcra_conforms(&gcra, &q.gcra, now, cost) != conforms) {
				difference = (__int128)tokens - ((__int128)cost << TOKEN_SHIFT);
				assert_seed(
					seed, difference > -resolution && difference < resolution);
				gcra.allow_at += (uint64_t)cost << GCRA_SHIFT;
				gcra.allow_at -= conforms ? 0 : (uint64_t)cost << (GCRA_SHIFT + 1);
			}
			difference = (int64_t)(gcra_time(&q.gcra, now) - gcra.allow_at);
			difference = (difference << (TOKEN_SHIFT - GCRA_SHIFT)) -
				     (__int128)token_bucket_level(&bucket);
			assert_seed(seed, difference > -resolution && difference < resolution);
		}
	}
}

/*
 * A bucket that fills and drains in turn, down to 0 and not below. A smaller burst cuts the tokens
 * at the next look. A clock that is back changes nothing.
 */
TEST(test_drain)
{
	const uint64_t hz = 1 << 20; /* so that rates are exact */

	FOR_EACH_SEED(seed)
	{
		struct token_bucket_params params = {.burst_bytes = 3000};
		struct token_bucket_profile profile, next;
		__int128 level = (__int128)3000 * 8 * hz, most = level, net = 0;
		struct token_bucket bucket = {0};
		struct prng prng;
		uint64_t now = 5;

		prng_seed(&prng, seed);
		assert_int_equal(token_bucket_profile_init(&profile, &params, hz), 0);
		token_bucket_init(&bucket, &profile, now);
		for (unsigned i = 0; i < EVENTS; i++) {
			uint64_t gap = one_in(&prng, 30)
					       ? random_magnitude(&prng, UINT64_C(1) << 40)
					       : prng_below(&prng, 300);
			uint32_t cost;
			bool fits;

			if (one_in(&prng, 4)) {
				params.rate_bps = random_magnitude(&prng, 100 * hz);
				params.drain_bps = one_in(&prng, 2) ? params.rate_bps : 0;
				params.rate_bps -= params.drain_bps;
				params.burst_bytes = one_in(&prng, 2) ? 3000
								      : prng_below(&prng, 3000);
				net = (__int128)params.rate_bps - (__int128)params.drain_bps;
				most = (__int128)params.burst_bytes * 8 * hz;
				token_bucket_profile_init(&next, &params, hz);
				token_bucket_change(&bucket, &profile, &next, now);
			}
			now += gap;
			level += net * (__int128)gap;
			level = level < 0 ? 0 : level < most ? level : most;
			cost = (uint32_t)(level / (8 * hz)) / (1 + prng_below(&prng, 2)) +
			       prng_below(&prng, 2);
			fits = (__int128)cost * 8 * hz <= level;
			token_bucket_advance(&bucket, &profile, now);
			token_bucket_advance(&bucket, &profile, now - prng_below(&prng, 300));
			assert_seed(seed, token_bucket_take(&bucket, cost) == fits);
			level -= fits ? (__int128)cost * 8 * hz : 0;
		}
	}
}

/* A meter with windows, and the packets that it passed. */
struct windowed {
	struct quota quota;
	unsigned n;
	uint64_t at[EVENTS], cost[EVENTS];
};

static struct quota random_quota(struct prng *prng)
{
	if (one_in(prng, 8)) /* balances of more than 64 bits */
		return (struct quota){
			.units = UINT64_C(1) << 30 | prng_below(prng, 1 << 30),
			.window = QUOTA_MAX / 32 + random_magnitude(prng, QUOTA_MAX / 32),
		};
	return (struct quota){
		.units = random_magnitude(prng, 1 << prng_below(prng, 16)) - one_in(prng, 20),
		.window = random_magnitude(prng, 100000),
	};
}

static uint64_t random_gap(struct prng *prng, uint64_t window)
{
	if (one_in(prng, 30))
		return random_magnitude(prng, UINT64_C(1) << 55);
	return meter_rand_below(prng, one_in(prng, 2) ? 2 + window / 16 : 2 + 2 * window);
}

/* Finds the window of `now` from all passed packets. Returns its used units and its start. */
static uint64_t window_used(const struct windowed *model, uint64_t now, uint64_t *start)
{
	uint64_t used = 0;

	*start = now;
	for (unsigned i = 0; i < model->n; i++) {
		if (used == 0 || model->at[i] >= *start + model->quota.window) {
			*start = model->at[i];
			used = 0;
		}
		used += model->cost[i];
	}
	return used == 0 || now >= *start + model->quota.window ? 0 : used;
}

static uint32_t window_cost(struct prng *prng, uint64_t left)
{
	if (one_in(prng, 3) && left < UINT32_MAX)
		return (uint32_t)left + prng_below(prng, 2);
	return (uint32_t)random_magnitude(prng, 1 << prng_below(prng, 16));
}

TEST(test_fixed_window)
{
	FOR_EACH_SEED(seed)
	{
		struct windowed model = {.n = 0};
		struct clock clock = {GHZ, GHZ};
		struct fixed_window window;
		struct prng prng;

		prng_seed(&prng, seed);
		model.quota = random_quota(&prng);
		fixed_window_begin(&window, &model.quota, clock.now, 0);
		for (unsigned i = 0; i < EVENTS; i++) {
			uint64_t start, used, left;
			uint32_t cost;
			bool fits;

			clock_step(&clock, &prng, random_gap(&prng, model.quota.window), 1000);
			/* A window stays when its quota changes. */
			if (one_in(&prng, 10))
				model.quota.units = random_quota(&prng).units;
			used = window_used(&model, clock.now, &start);
			left = model.quota.units > used ? model.quota.units - used : 0;
			cost = window_cost(&prng, left);
			fits = cost <= left;
			assert_seed(seed, fixed_window_conforms(
						  &window, &model.quota, clock.now, cost) == fits);
			if (fits && cost) {
				model.at[model.n] = clock.now;
				model.cost[model.n++] = cost;
			}
		}
	}
}

/*
 * Finch's text, line by line. Buckets count in 1/window of a request, so that quota / window, the
 * rate, is a whole number.
 */
struct finch {
	__int128 bucket;
	uint64_t time;
	enum { NEW, BURSTY, SMOOTH } mode;
};

static bool finch_reset(struct finch *c, const struct quota *q, uint64_t now)
{
	c->bucket = (__int128)(q->units - 1) * q->window;
	c->time = now;
	c->mode = BURSTY;
	return true;
}

static bool finch_allows(struct finch *c, const struct quota *q, uint64_t now)
{
	const __int128 one = q->window, rate = q->units, quota = one * rate;

	if (c->mode == NEW)
		return finch_reset(c, q, now);
	if (c->mode == BURSTY && c->time + q->window <= now)
		return finch_reset(c, q, now);
	if (c->mode == BURSTY && c->bucket == one) {
		uint64_t remaining = c->time + q->window - now;

		c->bucket = -(__int128)remaining * rate + one;
		c->time = now;
		c->mode = SMOOTH;
		return true;
	}
	if (c->mode == SMOOTH) {
		c->bucket += (now - c->time) * rate;
		c->time = now;
	}
	if (c->mode == SMOOTH && c->bucket >= quota)
		return finch_reset(c, q, now);
	if (c->bucket >= one) {
		c->bucket -= one;
		return true;
	}
	return false;
}

TEST(test_hybrid_is_finchs)
{
	FOR_EACH_SEED(seed)
	{
		struct finch client = {.mode = NEW};
		struct hybrid hybrid;
		struct quota quota;
		struct prng prng;
		uint64_t now = 99;

		prng_seed(&prng, seed);
		quota = random_quota(&prng);
		quota.units = 1 + quota.units % 40;
		quota.window = 1 + quota.window % 100000;
		hybrid_begin(&hybrid, &quota, now, 0);
		for (unsigned i = 0; i < 40 * EVENTS; i++) {
			uint64_t gap = random_gap(&prng, quota.window);

			/* Sometimes at exactly the rate, or slightly slower or faster. */
			if (i / 200 % 2)
				gap = (quota.window + prng_below(&prng, 3)) / quota.units;
			now += one_in(&prng, 3) ? gap : gap / (1 + quota.units);
			assert_seed(seed, hybrid_conforms(&hybrid, &quota, now, 1) ==
						  finch_allows(&client, &quota, now));
		}
	}
}

/*
 * The history of packets of any cost. The mode is bursty from the packet that began the window, and
 * smooth from the packet that used it up. The smooth balance starts with the rest of the quota,
 * plus one, less the units that the rest of the window would have earned. After that it earns at
 * the rate, and passed packets are subtracted.
 */
struct history {
	struct quota quota;
	bool smooth, begun;
	uint64_t start, passed; /* in the window, or in smooth mode */
	uint64_t latest;        /* bursty: the start; smooth: the latest time seen */
	__int128 first;         /* smooth: balance at the start, units × window */
};

static __int128 history_balance(const struct history *h, uint64_t now)
{
	return h->first + (__int128)(now - h->start) * h->quota.units -
	       (__int128)h->passed * h->quota.window;
}

static bool history_fresh(const struct history *h, uint64_t now)
{
	if (!h->begun)
		return true;
	if (h->smooth)
		return history_balance(h, now) >= (__int128)h->quota.units * h->quota.window;
	return now >= h->start + h->quota.window;
}

static bool history_conforms(struct history *h, uint64_t now, uint32_t cost)
{
	uint64_t left = h->quota.units - h->passed;
	bool fits = cost <= left;

	if (cost == 0)
		return true;
	if (now < h->latest)
		now = h->latest;
	if (cost > h->quota.units && (!h->smooth || history_fresh(h, now)))
		return false;
	if (history_fresh(h, now)) {
		*h = (struct history){h->quota, false, true, now, cost, now, 0};
		return true;
	}
	if (h->smooth) {
		fits = history_balance(h, now) >= (__int128)cost * h->quota.window;
		h->passed += fits ? cost : 0;
		h->latest = now;
	} else if (cost < left) {
		h->passed += cost;
	} else if (left > 0) {
		left -= fits ? cost : 0;
		h->first = (__int128)(left + 1) * h->quota.window -
			   (__int128)(h->start + h->quota.window - now) * h->quota.units;
		h->smooth = true;
		h->start = h->latest = now;
		h->passed = 0;
	}
	return fits;
}

static void check_hybrid(uint64_t seed)
{
	struct history model = {.latest = GHZ};
	struct clock clock = {GHZ, GHZ};
	uint64_t began = 0, passed = 0;
	struct hybrid hybrid;
	struct prng prng;

	prng_seed(&prng, seed);
	model.quota = random_quota(&prng);
	hybrid_begin(&hybrid, &model.quota, clock.now, 0);
	for (unsigned i = 0; i < 20 * EVENTS; i++) {
		uint64_t gap = random_gap(&prng, model.quota.window) >> prng_below(&prng, 12);
		uint32_t cost;
		bool fits;

		clock_step(&clock, &prng, clock.now >> 62 ? 0 : gap, 1000);
		cost = window_cost(&prng,
			model.smooth ? model.quota.units / 8 : model.quota.units - model.passed);
		fits = history_conforms(&model, clock.now, cost);
		assert_seed(seed, hybrid_conforms(&hybrid, &model.quota, clock.now, cost) == fits);
		/* In a window that is used up, no more than the quota passes. */
		if (fits && cost && !model.smooth && model.passed == cost) {
			began = model.start;
			passed = 0;
		}
		if ((int64_t)(clock.now - began) < (int64_t)model.quota.window &&
			model.latest - began < model.quota.window)
			passed += fits ? cost : 0;
		assert_seed(seed, passed <= model.quota.units);
	}
}

TEST(test_hybrid_of_any_cost)
{
	FOR_EACH_SEED(seed)
	check_hybrid(seed);
}

static union meter_profile random_profile(
	struct prng *prng, enum meter_kind kind, uint64_t hz, struct meter_params *params)
{
	union meter_profile profile;

	*params = (struct meter_params){
		.kind = kind,
		.rate_bps = 8000 + random_magnitude(prng, 8 * hz),
		.burst = random_magnitude(prng, 1000),
		.window_ns = 10000000,
		.drop_probability = prng_unit(prng) / 2,
	};
	if (kind == METER_FIXED_WINDOW || kind == METER_HYBRID) {
		params->window_ns = 1000 + random_magnitude(prng, 1000000000);
		params->rate_bps = (uint64_t)((double)random_magnitude(prng, 1000) * 8e9 /
					      (double)params->window_ns) +
				   1;
	}
	assert_int_equal(meter_profile_init(&profile, params, hz), 0);
	return profile;
}

/*
 * Returns the most units that can pass together. patience_of() returns the ticks until any allowed
 * packet passes.
 */
static uint64_t bound_of(enum meter_kind kind, const union meter_profile *profile)
{
	switch (kind) {
	case METER_TOKEN_BUCKET:
		return profile->bucket.burst >> TOKEN_BYTE;
	case METER_GCRA:
		return profile->gcra.burst >> GCRA_SHIFT;
	default:
		return profile->window.units;
	}
}

static uint64_t patience_of(
	enum meter_kind kind, const struct meter_params *params, const union meter_profile *profile)
{
	if (kind == METER_FIXED_WINDOW || kind == METER_HYBRID)
		return 2 * profile->window.window + 1;
	return (params->burst + 1) * 8 * GHZ / params->rate_bps + 2;
}

static uint64_t drain_meter(
	enum meter_kind kind, union meter meter, const union meter_profile *profile, uint64_t now)
{
	uint64_t passed = 0;

	while (meter_conforms(kind, &meter, profile, now, 1))
		passed++;
	return passed;
}

static void check_changes(uint64_t seed, enum meter_kind kind)
{
	union meter_profile profile, next;
	struct meter_params params;
	uint64_t now = 1000, bound;
	union meter meter = {0};
	struct prng prng;

	prng_seed(&prng, seed);
	profile = random_profile(&prng, kind, GHZ, &params);
	meter_init(kind, &meter, &profile, now, 0);
	for (unsigned i = 0; i < EVENTS; i++) {
		now += random_magnitude(&prng, patience_of(kind, &params, &profile));
		for (unsigned k = prng_below(&prng, 30); k > 0; k--)
			meter_conforms(kind, &meter, &profile, now, 1 + prng_below(&prng, 100));
		bound = bound_of(kind, &profile);
		next = random_profile(&prng, kind, GHZ, &params);
		meter_change(kind, &meter, &profile, &next, now);
		if (bound < bound_of(kind, &profile))
			bound = bound_of(kind, &profile);
		assert_seed(seed, drain_meter(kind, meter, &profile, now) <= bound);
		assert_seed(seed, drain_meter(kind, meter, &profile,
					  now + patience_of(kind, &params, &profile)) > 0);
	}
}

TEST(test_changes_neither_burst_nor_block)
{
	FOR_EACH_SEED(seed)
	for (enum meter_kind kind = 0; kind < METER_RANDOM_DROP; kind++)
		check_changes(seed, kind);
}

/* An idle state can be forgotten, because a fresh meter has the same verdicts. */
static unsigned check_idle(uint64_t seed, enum meter_kind kind)
{
	union meter_profile profile;
	struct meter_params params;
	unsigned idle = 0;
	uint64_t now = 5;
	struct prng prng;
	union meter meter = {0};

	prng_seed(&prng, seed);
	profile = random_profile(&prng, kind, GHZ, &params);
	meter_init(kind, &meter, &profile, now, seed);
	for (unsigned i = 0; i < EVENTS; i++) {
		union meter fresh = {0}, kept = meter;
		uint64_t then = now;

		meter_init(kind, &fresh, &profile, now, seed);
		if (meter_idle(kind, &meter, &profile, now)) {
			idle++;
			for (unsigned k = 0; k < 40; k++, then += prng_below(&prng, 1000000)) {
				uint32_t cost = 1 + prng_below(&prng, 300);

				assert_seed(seed,
					meter_conforms(kind, &kept, &profile, then, cost) ==
						meter_conforms(kind, &fresh, &profile, then, cost));
			}
		} else {
			/* A state that is not idle has fewer tokens than a fresh one. */
			assert_seed(seed, drain_meter(kind, meter, &profile, now) <
						  drain_meter(kind, fresh, &profile, now));
		}
		meter_conforms(kind, &meter, &profile, now, 1 + prng_below(&prng, 200));
		now += one_in(&prng, 2)
			       ? prng_below(&prng, 1000)
			       : random_magnitude(&prng, patience_of(kind, &params, &profile));
	}
	return idle;
}

TEST(test_idle_is_as_good_as_fresh)
{
	for (enum meter_kind kind = 0; kind < METER_RANDOM_DROP; kind++) {
		unsigned idle = 0;

		FOR_EACH_SEED(seed)
		idle += check_idle(seed, kind);
		assert_true(idle > n_seeds);
		assert_true(idle < n_seeds * EVENTS);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		n_seeds = strtoull(argv[2], NULL, 0);
	return run_all_tests();
}
