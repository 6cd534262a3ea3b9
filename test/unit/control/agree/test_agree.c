/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups in virtual time, over a network that loses, repeats and reorders. Both sides report a
 * difference within ten seconds, and never report one that does not exist.
 */
#include "check.h"
#include "scope.h"

#include "agree/agree.h"
#include "base/prng.h"
#include "base/time.h"
#include "base/wire.h"

END_POINTER(agree_destroy, struct agree *)

#define NODES  4
#define THINGS 5
#define GROUP  4
#define CLOCK  3
#define TICK   (50 * MS_NS)
#define SOON   (10 * SECOND_NS)
#define ROOM   1130
#define FLIGHT 4096
#define LEAVES 4096

#define EPOCH_END 9 /* byte of a message */

static const char *const group_names[GROUP] = {"roster", "lease", "overlay", "timeout"};
static const char *const policy_names[THINGS] = {"limit", "burst", "count", "allocator", "period"};

struct told {
	unsigned n;
	uint64_t group[GROUP];
	struct agree_policy *policies;
	uint64_t (*values)[THINGS];
};

struct flight {
	uint8_t buf[ROOM];
	size_t len;
	unsigned from, to;
	uint64_t due_ns;
};

struct group {
	uint64_t now;
	struct prng prng;
	struct agree *a[NODES];
	struct told told[NODES];
	struct flight flights[FLIGHT];
	unsigned n_flights, loss; /* percent */
	uint64_t delay_ns;        /* maximum */
	uint64_t bytes, most_bytes;
	size_t room;
	bool clocks; /* CLOCK is compared */
	/* A digest of the reported differences, and the change counter, at the last look. */
	uint64_t shown[NODES], changes[NODES];
};

static uint64_t digest_of_shown(const struct group *g, unsigned i)
{
	uint64_t digest = 0;

	for (unsigned peer = 0; peer < NODES; peer++) {
		struct agree_peer_view view = agree_peer(g->a[i], peer);
		uint64_t words[] = {peer, view.has_reported, view.n, view.more, view.since_ns};

		for (size_t w = 0; w < COUNT(words); w++)
			digest = (digest ^ words[w]) * UINT64_C(0x9e3779b97f4a7c15);
		for (unsigned k = 0; k < view.n; k++) {
			struct agree_difference d = agree_difference(g->a[i], peer, k);

			digest = (digest ^ d.id) * UINT64_C(0x9e3779b97f4a7c15);
			digest = (digest ^ d.policy) * UINT64_C(0xc2b2ae3d27d4eb4f);
			digest = (digest ^ d.things ^ d.since_ns) * UINT64_C(0x9e3779b97f4a7c15);
		}
	}
	return digest;
}

/* A reader that looks only after changes sees everything that is reported. */
static void look_at_changes(struct group *g, unsigned i)
{
	uint64_t changes = agree_changes(g->a[i]), shown = digest_of_shown(g, i);

	assert_true(changes >= g->changes[i]);
	assert_true(changes > g->changes[i] || shown == g->shown[i]);
	g->changes[i] = changes;
	g->shown[i] = shown;
}

/* One of n limiters, which compare everything except clocks. */
static struct agree_params params_of(unsigned n, unsigned self, uint64_t epoch)
{
	return (struct agree_params){.n = n,
		.self = self,
		.epoch = epoch,
		.group_things = group_names,
		.n_group = GROUP,
		.clock = GROUP,
		.policy_things = policy_names,
		.n_policy = THINGS};
}

static void agree_start(struct group *g, unsigned i)
{
	struct agree_params params = params_of(NODES, i, 1 + prng_next(&g->prng) / 2);

	params.clock = g->clocks ? CLOCK : GROUP;
	/* Gossip delivers no message from or to a start that is over. */
	for (unsigned f = 0; f < g->n_flights;) {
		if (g->flights[f].from == i || g->flights[f].to == i)
			g->flights[f] = g->flights[--g->n_flights];
		else
			f++;
	}
	agree_destroy(g->a[i]);
	assert_int_equal(agree_create(&params, &g->a[i]), 0);
	for (unsigned peer = 0; peer < NODES; peer++)
		agree_watch(g->a[i], peer, true);
	assert_int_equal(
		agree_set(g->a[i], g->told[i].group, g->told[i].policies, g->told[i].n, g->now), 0);
	g->changes[i] = 0;
}

static void tell_agree_again(struct group *g, unsigned i)
{
	assert_int_equal(
		agree_set(g->a[i], g->told[i].group, g->told[i].policies, g->told[i].n, g->now), 0);
	look_at_changes(g, i);
}

static struct group *agree_group(unsigned n, uint64_t seed)
{
	struct group *g = test_calloc(1, sizeof(*g));

	g->now = 100 * SECOND_NS;
	g->room = ROOM;
	prng_seed(&g->prng, seed);
	for (unsigned i = 0; i < NODES; i++) {
		struct told *told = &g->told[i];

		told->n = n;
		told->policies = test_calloc(n + 1, sizeof(*told->policies));
		told->values = test_calloc(n + 1, sizeof(*told->values));
		for (unsigned t = 0; t < GROUP; t++)
			told->group[t] = 77 + t;
		for (unsigned p = 0; p < n; p++) {
			told->policies[p] = (struct agree_policy){
				p * UINT64_C(0x9e3779b97f4a7c15), told->values[p]};
			for (unsigned t = 0; t < THINGS; t++)
				told->values[p][t] = 1000 * p + t;
		}
		agree_start(g, i);
	}
	return g;
}

