/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Push-sum in three styles, see sums.h. For each policy a limiter holds a mass: demand, weight and
 * a push weight that begins as 1. The limiter adds changes of its own values to the mass. Each tick
 * it hands an equal share to each of `branching` peers and keeps one share. No exchange changes the
 * total of all masses, and all ratios of demand to push weight approach the average. So the sum is
 * the number of limiters times demand by push weight.
 *
 * The shares of a lost datagram are missing from the total. Section 4.2 of the paper compensates:
 * datagrams have a number for each receiver, and the newest is scaled by the number lost before it.
 * A datagram that arrives after that must not count again.
 *
 * The paper does not describe crashes: part of the mass of a dead limiter stays with the others,
 * and part of theirs is lost with it. So masses belong to a generation. A limiter that notices the
 * end of a holder of a mass begins the next generation with (own demand, own weight, 1). A limiter
 * that receives a newer generation does the same, and ignores shares of an older one. The same
 * replaces a mass that losses have worn away, or that compensation has blown up. Limiters that do
 * not count get no shares.
 *
 * With flow updating each edge has two totals: the mass handed to the peer, and the mass received
 * from it. Datagrams carry the first, and the receiver adds the growth since the second. So a lost,
 * late or repeated datagram does not change the total of all masses: its shares come with the next.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "gossip/mesh.h"
#include "sums/sums.h"

/* Body of a datagram of these estimators, after its fixed part (gossip/datagram.h). */

