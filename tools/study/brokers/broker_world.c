/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_world.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS         1e9
#define ALL        BROKERS /* additional row, after those of the brokers */
#define ACCESS     (BROKERS + 1)
#define ROWS       (BROKERS + 2)
#define OTHERS     UINT64_C(0x6f7468657273) /* another seed than the trace's */
#define BEFORE     UINT64_C(0x6265666f7265) /* another one */
#define BENCHMARKS 9                        /* steps of a search for a capacity */

struct broker_line {
	struct penalty_queue queue;
	bool unlimited;
	uint64_t free[BROKER_CORES]; /* ns at which each core becomes free */
	double gap;                  /* mean ns between batches of other topics; 0: none */
	double next;
	struct prng prng;
};

/* Returns units a second, in batches of that many messages. */
static double speed_of(unsigned batch)
{
	double ns = BROKER_MESSAGE_NS + (double)BROKER_BATCH_NS / batch;

	return BROKER_MESSAGE * BROKER_CORES * NS / ns;
}

static int make_sources(struct broker_world *world)
{
	const struct broker_traffic *t = &world->c->traffic;

	world->sources = calloc(t->publishers, sizeof(*world->sources));
	if (!world->sources)
		return -ENOMEM;
	for (unsigned i = 0; i < t->publishers; i++)
		world->sources[i] = (struct place_source){
			.rate = t->rate * BROKER_MESSAGE,
			.batch = (double)t->batch * BROKER_MESSAGE,
			.period = t->periodic ? t->batch / t->rate : 0,
			.spread = t->spread,
			.group = t->group > 1 ? 1 + i / t->group : 0,
		};
	return 0;
}

/* Sets the load of other topics, as an equal cost in messages of this topic. */
static void make_world_brokers(struct broker_world *world, double capacity)
{
	unsigned batch = world->c->traffic.batch;
	double dearer = speed_of(batch) / speed_of(BROKER_LOAD_BATCH);

	for (unsigned i = 0; i < BROKERS; i++)
		world->brokers[i] = (struct place_broker){
			.capacity = capacity * BROKER_MESSAGE,
			.speed = speed_of(batch),
			.load = world->c->loads[i] * BROKER_MESSAGE * dearer,
			.load_batch = BROKER_LOAD_BATCH * BROKER_MESSAGE * dearer,
		};
}

/* Sets the bucket of section VI, and its benefit. */
static int make_world_problem(struct broker_world *world)
{
	const struct broker_traffic *t = &world->c->traffic;
	struct place_aggregate *a = &world->problem.aggregate;
	int err;

	world->problem = (struct place_problem){
		.aggregate = {.limit = (uint64_t)(broker_rate(t) * BROKER_ABOVE * BROKER_MESSAGE),
			.least = BROKER_MESSAGE + 1,
			.slo = BROKER_SLO_NS / NS,
			.constant = BROKER_NETWORK_NS / NS},
		.sources = world->sources,
		.n_sources = t->publishers,
		.brokers = world->brokers,
		.n_brokers = BROKERS,
		.principles = PLACE_ALL,
		.seed = world->seed,
	};
	err = broker_trace_burst(&world->trace, t->batch, a->limit, &a->burst);
	if (err)
		return err;
	a->backlog = (double)a->burst;
	a->burst = (uint64_t)(a->backlog * BROKER_MARGIN);
	return 0;
}

/*
 * Creates the record of the same publishers before the trace. It differs from the trace if arrivals
 * are random, and equals it if they are periodic.
 */
static int make_record(struct broker_world *world)
{
	struct broker_traffic traffic = world->c->traffic;
	uint64_t seed = world->seed ^ (traffic.periodic ? 0 : BEFORE);
	uint64_t most = (uint64_t)BROKER_RECORD * traffic.batch;
	struct broker_trace before;
	int err;

	traffic.messages = traffic.messages < most ? traffic.messages : most;
	err = broker_trace_make(&before, &traffic, seed);
	if (err)
		return err;
	world->record.n = (uint32_t)before.n;
	world->seen = calloc(before.n, sizeof(*world->seen));
	for (uint32_t i = 0; world->seen && i < before.n; i++)
		world->seen[i] = (struct place_arrival){(double)before.events[i].at / NS,
			(double)traffic.batch * BROKER_MESSAGE, before.events[i].source};
	world->record.arrivals = world->seen;
	broker_trace_free(&before);
	return world->seen ? 0 : -ENOMEM;
}

int broker_world_init(
	struct broker_world *world, const struct broker_case *c, double capacity, uint64_t seed)
{
	int err;

	*world = (struct broker_world){.c = c, .seed = seed};
	world->rows = calloc(ROWS, sizeof(*world->rows));
	world->lines = calloc(BROKERS, sizeof(*world->lines));
	if (!world->rows || !world->lines)
		return -ENOMEM;
	err = broker_trace_make(&world->trace, &c->traffic, seed);
	if (err == 0)
		err = make_sources(world);
	if (err == 0)
		err = make_record(world);
	if (err)
		return err;
	make_world_brokers(world, capacity);
	return make_world_problem(world);
}

