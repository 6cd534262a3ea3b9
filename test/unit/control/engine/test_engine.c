/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limit over several workers, whose states the engine owns; and the calls to a driver.
 */
#include "check.h"
#include "scope.h"

#include <pthread.h>

#include "allocate/allocate.h"
#include "engine/counts.h"
#include "engine/states.h"
#include "police/borrow.h"

#define BYTES   1000   /* per packet */
#define RATE    100000 /* bytes a second */
#define BURST   20000
#define WORKERS 4

struct world {
	struct policy policy;
	struct engine engine;
	struct engine_limit limit;
	unsigned told, joined;
};

static void world_make(struct world *w, enum meter_kind meter)
{
	*w = (struct world){
		.policy = {.name = "p",
			.limit_bps = 8 * RATE,
			.burst_bytes = BURST,
			.allocator = allocator_find("fps"),
			.meter = meter,
			.mark = MARK_ECN},
	};
	w->limit = (struct engine_limit){.policy = &w->policy,
		.hz = GHZ,
		.view = {.local_limit = RATE, .local_burst = BURST}};
}

static void world_begin(struct world *w, unsigned workers)
{
	assert_int_equal(engine_states_alloc(&w->engine, workers, 1), 0);
	assert_int_equal(engine_states_wait(&w->engine, &w->policy, 16, GHZ, 0), 0);
	w->engine.frame = BYTES;
	engine_share_begin(&w->engine, &w->policy, 1, 0);
	for (unsigned i = 0; i < workers; i++) {
		const struct policy_start start = {.hz = GHZ, .secret = i};

		assert_int_equal(engine_states_add(&w->engine, i, &w->limit, &start), 0);
	}
	assert_int_equal(engine_begin(&w->engine, &w->limit, 0, 0, false), 0);
}

static void world_open(struct world *w, unsigned workers, enum meter_kind meter)
{
	world_make(w, meter);
	world_begin(w, workers);
}

static void world_close(struct world *w)
{
	engine_states_free(&w->engine, 1);
}

static bool engine_passes(struct world *w, unsigned worker, uint64_t now)
{
	static const uint8_t data[64];
	const struct packet packet = {.family = PACKET_IPV4, .proto = 17};
	uint32_t cost;

	return engine_states_police(&w->engine, worker, 0, &packet, data, BYTES, now, &cost) ==
	       VERDICT_PASS;
}

/*
 * Offers twice the limit for so many seconds, over all workers in turn; returns the bytes that
 * passed.
 */
static uint64_t offer_packets(struct world *w, uint64_t from_s, unsigned seconds)
{
	uint64_t step = SECOND * BYTES / (2 * RATE), passed = 0;
	unsigned worker = 0;

	for (uint64_t now = from_s * SECOND; now < (from_s + seconds) * SECOND; now += step) {
		passed += BYTES * engine_passes(w, worker, now);
		worker = (worker + 1) % w->engine.n_workers;
	}
	return passed;
}

/*
 * One worker, a bucket shared by several, and a limit divided between several: limit and burst
 * count once.
 */
TEST(test_one_limit)
{
	static const struct {
		unsigned workers;
		enum meter_kind meter;
	} rows[] = {
		{1, METER_TOKEN_BUCKET},
		{WORKERS, METER_TOKEN_BUCKET},
		{1, METER_GCRA},
		{WORKERS, METER_GCRA},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;

		world_open(&w, rows[i].workers, rows[i].meter);
		assert_near(offer_packets(&w, 0, 10), 10 * RATE + BURST, WORKERS * BYTES);
		w.limit.view.local_limit = RATE / 2;
		assert_int_equal(engine_enforce(&w.engine, &w.limit, 10 * SECOND), 0);
		assert_near(offer_packets(&w, 10, 10), 10 * RATE / 2, 2 * WORKERS * BYTES);
		world_close(&w);
	}
}