/* Returns the place of so many bytes and moves the cursor past them; NULL: they do not fit. */
static uint8_t *cursor_pass(struct cursor *cursor, size_t bytes)
{
	uint8_t *at = cursor->at;

	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

double share_narrow(double number)
{
	return (double)(float)number;
}

void sums_write_round(struct cursor *cursor, const struct sums_round *round)
{
	uint8_t *at = cursor_pass(cursor, 8);

	if (at)
		wire_put32(wire_put32(at, round->generation), round->sequence);
}

void sums_read_round(struct cursor *cursor, struct sums_round *round)
{
	const uint8_t *at = cursor_pass(cursor, 8);

	*round = (struct sums_round){0};
	if (at)
		*round = (struct sums_round){read_be32(at), read_be32(at + 4)};
}

static uint8_t *put_number(uint8_t *at, double number, bool total)
{
	float narrow = (float)number;
	uint32_t bits;

	if (total)
		return wire_put_double(at, number);
	memcpy(&bits, &narrow, sizeof(bits));
	return wire_put32(at, bits);
}

static double get_number(const uint8_t *at, bool total)
{
	uint32_t bits = read_be32(at);
	double number;
	float narrow;

	memcpy(&narrow, &bits, sizeof(narrow));
	if (!total)
		return (double)narrow;
	wire_get_double(at, &number);
	return number;
}

void sums_write_share(struct cursor *cursor, const struct sums_share *share, bool total)
{
	uint8_t *at = cursor_pass(cursor, total ? TOTAL_BYTES : SHARE_BYTES);

	if (!at)
		return;
	at = put_number(wire_put64(at, share->policy), share->push, total);
	put_number(put_number(at, share->demand, total), share->weight, total);
}

void sums_read_share(struct cursor *cursor, struct sums_share *share, bool total)
{
	size_t bytes = total ? 8 : 4;
	const uint8_t *at = cursor_pass(cursor, 8 + 3 * bytes);

	*share = (struct sums_share){0};
	if (!at)
		return;
	share->policy = read_be64(at);
	share->push = get_number(at + 8, total);
	share->demand = get_number(at + 8 + bytes, total);
	share->weight = get_number(at + 8 + 2 * bytes, total);
}

/*
 * Bounds of a push weight, which chance does not reach: it takes twenty ticks without a share. At a
 * bound a change of our own values is magnified by a million.
 */
#define PUSH_MAX 1048576.0
#define PUSH_MIN (1 / PUSH_MAX)

/* More datagrams lost in a row than this are an outage. The newest share is no estimate of it. */
#define COMPENSATED_MAX 16

/*
 * Generations that a group can begin while one of its limiters receives nothing. After a leap of
 * half of all numbers, the newest generation would count as the oldest.
 */
#define LEAP_MAX (UINT32_C(1) << 24)

enum style { PLAIN, COMPENSATED, TOTALS };

struct mass {
	double push, demand, weight;
};

struct sequence {
	uint32_t sent, received; /* datagrams with shares, in this generation */
	bool counted;            /* at the last tick */
};

struct push_sum {
	enum style style;
	struct mesh mesh;
	struct mass *own;           /* n_policies: as set; push is not used */
	struct mass *held;          /* n_policies */
	struct mass *share;         /* n_policies: for each peer of this tick */
	struct sequence *sequences; /* n */
	struct mass *given, *taken; /* n_policies rows of n: totals to and from each peer */
	uint32_t generation;
	bool joined; /* a peer has the same generation */
	unsigned at; /* policy with which the next datagram begins */
};

static void begin_generation(struct gossip *g, uint32_t generation)
{
	struct push_sum *s = g->own;
	size_t totals = (size_t)g->roster->n * g->policies->n;

	memset(s->given, 0, totals * sizeof(*s->given));
	memset(s->taken, 0, totals * sizeof(*s->taken));
	s->generation = generation;
	for (unsigned i = 0; i < g->policies->n; i++) {
		s->held[i] = (struct mass){1, s->own[i].demand, s->own[i].weight};
		s->share[i] = (struct mass){0};
	}
	for (unsigned i = 0; i < g->roster->n; i++)
		s->sequences[i].sent = s->sequences[i].received = 0;
}

static int create_style(struct gossip *g, uint64_t now_ns, enum style style)
{
	size_t m = (size_t)g->policies->n + 1;
	struct push_sum *s = calloc(1, sizeof(*s));

	g->own = s;
	if (!s)
		return -ENOMEM;
	s->style = style;
	s->given = calloc(g->roster->n * m, sizeof(*s->given));
	s->taken = calloc(g->roster->n * m, sizeof(*s->taken));
	s->own = calloc(m, sizeof(*s->own));
	s->held = calloc(m, sizeof(*s->held));
	s->share = calloc(m, sizeof(*s->share));
	s->sequences = calloc(g->roster->n, sizeof(*s->sequences));
	if (!s->own || !s->held || !s->share || !s->sequences || !s->given || !s->taken)
		return -ENOMEM;
	begin_generation(g, 0);
	return mesh_create(&s->mesh, g, now_ns);
}

static int push_sum_create(struct gossip *g, uint64_t now_ns)
{
	return create_style(g, now_ns, PLAIN);
}

static int compensated_create(struct gossip *g, uint64_t now_ns)
{
	return create_style(g, now_ns, COMPENSATED);
}

static int flow_updating_create(struct gossip *g, uint64_t now_ns)
{
	return create_style(g, now_ns, TOTALS);
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
	free(s->given);
	free(s->taken);
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

/* Begins again after the end of a limiter that has part of our mass, or whose mass we share. */
static void replace_mass_of(struct gossip *g, unsigned index)
{
	struct push_sum *s = g->own;

	if (s->sequences[index].sent > 0 || s->sequences[index].received > 0)
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

static void push_sum_tick(struct gossip *g, uint64_t now_ns)
{
	struct push_sum *s = g->own;
	double part;

	if (mesh_tick(&s->mesh, g, now_ns))
		note_losses(g);
	for (unsigned i = 0; i < g->policies->n; i++) {
		const struct mass *mass = &s->held[i];
		const bool sane = mass->push >= PUSH_MIN && mass->push <= PUSH_MAX &&
				  fabs(mass->demand) <= FLT_MAX && fabs(mass->weight) <= FLT_MAX;

		if (!sane)
			begin_generation(g, s->generation + 1);
	}
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

static void add_mass(struct mass *to, const struct mass *mass, double factor)
{
	to->push += factor * mass->push;
	to->demand += factor * mass->demand;
	to->weight += factor * mass->weight;
}

/* Moves the share of a peer from the held mass into the datagram, without an error of rounding. */
static void hand_over(struct gossip *g, struct cursor *cursor, unsigned policy, unsigned to)
{
	struct push_sum *s = g->own;
	struct mass *given = &s->given[(size_t)policy * g->roster->n + to];
	const struct mass *part = &s->share[policy];
	struct mass given_away = {
		share_narrow(part->push), share_narrow(part->demand), share_narrow(part->weight)};
	struct sums_share share = {
		g->policies->ids[policy], given_away.push, given_away.demand, given_away.weight};

	add_mass(&s->held[policy], &given_away, -1);
	add_mass(given, &given_away, 1);
	if (s->style == TOTALS)
		share = (struct sums_share){
			share.policy, given->push, given->demand, given->weight};
	sums_write_share(cursor, &share, s->style == TOTALS);
}

static uint16_t push_sum_write(
	struct gossip *g, struct cursor *cursor, unsigned to, uint8_t version)
{
	struct push_sum *s = g->own;
	struct sums_round round = {.generation = s->generation};
	size_t bytes = s->style == TOTALS ? TOTAL_BYTES : SHARE_BYTES;
	unsigned n = 0, m = g->policies->n;

	(void)version;
	if (!s->mesh.peers[to].alive) {
		sums_write_round(cursor, &round);
		return 0;
	}
	round.sequence = ++s->sequences[to].sent;
	sums_write_round(cursor, &round);
	for (; n < m && cursor_left(cursor) >= bytes; n++)
		hand_over(g, cursor, (s->at + n) % m, to);
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
	const struct push_sum *s = g->own;
	struct sums_round round;

	sums_read_round(&cursor, &round);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct sums_share share;

		sums_read_share(&cursor, &share, s->style == TOTALS);
		if (cursor.failed || !isfinite(share.push) || share.push < 0 ||
			!isfinite(share.demand) || !isfinite(share.weight))
			return false;
	}
	return !cursor.failed && cursor_left(&cursor) == 0;
}

/* By how much a datagram counts: 0 when its shares are void or a newer one has replaced them. */
static double factor_of(struct gossip *g, const struct sums_round *round, unsigned from)
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
	if (!serial_newer(round->sequence, sequence->received))
		return s->style == PLAIN ? 1 : 0;
	missed = round->sequence - sequence->received - 1;
	sequence->received = round->sequence;
	if (s->style != COMPENSATED)
		return 1;
	return 1 + (missed < COMPENSATED_MAX ? missed : COMPENSATED_MAX);
}

static void take_share(struct gossip *g, unsigned policy, unsigned from,
	const struct sums_share *share, double factor)
{
	struct push_sum *s = g->own;
	struct mass *taken = &s->taken[(size_t)policy * g->roster->n + from];
	struct mass mass = {share->push, share->demand, share->weight};

	if (s->style == TOTALS && factor == 0)
		return;
	if (s->style == TOTALS)
		add_mass(&mass, taken, -1);
	if (mass.push > PUSH_MAX || mass.push < 0 ||
		!estimator_plausible(g, g->roster->n, (float)mass.demand, (float)mass.weight)) {
		estimator_implausible(g, from);
		return;
	}
	if (s->style == TOTALS)
		add_mass(taken, &mass, 1);
	add_mass(&s->held[policy], &mass, factor);
}

static void push_sum_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct push_sum *s = g->own;
	bool totals = s->style == TOTALS;
	struct sums_round round;
	double factor;

	(void)now_ns;
	sums_read_round(&cursor, &round);
	factor = factor_of(g, &round, from);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct sums_share share;
		unsigned policy;

		sums_read_share(&cursor, &share, totals);
		policy = id_table_find(g->policies, share.policy);
		if (policy == g->policies->n) {
			g->counters.unknown_policy++;
			continue;
		}
		take_share(g, policy, from, &share, factor);
	}
}

