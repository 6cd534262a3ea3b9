/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random groups of limiters, as far apart as places on a map, that spend budgets together.
 *
 * Messages are lost, repeated and reordered, and the network is partitioned. Limiters crash and
 * restart with their newest record or without one. Disks fail, totals rise, and periods begin at a
 * different time for each. No more than a period's total is ever used. When all faults end, one
 * tree spans all limiters, within the allowed number of neighbours, and a limiter that needs units
 * gets the last one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "budget/budget.h"
#include "world/simnet.h"
#include "worlds.h"

#define MOST     40
#define POLICIES 3
#define PERIODS  6
#define MS       UINT64_C(1000000)
#define SECOND   (1000 * MS)
#define TIMEOUT  (800 * MS)
#define MESSAGE  900
#define RECORD   4096
#define CHUNK    32
#define TROUBLE  (30 * SECOND)
#define QUIET    (40 * SECOND)
#define TAKING   (120 * SECOND)

/* Policy 0 has periods, 1 has a rising total, 2 is drawn. */
enum { PERIODIC, RISING, DRAWN };

struct record {
	size_t len;
	uint8_t at[RECORD];
};

struct box {
	struct budget *budget; /* NULL: the limiter is down */
	double x, y;
	unsigned side; /* side of the partition */
	bool durable, writing, fails;
	struct record records[POLICIES], written[POLICIES];
	uint64_t written_ns, up_ns, epoch, rolls_ns, total, drawn;
	uint64_t wants[POLICIES];
	double appetite;
	bool lost; /* memory lost */
};

struct world {
	struct box boxes[MOST];
	struct events events; /* events of one step, the newest first */
	struct simnet net;
	uint32_t ids[MOST];
	unsigned n, degree;
	struct prng prng;
	uint64_t seed, now_ns, totals[POLICIES], left; /* left: not drawn yet */
	uint64_t used[POLICIES][PERIODS];
	bool faults, memory_losses;
	double loss;
	uint64_t crashes, messages;
};

static void budget_world_fail(const struct world *w, const char *what, uint64_t number)
{
	fprintf(stderr, "seed %" PRIu64 ", %.3f s: %s (%" PRIu64 ")\n", w->seed,
		(double)w->now_ns / 1e9, what, number);
	exit(1);
}

static bool one_chance_in(struct world *w, unsigned in)
{
	return prng_below(&w->prng, in) == 0;
}

static uint64_t period_of(const struct world *w, const struct box *box)
{
	uint64_t period = (w->now_ns - SECOND) / box->rolls_ns;

	return period < PERIODS - 1 ? period : PERIODS - 1;
}

static void fill_budget_policies(
	const struct world *w, const struct box *box, struct budget_policy *policies)
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct budget_policy){
			.id = 7 * p + 3,
			.total = p == RISING ? box->total : w->totals[p],
			.period = p == PERIODIC ? period_of(w, box) : 0,
			.chunk = CHUNK,
			.drawn = p == DRAWN,
		};
}

static void boot_budget_box(struct world *w, unsigned k, bool recovering)
{
	struct box *box = &w->boxes[k];
	struct budget_policy policies[POLICIES];
	struct book_record records[POLICIES];
	struct budget_params params = {
		.ids = w->ids,
		.n = w->n,
		.self = k,
		.degree = w->degree,
		.policies = policies,
		.n_policies = POLICIES,
		.records = records,
		.recovering = recovering,
		.durable = box->durable,
		.epoch = ++box->epoch,
		.identity = {.low = 1},
		.repeat_ns = 300 * MS,
		.theta_ns = 20 * MS,
		.memory_ns = SECOND,
		.timeout_ns = TIMEOUT,
		.seed = w->seed + k,
	};
	int ret;

	fill_budget_policies(w, box, policies);
	for (unsigned p = 0; p < POLICIES; p++)
		if (box->records[p].len)
			records[params.n_records++] = (struct book_record){
				policies[p].id, box->records[p].at, box->records[p].len};
	ret = budget_create(&params, w->now_ns, &box->budget);
	if (ret)
		budget_world_fail(w, "not created", (uint64_t)-ret);
	budget_set_share(box->budget, DRAWN, box->drawn, w->now_ns);
	memset(box->wants, 0, sizeof(box->wants));
}

static bool receive_budget_message(
	void *world, unsigned from, unsigned to, uint8_t *buf, size_t len);

