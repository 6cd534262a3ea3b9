/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters join a group with hard limits. Each has its own roster, which grows at another time.
 */
#include "check.h"
#include "scope.h"

#include "hard_policy.h"

#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define N        4
#define FOUNDERS 2
#define TICK     (50 * MS)
#define LIMIT    UINT64_C(8000000) /* bit/s */
#define BURST    UINT64_C(100001)
#define BUFFER   1400
#define BORN     70
#define BUSY     45000 /* bytes in a tick: nine tenths of the limit */
#define IDLE     500

enum { FPS, GDRL, ADAPTOR, POLICIES };

static const uint32_t ids[N] = {11, 7, 13, 5};

struct site {
	struct limiter *limiter; /* NULL: it is not there yet */
	struct roster *roster;
	uint64_t arrived[POLICIES], demand;
};

struct group {
	struct site sites[N];
	uint64_t now, slots[FLOW_SLOTS], epoch;
	unsigned turn;
};

/* Fills in a roster of these sites, in this order. Sites from FOUNDERS on have joined. */
static struct roster *make_roster(const unsigned *sites, unsigned n, struct book_member members[N])
{
	struct roster *roster;
	uint32_t list[N];

	for (unsigned i = 0; i < n; i++) {
		list[i] = ids[sites[i]];
		members[i] = (struct book_member){.id = ids[sites[i]],
			.joined = sites[i] >= FOUNDERS,
			.born = BORN + sites[i]};
	}
	assert_int_equal(roster_create(list, n, &roster), 0);
	return roster;
}

static void fill_policies(struct limiter_policy policies[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = hard_policy(
			1 + p, p == ADAPTOR ? "adaptor" : "fps", LIMIT, BURST, TICK);
	policies[GDRL].indicator = &gdrl_spare;
}

/* Starts a site, whose own place is in the list of sites. */
static void start_site(
	struct group *g, unsigned site, const unsigned *list, unsigned n, bool recovering)
{
	struct limiter_policy policies[POLICIES];
	struct book_member members[N];
	struct site *s = &g->sites[site];
	struct limiter_params params = {
		.gossip = {.seed = site,
			.branching = 2,
			.timeout_ns = 500 * MS,
			.datagram_max = BUFFER,
			.estimator = GOSSIP_STATE},
		.policies = policies,
		.n_policies = POLICIES,
		.n_workers = 1,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.members = members,
			.lease_ns = 2013 * MS,
			.drift_ppm = 100,
			.promise = 50,
			.recovering = recovering},
	};

	s->roster = make_roster(list, n, members);
	params.gossip.roster = s->roster;
	params.gossip.self = roster_find(s->roster, ids[site]);
	params.gossip.epoch = params.ledger.epoch = ++g->epoch;
	if (!recovering)
		params.ledger.identity = (struct book_identity){.low = 1};
	fill_policies(policies);
	assert_int_equal(limiter_create(&params, g->now, &s->limiter), 0);
	limiter_set_complete(s->limiter, !recovering);
}

static int regroup_site(struct group *g, unsigned site, const unsigned *list, unsigned n)
{
	struct site *s = &g->sites[site];
	struct book_member members[N];
	struct roster *roster = make_roster(list, n, members);
	int ret = limiter_regroup(
		s->limiter, roster, members, roster_find(roster, ids[site]), NULL, g->now);

	roster_destroy(ret ? roster : s->roster);
	if (ret == 0)
		s->roster = roster;
	return ret;
}

static void free_group(struct group *g)
{
	for (unsigned i = 0; i < N; i++) {
		limiter_destroy(g->sites[i].limiter);
		roster_destroy(g->sites[i].roster);
	}
	test_free(g);
}

END_POINTER(free_group, struct group *)

static void measure_site(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct group *g = context;

	*sample = (struct limiter_sample){
		.arrived_bytes = g->sites[g->turn].arrived[policy], .slots = g->slots};
}

static struct limiter_view view_of(const struct group *g, unsigned site, unsigned policy)
{
	struct limiter_view view;

	limiter_view(g->sites[site].limiter, policy, &view);
	return view;
}

/* Returns the sum of the local limits. */
static double check_sums(const struct group *g, unsigned policy)
{
	uint64_t bursts = 0;
	double sum = 0;

	for (unsigned i = 0; i < N; i++)
		if (g->sites[i].limiter) {
			sum += view_of(g, i, policy).local_limit;
			bursts += view_of(g, i, policy).local_burst;
		}
	if (sum > LIMIT / 8.0 || bursts > BURST)
		fail_msg("policy %u: %g B/s, %llu B", policy, sum, (unsigned long long)bursts);
	return sum;
}

/* Sends the messages of a site to the others by their ids. */
static void deliver_site(struct group *g, unsigned site)
{
	struct site *s = &g->sites[site];
	uint8_t buf[BUFFER];
	unsigned to;
	size_t len;

	while ((len = limiter_send(s->limiter, buf, &to)) > 0)
		for (unsigned i = 0; i < N; i++)
			if (g->sites[i].limiter && ids[i] == s->roster->ids[to])
				limiter_receive(g->sites[i].limiter, g->now, buf, len);
}