static void agree_group_free(struct group *g)
{
	for (unsigned i = 0; i < NODES; i++) {
		agree_destroy(g->a[i]);
		test_free(g->told[i].policies);
		test_free(g->told[i].values);
	}
	test_free(g);
}

END_POINTER(agree_group_free, struct group *)

static void post(struct group *g, const uint8_t *buf, size_t len, unsigned from, unsigned to)
{
	struct flight *flight = &g->flights[g->n_flights];

	if (prng_next(&g->prng) % 100 < g->loss)
		return;
	assert_true(g->n_flights < FLIGHT);
	g->n_flights++;
	memcpy(flight->buf, buf, len);
	flight->len = len;
	flight->from = from;
	flight->to = to;
	flight->due_ns = g->now + (g->delay_ns ? prng_next(&g->prng) % g->delay_ns : 0);
}

static void deliver(struct group *g)
{
	for (unsigned f = 0; f < g->n_flights;) {
		struct flight *flight = &g->flights[f];

		if (flight->due_ns > g->now) {
			f++;
			continue;
		}
		assert_int_equal(agree_receive(g->a[flight->to], flight->from, g->now, flight->buf,
					 flight->len),
			0);
		*flight = g->flights[--g->n_flights];
	}
}

static void agree_step(struct group *g)
{
	uint64_t bytes = g->bytes;
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	g->now += TICK;
	for (unsigned i = 0; i < NODES; i++) {
		agree_tick(g->a[i], g->now);
		while ((len = agree_send(g->a[i], g->now, buf, g->room, &to)) > 0) {
			assert_true(len <= g->room && to != i);
			g->bytes += len;
			post(g, buf, len, i, to);
			if (g->loss)
				post(g, buf, len, i, to); /* a second copy, perhaps later */
		}
	}
	deliver(g);
	for (unsigned i = 0; g->told[0].n <= 1000 && i < NODES; i++)
		look_at_changes(g, i);
	if (g->bytes - bytes > g->most_bytes)
		g->most_bytes = g->bytes - bytes;
}

static void agree_run(struct group *g, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end;)
		agree_step(g);
}

static unsigned differences(const struct group *g, unsigned i)
{
	unsigned n = 0;

	for (unsigned peer = 0; peer < NODES; peer++) {
		struct agree_peer_view view = agree_peer(g->a[i], peer);

		n += view.n + view.more + (view.since_ns != 0);
	}
	return n;
}

/* Returns true if limiter i reports exactly this difference of a policy for a peer. */
static bool sees_just(
	const struct group *g, unsigned i, unsigned peer, uint32_t policy, uint32_t things)
{
	struct agree_peer_view view = agree_peer(g->a[i], peer);
	struct agree_difference difference;

	if (view.n != 1 || view.more || view.since_ns == 0)
		return false;
	difference = agree_difference(g->a[i], peer, 0);
	return difference.policy == policy && difference.things == things &&
	       difference.since_ns >= 100 * SECOND_NS && difference.since_ns <= g->now;
}

TEST(test_each_thing)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(20, 1);

	agree_run(g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(differences(g, i), 0);
	for (unsigned t = 0; t < GROUP + THINGS; t++) {
		uint64_t *thing = t < GROUP ? &g->told[2].group[t]
					    : &g->told[2].values[7][t - GROUP];
		uint32_t policy = t < GROUP ? AGREE_GROUP : 7;
		uint32_t bit = 1U << (t < GROUP ? t : t - GROUP);

		*thing += 1;
		tell_agree_again(g, 2);
		agree_run(g, SECOND_NS); /* immediately after a reload */
		for (unsigned i = 0; i < NODES; i++)
			assert_true(i == 2 || (sees_just(g, i, 2, policy, bit) &&
						      sees_just(g, 2, i, policy, bit)));
		assert_false(sees_just(g, 0, 1, policy, bit));
		*thing -= 1;
		tell_agree_again(g, 2);
		agree_run(g, SECOND_NS);
		for (unsigned i = 0; i < NODES; i++)
			assert_int_equal(differences(g, i), 0);
	}
}

/* The policies of a leaf exceed a message: each of them is still sent. */
TEST(test_full_leaf)
{
	const unsigned n = 300, behind[] = {0, 60, 150, 299};
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(n, 4);

	for (unsigned i = 0; i < NODES; i++) {
		for (unsigned p = 0; p < n; p++)
			g->told[i].policies[p].id = p;
		tell_agree_again(g, i);
	}
	agree_run(g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(differences(g, i), 0);
	for (unsigned k = 0; k < COUNT(behind); k++) {
		g->told[2].values[behind[k]][1]++;
		tell_agree_again(g, 2);
		agree_run(g, SOON);
		assert_true(sees_just(g, 0, 2, behind[k], 2));
		assert_true(sees_just(g, 2, 0, behind[k], 2));
		g->told[2].values[behind[k]][1]--;
		tell_agree_again(g, 2);
		agree_run(g, SOON);
	}
}

/* A value of 0 is unknown, and is not compared. */
TEST(test_unknown_group_value)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(3, 3);

	g->told[1].group[1] = 0;
	tell_agree_again(g, 1);
	agree_run(g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(differences(g, i), 0);
}

/* The time is that of the first difference, also if others follow; a restart does not reset it. */
TEST(test_since)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(3, 4);
	uint64_t since;

	agree_run(g, SOON);
	g->told[0].group[2] = 5;
	tell_agree_again(g, 0);
	agree_run(g, SOON);
	since = agree_peer(g->a[1], 0).since_ns;
	assert_true(since > 0 && since < g->now - SOON / 2);
	g->told[0].group[2] = 6;
	agree_start(g, 0);
	agree_run(g, SOON);
	assert_int_equal(agree_peer(g->a[1], 0).since_ns, since);
}

