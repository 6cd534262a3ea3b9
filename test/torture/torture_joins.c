/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters that join a group of rates. Each limiter has a set of joiners, and reports it to others
 * at times. A limiter that crashes can lose its set, with or without its memory. Its roster has the
 * founders and its set; so indices in a roster differ from numbers of limiters.
 */
#include <string.h>

#include "torture_world.h"

#define JOINS_MOST  4
#define REPORT_NS   (200 * MS) /* mean time between reports of any limiter */
#define MEMBER_BORN 7000       /* for limiter 0 */

static uint32_t bit(unsigned i)
{
	return UINT32_C(1) << i;
}

static unsigned box_number(const struct world *w, const struct rates_node *box)
{
	return (unsigned)(box - w->boxes);
}

static bool is_member(const struct world *w, const struct rates_node *box, unsigned i)
{
	return i < w->n_founders || box->set & bit(i);
}

unsigned world_roster(const struct world *w, const struct rates_node *box,
	struct book_member members[TORTURE_LIMITERS], unsigned *self)
{
	const bool mints = w->c->broken == TORTURE_MINTING;
	unsigned n = 0;

	for (unsigned i = 0; i < w->n; i++) {
		if (!is_member(w, box, i))
			continue;
		if (i == box_number(w, box))
			*self = n;
		members[n++] = (struct book_member){.id = w->ids[i],
			.joined = i >= w->n_founders && !(mints && i == box_number(w, box)),
			.born = MEMBER_BORN + i};
	}
	return n;
}

unsigned world_number(const struct world *w, const struct rates_node *box, unsigned index)
{
	unsigned i = 0;

	for (;; i++)
		if (is_member(w, box, i) && index-- == 0)
			return i;
}

unsigned world_index(const struct world *w, const struct rates_node *box, unsigned number)
{
	unsigned n = 0;

	if (!is_member(w, box, number))
		return TORTURE_LIMITERS;
	for (unsigned i = 0; i < number; i++)
		n += is_member(w, box, i);
	return n;
}

unsigned world_number_of_edge(const struct world *w, const struct rates_node *box, unsigned edge)
{
	uint32_t id = conserve_book(box->c)->links[edge].id;
	unsigned i = 0;

	while (w->ids[i] != id)
		i++;
	return i;
}

/* Returns true if all members of its set have reported the same one to this start. */
static bool set_is_complete(const struct world *w, const struct rates_node *box)
{
	if (w->c->broken == TORTURE_INCOMPLETE)
		return true;
	for (unsigned i = 0; i < w->n; i++)
		if (i != box_number(w, box) && is_member(w, box, i) &&
			(!box->reported[i] || box->sets[i] != box->set))
			return false;
	return true;
}

void world_joins_tick(struct world *w, struct rates_node *box)
{
	if (w->c->joins)
		conserve_set_complete(box->c, set_is_complete(w, box));
}

void world_joins_start(struct world *w, struct rates_node *box, struct conserve_params *params)
{
	if (!w->c->joins)
		return;
	memset(box->reported, 0, sizeof(box->reported));
	params->n_members = world_roster(w, box, box->members, &params->self);
	params->members = box->members;
	params->incomplete = true;
	/* Without memory, it often gets the others' sets late. */
	w->silent |= params->recovering && !box->virgin && prng_percent(&w->joiner, 80);
}

void world_joins_forget(struct world *w, struct rates_node *box)
{
	if (!w->c->joins || !prng_percent(&w->joiner, box->lost ? 60 : 10))
		return;
	/* The file of its state directory. */
	box->set &= bit(box_number(w, box));
}

void world_joins_report(struct world *w, unsigned from, struct rates_node *box)
{
	const uint32_t set = w->boxes[from].set;
	struct book_member members[TORTURE_LIMITERS];
	unsigned n, self;
	int ret;

	box->sets[from] = set;
	/* A set that is older than the ledger is not reported as one. */
	box->reported[from] = !book_misses_member(conserve_book(w->boxes[from].c));
	if ((box->set | set) == box->set)
		return;
	box->set |= set;
	n = world_roster(w, box, members, &self);
	ret = conserve_regroup(box->c, members, n, self, world_clock(w, box));
	if (ret)
		torture_failed(w->result, "conserve_regroup", ret);
}

/* At times sets arrive quickly; at other times a recovery has to wait for them. */
static void report_sets(void *world, void *object, uint64_t argument)
{
	struct world *w = world;

	(void)object;
	(void)argument;
	if (!w->calm && prng_below(&w->joiner, 100) == 0)
		w->silent = !w->silent;
	for (unsigned k = 0; (!w->silent || w->calm) && k < w->n; k++) {
		struct rates_node *from = &w->boxes[prng_below(&w->joiner, w->n)];
		struct rates_node *to = &w->boxes[prng_below(&w->joiner, w->n)];

		if (from != to && from->up && to->up && !to->control_wakes &&
			w->sides[box_number(w, from)] == w->sides[box_number(w, to)])
			world_joins_report(w, box_number(w, from), to);
	}
	events_after(&w->events, prng_within(&w->joiner, 2 * REPORT_NS), report_sets, NULL, 0);
}

unsigned world_joins_init(struct world *w)
{
	w->n_founders = w->n;
	prng_seed(&w->joiner, w->c->seed ^ 0x10e2);
	if (!w->c->joins)
		return 0;
	events_at(&w->events, 0, report_sets, NULL, 0);
	return 1 + prng_below(&w->joiner, JOINS_MOST);
}
