/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters join a group while amounts move. Random groups with faults are in test/torture.
 */
#include "check.h"
#include "scope.h"

#include "conserve_world.h"

END_POINTER(group_free, struct group *)

#define BORN 70

/* Returns the number of edges that were added. */
static unsigned joiners_of(struct conserve *c)
{
	return conserve_book(c)->n_edges - conserve_book(c)->n_first;
}

/* Fills in the members of a group with so many founders. */
static struct book_member *list_members(
	const struct group *g, unsigned founders, struct book_member members[N_MAX])
{
	for (unsigned i = 0; i < g->n; i++)
		members[i] = (struct book_member){
			.id = g->ids[i], .joined = i >= founders, .born = BORN + i};
	return members;
}

/* Starts a joiner, the last node, with nothing. */
static void start_joiner(struct group *g, unsigned founders)
{
	struct book_member members[N_MAX];
	struct conserve_params params = g->params;

	params.members = list_members(g, founders, members);
	params.n_members = g->n;
	params.self = g->n - 1;
	params.epoch = ++g->epoch;
	params.recovering = params.incomplete = true;
	assert_int_equal(conserve_create(&params, g->now, &g->nodes[g->n - 1].c), 0);
}

static int regroup_node(struct group *g, unsigned i, unsigned founders)
{
	struct book_member members[N_MAX];

	return conserve_regroup(g->nodes[i].c, list_members(g, founders, members), g->n, i, g->now);
}

/* Lets another limiter join. All others get an edge to it, and then all sets are complete. */
static void join_group(struct group *g, unsigned founders)
{
	g->ids[g->n] = (g->n * 7919 + 13) % 1009;
	g->n++;
	for (unsigned i = 0; i + 1 < g->n; i++)
		assert_int_equal(regroup_node(g, i, founders), 0);
	start_joiner(g, founders);
	step_conserve_times(g, 5);
	assert_true(conserve_recovering(g->nodes[g->n - 1].c, 0));
	for (unsigned i = 0; i < g->n; i++)
		conserve_set_complete(g->nodes[i].c, true);
	step_conserve_times(g, 10);
	assert_false(conserve_recovering(g->nodes[g->n - 1].c, 0));
}

/* Moves the whole limit of each policy to each limiter in turn. */
static void move_all_around(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++) {
		for (unsigned p = 0; p < g->params.n_policies; p++)
			want_limit_at(g, p, i);
		step_conserve_times(g, 120);
		for (unsigned p = 0; p < g->params.n_policies; p++)
			assert_true(limit_of(g, i, p) > LIMIT / 100 * 90);
	}
}

/* One to three limiters join. Equal parts stay those of the founders. */
TEST(test_join)
{
	static const unsigned promises[] = {0, 50};

	for (unsigned founders = 2; founders < 4; founders++)
		for (unsigned k = 0; k < COUNT(promises); k++) {
			struct group *g = group_started(founders, 20, promises[k]);

			step_conserve_times(g, 10);
			for (unsigned joiners = 1; joiners < 4; joiners++) {
				join_group(g, founders);
				assert_int_equal(limit_of(g, g->n - 1, 0) > LIMIT / 50, 0);
				assert_int_equal(conserve_view(g->nodes[0].c, 0, g->now).share,
					conserve_share(&g->params.overlay, 0, LIMIT));
				assert_int_equal(
					conserve_view(g->nodes[g->n - 1].c, 0, g->now).share, 0);
				assert_int_equal(joiners_of(g->nodes[0].c), g->n - founders);
				move_all_around(g);
			}
			group_free(g);
		}
}

/* A policy that is added after a join has the same edges. */
TEST(test_policy_after_a_join)
{
	struct group *g = group_started(2, 3, 50);

	join_group(g, 2);
	g->policies[3] = (struct conserve_policy){.id = 4, .limit = LIMIT};
	g->params.n_policies = 4;
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(conserve_update(g->nodes[i].c, g->policies, 4, g->now), 0);
	step_conserve_times(g, 20);
	assert_int_equal(sum_usable(g, 3), LIMIT);
	move_all_around(g);
	join_group(g, 2);
	move_all_around(g);
	group_free(g);
}

/* Restarts a limiter with its record, and with the members of a file alone. */
static void restart_with(struct group *g, unsigned i, const struct book_member *members, unsigned n,
	unsigned self, int ret)
{
	struct book_record record = {1, g->nodes[i].record, g->nodes[i].len};
	struct conserve_params params = g->params;

	conserve_destroy(g->nodes[i].c);
	g->nodes[i].c = NULL;
	params.members = members;
	params.n_members = n;
	params.self = self;
	params.epoch = ++g->epoch;
	params.records = &record;
	params.n_records = 1;
	assert_int_equal(conserve_create(&params, g->now, &g->nodes[i].c), ret);
}