static struct world *world_new(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->seed = seed;
	prng_seed(&w->prng, seed);
	w->now_ns = SECOND;
	w->events.newest_first = true;
	w->net = (struct simnet){.events = &w->events, .receive = receive_budget_message};
	w->n = 2 + prng_below(&w->prng, one_chance_in(w, 2) ? MOST - 1 : 15);
	w->degree = 3 + prng_below(&w->prng, 3);
	w->memory_losses = one_chance_in(w, 3);
	w->loss = one_chance_in(w, 2) ? 0.02 : 0.15;
	w->totals[PERIODIC] = 500 + prng_below(&w->prng, 20000);
	w->totals[RISING] = 500 + prng_below(&w->prng, 20000);
	w->totals[DRAWN] = w->left = 500 + prng_below(&w->prng, 5000);
	for (unsigned k = 0; k < w->n; k++) {
		struct box *box = &w->boxes[k];

		w->ids[k] = (uint32_t)prng_next(&w->prng) | 1;
		box->x = prng_unit(&w->prng) * 40;
		box->y = prng_unit(&w->prng) * 40;
		box->durable = one_chance_in(w, 2);
		box->rolls_ns = 5 * SECOND + prng_below(&w->prng, 500) * MS;
		box->total = w->totals[RISING];
		box->appetite = pow(prng_unit(&w->prng), 3);
	}
	for (unsigned k = 0; k < w->n; k++)
		boot_budget_box(w, k, false);
	return w;
}

static void budget_world_free(struct world *w)
{
	for (unsigned k = 0; k < w->n; k++)
		budget_destroy(w->boxes[k].budget);
	simnet_free(&w->net);
	events_free(&w->events);
	free(w);
}

/* Returns the delay from one limiter to another in milliseconds, at least 1. */
static double delay_ms(const struct world *w, unsigned a, unsigned b)
{
	return 1 + hypot(w->boxes[a].x - w->boxes[b].x, w->boxes[a].y - w->boxes[b].y);
}

static void put_in_transit(
	struct world *w, unsigned from, unsigned to, const uint8_t *buf, size_t len)
{
	double ms = delay_ms(w, from, to) * (1 + prng_unit(&w->prng) / 10);

	if (w->faults && one_chance_in(w, 20))
		ms += prng_unit(&w->prng) * 300;
	simnet_carry(&w->net, from, to, w->now_ns + (uint64_t)ms * MS, buf, len);
}

static void post_budget_messages(struct world *w, unsigned k)
{
	struct box *box = &w->boxes[k];
	uint8_t buf[MESSAGE];
	unsigned to;
	size_t len;

	while ((len = budget_send(box->budget, w->now_ns, buf, sizeof(buf), &to)) > 0) {
		w->messages++;
		if (len > sizeof(buf))
			budget_world_fail(w, "a letter that is too long", len);
		if (w->boxes[to].side != box->side)
			continue;
		if (w->faults && prng_unit(&w->prng) < w->loss)
			continue;
		put_in_transit(w, k, to, buf, len);
		if (w->faults && one_chance_in(w, 20))
			put_in_transit(w, k, to, buf, len);
	}
}

static bool receive_budget_message(
	void *world, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	struct world *w = world;
	struct box *box = &w->boxes[to];

	if (!box->budget)
		return false;
	if (budget_receive(box->budget, from, w->now_ns, buf, len))
		budget_world_fail(w, "a letter is refused", from);
	post_budget_messages(w, to);
	return true;
}

static int keep_written_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct box *box = context;
	struct record *to = &box->written[id / 7];

	if (len > RECORD)
		return -ENOSPC;
	to->len = len;
	memcpy(to->at, record, len);
	return 0;
}

static void keep_written(struct box *box)
{
	for (unsigned p = 0; p < POLICIES; p++)
		if (box->written[p].len)
			box->records[p] = box->written[p];
}

static void run_budget_disk(struct world *w, struct box *box)
{
	if (box->writing && w->now_ns >= box->written_ns) {
		box->writing = false;
		if (!box->fails || one_chance_in(w, 2))
			keep_written(box);
		if (box->fails)
			book_save_failed(budget_book(box->budget));
		else
			book_committed(budget_book(box->budget));
	}
	if (box->writing || !book_unsaved(budget_book(box->budget)))
		return;
	for (unsigned p = 0; p < POLICIES; p++)
		box->written[p].len = 0;
	if (book_save(budget_book(box->budget), keep_written_record, box))
		budget_world_fail(w, "not saved", 0);
	box->writing = true;
	box->fails = w->faults && one_chance_in(w, 10);
	box->written_ns = w->now_ns + prng_below(&w->prng, 5 * MS);
}

static void crash_budget_box(struct world *w, unsigned k)
{
	struct box *box = &w->boxes[k];

	w->crashes++;
	if (box->writing && one_chance_in(w, 2))
		keep_written(box);
	box->writing = false;
	budget_destroy(box->budget);
	box->budget = NULL;
	box->up_ns = w->now_ns + prng_below(&w->prng, 4000) * MS;
	if (w->memory_losses && one_chance_in(w, 3))
		memset(box->records, 0, sizeof(box->records));
}

