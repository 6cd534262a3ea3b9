/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An adversary on the path, without a key, records datagrams of all limiters in all their
 * incarnations, and replays them forever.
 */
#include "check.h"
#include "scope.h"

#include "gossip_world.h"

#define TAPE     4096
#define TAKEN    (1U << 18)
#define LIVES    10
#define N_MOST   6
#define LONGEST  600
#define WORLDS   48
#define CHAOS_MS 12000

struct recording {
	unsigned from, to;
	unsigned start, start_to; /* incarnation of the sender, and of the receiver, when sent */
	size_t len;
	uint8_t bytes[LONGEST];
};

struct adversary {
	struct prng prng;
	struct recording tape[TAPE];
	uint64_t seen;                   /* datagrams; the tape holds a fair sample of them */
	unsigned newest[N_MOST][N_MOST]; /* the sender's incarnation that a receiver accepts now */
	uint64_t taken[TAKEN]; /* accepted datagrams: hash of receiver, sender and counter */
	uint64_t played;
};

static unsigned start_of(const struct world *w, unsigned i)
{
	return w->nodes[i].starts;
}

static void record(struct world *w, unsigned from, unsigned to, const uint8_t *buf, size_t len)
{
	struct adversary *a = w->sees;
	uint64_t at = a->seen++;

	if (at >= TAPE)
		at = prng_within(&a->prng, a->seen);
	if (at >= TAPE || len > LONGEST)
		return;
	a->tape[at] = (struct recording){.from = from, .to = to, .len = len};
	a->tape[at].start = start_of(w, from);
	a->tape[at].start_to = start_of(w, to);
	memcpy(a->tape[at].bytes, buf, len);
}

/* Checks that a datagram is accepted only once, and never from a replaced incarnation. */
static void check_taken(struct world *w, unsigned from, unsigned to, const uint8_t *buf,
	enum gossip_verdict verdict)
{
	struct adversary *a = w->sees;
	struct cursor cursor = {.at = (uint8_t *)(uintptr_t)buf, .end = NULL};
	struct datagram_header header;
	unsigned start;
	uint64_t name;
	size_t slot;

	if (verdict != GOSSIP_ACCEPTED)
		return;
	cursor.end = cursor.at + DATAGRAM_HEADER;
	datagram_read_header(&cursor, &header);
	start = (unsigned)((header.epoch - 1) / w->params.n) + 1; /* see world_start() */
	if (start < a->newest[to][from])
		fail_msg("seed %lu: %u accepts start %u of %u after %u", w->params.seed, to, start,
			from, a->newest[to][from]);
	a->newest[to][from] = start;
	name = (header.counter * 64 + start) * 64 + from * 8 + to;
	name = name * 64 + start_of(w, to) + 1;
	for (slot = name * 0x9e3779b97f4a7c15 >> 46; a->taken[slot]; slot = (slot + 1) % TAKEN)
		if (a->taken[slot] == name)
			fail_msg("seed %lu: %u takes one of %u twice", w->params.seed, to, from);
	a->taken[slot] = name;
}

static void restart_member(struct world *w, unsigned i)
{
	struct adversary *a = w->sees;

	world_crash(w, i);
	memset(a->newest[i], 0, sizeof(a->newest[i]));
	world_start(w, i);
	world_set(w, i, 0, 1 + i);
}

/* Replays one recorded datagram to each limiter that has one. */
static void play_back(struct world *w, unsigned tries)
{
	struct adversary *a = w->sees;
	uint64_t n = a->seen < TAPE ? a->seen : TAPE;
	uint8_t bytes[LONGEST];

	while (tries-- > 0 && n > 0) {
		const struct recording *r = &a->tape[prng_within(&a->prng, n)];
		enum gossip_verdict verdict;

		if (!w->nodes[r->to].gossip)
			continue;
		memcpy(bytes, r->bytes, r->len);
		verdict = world_deliver(w, r->from, r->to, bytes, r->len);
		a->played++;
		if (verdict == GOSSIP_ACCEPTED && r->start_to != start_of(w, r->to))
			fail_msg("seed %lu: %u accepts what its start %u was told by %u",
				w->params.seed, r->to, r->start_to, r->from);
	}
}

static bool whole(const struct world *w)
{
	for (unsigned i = 0; i < w->params.n; i++)
		if (!w->nodes[i].gossip || gossip_sum(w->nodes[i].gossip, 0).lost > 0)
			return false;
	return true;
}