/* A policy that begins with its burst spent, or held, has no tokens. */
TEST(test_begins)
{
	ENDED_BY(world_close) struct world w;

	world_open(&w, WORKERS, METER_TOKEN_BUCKET);
	assert_int_equal(engine_begin(&w.engine, &w.limit, 0, 0, true), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_false(engine_passes(&w, i, 0));
	assert_near(offer_packets(&w, 0, 10), 10 * RATE, WORKERS * BYTES);
}

/* Passed and dropped packets add up to the offered ones; changed totals are reported once. */
TEST(test_totals)
{
	struct policy_totals totals;
	ENDED_BY(world_close) struct world w;
	uint64_t passed;

	world_open(&w, WORKERS, METER_TOKEN_BUCKET);
	passed = offer_packets(&w, 0, 5);
	assert_true(engine_totals(&w.engine, 0, &totals));
	assert_int_equal(totals.passed_bytes, passed);
	assert_int_equal(totals.passed_packets, passed / BYTES);
	assert_int_equal(totals.dropped_bytes, 10 * RATE - passed);
	assert_false(engine_totals(&w.engine, 0, &totals));
	assert_int_equal(engine_waiting(&w.engine, 0).packets, 0);
}

/*
 * The worker with all the demand gets all except the floor of a divided limit, and reports the
 * change.
 */
TEST(test_measures)
{
	struct limiter_sample sample;
	ENDED_BY(world_close) struct world w;

	world_open(&w, 2, METER_GCRA);
	for (unsigned i = 0; i < 1000; i++)
		engine_passes(&w, 0, i * SECOND / 1000);
	assert_true(engine_measure(&w.engine, 0, &w.policy, SECOND, &sample));
	assert_int_equal(sample.arrived_bytes, 1000 * BYTES);
	assert_true(sample.dropped_packets > 0);
	assert_int_equal(engine_enforce(&w.engine, &w.limit, SECOND), 0);
	assert_true(w.engine.slots[0].shares[0].demand > 0);
	assert_true(w.engine.slots[0].shares[1].demand == 0);
	w.engine.slots[0].sampling.shift = 3;
	assert_int_equal(engine_enforce(&w.engine, &w.limit, SECOND), 0);
	assert_int_equal(police_shift(&w.engine.workers[1].states[0]), 3);
}

/* Each worker's flow samples are in the measurement, in the worker's own place. */
TEST(test_measures_flows)
{
	const struct packet packet = {.family = PACKET_IPV4, .proto = 17};
	struct limiter_sample sample;
	unsigned seen = 0;
	ENDED_BY(world_close) struct world w;

	world_open(&w, 2, METER_GCRA);
	for (unsigned i = 0; i < 2000; i++) {
		uint8_t data[64];
		uint32_t cost;

		memset(data, (int)(i % 200), sizeof(data));
		engine_states_police(
			&w.engine, 0, 0, &packet, data, BYTES, i * SECOND / 2000, &cost);
	}
	engine_measure(&w.engine, 0, &w.policy, SECOND, &sample);
	for (unsigned i = 0; i < 2 * FLOW_SLOTS; i++) {
		const struct flow_sample *flows = w.engine.workers[i / FLOW_SLOTS].samples[0];

		assert_int_equal(sample.slots[i], flow_slot_read(flows, i % FLOW_SLOTS));
		assert_true(i < FLOW_SLOTS || sample.slots[i] == 0);
		seen += sample.slots[i] != 0;
	}
	assert_true(seen > FLOW_SLOTS / 2 && sample.slots[0] != 0);
	assert_int_equal(w.engine.slots[0].packets, 2000);
	assert_int_equal(w.engine.slots[0].measured_ns, SECOND);
	world_close(&w);
	/* One worker has nothing to divide, and reports no change. */
	world_open(&w, 1, METER_TOKEN_BUCKET);
	assert_false(engine_measure(&w.engine, 0, &w.policy, SECOND, &sample));
}

/* The second packet waits for its tokens; waiting packets count as such until they leave. */
TEST(test_waits)
{
	static const uint8_t data[64];
	const struct packet packet = {.family = PACKET_IPV4, .proto = 17};
	struct shape_packet packets[3], *out[3];
	struct policy_totals totals;
	ENDED_BY(world_close) struct world w;

	world_make(&w, METER_TOKEN_BUCKET);
	w.policy.action = ACTION_SHAPE;
	w.policy.shape.delay_ns = SECOND;
	w.limit.view.local_burst = BYTES;
	world_begin(&w, WORKERS);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			engine_states_arrive(&w.engine, i, 0, &packet, data, BYTES, 0, &packets[i]),
			i ? SHAPE_WAITS : SHAPE_PASSES);
	assert_int_equal(engine_waiting(&w.engine, 0).units, 2 * BYTES);
	assert_int_equal(engine_waiting(&w.engine, 0).packets, 2);
	engine_totals(&w.engine, 0, &totals);
	assert_int_equal(totals.passed_packets, 1);
	assert_int_equal(totals.passed_bytes, BYTES);
	assert_int_equal(totals.dropped_packets, 0);
	for (unsigned i = 1; i < 3; i++) {
		uint64_t due = i * SECOND * BYTES / RATE;

		assert_int_equal(
			shaper_release(w.engine.workers[i].shaper, due - 10000, out, 3), 0);
		assert_int_equal(
			shaper_release(w.engine.workers[i].shaper, due + 10000, out, 3), 1);
		assert_ptr_equal(out[0], &packets[i]);
		assert_true(engine_states_leave(&w.engine, i, 0, out[0], due + 10000));
	}
	engine_totals(&w.engine, 0, &totals);
	assert_int_equal(totals.passed_packets, 3);
	assert_int_equal(engine_waiting(&w.engine, 0).packets, 0);
}