/* Sets the clocks; limiter 2 is ahead of the others by so much, modulo 2^64. */
static void set_clocks(struct group *g, uint64_t ahead_ns)
{
	for (unsigned i = 0; i < NODES; i++)
		agree_clock(g->a[i], 1700000000 * SECOND_NS + (i == 2 ? ahead_ns : 0));
}

static void clocks_that(struct group *g, uint64_t ahead_ns, bool differ)
{
	set_clocks(g, ahead_ns);
	agree_run(g, SOON);
	assert_int_equal(sees_just(g, 0, 2, AGREE_GROUP, 1U << CLOCK), differ);
	assert_int_equal(sees_just(g, 2, 0, AGREE_GROUP, 1U << CLOCK), differ);
	assert_int_equal(differences(g, 0), differ ? 2 : 0);
}

/*
 * Clocks are compared if both limiters use them. A difference of at most a message's delay is
 * ignored.
 */
TEST(test_clocks)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(3, 8);

	g->clocks = true;
	for (unsigned i = 0; i < NODES; i++)
		agree_start(g, i);
	clocks_that(g, 0, false);
	clocks_that(g, AGREE_CLOCK_NS + TICK, true);
	clocks_that(g, -(AGREE_CLOCK_NS - TICK), false);
	clocks_that(g, -(AGREE_CLOCK_NS + TICK), true);
	g->told[0].group[CLOCK] = 0;
	tell_agree_again(g, 0);
	agree_run(g, SECOND_NS);
	assert_int_equal(differences(g, 0), 0);
}

/* One of two limiters that compare clocks. */
static struct agree *make_clocked(unsigned self)
{
	struct agree_params params = params_of(2, self, 5);
	struct agree *a;

	params.clock = CLOCK;
	assert_int_equal(agree_create(&params, &a), 0);
	agree_watch(a, 1 - self, true);
	return a;
}

static void set_clock(struct agree *a, bool compared, uint64_t ahead_ns, uint64_t now)
{
	const uint64_t group[GROUP] = {7, 7, 7, compared};
	static const uint64_t values[THINGS] = {1, 2, 3, 4, 5};
	static const struct agree_policy policy = {9, values};

	assert_int_equal(agree_set(a, group, &policy, 1, now), 0);
	agree_clock(a, 1700000000 * SECOND_NS + ahead_ns);
}

/* Waits for the next summary of a limiter. Returns its length. */
static size_t send_summary(struct agree *from, uint64_t *now, uint8_t buf[ROOM])
{
	unsigned peer;
	size_t len;

	do {
		*now += TICK;
		agree_tick(from, *now);
		len = agree_send(from, *now, buf, ROOM, &peer);
	} while (len == 0 || buf[1] != 0);
	return len;
}

/*
 * Delivers one summary of limiter 1; returns the number of differences that limiter 0 reports then.
 */
static unsigned hear_one_summary(struct agree *const pair[2], uint64_t *now)
{
	uint8_t buf[ROOM];
	size_t len = send_summary(pair[1], now, buf);

	assert_int_equal(agree_receive(pair[0], 1, *now, buf, len), 0);
	return agree_peer(pair[0], 1).n;
}

/*
 * A difference needs successive summaries for a second, without one in between that agrees or has
 * no time.
 */
TEST(test_clocks_are_sure)
{
	static const struct {
		bool compared, apart, differs;
	} rows[] = {{1, 1, 0}, {1, 1, 1}, {1, 0, 0}, {1, 1, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
		{1, 1, 0}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}, {1, 1, 0}};
	struct agree *pair[2] = {make_clocked(0), make_clocked(1)};
	uint64_t now = 100 * SECOND_NS;

	set_clock(pair[0], true, 0, now);
	for (size_t i = 0; i < COUNT(rows); i++) {
		set_clock(pair[1], rows[i].compared, rows[i].apart ? 3 * SECOND_NS : 0, now);
		assert_int_equal(hear_one_summary(pair, &now), rows[i].differs);
	}
	agree_destroy(pair[0]);
	agree_destroy(pair[1]);
}

#define WAITING 10

/*
 * A limiter that stood still receives all summaries of that time within milliseconds, each with an
 * old time of day. They prove no difference, however many there are. The next is of the present.
 */
TEST(test_clocks_after_a_stop)
{
	for (unsigned n = 1; n <= WAITING; n++) {
		struct agree *pair[2] = {make_clocked(0), make_clocked(1)};
		uint64_t now = 100 * SECOND_NS;
		uint8_t bufs[WAITING][ROOM];
		size_t lens[WAITING];

		set_clock(pair[0], true, 0, now);
		set_clock(pair[1], true, 0, now);
		assert_int_equal(hear_one_summary(pair, &now), 0);
		for (unsigned i = 0; i < n; i++)
			lens[i] = send_summary(pair[1], &now, bufs[i]);
		now += AGREE_CLOCK_NS + TICK;
		for (unsigned i = 0; i < n; i++) {
			now += MS_NS;
			assert_int_equal(agree_receive(pair[0], 1, now, bufs[i], lens[i]), 0);
			assert_int_equal(agree_peer(pair[0], 1).n, 0);
		}
		assert_int_equal(hear_one_summary(pair, &now), 0);
		agree_destroy(pair[0]);
		agree_destroy(pair[1]);
	}
}