static struct adversary *enter(struct world *w, const struct world_params *params)
{
	struct adversary *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	prng_seed(&a->prng, params->seed);
	world_create(w, params);
	w->sees = a;
	w->sees_sent = record;
	w->sees_taken = check_taken;
	for (unsigned i = 0; i < params->n; i++)
		world_set(w, i, 0, 1 + i);
	return a;
}

/*
 * Returns the ms until all limiters count each other again, while 1,000 datagrams a second are
 * replayed to each. Fails after two timeouts.
 */
static uint64_t time_to_rejoin(struct world *w)
{
	uint64_t begun = w->now_ns, most = 2 * gossip_timeout(w->nodes[0].gossip);

	do {
		play_back(w, w->params.n);
		world_run(w, WORLD_STEP);
		if (w->now_ns - begun > most)
			fail_msg("estimator %u, %u limiters, seed %lu: not back within %lu ms",
				w->params.estimator, w->params.n, w->params.seed, most / MS);
	} while (!whole(w));
	return (w->now_ns - begun) / MS;
}

static uint64_t rejoin_after_lives(
	enum gossip_estimator estimator, unsigned n, bool all, uint64_t seed)
{
	struct world_params params = {.seed = seed,
		.n = n,
		.n_policies = 1,
		.branching = n > 2 ? 2 : 3,
		.estimator = estimator,
		.sealed = true,
		.tick_ns = 50 * MS,
		.timeout_ns = 1000 * MS,
		.delay_ns = 5 * MS,
		.jitter_ns = 10 * MS};
	struct world w;
	struct adversary *a = enter(&w, &params);
	uint64_t took;

	for (unsigned life = 1; life < LIVES; life++) {
		world_run(&w, 3000 * MS);
		for (unsigned i = 0; i < n; i++)
			restart_member(&w, i);
	}
	world_run(&w, 5000 * MS);
	assert_true(whole(&w));
	w.sees_sent = NULL; /* the tape is of previous incarnations */
	for (unsigned i = 0; i < (all ? n : 1); i++)
		restart_member(&w, i);
	took = time_to_rejoin(&w);
	/* The group also stays complete while the replay continues. */
	for (unsigned ms = 0; ms < 5000; ms++) {
		play_back(&w, n);
		world_run(&w, WORLD_STEP);
		if (!whole(&w))
			fail_msg("estimator %u, seed %lu: lost again", estimator, seed);
	}
	world_destroy(&w);
	free(a);
	return took;
}

TEST(test_a_restart_under_replays)
{
	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++)
		for (unsigned n = 2; n <= 5; n += 3)
			for (unsigned all = 0; all < 2; all++) {
				uint64_t most = 0;

				for (uint64_t seed = 1; seed <= ROUNDS(8); seed++) {
					uint64_t took = rejoin_after_lives(
						(enum gossip_estimator)e, n, all, seed);

					most = took > most ? took : most;
				}
				print_message("estimator %u, %u limiters, %s restart: back after "
					      "%lu ms at most\n",
					e, n, all ? "all" : "one", most);
			}
}

/* Loss, delays and random restarts, while all recorded datagrams are replayed. */
static void run_replayed_world(uint64_t seed)
{
	struct prng prng;
	struct world_params params = {
		.seed = seed, .n_policies = 1, .sealed = true, .tick_ns = 50 * MS, .delay_ns = MS};
	ENDED_BY(free_at) struct adversary *a;
	ENDED_BY(world_destroy) struct world w;

	prng_seed(&prng, seed);
	params.n = 2 + prng_below(&prng, N_MOST - 1);
	params.branching = 1 + prng_below(&prng, 4);
	params.estimator = (enum gossip_estimator)prng_below(&prng, GOSSIP_ESTIMATORS);
	params.timeout_ns = (500 + prng_below(&prng, 1000)) * MS;
	params.jitter_ns = prng_below(&prng, 60) * MS;
	params.loss = prng_below(&prng, 3) * 0.1;
	a = enter(&w, &params);
	for (unsigned ms = 0; ms < CHAOS_MS; ms++) {
		if (prng_below(&prng, 1000) == 0)
			restart_member(&w, prng_below(&prng, params.n));
		play_back(&w, prng_below(&prng, 2 * params.n));
		world_run(&w, WORLD_STEP);
	}
	w.params.loss = 0;
	w.sees_sent = NULL;
	time_to_rejoin(&w);
	assert_true(a->played > CHAOS_MS / 2);
}

TEST(test_replayed_worlds)
{
	for (uint64_t seed = 1; seed <= ROUNDS(WORLDS); seed++)
		run_replayed_world(seed);
	print_message("seeds 1 to %d\n", ROUNDS(WORLDS));
}
