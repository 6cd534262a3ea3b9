/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The target workers of buckets, round by round, with simulated workers. Each worker adds the delay
 * of a queue with one server, which grows with its use. The delay for tokens is the same for all.
 */
#include "check.h"

#include "base/prng.h"
#include "fault.h"
#include "rebalance.h"

#define WORKERS 4
#define COST    1e-8 /* seconds per unit: 100 MB/s at most */
#define BATCH   1000
#define SLO     1e-3
#define NEVER   1000

struct instance {
	struct rebalance rebalance;
	double rates[RETA_SIZE];
	double others[WORKERS]; /* units per second */
	double handing;         /* part of worker 2's time spent on handing out packets */
	double tokens;          /* delay for tokens of each worker, seconds */
	double hidden;          /* extra cost that only a trial shows, as a part of COST */
	unsigned rounds, changes;
};

static void open_instance(struct instance *inst, unsigned principles, bool grouped)
{
	const struct rebalance_params params = {WORKERS, principles, grouped, SLO};

	memset(inst, 0, sizeof(*inst));
	rebalance_init(&inst->rebalance, &params, 2);
}

/* Makes a load in units per second over this many buckets, with some noise. */
static void make_bucket_load(struct instance *inst, double rate, unsigned buckets, uint64_t seed)
{
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < RETA_SIZE; i++)
		inst->rates[i] = i < buckets ? rate / buckets * (0.8 + 0.4 * prng_unit(&prng)) : 0;
}

static double rate_of(const struct instance *inst, unsigned worker)
{
	double rate = 0;

	for (unsigned i = 0; i < RETA_SIZE; i++)
		rate += inst->rebalance.wanted[i] == worker ? inst->rates[i] : 0;
	return rate;
}

/*
 * Returns five times the mean delay of such a queue. An overloaded queue has the longest possible
 * delay.
 */
static double added_delay(const struct instance *inst, unsigned worker)
{
	double rate = rate_of(inst, worker) + inst->others[worker];
	double use = rate * COST * (1 + inst->hidden) + (worker == 2 ? inst->handing : 0);

	if (use >= 1)
		return 0.1;
	return fmin(0.1, 5 * BATCH * COST * (1 + use / (1 - use)));
}

/* Runs a round. Returns true if it changes targets; checks the counters. */
static bool round_of(struct instance *inst)
{
	struct rebalance_seen seen = {.batch = BATCH};
	uint8_t before[RETA_SIZE];
	bool changed;

	memcpy(before, inst->rebalance.wanted, sizeof(before));
	memcpy(seen.rates, inst->rates, sizeof(seen.rates));
	for (unsigned i = 0; i < WORKERS; i++) {
		struct rebalance_worker *worker = &seen.workers[i];

		worker->packets = (uint64_t)(rate_of(inst, i) / BATCH);
		worker->added = added_delay(inst, i);
		worker->p99 = worker->added + inst->tokens;
		worker->cost = worker->packets ? COST : 0;
		worker->others = inst->others[i];
		worker->handing = i == 2 ? inst->handing : 0;
	}
	inst->rounds++;
	changed = rebalance_round(&inst->rebalance, &seen);
	inst->changes += changed;
	assert_int_equal(changed, memcmp(before, inst->rebalance.wanted, sizeof(before)) != 0);
	assert_int_equal(inst->rebalance.rounds, inst->rounds);
	assert_int_equal(inst->rebalance.changes, inst->changes);
	return changed;
}

/*
 * Runs rounds until none of the last `still` changed a target. Returns the rounds up to the last
 * change.
 */
static unsigned rounds_to_settle(struct instance *inst, unsigned still)
{
	unsigned last = inst->rounds, first = inst->rounds;

	while (inst->rounds - last < still) {
		if (round_of(inst))
			last = inst->rounds;
		assert_true(inst->rounds - first < NEVER);
	}
	return last - first;
}

static bool keeps_objective(const struct instance *inst)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (rate_of(inst, i) > 0 && added_delay(inst, i) + inst->tokens > SLO)
			return false;
	return true;
}