/* One of five limiters, with the given compared things and the usual policy. */
static struct agree *make_comparing(unsigned self, const char *const *group_things,
	const char *const *policy_things, const uint64_t *group, uint64_t now)
{
	static const uint64_t values[THINGS] = {1, 2, 3, 4, 5};
	static const struct agree_policy policy = {9, values};
	struct agree_params params = params_of(5, self, 5);
	struct agree *a;

	params.group_things = group_things;
	params.policy_things = policy_things;
	assert_int_equal(agree_create(&params, &a), 0);
	assert_int_equal(agree_set(a, group, &policy, 1, now), 0);
	return a;
}

/* Returns the length of the only message of this tick, a summary to the peer. */
static size_t summary_to(struct agree *a, unsigned peer, uint64_t now, uint8_t *buf)
{
	uint8_t more[ROOM];
	unsigned to;
	size_t len;

	agree_tick(a, now);
	len = agree_send(a, now, buf, ROOM, &to);
	assert_true(len > 0);
	assert_int_equal(buf[1], 0);
	assert_int_equal(to, peer);
	assert_int_equal(agree_send(a, now, more, ROOM, &to), 0);
	return len;
}

/*
 * Things are matched by name, in any order. Peers with other things of a policy do not compare it.
 */
TEST(test_names_of_things)
{
	static const char *const turned[GROUP] = {"timeout", "overlay", "lease", "roster"};
	static const char *const others[THINGS] = {"limit", "burst", "count", "allocator", "sort"};
	static const uint64_t group[GROUP] = {1, 2, 3, 4}, as_turned[GROUP] = {4, 3, 2, 1};
	static const uint64_t values[THINGS] = {6, 5, 4, 3, 2};
	static const struct agree_policy policy = {9, values};
	uint64_t now = 100 * SECOND_NS;
	ENDED_BY(agree_destroy_at)
	struct agree *a = make_comparing(0, group_names, policy_names, group, now);
	ENDED_BY(agree_destroy_at)
	struct agree *same = make_comparing(1, turned, policy_names, as_turned, now);
	ENDED_BY(agree_destroy_at)
	struct agree *other = make_comparing(2, group_names, others, group, now);
	struct agree_difference difference;
	struct agree_peer_view view;
	uint8_t buf[ROOM];
	size_t len;

	agree_watch(same, 0, true);
	agree_watch(other, 0, true);
	assert_int_equal(agree_set(other, group, &policy, 1, now), 0);
	len = summary_to(same, 0, now, buf);
	assert_int_equal(agree_receive(a, 1, now + 7, buf, len), 0);
	view = agree_peer(a, 1);
	assert_true(view.has_reported && !view.more);
	assert_int_equal(view.n, 0);
	assert_int_equal(view.since_ns, 0);
	assert_int_equal(view.received_ns, now + 7);
	len = summary_to(other, 0, now, buf);
	assert_int_equal(agree_receive(a, 2, now + 8, buf, len), 0);
	view = agree_peer(a, 2);
	assert_false(view.more);
	assert_int_equal(view.n, 1);
	assert_int_equal(view.since_ns, now + 8);
	difference = agree_difference(a, 2, 0);
	assert_int_equal(difference.policy, AGREE_GROUP);
	assert_int_equal(difference.things, AGREE_PRESENCE);
	assert_int_equal(difference.since_ns, now + 8);
}

/*
 * Summaries go to watched peers and to peers that have sent, by index; not to a peer that is no
 * longer watched.
 */
TEST(test_who_is_told)
{
	static const uint64_t group[GROUP] = {1, 2, 3, 4};
	uint64_t now = 100 * SECOND_NS;
	ENDED_BY(agree_destroy_at)
	struct agree *a = make_comparing(2, group_names, policy_names, group, now);
	ENDED_BY(agree_destroy_at)
	struct agree *other = make_comparing(0, group_names, policy_names, group, now);
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	agree_watch(a, 2, true);
	agree_watch(a, 4, false);
	assert_int_equal(agree_next(a, 0), 5);
	agree_watch(a, 3, true);
	agree_watch(a, 1, true);
	assert_int_equal(agree_next(a, 0), 1);
	assert_int_equal(agree_next(a, 1), 1);
	assert_int_equal(agree_next(a, 2), 3);
	assert_int_equal(agree_next(a, 4), 5);
	agree_watch(a, 3, false);
	assert_int_equal(agree_next(a, 2), 3);
	summary_to(a, 1, now, buf);
	/* A peer that has sent gets summaries, watched or not. */
	agree_watch(other, 2, true);
	len = summary_to(other, 2, now, buf);
	assert_int_equal(agree_receive(a, 0, now, buf, len), 0);
	assert_int_equal(agree_next(a, 0), 0);
	summary_to(a, 0, now, buf);
	/* The next summary follows after two seconds, not before. */
	agree_tick(a, now + AGREE_PERIOD_NS - 1);
	assert_int_equal(agree_send(a, now + AGREE_PERIOD_NS - 1, buf, ROOM, &to), 0);
	agree_tick(a, now + AGREE_PERIOD_NS);
	assert_true(agree_send(a, now + AGREE_PERIOD_NS, buf, ROOM, &to) > 0);
	assert_int_equal(to, 0);
	assert_true(agree_send(a, now + AGREE_PERIOD_NS, buf, ROOM, &to) > 0);
	assert_int_equal(to, 1);
	assert_int_equal(agree_send(a, now + AGREE_PERIOD_NS, buf, ROOM, &to), 0);
}

