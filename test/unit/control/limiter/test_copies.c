/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two limiters with one name: a copy of a machine starts next to the original, with its record or
 * with an empty store. Both send, and messages to the name reach one of the two, by turns. Seeds
 * choose the turns, the record and the demand.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define N       3
#define COPY    N /* copy of limiter 0 */
#define ALL     (N + 1)
#define MS      UINT64_C(1000000)
#define TICK    (50 * MS)
#define SECONDS (1000 * MS / TICK) /* ticks */
#define LIMIT   UINT64_C(8000000)  /* bit/s */
#define BUFFER  1400
#define RECORD  2048
#define SEEDS   20
#define ALARM   (5 * SECONDS)

struct node {
	struct limiter *l; /* NULL: down */
	uint8_t record[RECORD];
	size_t len;
	uint64_t arrived;
};

struct names_world {
	struct prng prng;
	struct roster *roster;
	struct node nodes[ALL];
	uint64_t now, epoch;
	unsigned turn, loaded;
	bool to_copy; /* messages to limiter 0 go to the copy */
	uint64_t slots[FLOW_SLOTS];
};

static void measure(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct names_world *w = context;

	(void)policy;
	*sample = (struct limiter_sample){
		.arrived_bytes = w->nodes[w->turn].arrived, .slots = w->slots};
}

static void start(struct names_world *w, unsigned i, uint64_t epoch, bool with_record)
{
	struct node *node = &w->nodes[i];
	struct limiter_record record = {LIMITER_RATES, 1, node->record, node->len};
	const struct limiter_policy policy = {.id = 1,
		.allocator = allocator_find("fps"),
		.limit_bps = LIMIT,
		.burst_bytes = 100000,
		.interval_ns = TICK,
		.keep_per_second = 0.1,
		.guarantee = LIMITER_CONSERVED};
	struct limiter_params params = {.gossip = {.roster = w->roster,
						.self = i == COPY ? 0 : i,
						.epoch = prng_next(&w->prng) | 1,
						.seed = prng_next(&w->prng),
						.branching = 2,
						.timeout_ns = 500 * MS,
						.datagram_max = BUFFER,
						.estimator = GOSSIP_STATE},
		.policies = &policy,
		.n_policies = 1,
		.n_workers = 1,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.records = &record,
			.n_records = with_record,
			.epoch = epoch,
			.identity = {.low = 1},
			.word = (uint32_t)prng_next(&w->prng) | 1,
			.proof_ns = 500 * MS,
			.lease_ns = 2000 * MS,
			.drift_ppm = 100,
			.promise = 50}};

	assert_int_equal(limiter_create(&params, w->now, &node->l), 0);
}

static void stop(struct names_world *w, unsigned i)
{
	limiter_destroy(w->nodes[i].l);
	w->nodes[i].l = NULL;
}

static int keep(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	struct node *node = context;

	(void)kind;
	(void)id;
	assert_true(len <= RECORD);
	memcpy(node->record, record, len);
	node->len = len;
	return 0;
}

static void save(struct names_world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	if (limiter_uncommitted(node->l) && limiter_save(node->l, keep, node) == 0)
		limiter_committed(node->l, w->now);
}

static void send_all(struct names_world *w, unsigned i)
{
	uint8_t buf[BUFFER];
	unsigned to;
	size_t len;

	while ((len = limiter_send(w->nodes[i].l, buf, &to)) > 0) {
		if (to == 0 && (i == 0 || i == COPY))
			continue;
		if (to == 0 && w->to_copy)
			to = COPY;
		if (w->nodes[to].l)
			limiter_receive(w->nodes[to].l, w->now, buf, len);
	}
}

static double limit_of(const struct names_world *w, unsigned i)
{
	struct limiter_view view = {0};

	if (w->nodes[i].l)
		limiter_view(w->nodes[i].l, 0, &view);
	return view.local_limit;
}

static double sum_limits(const struct names_world *w)
{
	double sum = 0;

	for (unsigned i = 0; i < ALL; i++)
		sum += limit_of(w, i);
	return sum;
}