TEST(test_one_is_enough)
{
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	assert_int_equal(inst.rebalance.used, 1);
	assert_int_equal(inst.rebalance.wanted[100], 2);
	make_bucket_load(&inst, 60e6, RETA_SIZE, 1);
	assert_int_equal(rounds_to_settle(&inst, 100), 0);
	assert_int_equal(inst.rebalance.state, REBALANCE_SETTLED);
	rebalance_free(&inst.rebalance);
}

/* Without the principle of few workers, all are used from the start. */
TEST(test_begins_apart)
{
	struct instance inst;

	open_instance(&inst, PLACE_MAX_MIN | PLACE_CORRELATED, true);
	assert_int_equal(inst.rebalance.used, WORKERS);
	for (unsigned i = 0; i < RETA_SIZE; i++)
		assert_int_equal(inst.rebalance.wanted[i], i % WORKERS);
	rebalance_free(&inst.rebalance);
}

/* Uses as many workers as needed, found within a number of rounds. */
TEST(test_spreads)
{
	static const struct {
		double rate;
		unsigned least, most;
	} cases[] = {{90e6, 2, 2}, {100e6, 2, 2}, {160e6, 3, 3}, {250e6, 4, 4}};

	for (unsigned c = 0; c < 4; c++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct instance inst;
			unsigned rounds;

			open_instance(&inst, PLACE_PAPER, true);
			make_bucket_load(&inst, cases[c].rate, RETA_SIZE, seed);
			rounds = rounds_to_settle(&inst, 20);
			if (inst.rebalance.used < cases[c].least ||
				inst.rebalance.used > cases[c].most || !keeps_objective(&inst) ||
				rounds > 3)
				fail_msg("case %u, seed %u: %u workers after %u rounds", c,
					(unsigned)seed, inst.rebalance.used, rounds);
			assert_int_equal(inst.rebalance.state, REBALANCE_SETTLED);
			assert_in_range(inst.rebalance.trials, 1, 3);
			rebalance_free(&inst.rebalance);
		}
	}
}

/* Each worker has room for every source, and for the largest one alone. */
static void expect_room(const struct rebalance *rebalance)
{
	double rate = 0, largest = 0, room = 0;

	for (unsigned i = 0; i < RETA_SIZE; i++) {
		rate += rebalance->sources[i].rate;
		largest = fmax(largest, rebalance->sources[i].rate);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		const struct place_broker *broker = &rebalance->brokers[i];

		assert_true(broker->capacity >= broker->load + largest);
		room += broker->capacity - broker->load;
	}
	assert_true(room >= rate + (WORKERS - 0.01) * largest);
}

/* If the load is too much for all, every worker is used, and targets do not flap. */
TEST(test_too_much)
{
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, 900e6, RETA_SIZE, 1);
	assert_true(rounds_to_settle(&inst, 8) <= 4);
	assert_int_equal(inst.rebalance.used, WORKERS);
	assert_int_equal(inst.rebalance.state, REBALANCE_FULL);
	expect_room(&inst.rebalance);
	rebalance_free(&inst.rebalance);
}

/* When all workers are fully loaded, the next attempt is after ten rounds. */
TEST(test_rests)
{
	struct rebalance_params params;
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, 900e6, RETA_SIZE, 1);
	while (inst.rebalance.state != REBALANCE_FULL) {
		assert_true(inst.rounds < NEVER);
		round_of(&inst);
	}
	make_bucket_load(&inst, 900e6, RETA_SIZE, 2);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(inst.rebalance.resting, 10 - i);
		assert_false(round_of(&inst));
		assert_int_equal(inst.rebalance.state, REBALANCE_FULL);
	}
	assert_int_equal(inst.rebalance.resting, 0);
	assert_true(round_of(&inst));
	/* A change of the parameters ends this rest. */
	while (inst.rebalance.resting == 0)
		round_of(&inst);
	params = inst.rebalance.params;
	rebalance_change(&inst.rebalance, &params);
	assert_int_equal(inst.rebalance.resting, 0);
	make_bucket_load(&inst, 900e6, RETA_SIZE, 3);
	assert_true(round_of(&inst));
	rebalance_free(&inst.rebalance);
}