static unsigned push_sum_alive(const struct gossip *g)
{
	const struct push_sum *s = g->own;

	return s->mesh.n_active;
}

static unsigned push_sum_silent(const struct gossip *g)
{
	const struct push_sum *s = g->own;

	return mesh_n_silent(&s->mesh, g);
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

/* A mass that has been handed on counts everywhere, with values or without. */
static bool push_sum_has_record(const struct gossip *g, unsigned policy)
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
	struct mass *given = remap_rows(map, s->given, g->roster->n * sizeof(*given));
	struct mass *taken = remap_rows(map, s->taken, g->roster->n * sizeof(*taken));

	if (!own || !held || !share || !given || !taken) {
		free(own);
		free(held);
		free(share);
		free(given);
		free(taken);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < map->n; i++)
		if (map->from[i] == GOSSIP_ADDED)
			held[i].push = 1;
	free(s->own);
	free(s->held);
	free(s->share);
	free(s->given);
	free(s->taken);
	s->own = own;
	s->held = held;
	s->share = share;
	s->given = given;
	s->taken = taken;
	s->at = 0;
	return 0;
}

#define ESTIMATOR(creates)                                                                 \
	{                                                                                  \
		.create = creates, .destroy = push_sum_destroy, .set = push_sum_set,       \
		.tick = push_sum_tick, .next = push_sum_next, .write = push_sum_write,     \
		.find = push_sum_find, .watched = push_sum_find, .admit = push_sum_admit,  \
		.forget = push_sum_forget, .check = push_sum_check, .take = push_sum_take, \
		.sum = push_sum_sum, .alive = push_sum_alive, .silent = push_sum_silent,   \
		.silence = mesh_timeout_ns, .spread = push_sum_spread,                     \
		.has_record = push_sum_has_record, .update = push_sum_update,              \
	}

const struct estimator estimator_push_sum = ESTIMATOR(push_sum_create);
const struct estimator estimator_compensated = ESTIMATOR(compensated_create);
const struct estimator estimator_flow_updating = ESTIMATOR(flow_updating_create);
