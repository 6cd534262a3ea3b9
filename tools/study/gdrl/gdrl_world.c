/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gdrl_world.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/prng.h"
#include "gdrl_post.h"
#include "ledger/ledger.h"

#define PACKET 1000.0 /* bytes: a packet a slot is GDRL_UNIT */

struct server {
	struct ledger *ledger;
	struct gdrl_neighbour *neighbours; /* by edge */
	unsigned n_edges;
	double demand, estimate; /* packets a slot */
};

struct gdrl_world {
	struct gdrl_case c;
	struct overlay *overlay;
	struct server *servers; /* by position */
	unsigned *position;     /* by the paper's number, from 1 */
	struct gdrl_post *post;
	struct prng arrivals, turns;
	uint64_t slot, share, grants, most_in_flight;
	int64_t held;
	uint64_t *amounts; /* amounts of a step, at most one for each edge */
	uint64_t now_ns;   /* clock of the ledgers: advances with every round of statements */
};

/* Servers are numbered in the order of their ids, and another seed has other ids. */
static uint32_t server_id(const struct gdrl_case *c, unsigned number)
{
	return (uint32_t)c->seed * 100003 % (UINT32_MAX - c->n) + number;
}

/* Returns i / (N + 1): GDRL, section III-A. */
static double first_demand(const struct gdrl_world *w, unsigned number)
{
	return number / (w->c.n + 1.0);
}

/*
 * GDRL, section III-B: reversed after one period and, during the third, slowly reversed back. (In
 * the paper's formula the two weights of the third are swapped; this follows its figure 5 and
 * text.)
 */
static double demand_at(const struct gdrl_world *w, unsigned number, uint64_t slot)
{
	double first = first_demand(w, number), part;

	if (w->c.period == 0 || slot < w->c.period || slot >= 3 * (uint64_t)w->c.period)
		return first;
	if (slot < 2 * (uint64_t)w->c.period)
		return 1 - first;
	part = (double)slot / w->c.period - 2;
	return part * first + (1 - part) * (1 - first);
}

static struct gdrl_self server_gdrl_self(
	const struct gdrl_world *w, const struct server *s, double demand)
{
	int64_t balance = ledger_balance(s->ledger);

	return (struct gdrl_self){
		.indicator = w->c.indicator,
		.measure = {.demand = demand * GDRL_UNIT,
			.capacity = (double)balance,
			.dropped = -1,
			.packet = PACKET},
		.degree = s->n_edges,
		.eta = w->c.eta,
		.held = balance > 0 ? (uint64_t)balance : 0,
		.free = ledger_free(s->ledger),
	};
}

static int create_server(struct gdrl_world *w, unsigned position, uint64_t share)
{
	struct server *s = &w->servers[position];
	struct ledger_params params = {.share = share,
		.n_edges = w->overlay->n_edges[position],
		.friend = LEDGER_NOBODY,
		.epoch = 1};
	unsigned number = w->overlay->ids[position] - server_id(&w->c, 0);

	w->position[number] = position;
	s->demand = first_demand(w, number);
	s->estimate = w->c.cold && w->c.alpha > 0 ? 0 : s->demand;
	s->n_edges = params.n_edges;
	s->neighbours = calloc(s->n_edges + 1, sizeof(*s->neighbours));
	if (!s->neighbours)
		return -ENOMEM;
	for (unsigned k = 0; k < s->n_edges; k++)
		s->neighbours[k].in_use = true;
	return ledger_create(&params, 0, &s->ledger);
}

static int create_gdrl_overlay(struct gdrl_world *w)
{
	struct overlay_params params = {
		.shape = w->c.ring ? OVERLAY_RING : OVERLAY_RANDOM,
		.n = w->c.n,
		.degree = w->c.degree,
	};
	uint32_t *ids = calloc(w->c.n, sizeof(*ids));
	int ret = -ENOMEM;

	for (unsigned i = 0; ids && i < w->c.n; i++)
		ids[i] = server_id(&w->c, i + 1);
	params.ids = ids;
	if (ids)
		ret = overlay_create(&params, &w->overlay);
	free(ids);
	return ret;
}

static int create_servers(struct gdrl_world *w)
{
	int ret = 0;

	w->servers = calloc(w->c.n, sizeof(*w->servers));
	w->position = calloc(w->c.n + 1, sizeof(*w->position));
	w->amounts = calloc(w->overlay->width, sizeof(*w->amounts));
	if (!w->servers || !w->position || !w->amounts)
		return -ENOMEM;
	for (unsigned p = 0; p < w->c.n && ret == 0; p++)
		ret = create_server(w, p, w->share);
	return ret;
}