static void draw_prepaid_units(struct world *w, struct box *box)
{
	uint64_t units = 1 + prng_below(&w->prng, 200);

	if (units > w->left)
		units = w->left;
	w->left -= units;
	box->drawn += units;
	/* Repeated, because the value is a sum and not an increment. */
	budget_set_share(box->budget, DRAWN, box->drawn, w->now_ns);
	budget_set_share(box->budget, DRAWN, box->drawn, w->now_ns);
}

static int spend_budget_units(struct world *w, struct box *box, unsigned p, uint64_t units)
{
	uint64_t period = budget_view(box->budget, p, w->now_ns).period;
	int ret = budget_spend(box->budget, p, units, w->now_ns);

	box->wants[p] = ret == -EAGAIN ? units : 0;
	if (ret == -EDQUOT && p == DRAWN && w->left > 0)
		draw_prepaid_units(w, box);
	if (ret)
		return ret;
	w->used[p][period] += units;
	if (w->used[p][period] > w->totals[p])
		budget_world_fail(w, "more is used than the total", w->used[p][period]);
	/* Some units are returned unused. */
	if (w->faults && one_chance_in(w, 50)) {
		uint64_t back = 1 + prng_below(&w->prng, (uint32_t)units);

		budget_refund(box->budget, p, back);
		w->used[p][period] -= back;
	}
	return 0;
}

static void run_budget_traffic(struct world *w, struct box *box)
{
	for (unsigned p = 0; p < POLICIES; p++)
		if (prng_unit(&w->prng) < box->appetite / 8)
			spend_budget_units(w, box, p,
				box->wants[p] ? box->wants[p] : 1 + prng_below(&w->prng, 40));
}

static void budget_trouble(struct world *w, unsigned k)
{
	struct box *box = &w->boxes[k];

	if (one_chance_in(w, 20000))
		box->side ^= 1;
	/* Without a disk, a crashed limiter has no memory. */
	if (one_chance_in(w, 15000) && (box->durable || w->memory_losses))
		crash_budget_box(w, k);
	else if (one_chance_in(w, 30000) && k == 0)
		w->totals[RISING] += 1000;
}

static void raise_total(struct world *w, struct box *box)
{
	struct budget_policy policies[POLICIES];

	box->total = w->totals[RISING];
	fill_budget_policies(w, box, policies);
	if (budget_update(box->budget, policies, POLICIES, w->now_ns))
		budget_world_fail(w, "not updated", 0);
}

static void roll_budget_period(struct world *w, struct box *box)
{
	uint64_t period = period_of(w, box);

	if (period > budget_view(box->budget, PERIODIC, w->now_ns).period &&
		budget_period(box->budget, PERIODIC, period, w->now_ns))
		budget_world_fail(w, "no new period", period);
}

static void step_budget_world(struct world *w, bool busy)
{
	w->now_ns += MS;
	events_run(&w->events, w->now_ns, w);
	if (w->events.error)
		abort();
	for (unsigned k = 0; k < w->n; k++) {
		struct box *box = &w->boxes[k];

		if (w->faults && box->budget)
			budget_trouble(w, k);
		if (!box->budget && w->now_ns >= box->up_ns)
			boot_budget_box(w, k, !box->durable || box->records[0].len == 0);
		if (!box->budget)
			continue;
		roll_budget_period(w, box);
		if (box->total < w->totals[RISING] && one_chance_in(w, 300))
			raise_total(w, box);
		if (busy)
			run_budget_traffic(w, box);
		budget_tick(box->budget, w->now_ns);
		if (box->durable)
			run_budget_disk(w, box);
		post_budget_messages(w, k);
	}
}

/* The tree's real shape. */
struct shape {
	unsigned edges, degree, reached;
	double round_trip_ms;
};

static bool is_linked(const struct world *w, unsigned a, unsigned b)
{
	const struct budget *budget = w->boxes[a].budget;

	for (unsigned i = 0; i < budget_peers(budget); i++) {
		struct budget_peer peer = budget_peer(budget, i);

		if (peer.peer == b)
			return peer.linked;
	}
	return false;
}

static unsigned count_reachable(const struct world *w, unsigned from, bool seen[MOST])
{
	unsigned n = 1;

	seen[from] = true;
	for (unsigned k = 0; k < w->n; k++)
		if (!seen[k] && is_linked(w, from, k) && is_linked(w, k, from))
			n += count_reachable(w, k, seen);
	return n;
}

static struct shape shape_of(const struct world *w)
{
	struct shape shape = {0};
	bool seen[MOST] = {false};
	double sum = 0;

