/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The estimator of the paper (Raghavan et al., SIGCOMM 2007, after Kempe et al., FOCS 2003). For
 * each policy a limiter holds a mass: demand, weight and a push weight that begins as 1. Changes of
 * its own are added to it; each tick it hands an equal share to each of `branching` peers and keeps
 * one. No exchange changes the total over all, and everybody's ratio tends to the average, so the
 * sum is the number of limiters times demand by push weight.
 *
 * What a lost datagram carried is gone, and the total with it. Section 4.2 compensates: datagrams
 * are numbered for each receiver, and the newest is scaled by the number lost before it, which is
 * right on average. One that comes late after all has been made up for, and must not count twice.
 *
 * Where the paper says nothing: a limiter that crashes leaves part of its mass with the others for
 * ever, and takes part of theirs. So masses belong to a generation. Who notices that a holder of a
 * mass is gone begins the next: (own demand, own weight, 1). Who hears of a newer generation does
 * the same; shares of an older one are void. The same cures a mass that losses have worn away, or
 * compensation has blown up. Limiters that do not count get no shares, as these would be lost.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "gossip/mesh.h"

/*
 * Bounds of a push weight. Chance alone does not lead there (twenty ticks without a share from
 * anybody); beyond, a change of our own would be magnified by a million.
 */
#define PUSH_MAX 1048576.0
#define PUSH_MIN (1 / PUSH_MAX)

/* More lost in a row than this is an outage, of which the newest share says little. */
#define COMPENSATED_MAX 16

/*
 * Generations that a group can go on by while a limiter that is in it hears nothing. A leap of half
 * of all would make the newest the oldest for whoever has not heard of it.
 */
#define LEAP_MAX (UINT32_C(1) << 24)

struct mass {
	double push, demand, weight;
};

struct sequence {
	uint32_t sent, heard; /* datagrams with shares, in this generation */
	bool counted;         /* as of the last tick */
};

struct push_sum {
	struct mesh mesh;
	struct mass *own;           /* n_policies: as set; push is not used */
	struct mass *held;          /* n_policies */
	struct mass *share;         /* n_policies: what each peer of this tick gets */
	struct sequence *sequences; /* n */
	uint32_t generation;
	bool joined; /* it is that of a peer too */
	unsigned at; /* policy with which the next datagram begins */
};

static void begin_generation(struct gossip *g, uint32_t generation)
{
	struct push_sum *s = g->own;

	s->generation = generation;
	for (unsigned i = 0; i < g->policies->n; i++) {
		s->held[i] = (struct mass){1, s->own[i].demand, s->own[i].weight};
		s->share[i] = (struct mass){0};
	}
	for (unsigned i = 0; i < g->roster->n; i++)
		s->sequences[i].sent = s->sequences[i].heard = 0;
}

static int push_sum_create(struct gossip *g, uint64_t now_ns)
{
	size_t m = (size_t)g->policies->n + 1;
	struct push_sum *s = calloc(1, sizeof(*s));

	g->own = s;
	if (!s)
		return -ENOMEM;
	s->own = calloc(m, sizeof(*s->own));
	s->held = calloc(m, sizeof(*s->held));
	s->share = calloc(m, sizeof(*s->share));
	s->sequences = calloc(g->roster->n, sizeof(*s->sequences));
	if (!s->own || !s->held || !s->share || !s->sequences)
		return -ENOMEM;
	begin_generation(g, 0);
	return mesh_create(&s->mesh, g, now_ns);
}

static void push_sum_destroy(struct gossip *g)
{
	struct push_sum *s = g->own;

	if (!s)
		return;
	mesh_destroy(&s->mesh);
	free(s->own);
	free(s->held);
	free(s->share);
	free(s->sequences);
	free(s);
}

static void push_sum_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct push_sum *s = g->own;
	struct mass *own = &s->own[policy], *held = &s->held[policy];

	held->demand += demand - own->demand;
	held->weight += weight - own->weight;
	own->demand = demand;
	own->weight = weight;
}