/* Idle buckets are spread too, because their next senders can use any of them. */
TEST(test_idle_buckets)
{
	unsigned idle[WORKERS] = {0};
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, 150e6, RETA_SIZE / 4, 1);
	rounds_to_settle(&inst, 20);
	assert_true(inst.rebalance.used >= 2);
	for (unsigned i = RETA_SIZE / 4; i < RETA_SIZE; i++)
		idle[inst.rebalance.wanted[i]]++;
	for (unsigned w = 0; w < WORKERS; w++)
		if (rate_of(&inst, w) > 0)
			assert_true(idle[w] >= RETA_SIZE / 16);
	rebalance_free(&inst.rebalance);
}

/* The delay that a worker adds, and whether it counts as the worker's fault. */
TEST(test_blame)
{
	static const struct {
		uint64_t packets;
		double p99, added; /* parts of the objective */
		enum rebalance_state state;
		bool tried;
	} rows[] = {
		{300, 1.1, 0, REBALANCE_TOKENS, false},
		{299, 1.1, 0, REBALANCE_QUIET, false}, /* too few packets to decide */
		{300, 1, 0, REBALANCE_QUIET, false},   /* just met */
		{300, 1, 1, REBALANCE_QUIET, false},
		{300, 1.1, 0.5, REBALANCE_TOKENS, false},
		{300, 1.1, 0.51, REBALANCE_QUIET, true},
		{299, 1.1, 0.51, REBALANCE_QUIET, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rebalance_seen seen = {.batch = BATCH};
		struct instance inst;

		open_instance(&inst, PLACE_PAPER, true);
		make_bucket_load(&inst, 1e6, RETA_SIZE, 1);
		memcpy(seen.rates, inst.rates, sizeof(seen.rates));
		for (unsigned w = 0; w < WORKERS; w++)
			seen.workers[w] = (struct rebalance_worker){.cost = COST};
		seen.workers[2].packets = rows[i].packets;
		seen.workers[2].p99 = rows[i].p99 * SLO;
		seen.workers[2].added = rows[i].added * SLO;
		assert_int_equal(rebalance_round(&inst.rebalance, &seen), rows[i].tried);
		if (!rows[i].tried)
			assert_int_equal(inst.rebalance.state, rows[i].state);
		rebalance_free(&inst.rebalance);
	}
}

/* A round without memory changes nothing, and a later one completes the change. */
static int spread(const void *argument)
{
	const double *rate = argument;
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, *rate, RETA_SIZE, 1);
	rounds_to_settle(&inst, 8);
	assert_true(inst.rebalance.used >= 2);
	assert_int_equal(inst.rebalance.used == WORKERS, *rate > 200e6);
	assert_true(*rate > 300e6 || keeps_objective(&inst));
	make_bucket_load(&inst, 30e6, RETA_SIZE, 2);
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, 1);
	make_bucket_load(&inst, *rate, RETA_SIZE, 1);
	round_of(&inst); /* can end in the middle of a trial */
	rebalance_free(&inst.rebalance);
	return 0;
}

TEST(test_without_memory)
{
	static const double rates[] = {100e6, 900e6};

	for (unsigned i = 0; i < 2; i++)
		fault_try(&(struct fault_subject){.name = "spread",
			.run = spread,
			.argument = &rates[i],
			.kinds = FAULT_MEMORY,
			.unsaid = 9999,
			.at_least = 10});
}

/*
 * Buckets return to one worker when the load falls, after some rounds. At the edge they move in no
 * direction.
 */