void broker_world_free(struct broker_world *world)
{
	broker_trace_free(&world->trace);
	free(world->sources);
	free(world->seen);
	free(world->rows);
	free(world->lines);
}

static double draw_load_gap(struct broker_line *line)
{
	return -log1p(-prng_unit(&line->prng)) * line->gap;
}

static void world_line_init(struct broker_line *line, const struct broker_world *world, unsigned i,
	const struct place_part *part)
{
	double load = world->c->loads[i];

	memset(line, 0, sizeof(*line));
	prng_seed(&line->prng, (world->seed ^ OTHERS) + i);
	line->gap = load > 0 ? NS * BROKER_LOAD_BATCH / load : 0;
	line->next = load > 0 ? draw_load_gap(line) : HUGE_VAL;
	line->unlimited = part->limit == 0 ||
			  penalty_queue_init(&line->queue, part->limit * 8, part->burst);
}

/* Returns the end of a service that is due at a time, on the first free core. */
static uint64_t serve_batch(struct broker_line *line, uint64_t at, uint64_t ns)
{
	unsigned core = line->free[1] < line->free[0];
	uint64_t start = at > line->free[core] ? at : line->free[core];

	return line->free[core] = start + ns;
}

static uint64_t cost_of(unsigned place)
{
	return BROKER_MESSAGE_NS + (place == 0 ? BROKER_BATCH_NS : 0);
}

static void serve_others(struct broker_line *line, uint64_t until)
{
	while (line->next <= (double)until) {
		for (unsigned i = 0; i < BROKER_LOAD_BATCH; i++)
			serve_batch(line, (uint64_t)line->next, cost_of(i));
		line->next += draw_load_gap(line);
	}
}

static void count_delay(
	struct broker_world *world, unsigned broker, uint64_t access, uint64_t whole)
{
	penalty_count(&world->rows[broker], whole);
	penalty_count(&world->rows[ALL], whole);
	penalty_count(&world->rows[ACCESS], access);
}

static void play_event(struct broker_world *world, const uint32_t *at, uint64_t i)
{
	const struct broker_event *event = &world->trace.events[i];
	uint32_t broker = at[event->source];
	struct broker_line *line;

	if (broker == PLACE_NOWHERE)
		return;
	line = &world->lines[broker];
	for (unsigned j = 0; j < world->c->traffic.batch; j++) {
		uint64_t token = line->unlimited ? event->at
						 : penalty_queue_leave(
							   &line->queue, event->at, BROKER_MESSAGE);
		uint64_t end;

		serve_others(line, token);
		end = serve_batch(line, token, cost_of(j)) + BROKER_NETWORK_NS;
		if (i >= world->trace.n / 10)
			count_delay(world, broker, token - event->at, end - event->at);
	}
}

void broker_world_measure(struct broker_world *world, const struct placement *placement,
	struct broker_measured *measured)
{
	memset(world->rows, 0, ROWS * sizeof(*world->rows));
	for (unsigned i = 0; i < BROKERS; i++)
		world_line_init(&world->lines[i], world, i, &placement->parts[i]);
	for (uint64_t i = 0; i < world->trace.n; i++)
		play_event(world, placement->at, i);
	*measured = (struct broker_measured){
		.p50 = penalty_quantile(&world->rows[ALL], 0.5),
		.p95 = penalty_quantile(&world->rows[ALL], 0.95),
		.p99 = penalty_quantile(&world->rows[ALL], 0.99),
		.access_p99 = penalty_quantile(&world->rows[ACCESS], 0.99),
	};
	for (unsigned i = 0; i < BROKERS; i++) {
		if (world->rows[i].n == 0)
			continue;
		measured->p99s[i] = penalty_quantile(&world->rows[i], 0.99);
		measured->worst = fmax(measured->worst, measured->p99s[i]);
	}
}

/*
 * Sets *ok if one idle broker, without a bucket, can serve publishers of one batch a second each.
 */
static int idle_broker_keeps_up(unsigned batch, double rate, bool *ok)
{
	struct broker_case c = {.traffic = {.publishers = (unsigned)(rate / batch),
					.rate = batch,
					.batch = batch,
					.group = 1,
					.messages = 400000}};
	struct placement placement = {.at = calloc(c.traffic.publishers, sizeof(uint32_t))};
	struct broker_measured measured = {0};
	struct broker_world world = {0};
	int err = placement.at ? broker_world_init(&world, &c, rate, 1) : -ENOMEM;

	if (err == 0)
		broker_world_measure(&world, &placement, &measured);
	*ok = measured.worst <= BROKER_SLO_NS;
	broker_world_free(&world);
	free(placement.at);
	return err;
}

double broker_capacity(unsigned batch)
{
	double low = 0, high = speed_of(batch) / BROKER_MESSAGE;

	for (unsigned i = 0; i < BENCHMARKS; i++) {
		double middle = (low + high) / 2;
		bool ok;
		int err = idle_broker_keeps_up(batch, middle, &ok);

		if (err)
			return err;
		if (ok)
			low = middle;
		else
			high = middle;
	}
	return low;
}