/* One is gone: all begin again, if it has part of our mass, or we of its. */
static void replace_mass_of(struct gossip *g, unsigned index)
{
	struct push_sum *s = g->own;

	if (s->sequences[index].sent > 0 || s->sequences[index].heard > 0)
		begin_generation(g, s->generation + 1);
}

static void note_losses(struct gossip *g)
{
	struct push_sum *s = g->own;

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		bool counts = s->mesh.peers[i].alive;

		if (s->sequences[i].counted && !counts)
			replace_mass_of(g, i);
		s->sequences[i].counted = counts;
	}
}

static bool mass_sane(const struct mass *mass)
{
	return mass->push >= PUSH_MIN && mass->push <= PUSH_MAX && fabs(mass->demand) <= FLT_MAX &&
	       fabs(mass->weight) <= FLT_MAX;
}

static void push_sum_tick(struct gossip *g, uint64_t now_ns)
{
	struct push_sum *s = g->own;
	double part;

	if (mesh_tick(&s->mesh, g, now_ns))
		note_losses(g);
	for (unsigned i = 0; i < g->policies->n; i++)
		if (!mass_sane(&s->held[i]))
			begin_generation(g, s->generation + 1);
	part = 1.0 / (s->mesh.to_send + 1);
	for (unsigned i = 0; i < g->policies->n; i++) {
		const struct mass *held = &s->held[i];

		s->share[i] = (struct mass){
			held->push * part, held->demand * part, held->weight * part};
	}
}

static unsigned push_sum_next(struct gossip *g)
{
	struct push_sum *s = g->own;

	return mesh_next(&s->mesh, g);
}

/* What is written is taken from what is held, to the last bit. */
static void hand_over(struct gossip *g, struct cursor *cursor, unsigned policy)
{
	struct push_sum *s = g->own;
	struct mass *held = &s->held[policy];
	const struct mass *part = &s->share[policy];
	struct datagram_share share = {g->policies->ids[policy], (float)part->push,
		(float)part->demand, (float)part->weight};

	datagram_write_share(cursor, &share);
	held->push -= share.push;
	held->demand -= share.demand;
	held->weight -= share.weight;
}

static uint16_t push_sum_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct push_sum *s = g->own;
	struct datagram_round round = {.generation = s->generation};
	unsigned n = 0, m = g->policies->n;

	if (!s->mesh.peers[to].alive) {
		datagram_write_round(cursor, &round);
		return 0;
	}
	round.sequence = ++s->sequences[to].sent;
	datagram_write_round(cursor, &round);
	for (; n < m && cursor_left(cursor) >= DATAGRAM_RECORD; n++)
		hand_over(g, cursor, (s->at + n) % m);
	if (m)
		s->at = (s->at + n) % m;
	return (uint16_t)n;
}

static struct peer *push_sum_find(const struct gossip *g, unsigned index)
{
	struct push_sum *s = g->own;

	return &s->mesh.peers[index];
}

static struct peer *push_sum_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	(void)now_ns;
	return push_sum_find(g, index);
}

static void push_sum_forget(struct gossip *g, unsigned index)
{
	replace_mass_of(g, index);
}

static bool push_sum_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	struct datagram_round round;

	(void)g;
	datagram_read_round(&cursor, &round);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_share share;

		datagram_read_share(&cursor, &share);
		if (cursor.failed || !estimator_rate_valid(share.push) || !isfinite(share.demand) ||
			!isfinite(share.weight))
			return false;
	}
	return !cursor.failed && cursor_left(&cursor) == 0;
}