static void step(struct names_world *w)
{
	w->now += TICK;
	for (unsigned i = 0; i < ALL; i++) {
		if (!w->nodes[i].l)
			continue;
		w->turn = i;
		w->nodes[i].arrived += i == w->loaded ? LIMIT / 8 * TICK / (1000 * MS) : 0;
		limiter_tick(w->nodes[i].l, w->now, measure, w);
	}
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < ALL; i++) {
			if (!w->nodes[i].l)
				continue;
			save(w, i);
			send_all(w, i);
		}
}

static bool is_closed(const struct names_world *w, unsigned i)
{
	struct limiter_closure closure = limiter_closure(w->nodes[i].l, w->now);

	return closure.closed && closure.reason != BOOK_OPEN;
}

static bool reports_twice(const struct names_world *w, unsigned i)
{
	struct limiter_neighbour neighbour;

	return limiter_neighbour(w->nodes[i].l, 0, &neighbour) && neighbour.twice;
}

static void begin_names_world(struct names_world *w, uint64_t seed)
{
	uint32_t ids[N] = {11, 7, 13};

	memset(w, 0, sizeof(*w));
	prng_seed(&w->prng, seed);
	assert_int_equal(roster_create(ids, N, &w->roster), 0);
	w->now = 1000 * TICK;
	for (unsigned i = 0; i < N; i++)
		start(w, i, 1, false);
	w->loaded = 0;
	for (unsigned k = 0; k < 6 * SECONDS; k++)
		step(w);
	assert_true(limit_of(w, 0) > LIMIT / 8.0 * 0.9);
}

static void end_names_world(struct names_world *w)
{
	for (unsigned i = 0; i < ALL; i++)
		limiter_destroy(w->nodes[i].l);
	roster_destroy(w->roster);
}

/* The copy starts; afterwards it stops, and the original restarts. */
static void run_copy(struct names_world *w, bool with_record)
{
	unsigned closed = 0, original = 0, twice = 0;
	uint64_t turn = 0;

	stop(w, 0);
	memcpy(w->nodes[COPY].record, w->nodes[0].record, w->nodes[0].len);
	w->nodes[COPY].len = w->nodes[0].len;
	start(w, 0, 2, true);
	for (unsigned k = 0; k < 2 * SECONDS; k++)
		step(w);
	start(w, COPY, with_record ? 2 : 1, with_record);
	w->loaded = prng_below(&w->prng, ALL);
	for (unsigned k = 0; k < 20 * SECONDS; k++) {
		if (k >= turn) {
			w->to_copy = !w->to_copy;
			turn = k + 1 + prng_below(&w->prng, 3 * SECONDS);
		}
		step(w);
		if (sum_limits(w) > LIMIT / 8.0 && (k > ALARM || with_record))
			fail_msg("tick %u: %g of %g B/s", k, sum_limits(w), LIMIT / 8.0);
		closed += is_closed(w, COPY);
		original += is_closed(w, 0);
		twice += reports_twice(w, 1) && k < ALARM;
	}
	assert_true(closed > 0 && original > 0 && twice > 0);
	stop(w, COPY);
	stop(w, 0);
	w->to_copy = false;
	start(w, 0, 3, true);
	w->loaded = 0;
	for (unsigned k = 0; k < 20 * SECONDS; k++) {
		step(w);
		assert_true(sum_limits(w) <= LIMIT / 8.0);
	}
	assert_true(limit_of(w, 0) > LIMIT / 8.0 * 0.9);
}

static void test_copies(void **state)
{
	struct names_world w;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		begin_names_world(&w, seed);
		run_copy(&w, seed % 2);
		end_names_world(&w);
	}
}

/* Restarts with the newest record are no second limiter, and close nothing. */
static void test_restarts(void **state)
{
	struct names_world w;

	(void)state;
	begin_names_world(&w, 1);
	for (unsigned k = 2; k < 12; k++) {
		stop(&w, 0);
		for (unsigned t = prng_below(&w.prng, SECONDS); t > 0; t--)
			step(&w);
		start(&w, 0, k, true);
		for (unsigned t = prng_below(&w.prng, 4 * SECONDS); t > 0; t--) {
			step(&w);
			assert_false(is_closed(&w, 0) || reports_twice(&w, 1));
			assert_true(sum_limits(&w) <= LIMIT / 8.0);
		}
	}
	end_names_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