static enum shape_verdict arrive_at(struct world *w, struct shape_packet *packet, uint64_t now)
{
	static const uint8_t data[64];
	const struct packet header = {.family = PACKET_IPV4, .proto = 17};

	return engine_states_arrive(&w->engine, 0, 0, &header, data, BYTES, now, packet);
}

/*
 * Ticks start again: a queue takes no packet until it is updated, then continues as if its tokens
 * were just spent.
 */
TEST(test_ticks_restart)
{
	const uint64_t before = 100 * SECOND;

	for (unsigned workers = 1; workers <= WORKERS; workers += WORKERS - 1) {
		struct shape_packet packets[8], *out[8];
		struct shaper *shaper;
		struct world w;

		world_make(&w, METER_TOKEN_BUCKET);
		w.policy.action = ACTION_SHAPE;
		w.policy.shape.delay_ns = SECOND;
		w.limit.view.local_burst = BYTES;
		world_begin(&w, workers);
		shaper = w.engine.workers[0].shaper;
		assert_int_equal(arrive_at(&w, &packets[0], before), SHAPE_PASSES);
		assert_int_equal(arrive_at(&w, &packets[1], before), SHAPE_WAITS);
		assert_true(shaper_is_ahead(shaper, SECOND));
		assert_int_equal(shaper_flush(shaper, out, 8), 1);
		assert_true(engine_states_leave(&w.engine, 0, 0, out[0], SECOND));
		shaper_restart(shaper, SECOND);
		assert_int_equal(arrive_at(&w, &packets[2], 2 * SECOND), SHAPE_FULL);
		w.engine.slots[0].restarts = true;
		w.limit.clock = 1;
		assert_int_equal(engine_enforce(&w.engine, &w.limit, 2 * SECOND), 0);
		assert_int_equal(arrive_at(&w, &packets[3], 2 * SECOND), SHAPE_WAITS);
		assert_int_equal(shaper_release(shaper, 3 * SECOND, out, 8), 1);
		assert_int_equal(arrive_at(&w, &packets[4], 3 * SECOND), SHAPE_PASSES);
		/* This happens once. */
		assert_int_equal(engine_enforce(&w.engine, &w.limit, 9 * SECOND), 0);
		assert_int_equal(arrive_at(&w, &packets[5], 9 * SECOND), SHAPE_PASSES);
		world_close(&w);
	}
}

static uint64_t passes_at(struct world *w, uint64_t now)
{
	uint64_t passed = 0;

	for (unsigned i = 0; i < 200; i++)
		passed += BYTES * engine_passes(w, i % w->engine.n_workers, now);
	return passed;
}

/*
 * A part of the limit has ended on all workers, and control runs some time later. The tokens are
 * then those that the rest has granted since, up to the rest of the burst. This holds for a shared
 * bucket that began with that limit, and for one that was updated. It applies only to workers that
 * were given an end.
 */
TEST(test_ended)
{
	static const struct {
		uint8_t ending;
		uint64_t late_ns;
		double bytes;
	} rows[] = {
		{0, SECOND / 10, RATE / 10.0},
		{0, SECOND, BURST},
		{51, SECOND / 10, 0.8 * RATE / 10},
		{51, SECOND, 0.8 * BURST},
		{204, SECOND / 10, 0.2 * RATE / 10},
		{204, SECOND, 0.2 * BURST},
	};

	for (size_t i = 0; i < 2 * COUNT(rows); i++) {
		bool told = i % 2;
		uint64_t now = 10 * SECOND;
		struct world w;

		world_make(&w, METER_TOKEN_BUCKET);
		w.policy.guarantee = GUARANTEE_HARD; /* no worker holds quanta */
		w.limit.view.ending = told ? 0 : rows[i / 2].ending;
		world_begin(&w, WORKERS);
		w.limit.view.ending = rows[i / 2].ending;
		if (told)
			assert_int_equal(engine_enforce(&w.engine, &w.limit, 0), 0);
		assert_near(passes_at(&w, now), BURST, BYTES);
		w.engine.slots[0].ended = now;
		now += rows[i / 2].late_ns;
		w.limit.view.ending = 0;
		assert_int_equal(engine_enforce(&w.engine, &w.limit, now), 0);
		assert_near(passes_at(&w, now), rows[i / 2].bytes, BYTES);
		/* From here on, the new limit applies. */
		now += SECOND / 10;
		assert_near(passes_at(&w, now), RATE / 10.0, BYTES);
		/* An end is applied once: the new limit's ending part has not ended. */
		w.limit.view.ending = rows[i / 2].ending;
		assert_int_equal(engine_enforce(&w.engine, &w.limit, now), 0);
		now += SECOND / 10;
		assert_int_equal(engine_enforce(&w.engine, &w.limit, now), 0);
		assert_near(passes_at(&w, now), RATE / 10.0, BYTES);
		world_close(&w);
	}
}