/*
 * A peer that starts later missed the first summary. Its own summary is answered with one, once per
 * start.
 */
TEST(test_a_late_start)
{
	static const uint64_t group[GROUP] = {1, 2, 3, 4};
	uint64_t now = 100 * SECOND_NS;
	ENDED_BY(agree_destroy_at)
	struct agree *a = make_comparing(2, group_names, policy_names, group, now);
	uint8_t lost[ROOM], buf[ROOM];
	unsigned to;

	agree_watch(a, 0, true);
	summary_to(a, 0, now, lost);
	for (unsigned start = 0; start < 2; start++) {
		struct agree *other = make_comparing(
			0, group_names, policy_names, group, now += TICK);
		size_t len;

		agree_watch(other, 2, true);
		len = summary_to(other, 2, now, buf);
		buf[EPOCH_END] += (uint8_t)start;
		assert_int_equal(agree_receive(a, 0, now, buf, len), 0);
		assert_int_equal(
			agree_receive(other, 2, now, lost, summary_to(a, 0, now, lost)), 0);
		assert_true(agree_peer(other, 2).has_reported);
		assert_int_equal(agree_receive(a, 0, now, buf, len), 0);
		assert_int_equal(agree_send(a, now, buf, ROOM, &to), 0);
		agree_destroy(other);
	}
}

/*
 * A message from before a change that arrives after it is rejected; one from the same state is
 * accepted.
 */
TEST(test_overtaken)
{
	static const uint64_t group[GROUP] = {1, 2, 3, 4}, changed[GROUP] = {1, 2, 3, 5};
	static const uint64_t values[THINGS] = {1, 2, 3, 4, 5};
	static const struct agree_policy policy = {9, values};
	uint64_t now = 100 * SECOND_NS;
	ENDED_BY(agree_destroy_at)
	struct agree *a = make_comparing(0, group_names, policy_names, group, now);
	ENDED_BY(agree_destroy_at)
	struct agree *other = make_comparing(1, group_names, policy_names, group, now);
	uint8_t before[ROOM], behind[ROOM];
	size_t len;

	agree_watch(other, 0, true);
	len = summary_to(other, 0, now, before);
	assert_int_equal(agree_set(other, changed, &policy, 1, now), 0);
	assert_int_equal(summary_to(other, 0, now, behind), len);
	assert_int_equal(agree_receive(a, 1, now + 1, behind, len), 0);
	assert_int_equal(agree_peer(a, 1).n, 1);
	assert_int_equal(agree_receive(a, 1, now + 2, before, len), 0);
	assert_int_equal(agree_peer(a, 1).n, 1);
	assert_int_equal(agree_peer(a, 1).received_ns, now + 1);
	assert_int_equal(agree_receive(a, 1, now + 3, behind, len), 0);
	assert_int_equal(agree_peer(a, 1).received_ns, now + 3);
	assert_int_equal(agree_peer(a, 1).since_ns, now + 1);
}

/* Writes a message of one section with two policies. */
static size_t write_two(uint8_t *buf, const uint8_t *head, uint16_t leaf, const uint64_t range[2],
	const uint64_t ids[2])
{
	uint8_t *at = buf + 14;

	memset(buf, 0, ROOM);
	memcpy(buf, head, 14);
	buf[1] = 3;
	at = wire_put16(wire_put16(at, leaf), 2);
	at = wire_put64(wire_put64(at, range[0]), range[1]);
	for (unsigned i = 0; i < 2; i++, at += 8 + 2 * THINGS)
		at = wire_put64(at, ids[i]);
	return (size_t)(at - buf);
}

/* Ids must be in the stated leaf and range, and ascend; otherwise the message is rejected. */
TEST(test_sections)
{
	static const uint64_t group[GROUP] = {1, 2, 3, 4}, values[THINGS] = {6, 5, 4, 3, 2};
	static const struct agree_policy policy = {9, values};
	const uint64_t low = 77, high = 88, all = (UINT64_C(1) << 52) - 1; /* ids of leaf 0 */
	const struct {
		uint16_t leaf;
		uint64_t range[2], ids[2];
		int expected;
	} rows[] = {
		{1, {0, all}, {low, high}, -EBADMSG},
		{0, {0, all}, {high, low}, -EBADMSG},
		{0, {0, all}, {low, low}, -EBADMSG},
		{0, {0, all}, {low, all + 1}, -EBADMSG},
		{0, {0, all + 1}, {low, high}, -EBADMSG},
		{1, {all, all + 9}, {low, high}, -EBADMSG},
		{0, {low + 1, all}, {low, high}, -EBADMSG},
		{0, {0, high - 1}, {low, high}, -EBADMSG},
		{0, {low, high}, {low, high}, 0},
	};
	uint64_t now = 100 * SECOND_NS;
	ENDED_BY(agree_destroy_at)
	struct agree *a = make_comparing(0, group_names, policy_names, group, now);
	ENDED_BY(agree_destroy_at)
	struct agree *other = make_comparing(1, group_names, policy_names, group, now);
	uint8_t summary[ROOM], buf[ROOM];
	size_t len;

	agree_watch(other, 0, true);
	assert_int_equal(agree_set(other, group, &policy, 1, now), 0);
	len = summary_to(other, 0, now, summary);
	assert_int_equal(agree_receive(a, 1, now, summary, len), 0);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		len = write_two(buf, summary, rows[i].leaf, rows[i].range, rows[i].ids);
		assert_int_equal(agree_peer(a, 1).n, 0);
		assert_int_equal(agree_receive(a, 1, now, buf, len), rows[i].expected);
	}
	assert_int_equal(agree_peer(a, 1).n, 2);
	assert_int_equal(agree_difference(a, 1, 0).id, low);
	assert_int_equal(agree_difference(a, 1, 1).id, high);
}

