/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that follow the rate of a box. At a fixed limit a faster box or machine drops a larger
 * share of the packets, so its packets are other work. Here the limits follow until the box drops
 * PRESSED_SHARE of its packets.
 */
#include <rte_cycles.h>

#include "engine/profile.h"
#include "fastpath.h"
#include "instance.h"
#include "police/charge.h"
#include "tick.h"
#include "worker.h"

#define SETTLES 5   /* steps until the share is near */
#define PARTS   20  /* a step takes one part of settle_ms */
#define LEAST   0.1 /* smallest factor of a step */
#define MOST    10  /* largest factor */
#define AMENDS  0.1 /* part of the packets, for the errors of previous slices */

/* Changes the worker's limit without control: this thread turns the worker. */
static void set_limit(struct bench_instance *bench, unsigned policy)
{
	struct instance *inst = &bench->inst;
	struct engine_limit limit = {.policy = &inst->policies[policy],
		.slot = inst->slots.of[policy],
		.hz = inst->clock.hz,
		.clock = inst->clock.set_back};
	struct limit_profile profile;

	engine_view(&inst->engine, inst->limiter, policy, &limit);
	limit.view.local_limit = bench->pressed;
	if (engine_worker_profile(&inst->engine, &limit, 0, &profile))
		die("no limit of %g bytes a second", bench->pressed);
	police_limit(&inst->workers[0].policies[limit.slot], &profile, tick_now());
}

static void set_limits(struct bench_instance *bench)
{
	for (unsigned p = 0; p < bench->inst.n_policies; p++)
		set_limit(bench, p);
}

/* Multiplies the limits, so that the share that passes becomes 1 - wanted. */
static void follow_rate(struct bench_instance *bench, double dropped, double wanted)
{
	double factor = (1 - wanted) / (1.001 - dropped);

	bench->pressed *= RTE_MAX(LEAST, RTE_MIN(MOST, factor));
	set_limits(bench);
}

/* Corrects part of the sum of all errors too, so that the mean over the slices is right. */
static void pressure_adapt(void *self, double dropped)
{
	struct bench_instance *bench = self;

	bench->lacking += PRESSED_SHARE - dropped;
	follow_rate(bench, dropped,
		PRESSED_SHARE + RTE_MAX(-AMENDS, RTE_MIN(AMENDS, bench->lacking / 2)));
}

/* Packets a second, and the share that is dropped, in so many milliseconds. */
static double forward(struct bench_instance *bench, unsigned ms, double *dropped)
{
	struct worker *worker = &bench->inst.workers[0];
	uint64_t began = rte_rdtsc(), until = began + rte_get_tsc_hz() / 1000 * ms;
	struct worker_counters then = instance_worker_totals(&bench->inst), now;

	while (rte_rdtsc() < until)
		worker_turn(worker);
	now = instance_worker_totals(&bench->inst);
	now.rx_packets -= then.rx_packets;
	*dropped = (double)(now.dropped[DROP_LIMIT] - then.dropped[DROP_LIMIT]) /
		   (double)RTE_MAX(now.rx_packets, 1u);
	return (double)now.rx_packets * (double)rte_get_tsc_hz() / (double)(rte_rdtsc() - began);
}

static void pressure_commit(void *self, unsigned ms)
{
	struct bench_instance *bench = self;
	unsigned step = RTE_MAX(ms / PARTS, 1u);
	double dropped, rate;

	bench_instance_begin(bench);
	rate = forward(bench, step, &dropped);
	bench->pressed = (1 - PRESSED_SHARE) * rate * FRAME_BYTES / bench->inst.n_policies;
	set_limits(bench);
	for (unsigned i = 0; i < SETTLES; i++) {
		forward(bench, step, &dropped); /* until full buckets are empty */
		forward(bench, step, &dropped);
		follow_rate(bench, dropped, PRESSED_SHARE);
	}
	bench_instance_end(bench);
}

struct contender pressed_contender(struct bench_instance *bench, const struct traffic *traffic)
{
	struct contender contender = instance_contender("", bench, traffic);

	contender.commit = pressure_commit;
	contender.adapt = pressure_adapt;
	return contender;
}