int gdrl_world_create(const struct gdrl_case *c, struct gdrl_world **out)
{
	struct gdrl_world *w = calloc(1, sizeof(*w));
	int ret = 0;

	*out = w;
	if (!w)
		return -ENOMEM;
	w->c = *c;
	/* All begin with 1/N (equation 6); the demands' sum is n/2. */
	w->share = (uint64_t)((1 + c->headroom) / 2 * GDRL_UNIT);
	prng_seed(&w->arrivals, c->seed);
	prng_seed(&w->turns, c->seed + (UINT64_C(1) << 33));
	if (c->n == 0 || c->n > 1000000)
		ret = -EINVAL;
	if (ret == 0)
		ret = create_gdrl_overlay(w);
	if (ret == 0)
		ret = create_servers(w);
	if (ret == 0)
		ret = gdrl_post_create(c->delay, c->loss, c->seed, &w->post);
	if (ret) {
		gdrl_world_destroy(w);
		*out = NULL;
	}
	return ret;
}

void gdrl_world_destroy(struct gdrl_world *w)
{
	if (!w)
		return;
	for (unsigned p = 0; w->servers && p < w->c.n; p++) {
		ledger_destroy(w->servers[p].ledger);
		free(w->servers[p].neighbours);
	}
	free(w->servers);
	free(w->position);
	free(w->amounts);
	gdrl_post_destroy(w->post);
	overlay_destroy(w->overlay);
	free(w);
}

/* Draws arrivals, GDRL, section III-A: Bernoulli arrivals through a low-pass filter. */
static void draw_arrivals(struct gdrl_world *w)
{
	for (unsigned number = 1; number <= w->c.n; number++) {
		struct server *s = &w->servers[w->position[number]];

		s->demand = demand_at(w, number, w->slot);
		if (w->c.alpha > 0)
			s->estimate += w->c.alpha *
				       ((prng_unit(&w->arrivals) < s->demand) - s->estimate);
		else
			s->estimate = s->demand;
	}
}

/* Each limiter sends its state to all its neighbours. */
static int send_statements(struct gdrl_world *w)
{
	w->now_ns++;
	for (unsigned p = 0; p < w->c.n; p++) {
		struct server *s = &w->servers[p];
		struct gdrl_self self = server_gdrl_self(w, s, s->estimate);
		struct gdrl_message message = {.indicator = gdrl_state(&self)};

		for (unsigned k = 0; k < s->n_edges; k++) {
			message.to = overlay_edges(w->overlay, p)[k].peer;
			message.edge = overlay_edge_to(w->overlay, message.to, p);
			ledger_state(s->ledger, k, w->now_ns, &message.ledger);
			if (gdrl_post_send(w->post, w->slot, &message))
				return -ENOMEM;
		}
	}
	return 0;
}

static void hear_statements(struct gdrl_world *w)
{
	const struct gdrl_message *message;

	while ((message = gdrl_post_take(w->post, w->slot))) {
		struct server *s = &w->servers[message->to];
		enum ledger_verdict verdict = ledger_receive(
			s->ledger, message->edge, w->now_ns, &message->ledger);

		if (verdict == LEDGER_NEWS || verdict == LEDGER_HEARD)
			gdrl_receive(&s->neighbours[message->edge], &message->indicator);
	}
}

static int grant_to_neighbours(struct gdrl_world *w, struct server *s)
{
	struct gdrl_self self = server_gdrl_self(w, s, s->estimate);

	for (unsigned k = 0; k < s->n_edges; k++)
		s->neighbours[k].in_flight = ledger_view(s->ledger, k).in_flight;
	if (gdrl_step(&self, s->neighbours, s->n_edges, w->amounts) == 0)
		return 0;
	for (unsigned k = 0; k < s->n_edges; k++) {
		if (w->amounts[k] == 0)
			continue;
		if (ledger_grant(s->ledger, k, w->amounts[k]))
			return -EBADMSG;
		w->grants++;
	}
	return 0;
}

/* Commits immediately, because there are no workers and no disk. */
static void save_server_ledger(struct server *s)
{
	if (ledger_uncommitted(s->ledger) && ledger_save(s->ledger, NULL, NULL) == 0)
		ledger_committed(s->ledger);
}