static void change_something(struct group *g, unsigned i)
{
	struct told *told = &g->told[i];
	unsigned p = (unsigned)(prng_next(&g->prng) % told->n);

	told->values[p][prng_next(&g->prng) % THINGS] += 1 + prng_next(&g->prng) % 5;
	tell_agree_again(g, i);
}

static uint32_t true_difference(const struct group *g, unsigned i, unsigned peer, unsigned p)
{
	uint32_t things = 0;

	for (unsigned t = 0; t < THINGS; t++)
		if (g->told[i].values[p][t] != g->told[peer].values[p][t])
			things |= 1U << t;
	return things;
}

/* Checks that all differences are reported, and no others. */
static void check_differences(const struct group *g, unsigned i, unsigned peer, uint64_t seed)
{
	struct agree_peer_view view = agree_peer(g->a[i], peer);
	unsigned expected = 0;

	for (unsigned p = 0; p < g->told[i].n; p++)
		expected += true_difference(g, i, peer, p) != 0;
	if (view.n != expected || view.more)
		fail_msg("seed %llu: %u of %u differences", (unsigned long long)seed, view.n,
			expected);
	for (unsigned k = 0; k < view.n; k++) {
		struct agree_difference d = agree_difference(g->a[i], peer, k);

		if (d.things != true_difference(g, i, peer, d.policy))
			fail_msg("seed %llu: policy %u: %x", (unsigned long long)seed, d.policy,
				d.things);
	}
}

static void one_lossy_round(uint64_t seed)
{
	ENDED_BY(agree_group_free_at)
	struct group *g = agree_group(200 + (unsigned)seed % 300, seed);

	g->loss = (unsigned)(seed * 7 % 31);
	g->delay_ns = seed % 4 * 400 * MS_NS;
	g->room = seed % 3 ? ROOM : 186;
	for (unsigned step = 0; step < 200; step++) {
		agree_step(g);
		for (unsigned i = 0; i < NODES; i++)
			if (differences(g, i))
				fail_msg(
					"seed %llu: where there is none", (unsigned long long)seed);
	}
	/* Limiters change in any order, while news of earlier changes is in flight. */
	for (unsigned k = 0; k < 30; k++) {
		change_something(g, (unsigned)(prng_next(&g->prng) % 3));
		if (k % 10 == 9)
			agree_start(g, 1);
		agree_run(g, prng_next(&g->prng) % SECOND_NS);
	}
	/* News with a delay above a second, in datagrams of 256 bytes, takes longer. */
	agree_run(g, g->delay_ns > SECOND_NS && g->room < ROOM ? 3 * SOON : SOON);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned peer = 0; peer < NODES; peer++)
			if (peer != i)
				check_differences(g, i, peer, seed);
	/* All changes are undone. */
	for (unsigned i = 0; i < NODES; i++) {
		memcpy(g->told[i].values, g->told[3].values,
			g->told[3].n * sizeof(*g->told[3].values));
		tell_agree_again(g, i);
	}
	agree_run(g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		if (differences(g, i))
			fail_msg("seed %llu: not forgotten", (unsigned long long)seed);
}

TEST(test_lossy_networks)
{
	for (uint64_t seed = 1; seed <= ROUNDS(100); seed++)
		one_lossy_round(seed);
}

/* Policies that come and go, each at some of the limiters. */
#define COMING 8000

struct coming {
	struct group *g;
	bool absent[NODES][COMING];
};

/* Configures the policies that are present, in order. */
static void tell_those_present(struct coming *c, unsigned i)
{
	struct told *told = &c->g->told[i];

	told->n = 0;
	for (unsigned p = 0; p < COMING; p++)
		if (!c->absent[i][p])
			told->policies[told->n++] = (struct agree_policy){
				p * UINT64_C(0x9e3779b97f4a7c15), told->values[p]};
	tell_agree_again(c->g, i);
}

/*
 * One in a hundred policies comes or goes, one gets another value, and some get the usual value
 * back.
 */
static void change_many(struct coming *c, unsigned i)
{
	struct told *told = &c->g->told[i];

	for (unsigned p = 0; p < COMING; p++) {
		uint64_t chance = prng_next(&c->g->prng) % 100, t = prng_next(&c->g->prng) % THINGS;

		if (chance == 0)
			c->absent[i][p] = !c->absent[i][p];
		else if (chance == 1)
			told->values[p][t]++;
		else if (chance < 50)
			told->values[p][t] = 1000 * p + t;
	}
	tell_those_present(c, i);
}