TEST(test_gathers)
{
	struct instance inst;
	unsigned rounds;

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, 200e6, RETA_SIZE, 1);
	rounds_to_settle(&inst, 20);
	assert_true(inst.rebalance.used >= 3);
	make_bucket_load(&inst, 30e6, RETA_SIZE, 2);
	rounds = rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, 1);
	assert_int_equal(inst.rebalance.wanted[0], 2); /* the first worker */
	if (rounds < 5 || rounds > 7)
		fail_msg("%u rounds", rounds);
	make_bucket_load(&inst, 64e6, RETA_SIZE, 3); /* fits on one worker, without room to spare */
	assert_int_equal(rounds_to_settle(&inst, 50), 0);
	make_bucket_load(&inst, 80e6, RETA_SIZE, 4);
	rounds_to_settle(&inst, 50);
	assert_int_equal(inst.rebalance.used, 2);
	make_bucket_load(&inst, 64e6, RETA_SIZE, 5);
	assert_int_equal(rounds_to_settle(&inst, 50), 0);
	assert_int_equal(inst.rebalance.used, 2);
	rebalance_free(&inst.rebalance);
}

/* A worker whose return failed is tried less and less often. */
TEST(test_patience)
{
	struct rebalance_params params;
	struct instance inst;
	unsigned changes[2] = {0};

	open_instance(&inst, PLACE_PAPER, true);
	inst.hidden = 1; /* twice the counted cost */
	make_bucket_load(&inst, 50e6, RETA_SIZE, 1);
	for (unsigned i = 0; i < 2000; i++)
		changes[i / 1000] += round_of(&inst);
	assert_int_equal(inst.rebalance.patience, 320);
	assert_true(changes[0] <= 20);
	if (changes[1] > 8)
		fail_msg("%u changes", changes[1]);
	assert_true(inst.rebalance.used >= 2);
	params = inst.rebalance.params;
	rebalance_change(&inst.rebalance, &params); /* might change the outcome */
	assert_int_equal(inst.rebalance.patience, 5);
	rebalance_free(&inst.rebalance);
}

/* The delay for tokens is not a worker's fault, and does not excuse a worker's own delay. */
TEST(test_tokens)
{
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, 60e6, RETA_SIZE, 1);
	inst.tokens = 5e-3;
	assert_int_equal(rounds_to_settle(&inst, 30), 0);
	assert_int_equal(inst.rebalance.state, REBALANCE_TOKENS);
	inst.tokens = 0.4e-3;
	rounds_to_settle(&inst, 30);
	assert_int_equal(inst.rebalance.state, REBALANCE_SETTLED);
	make_bucket_load(&inst, 99.9e6, RETA_SIZE, 2);
	rounds_to_settle(&inst, 30);
	assert_true(inst.rebalance.used >= 2);
	rebalance_free(&inst.rebalance);
}

TEST(test_others)
{
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	inst.others[2] = 99e6; /* the first worker */
	inst.others[0] = 65e6;
	make_bucket_load(&inst, 50e6, RETA_SIZE, 1);
	rounds_to_settle(&inst, 30);
	assert_int_equal(inst.rebalance.used, 1);
	assert_true(inst.rebalance.wanted[0] == 1 || inst.rebalance.wanted[0] == 3);
	rebalance_free(&inst.rebalance);
}

/* A worker that owns a queue and hands out packets of others has less time for its own. */
TEST(test_owner)
{
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	inst.handing = 0.9;
	make_bucket_load(&inst, 30e6, RETA_SIZE, 1);
	rounds_to_settle(&inst, 30);
	assert_int_equal(inst.rebalance.used, 1);
	assert_int_not_equal(inst.rebalance.wanted[0], 2);
	assert_true(keeps_objective(&inst));
	rebalance_free(&inst.rebalance);
}

/* Returns the largest part of any run of adjacent buckets that one worker has, of two workers. */
static unsigned worst_run(const struct instance *inst, unsigned run)
{
	unsigned worst = 0;

	for (unsigned i = 0; i + run <= RETA_SIZE; i++) {
		unsigned counts[WORKERS] = {0};

		for (unsigned j = i; j < i + run; j++)
			counts[inst->rebalance.wanted[j]]++;
		for (unsigned w = 0; w < WORKERS; w++)
			worst = counts[w] > worst ? counts[w] : worst;
	}
	return worst;
}