	for (unsigned a = 0; a < w->n; a++) {
		unsigned degree = 0;

		for (unsigned b = 0; b < w->n; b++) {
			if (!is_linked(w, a, b))
				continue;
			degree++;
			shape.edges++;
			sum += 2 * delay_ms(w, a, b);
		}
		if (degree > shape.degree)
			shape.degree = degree;
	}
	shape.reached = count_reachable(w, 0, seen);
	shape.round_trip_ms = shape.edges ? sum / shape.edges : 0;
	return shape;
}

/* Returns the mean round trip of two nodes: that of an edge in a random tree. */
static double random_round_trip(const struct world *w)
{
	double sum = 0;

	for (unsigned a = 0; a < w->n; a++)
		for (unsigned b = 0; b < w->n; b++)
			sum += a == b ? 0 : 2 * delay_ms(w, a, b);
	return sum / (w->n * (w->n - 1.0));
}

static void heal_budget_world(struct world *w)
{
	w->faults = false;
	for (unsigned k = 0; k < w->n; k++) {
		w->boxes[k].side = 0;
		w->boxes[k].up_ns = w->now_ns;
	}
	for (uint64_t end = w->now_ns + QUIET / 2; w->now_ns < end;)
		step_budget_world(w, false);
	/* Drops the waiting traffic of all limiters. */
	for (unsigned k = 0; k < w->n; k++)
		for (unsigned p = 0; p < POLICIES; p++)
			budget_forgo(w->boxes[k].budget, p);
	for (uint64_t end = w->now_ns + QUIET / 2; w->now_ns < end;)
		step_budget_world(w, false);
}

static struct shape check_tree(const struct world *w)
{
	struct shape shape = shape_of(w);
	unsigned roots = 0;

	for (unsigned k = 0; k < w->n; k++)
		roots += budget_is_root(w->boxes[k].budget);
	if (roots != 1)
		budget_world_fail(w, "roots", roots);
	if (shape.reached != w->n)
		budget_world_fail(w, "the tree does not reach all, but", shape.reached);
	if (shape.edges != 2 * (w->n - 1))
		budget_world_fail(w, "ends of edges", shape.edges);
	if (shape.degree > w->degree)
		budget_world_fail(w, "neighbours of one", shape.degree);
	return shape;
}

static int64_t budget_units_held(const struct world *w, unsigned p)
{
	int64_t sum = 0;

	for (unsigned k = 0; k < w->n; k++)
		sum += budget_view(w->boxes[k].budget, p, w->now_ns).balance +
		       (int64_t)budget_in_flight(w->boxes[k].budget, p);
	return sum;
}

static uint64_t budget_units_spent(const struct world *w, unsigned p)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < w->n; k++)
		sum += budget_view(w->boxes[k].budget, p, w->now_ns).spent;
	return sum;
}

/* One limiter takes all units of the others; units held for good are not taken. */
static void check_last_budget_unit(struct world *w, unsigned p)
{
	struct box *taker = &w->boxes[prng_below(&w->prng, w->n)];
	uint64_t end = w->now_ns + TAKING;
	uint64_t total = p == DRAWN ? w->totals[p] - w->left : w->totals[p];

	/*
	 * A limiter without memory leaves units in flight for good; otherwise all are accounted
	 * for.
	 */
	if (!w->memory_losses &&
		budget_units_spent(w, p) + (uint64_t)budget_units_held(w, p) != total)
		budget_world_fail(w, "units are missing",
			total - budget_units_spent(w, p) - (uint64_t)budget_units_held(w, p));
	while (w->now_ns < end && (budget_units_held(w, p) > 0 || (p == DRAWN && w->left > 0))) {
		step_budget_world(w, false);
		while (spend_budget_units(w, taker, p, 1) == 0)
			;
		post_budget_messages(w, (unsigned)(taker - w->boxes));
	}
	if (!w->memory_losses && (budget_units_held(w, p) != 0 || (p == DRAWN && w->left != 0)))
		budget_world_fail(w, "units are left", (uint64_t)budget_units_held(w, p) + w->left);
}

void run_budget_world(uint64_t seed, struct budget_sums *sums)
{
	struct world *w = world_new(seed);
	struct shape shape;
	uint64_t before;

	w->faults = true;
	while (w->now_ns < SECOND + TROUBLE)
		step_budget_world(w, true);
	heal_budget_world(w);
	shape = check_tree(w);
	sums->tree += shape.round_trip_ms / random_round_trip(w);
	sums->worlds++;
	sums->nodes += w->n;
	before = w->messages;
	for (uint64_t end = w->now_ns + 8 * TIMEOUT; w->now_ns < end;)
		step_budget_world(w, false);
	sums->messages += (double)(w->messages - before) / 8;
	for (unsigned p = 0; p < POLICIES; p++)
		check_last_budget_unit(w, p);
	budget_world_free(w);
}