static void check_those_present(const struct coming *c, unsigned i, unsigned peer)
{
	struct agree_peer_view view = agree_peer(c->g->a[i], peer);
	unsigned n = 0, own = 0;

	assert_false(view.more);
	for (unsigned p = 0; p < COMING; p++) {
		bool here = !c->absent[i][p], there = !c->absent[peer][p];
		uint32_t things = here != there ? AGREE_PRESENCE
				  : here        ? true_difference(c->g, i, peer, p)
						: 0;
		uint32_t policy = here ? own : AGREE_NOWHERE;
		unsigned k = 0;

		own += here;
		if (things == 0)
			continue;
		n++;
		while (k < view.n && agree_difference(c->g->a[i], peer, k).id !=
					     p * UINT64_C(0x9e3779b97f4a7c15))
			k++;
		assert_true(k < view.n);
		assert_int_equal(agree_difference(c->g->a[i], peer, k).things, things);
		assert_int_equal(agree_difference(c->g->a[i], peer, k).policy, policy);
	}
	assert_int_equal(view.n, n);
}

/*
 * So many policies that several of a leaf differ, in different things, and end one by one. Each has
 * its present number; the others report the ones that they lack by their ids.
 */
TEST(test_coming_and_going)
{
	struct coming *c = test_calloc(1, sizeof(*c));

	c->g = agree_group(COMING, 10);
	c->g->loss = 10;
	for (unsigned round = 0; round < 8; round++) {
		change_many(c, round % NODES);
		agree_run(c->g, prng_next(&c->g->prng) % SOON);
	}
	agree_run(c->g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned peer = 0; peer < NODES; peer++)
			if (peer != i)
				check_those_present(c, i, peer);
	agree_group_free(c->g);
	test_free(c);
}

/*
 * Bytes to one peer in 50 ms are limited, and all differences are reported in time, even if
 * everything differs.
 */
static void many_policies(unsigned n, unsigned apart, uint64_t within_ns)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(n, 5);
	uint64_t began;

	agree_run(g, SOON);
	g->most_bytes = 0;
	for (unsigned p = 0; p < n; p += apart)
		g->told[0].values[p][1]++;
	tell_agree_again(g, 0);
	began = g->now;
	while (agree_peer(g->a[1], 0).n < (n + apart - 1) / apart ||
		agree_peer(g->a[0], 1).n < (n + apart - 1) / apart) {
		agree_step(g);
		if (g->now - began > within_ns)
			fail_msg("%u of %u after %llu ms", agree_peer(g->a[1], 0).n,
				(n + apart - 1) / apart,
				(unsigned long long)((g->now - began) / MS_NS));
	}
	print_message(
		"%u policies, every %uth differs: %llu ms, at most %llu bytes a tick in all\n", n,
		apart, (unsigned long long)((g->now - began) / MS_NS),
		(unsigned long long)g->most_bytes);
	assert_true(g->most_bytes <= 6 * 4 * ROOM); /* three pairs, both ways */
}

TEST(test_many_policies)
{
	many_policies(10000, 10000, SOON);
	many_policies(10000, 100, SOON);
	many_policies(10000, 1, SOON);
	many_policies(100000, 100000, SOON);
	many_policies(100000, 1000, SOON);
	many_policies(100000, 100, 3 * SOON);
}

#define MANY 1000 /* peers, too many for all messages to fit into the ticks */

/* All peers have sent their differing policies; each tick's messages are counted. */
static void hear_of_many(struct agree *a, uint64_t now)
{
	static const uint64_t group[GROUP] = {7, 7, 7, 7}, values[THINGS] = {1, 2, 3, 4, 5};
	static const struct agree_policy policy = {9, values};
	struct agree_params params = params_of(MANY + 1, 1, 5);
	ENDED_BY(agree_destroy_at) struct agree *other;
	uint8_t buf[ROOM];
	unsigned peer;
	size_t len;

	assert_int_equal(agree_create(&params, &other), 0);
	agree_watch(other, 0, true);
	assert_int_equal(agree_set(other, group, &policy, 1, now), 0);
	agree_tick(other, now);
	len = agree_send(other, now, buf, ROOM, &peer);
	assert_true(len > 0 && peer == 0);
	for (unsigned i = 1; i <= MANY; i++)
		assert_int_equal(agree_receive(a, i, now, buf, len), 0);
}

/*
 * A group of many limiters that all differ from one. It sends a limited number of messages a tick
 * in total, and a limited number in 50 ms to each peer. No peer waits while others get repeated
 * messages.
 */
TEST(test_many_peers)
{
	static const uint64_t group[GROUP] = {7, 7, 7, 7}, values[THINGS] = {1, 2, 3, 4, 6};
	static const struct agree_policy policy = {9, values};
	struct agree_params params = params_of(MANY + 1, 0, 4);
	uint64_t now = 100 * SECOND_NS;
	unsigned told[MANY + 1] = {0}, least = UINT32_MAX, most = 0, peer;
	ENDED_BY(agree_destroy_at) struct agree *a;
	uint8_t buf[ROOM];

	assert_int_equal(agree_create(&params, &a), 0);
	for (unsigned i = 1; i <= MANY; i++)
		agree_watch(a, i, true);
	assert_int_equal(agree_set(a, group, &policy, 1, now), 0);
	hear_of_many(a, now);
	for (unsigned tick = 0; tick < 400; tick++) {
		unsigned in_tick[MANY + 1] = {0}, n = 0;

		now += tick % 2 ? 0 : TICK; /* two ticks share one quota */
		agree_tick(a, now);
		/* With such small messages there are many. */
		while (agree_send(a, now, buf, 186, &peer) > 0) {
			told[peer]++;
			in_tick[peer]++;
			n++;
			assert_true(in_tick[peer] <= 4);
		}
		assert_true(n <= 64);
	}
	for (unsigned i = 1; i <= MANY; i++) {
		least = told[i] < least ? told[i] : least;
		most = told[i] > most ? told[i] : most;
	}
	print_message("messages to each: %u to %u\n", least, most);
	assert_true(least > 0 && most <= 2 * least);
}