/* By how much a datagram counts: 0 when its shares are void or have been made up for. */
static double factor_of(struct gossip *g, const struct datagram_round *round, unsigned from)
{
	struct push_sum *s = g->own;
	struct sequence *sequence = &s->sequences[from];
	uint32_t missed;

	if (serial_newer(round->generation, s->generation + LEAP_MAX) && s->joined) {
		estimator_implausible(g, from);
		return 0;
	}
	s->joined = true;
	if (serial_newer(round->generation, s->generation))
		begin_generation(g, round->generation);
	if (round->generation != s->generation || round->sequence == 0)
		return 0;
	if (!serial_newer(round->sequence, sequence->heard))
		return g->compensate ? 0 : 1;
	missed = round->sequence - sequence->heard - 1;
	sequence->heard = round->sequence;
	if (!g->compensate)
		return 1;
	return 1 + (missed < COMPENSATED_MAX ? missed : COMPENSATED_MAX);
}

static void push_sum_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct push_sum *s = g->own;
	struct datagram_round round;
	double factor;

	(void)now_ns;
	datagram_read_round(&cursor, &round);
	factor = factor_of(g, &round, from);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_share share;
		unsigned policy;

		datagram_read_share(&cursor, &share);
		policy = roster_find(g->policies, share.policy);
		if (policy == g->policies->n) {
			g->counters.unknown_policy++;
			continue;
		}
		if (share.push > PUSH_MAX ||
			!estimator_plausible(g, g->roster->n, share.demand, share.weight)) {
			estimator_implausible(g, from);
			continue;
		}
		s->held[policy].push += factor * share.push;
		s->held[policy].demand += factor * share.demand;
		s->held[policy].weight += factor * share.weight;
	}
}

static unsigned push_sum_alive(const struct gossip *g)
{
	const struct push_sum *s = g->own;

	return s->mesh.alive;
}

static unsigned push_sum_silent(const struct gossip *g)
{
	const struct push_sum *s = g->own;

	return mesh_silent(&s->mesh, g);
}

static struct gossip_sum push_sum_sum(const struct gossip *g, unsigned policy)
{
	const struct push_sum *s = g->own;
	const struct mass *held = &s->held[policy], *own = &s->own[policy];
	unsigned alive = push_sum_alive(g);
	double scale = (1 + alive) / held->push;

	return (struct gossip_sum){
		.weight = fmax(0, scale * held->weight - own->weight),
		.demand = fmax(0, scale * held->demand - own->demand),
		.lost = g->roster->n - 1 - alive,
	};
}

static uint64_t push_sum_spread(const struct gossip *g)
{
	(void)g;
	return 0;
}

/* A mass that has been handed on counts everywhere, whether it was of anything or not. */
static bool push_sum_said(const struct gossip *g, unsigned policy)
{
	(void)g;
	(void)policy;
	return true;
}

static int push_sum_update(struct gossip *g, const struct remap *map)
{
	struct push_sum *s = g->own;
	struct mass *own = remap_rows(map, s->own, sizeof(*own));
	struct mass *held = remap_rows(map, s->held, sizeof(*held));
	struct mass *share = remap_rows(map, s->share, sizeof(*share));

	if (!own || !held || !share) {
		free(own);
		free(held);
		free(share);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < map->n; i++)
		if (map->from[i] == GOSSIP_ADDED)
			held[i].push = 1;
	free(s->own);
	free(s->held);
	free(s->share);
	s->own = own;
	s->held = held;
	s->share = share;
	s->at = 0;
	return 0;
}

const struct estimator estimator_push_sum = {
	.create = push_sum_create,
	.destroy = push_sum_destroy,
	.set = push_sum_set,
	.tick = push_sum_tick,
	.next = push_sum_next,
	.write = push_sum_write,
	.find = push_sum_find,
	.watched = push_sum_find,
	.admit = push_sum_admit,
	.forget = push_sum_forget,
	.check = push_sum_check,
	.take = push_sum_take,
	.sum = push_sum_sum,
	.alive = push_sum_alive,
	.silent = push_sum_silent,
	.silence = mesh_silence,
	.spread = push_sum_spread,
	.said = push_sum_said,
	.update = push_sum_update,
};