static void step_group(struct group *g, unsigned times)
{
	while (times-- > 0) {
		g->now += TICK;
		for (unsigned i = 0; i < N; i++) {
			struct site *s = &g->sites[i];

			if (!s->limiter)
				continue;
			g->turn = i;
			for (unsigned p = 0; p < POLICIES; p++)
				s->arrived[p] += s->demand;
			limiter_tick(s->limiter, g->now, measure_site, g);
			if (limiter_uncommitted(s->limiter) &&
				limiter_save(s->limiter, NULL, NULL) == 0)
				limiter_committed(s->limiter, g->now);
			deliver_site(g, i);
		}
		for (unsigned p = 0; p < POLICIES; p++)
			check_sums(g, p);
	}
}

/* Only one site has demand. It gets most of each limit. */
static void move_to(struct group *g, unsigned site)
{
	for (unsigned i = 0; i < N; i++)
		g->sites[i].demand = i == site ? BUSY : IDLE;
	step_group(g, 400);
	for (unsigned p = 0; p < POLICIES; p++) {
		assert_true(check_sums(g, p) > 0.97 * LIMIT / 8);
		assert_true(view_of(g, site, p).local_limit > 0.8 * LIMIT / 8);
	}
}

static struct group *founded_group(void)
{
	struct group *g = test_calloc(1, sizeof(*g));

	g->now = 1000 * TICK;
	for (unsigned i = 0; i < FOUNDERS; i++)
		start_site(g, i, (unsigned[]){0, 1}, 2, false);
	g->sites[0].demand = g->sites[1].demand = BUSY;
	step_group(g, 40);
	return g;
}

/*
 * Two limiters join. They start with a file that names one other limiter, and get the other members
 * and the ledger's identity from the group.
 */
TEST(test_join)
{
	struct group *g = founded_group();

	assert_int_equal(regroup_site(g, 0, (unsigned[]){0, 1, 2}, 3), 0);
	start_site(g, 2, (unsigned[]){2, 0}, 2, true);
	step_group(g, 40);
	assert_int_equal(regroup_site(g, 1, (unsigned[]){1, 2, 0}, 3), 0);
	assert_int_equal(regroup_site(g, 2, (unsigned[]){2, 0, 1}, 3), 0);
	step_group(g, 40);
	for (unsigned p = 0; p < POLICIES; p++)
		assert_true(view_of(g, 2, p).local_limit == 0);
	limiter_set_complete(g->sites[2].limiter, true);
	for (unsigned i = 0; i < 3; i++)
		move_to(g, i);

	start_site(g, 3, (unsigned[]){1, 3}, 2, true);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(regroup_site(g, i, (unsigned[]){3, 2, 1, 0}, N), 0);
	limiter_set_complete(g->sites[3].limiter, true);
	for (unsigned i = 0; i < N; i++)
		move_to(g, i);
	free_group(g);
}

/* A founder loses its memory and its set. It recovers when it has the joiner again. */
TEST(test_founder_without_memory)
{
	struct group *g = founded_group();
	double others = 0;

	for (unsigned i = 0; i < FOUNDERS; i++)
		assert_int_equal(regroup_site(g, i, (unsigned[]){0, 1, 2}, 3), 0);
	start_site(g, 2, (unsigned[]){0, 1, 2}, 3, true);
	limiter_set_complete(g->sites[2].limiter, true);
	move_to(g, 2);

	limiter_destroy(g->sites[0].limiter);
	roster_destroy(g->sites[0].roster);
	start_site(g, 0, (unsigned[]){0, 1}, 2, true);
	step_group(g, 100);
	for (unsigned i = 1; i < 3; i++)
		others += view_of(g, i, FPS).local_limit;
	assert_true(others > 0.3 * LIMIT / 8); /* parts are reserved for it */
	assert_true(view_of(g, 0, FPS).local_limit == 0);
	assert_int_equal(regroup_site(g, 0, (unsigned[]){0, 1, 2}, 3), 0);
	limiter_set_complete(g->sites[0].limiter, true);
	for (unsigned i = 0; i < 3; i++)
		move_to(g, i);
	free_group(g);
}

/* A ledger takes no other founder, and no member is removed. */
TEST(test_no_join)
{
	struct group *g = founded_group();
	struct book_member members[N];
	struct roster *roster = make_roster((unsigned[]){0, 1, 2}, 3, members);

	assert_int_equal(
		limiter_regroup(g->sites[0].limiter, roster, NULL, 0, NULL, g->now), -ENOTSUP);
	roster_destroy(roster);
	assert_int_equal(regroup_site(g, 0, (unsigned[]){0, 1, 2}, 3), 0);
	assert_int_equal(regroup_site(g, 0, (unsigned[]){0, 1}, 2), -ENOTSUP);
	assert_int_equal(regroup_site(g, 0, (unsigned[]){0, 2}, 2), -ENOTSUP);
	free_group(g);
}