/*
 * The allowance of samples is computed again after a second, or earlier once policies have wanted
 * more samples than there are.
 */
TEST(test_samples_shared)
{
	static const struct {
		uint64_t after_ns;
		double wanted; /* part of all samples in a second */
		bool again;
	} rows[] = {
		{SECOND - 1, 0.5, false},
		{SECOND, 0.5, true},
		{SECOND / 2, 1, false},
		{SECOND / 2, 1.01, true},
		{5 * SECOND, 0, true},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		double most;

		world_open(&w, 2, METER_GCRA);
		most = w.engine.budget.most;
		engine_share_begin(&w.engine, &w.policy, 1, 7 * SECOND);
		w.engine.budget.wanted = rows[i].wanted * most;
		engine_share_samples(&w.engine, 7 * SECOND + rows[i].after_ns);
		assert_int_equal(w.engine.budget.wanted == 0 || rows[i].wanted == 0, rows[i].again);
		assert_int_equal(
			w.engine.budget_ns == 7 * SECOND + rows[i].after_ns, rows[i].again);
		world_close(&w);
	}
}

static void join_credit(void *context, uint32_t slot, struct limit_profile *profile)
{
	struct world *w = context;

	assert_int_equal(slot, profile->policy);
	w->joined++;
}

static void tell_profile(void *context, unsigned worker, const struct limit_profile *profile)
{
	struct world *w = context;
	struct limit_profile again;

	/* A driver that updates a worker later gets the same profile. */
	assert_int_equal(engine_worker_profile(&w->engine, &w->limit, worker, &again), 0);
	assert_memory_equal(
		&again.meter.bucket, &profile->meter.bucket, sizeof(again.meter.bucket));
	w->told++;
}

/*
 * A driver's workers are all updated, and nothing else changes. Each begins with its own profile.
 * It is then updated with one that is made once, because all have the same part. Workers that
 * borrow have nothing to join.
 */
TEST(test_driver)
{
	static const struct {
		enum meter_kind meter;
		unsigned joined;
	} rows[] = {{METER_TOKEN_BUCKET, 0}, {METER_GCRA, WORKERS + 1}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy_state before;
		struct world w;

		world_open(&w, WORKERS, rows[i].meter);
		w.engine.driver = (struct engine_driver){&w, join_credit, NULL, tell_profile};
		before = w.engine.workers[0].states[0];
		assert_int_equal(engine_enforce(&w.engine, &w.limit, SECOND), 0);
		assert_int_equal(w.told, WORKERS);
		assert_int_equal(w.joined, rows[i].joined);
		assert_memory_equal(&before, &w.engine.workers[0].states[0], sizeof(before));
		world_close(&w);
	}
}

/* If no meter can express a rate, the old one stays in force. */
TEST(test_out_of_range)
{
	ENDED_BY(world_close) struct world w;

	world_open(&w, WORKERS, METER_TOKEN_BUCKET);
	w.limit.view.local_limit = 1e15;
	assert_int_equal(engine_enforce(&w.engine, &w.limit, 0), -ERANGE);
	assert_near(offer_packets(&w, 0, 10), 10 * RATE + BURST, WORKERS * BYTES);
}

#define READS 200000

struct dropper {
	struct world *w;
	bool stop;
};

/* Offers packets at one instant, so that all except a burst are dropped. */
static void *drop_packets(void *context)
{
	struct dropper *d = context;

	while (!__atomic_load_n(&d->stop, __ATOMIC_RELAXED))
		(void)engine_passes(d->w, 0, SECOND);
	return NULL;
}

/* A reader never counts a packet as passed that a worker drops at that moment. */
TEST(test_read_while_dropping)
{
	ENDED_BY(world_close) struct world w;
	struct dropper dropper = {.w = &w};
	struct policy_totals totals = {0};
	pthread_t worker;

	world_open(&w, 1, METER_TOKEN_BUCKET);
	assert_int_equal(pthread_create(&worker, NULL, drop_packets, &dropper), 0);
	while (!totals.dropped_packets)
		(void)engine_totals(&w.engine, 0, &totals);
	for (unsigned i = 0; i < READS && totals.passed_bytes <= BURST; i++)
		(void)engine_totals(&w.engine, 0, &totals);
	__atomic_store_n(&dropper.stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(worker, NULL), 0);
	(void)engine_totals(&w.engine, 0, &totals);
	assert_int_equal(totals.passed_bytes, BURST);
	assert_int_equal(totals.passed_packets, BURST / BYTES);
}