static int act_on_servers(struct gdrl_world *w)
{
	int ret = 0;

	for (unsigned p = 0; p < w->c.n && ret == 0; p++) {
		if (w->c.rest > 0 && prng_unit(&w->turns) < w->c.rest)
			continue;
		ret = grant_to_neighbours(w, &w->servers[p]);
		save_server_ledger(&w->servers[p]);
	}
	return ret;
}

/* Checks that held amounts, plus granted ones in flight, equal the limit exactly. */
static int check_conservation(struct gdrl_world *w)
{
	__int128 held = 0, in_flight = 0;

	for (unsigned p = 0; p < w->c.n; p++) {
		held += ledger_balance(w->servers[p].ledger);
		for (unsigned k = 0; k < w->servers[p].n_edges; k++) {
			unsigned peer = overlay_edges(w->overlay, p)[k].peer;
			unsigned back = overlay_edge_to(w->overlay, peer, p);

			in_flight += ledger_view(w->servers[p].ledger, k).granted;
			in_flight -= ledger_view(w->servers[peer].ledger, back).received;
		}
	}
	if (in_flight < 0 || held + in_flight != (__int128)w->share * w->c.n)
		return -EBADMSG;
	w->held = (int64_t)held;
	if ((uint64_t)in_flight > w->most_in_flight)
		w->most_in_flight = (uint64_t)in_flight;
	return 0;
}

/*
 * If a statement takes less than a round, all limiters have all indicators before any grants, and
 * all granted amounts arrive before the next round (equation 7). Otherwise statements arrive late.
 */
int gdrl_world_step(struct gdrl_world *w)
{
	int ret = 0;

	w->slot++;
	draw_arrivals(w);
	if (w->c.delay == 0)
		ret = send_statements(w);
	hear_statements(w);
	if (ret == 0)
		ret = act_on_servers(w);
	if (ret == 0)
		ret = send_statements(w);
	if (w->c.delay == 0)
		hear_statements(w);
	return ret ? ret : check_conservation(w);
}

static const struct server *server_of(const struct gdrl_world *w, unsigned number)
{
	return &w->servers[w->position[number]];
}

static double q_of(const struct gdrl_world *w, const struct server *s, double demand)
{
	struct gdrl_self self = server_gdrl_self(w, s, demand);

	return self.indicator->value(&self.measure);
}

double gdrl_world_q(const struct gdrl_world *w, unsigned server)
{
	return q_of(w, server_of(w, server), server_of(w, server)->estimate);
}

double gdrl_world_demand(const struct gdrl_world *w, unsigned server)
{
	return server_of(w, server)->demand;
}

double gdrl_world_estimate(const struct gdrl_world *w, unsigned server)
{
	return server_of(w, server)->estimate;
}

/* Returns the index; 1 if all values are equal, even if all are 0. */
static double jain_index(double sum, double squares, unsigned n)
{
	return squares > 0 ? sum * sum / (n * squares) : 1;
}

double gdrl_world_jain(const struct gdrl_world *w)
{
	double sum = 0, squares = 0;

	for (unsigned p = 0; p < w->c.n; p++) {
		double q = q_of(w, &w->servers[p], w->servers[p].estimate);

		sum += q;
		squares += q * q;
	}
	return jain_index(sum, squares, w->c.n);
}

double gdrl_world_true_jain(const struct gdrl_world *w)
{
	double sum = 0, squares = 0;

	for (unsigned p = 0; p < w->c.n; p++) {
		double q = q_of(w, &w->servers[p], w->servers[p].demand);

		sum += q;
		squares += q * q;
	}
	return jain_index(sum, squares, w->c.n);
}

double gdrl_world_spread(const struct gdrl_world *w)
{
	double least = INFINITY, most = -INFINITY;

	for (unsigned p = 0; p < w->c.n; p++) {
		double q = q_of(w, &w->servers[p], w->servers[p].estimate);

		least = fmin(least, q);
		most = fmax(most, q);
	}
	return most - least;
}

struct gdrl_totals gdrl_world_totals(const struct gdrl_world *w)
{
	struct gdrl_totals totals = gdrl_post_totals(w->post);

	totals.grants = w->grants;
	totals.limit = w->share * w->c.n;
	totals.held = w->held;
	totals.in_flight = w->most_in_flight;
	return totals;
}