/* More differences than are kept: `more` is set. */
TEST(test_more_than_kept)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(AGREE_KEPT + 4000, 6);

	for (unsigned p = 0; p < g->told[0].n; p++)
		g->told[0].values[p][0]++;
	tell_agree_again(g, 0);
	agree_run(g, 6 * SOON);
	assert_int_equal(agree_peer(g->a[1], 0).n, AGREE_KEPT);
	assert_true(agree_peer(g->a[1], 0).more);
}

/* A section without policies, of a leaf after the last one. */
static void refuse_leaves(struct agree *a, unsigned from, uint64_t now, const uint8_t *message)
{
	const size_t head = 14, section = 12;
	uint8_t buf[26];

	memcpy(buf, message, head);
	memset(buf + head, 0, section);
	memcpy(buf + head, (const uint8_t[]){LEAVES >> 8, LEAVES & 0xff}, 2);
	assert_int_equal(agree_receive(a, from, now, buf, sizeof(buf)), -EBADMSG);
}

/* A message of another kind, and one with an unknown part. */
static void refuse_kinds(struct agree *a, unsigned from, uint64_t now, uint8_t *buf, size_t len)
{
	const uint8_t part = buf[1];

	buf[0] = AGREE_MESSAGE + 1;
	assert_int_equal(agree_receive(a, from, now, buf, len), -EBADMSG);
	buf[0] = AGREE_MESSAGE;
	buf[1] = 4;
	assert_int_equal(agree_receive(a, from, now, buf, len), -EBADMSG);
	buf[1] = part;
}

/* Invalid messages change nothing, and truncated ones are rejected at every length. */
TEST(test_malformed_messages)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(20, 7);
	uint8_t buf[ROOM + 1] = {0};
	unsigned to, parts = 0;
	size_t len;

	agree_run(g, SOON);
	g->told[0].values[3][0]++;
	tell_agree_again(g, 0);
	for (unsigned step = 0; step < 40; step++) {
		g->now += TICK;
		for (unsigned i = 0; i < 2; i++) {
			agree_tick(g->a[i], g->now);
			while ((len = agree_send(g->a[i], g->now, buf, ROOM, &to)) > 0) {
				bool sections = buf[1] == 3;

				if (to > 1)
					continue;
				parts |= 1U << buf[1];
				for (size_t cut = 0; cut < len; cut++) {
					/* A buffer of exactly this length, for the sanitizer. */
					uint8_t *copy = test_malloc(cut + 1);
					int ret;

					memcpy(copy, buf, cut);
					ret = agree_receive(g->a[to], i, g->now, copy, cut);
					if (!sections || cut < 14)
						assert_int_equal(ret, -EBADMSG);
					test_free(copy);
				}
				assert_int_equal(
					agree_receive(g->a[to], i, g->now, buf, len + 1), -EBADMSG);
				if (sections)
					refuse_leaves(g->a[to], i, g->now, buf);
				refuse_kinds(g->a[to], i, g->now, buf, len);
				assert_int_equal(agree_receive(g->a[to], i, g->now, buf, len), 0);
			}
		}
	}
	assert_int_equal(parts, 15);
	assert_true(sees_just(g, 0, 1, 3, 1) && sees_just(g, 1, 0, 3, 1));
}

/* With less room, messages are shorter or absent, and always valid. */
TEST(test_small_rooms)
{
	ENDED_BY(agree_group_free_at) struct group *g = agree_group(20, 11);

	agree_run(g, SOON);
	g->told[2].values[7][1]++;
	tell_agree_again(g, 2);
	for (g->room = 0; g->room < ROOM; g->room++)
		agree_step(g);
	agree_run(g, SOON);
	assert_true(sees_just(g, 0, 2, 7, 2) && sees_just(g, 2, 0, 7, 2));
}

/* Rejects a group without anything to compare, or with more things than there is room for. */
TEST(test_bad_params)
{
	const char *names[AGREE_GROUP_MOST];
	struct agree_params good = {.n = 2,
		.epoch = 1,
		.group_things = names,
		.n_group = AGREE_GROUP_MOST,
		.clock = AGREE_GROUP_MOST,
		.policy_things = names,
		.n_policy = AGREE_POLICY_MOST};
	struct agree_params bad[] = {good, good, good, good};
	uint8_t buf[ROOM] = {AGREE_MESSAGE};
	ENDED_BY(agree_destroy_at) struct agree *a;
	unsigned to;

	for (unsigned t = 0; t < AGREE_GROUP_MOST; t++)
		names[t] = "thing";
	bad[0].self = 2;
	bad[1].epoch = 0;
	bad[2].n_policy++;
	bad[3].n_group++;
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_int_equal(agree_create(&bad[i], &a), -EINVAL);
	assert_int_equal(agree_create(&good, &a), 0);
	agree_watch(a, 1, true);
	agree_tick(a, 9 * SECOND_NS);
	assert_int_equal(agree_send(a, 9 * SECOND_NS, buf, ROOM, &to), 0);
	assert_int_equal(agree_receive(a, 1, 0, buf, 31), -EBADMSG); /* a summary without things */
}