TEST(test_switches)
{
	struct instance inst;
	struct rebalance_params params = {WORKERS, PLACE_PAPER, true, SLO};

	open_instance(&inst, PLACE_PAPER, true);
	make_bucket_load(&inst, 100e6, RETA_SIZE, 1);
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, 2);
	assert_true(worst_run(&inst, 8) <= 5);
	params.principles = PLACE_CONCENTRATE | PLACE_MAX_MIN;
	rebalance_change(&inst.rebalance, &params);
	assert_true(round_of(&inst));
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, 2);
	assert_true(worst_run(&inst, 8) >= 7);
	params.principles = PLACE_MAX_MIN | PLACE_CORRELATED;
	rebalance_change(&inst.rebalance, &params);
	assert_true(round_of(&inst));
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, WORKERS);
	params.principles = PLACE_PAPER;
	rebalance_change(&inst.rebalance, &params);
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, 2);
	rebalance_free(&inst.rebalance);
}

/* A change of the parameters ends a running trial. */
TEST(test_switches_in_a_trial)
{
	const struct rebalance_params params = {WORKERS, PLACE_PAPER, true, 2 * SLO};
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	inst.hidden = 1;
	make_bucket_load(&inst, 120e6, RETA_SIZE, 1);
	while (inst.rebalance.state != REBALANCE_TRYING) {
		assert_true(inst.rounds < NEVER);
		round_of(&inst);
	}
	rebalance_change(&inst.rebalance, &params);
	assert_int_equal(inst.rebalance.state, REBALANCE_QUIET);
	assert_true(inst.rebalance.params.slo == 2 * SLO);
	rounds_to_settle(&inst, 20);
	rebalance_free(&inst.rebalance);
}

/*
 * The total loads of workers are equal. Max-min would make the policy's parts equal, which serves a
 * bucket split among workers. This policy has no split bucket, so max-min does not apply and the
 * other policies' load counts.
 */
TEST(test_equal_totals)
{
	struct instance inst;

	for (unsigned k = 0; k < 2; k++) {
		double least = 1e12, most = 0;

		open_instance(&inst, k ? PLACE_PAPER : PLACE_CONCENTRATE | PLACE_CORRELATED, false);
		for (unsigned w = 0; w < WORKERS; w++)
			inst.others[w] = 5e6 * w;
		make_bucket_load(&inst, 200e6, RETA_SIZE, 1);
		rounds_to_settle(&inst, 20);
		assert_int_equal(inst.rebalance.used, WORKERS);
		for (unsigned w = 0; w < WORKERS; w++) {
			double rate = rate_of(&inst, w) + inst.others[w];

			least = fmin(least, rate);
			most = fmax(most, rate);
		}
		assert_true(most < 1.15 * least);
		rebalance_free(&inst.rebalance);
	}
}

/* Too few packets to decide anything. */
TEST(test_quiet)
{
	struct instance inst;

	open_instance(&inst, PLACE_PAPER, true);
	inst.tokens = 1;
	make_bucket_load(&inst, 0.9e6, RETA_SIZE, 1);
	assert_int_equal(rounds_to_settle(&inst, 20), 0);
	assert_int_equal(inst.rebalance.state, REBALANCE_TOKENS);
	inst.tokens = 0;
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.state, REBALANCE_QUIET);
	/* A lack of packets does not keep buckets apart. */
	make_bucket_load(&inst, 200e6, RETA_SIZE, 1);
	rounds_to_settle(&inst, 20);
	assert_true(inst.rebalance.used >= 3);
	make_bucket_load(&inst, 0, RETA_SIZE, 1);
	rounds_to_settle(&inst, 20);
	assert_int_equal(inst.rebalance.used, 1);
	rebalance_free(&inst.rebalance);
}

/* Packets of all workers count together, on any worker. */
TEST(test_not_quiet)
{
	const struct rebalance_params params = {WORKERS, PLACE_PAPER, true, SLO};

	for (unsigned first = 0; first < WORKERS; first++) {
		struct instance inst = {0};

		rebalance_init(&inst.rebalance, &params, first);
		make_bucket_load(&inst, 2e6, RETA_SIZE, 1);
		assert_int_equal(rounds_to_settle(&inst, 20), 0);
		assert_int_equal(inst.rebalance.state, REBALANCE_SETTLED);
		rebalance_free(&inst.rebalance);
	}
}