/* The record has the edges to joiners, also for a limiter that has lost the set of members. */
TEST(test_restart_without_the_set)
{
	struct group *g = group_started(2, 1, 0);
	struct book_member members[N_MAX], few[2];
	uint64_t held;

	join_group(g, 2);
	join_group(g, 2);
	move_all_around(g);
	list_members(g, 2, members);
	for (unsigned i = 0; i < g->n; i++) {
		held = limit_of(g, i, 0);
		few[0] = members[i < 2 ? 0 : 1];
		few[1] = members[i < 2 ? 1 : i];
		/* By its file, all are founders. */
		few[0].joined = few[1].joined = false;
		restart_with(g, i, few, 2, i != 0, 0);
		assert_int_equal(limit_of(g, i, 0), held);
		assert_int_equal(conserve_edges(g->nodes[i].c), 3);
		assert_int_equal(conserve_view(g->nodes[i].c, 0, g->now).share,
			i < 2 ? conserve_share(&g->params.overlay, i, LIMIT) : 0);
		assert_int_equal(regroup_node(g, i, 2), 0);
		for (unsigned e = 0; e < 3; e++)
			assert_int_not_equal(edge_of(g, i, e).peer, BOOK_NO_PEER);
		step_conserve_times(g, 5);
	}
	move_all_around(g);
	group_free(g);
}

/* A record from before a join gets the edge again. */
TEST(test_record_from_before_a_join)
{
	struct group *g = group_started(2, 1, 0);
	struct book_member members[N_MAX];
	struct node before;

	step_conserve_times(g, 10);
	before = g->nodes[0];
	g->ids[2] = 7;
	g->n = 3;
	assert_int_equal(regroup_node(g, 0, 2), 0);
	assert_true(book_unsaved(conserve_book(g->nodes[0].c)));
	memcpy(g->nodes[0].record, before.record, RECORD);
	restart_with(g, 0, list_members(g, 2, members), 3, 0, 0);
	assert_int_equal(conserve_edges(g->nodes[0].c), 2);
	assert_true(book_unsaved(conserve_book(g->nodes[0].c)));
	assert_int_equal(regroup_node(g, 1, 2), 0);
	start_joiner(g, 2);
	for (unsigned i = 0; i < 3; i++)
		conserve_set_complete(g->nodes[i].c, true);
	step_conserve_times(g, 20);
	move_all_around(g);
	group_free(g);
}

/* A raised limit waits for a joiner, like for all: others can have met it already. */
TEST(test_absent_joiner)
{
	struct group *g = group_started(2, 1, 50);

	step_conserve_times(g, 10);
	g->ids[2] = 7;
	g->n = 3;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(regroup_node(g, i, 2), 0);
	step_conserve_times(g, 50);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	g->policies[0].limit = 2 * LIMIT;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(conserve_update(g->nodes[i].c, g->policies, 1, g->now), 0);
	step_conserve_times(g, 50);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_false(edge_of(g, 0, 1).ledger.met);
	start_joiner(g, 2);
	step_conserve_times(g, 50);
	assert_int_equal(sum_usable(g, 0), 2 * LIMIT);
	group_free(g);
}

/* Rosters that are no join. */
TEST(test_other_rosters)
{
	struct group *g = group_started(3, 1, 0), *ring;
	struct book_member members[N_MAX];
	uint64_t joined;

	join_group(g, 3);
	list_members(g, 3, members);
	/* Another order of the roster. */
	members[4] = members[3];
	members[3] = members[0];
	assert_int_equal(conserve_regroup(g->nodes[1].c, members + 1, 4, 0, g->now), 0);
	list_members(g, 3, members);
	assert_int_equal(conserve_regroup(g->nodes[1].c, members, 4, 1, g->now), 0);
	joined = joiners_of(g->nodes[1].c);
	/* A founder or a joiner is missing, or another founder is there. */
	assert_int_equal(conserve_regroup(g->nodes[1].c, members + 1, 3, 0, g->now), -ENOTSUP);
	assert_int_equal(conserve_regroup(g->nodes[1].c, members, 3, 1, g->now), -ENOTSUP);
	members[4] = (struct book_member){.id = 5};
	assert_int_equal(conserve_regroup(g->nodes[1].c, members, 5, 1, g->now), -ENOTSUP);
	/* Another membership of the same limiter. */
	members[3].born++;
	assert_int_equal(conserve_regroup(g->nodes[1].c, members, 4, 1, g->now), -ENOTSUP);
	assert_int_equal(joiners_of(g->nodes[1].c), joined);
	step_conserve_times(g, 5);
	move_all_around(g);
	group_free(g);

	/* The founders of a ring are not all neighbours. */
	ring = group_new(4, 1, 0);
	ring->params.overlay.shape = OVERLAY_RING;
	for (unsigned i = 0; i < 4; i++)
		start_conserve_node(ring, i, false);
	ring->ids[4] = 7;
	ring->n = 5;
	assert_int_equal(regroup_node(ring, 0, 4), -ENOTSUP);
	group_free(ring);
}
