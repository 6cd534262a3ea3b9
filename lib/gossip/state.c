/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The estimator of groups up to about a hundred: for every policy and every limiter the newest
 * record. What travels is replaceable versioned state, so a datagram lost, late, repeated or
 * overtaken does no lasting harm, and a sum is over newest values, not over increments.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "gossip/mesh.h"

/*
 * Own records that a datagram carries although nothing changed: all of them come round now and
 * then.
 */
#define REFRESH 8

/*
 * Others of whom a datagram carries nothing but their tick. That is how a limiter hears of one
 * whose own datagrams do not reach it, for which a few seconds are soon enough.
 */
#define TICKS_ALONE 2

/* A change of this share of a value is sent at once; a smaller one waits for its refresh. */
#define CHANGED_ENOUGH (1.0f / 64)

struct entry {
	uint32_t version;
	float demand, weight;
	bool present;
	uint8_t fresh; /* datagrams that are still to carry it */
};

struct state {
	struct mesh mesh;
	struct entry *entries;     /* n_policies rows of n */
	struct entry *announced;   /* n_policies: our own, as last marked to be sent */
	unsigned own_at, relay_at; /* where the next datagram goes on */
};

static struct entry *entry_of(const struct gossip *g, unsigned policy, unsigned origin)
{
	const struct state *s = g->own;

	return &s->entries[(size_t)policy * g->roster->n + origin];
}

static int state_create(struct gossip *g, uint64_t now_ns)
{
	size_t m = (size_t)g->policies->n + 1;
	struct state *s = calloc(1, sizeof(*s));

	g->own = s;
	if (!s)
		return -ENOMEM;
	s->entries = calloc(m * g->roster->n, sizeof(*s->entries));
	s->announced = calloc(m, sizeof(*s->announced));
	if (!s->entries || !s->announced)
		return -ENOMEM;
	return mesh_create(&s->mesh, g, now_ns);
}

static void state_destroy(struct gossip *g)
{
	struct state *s = g->own;

	if (!s)
		return;
	mesh_destroy(&s->mesh);
	free(s->entries);
	free(s->announced);
	free(s);
}

/* Datagrams after which each peer has probably had a new value of ours twice. */
static uint8_t own_fresh(const struct gossip *g)
{
	unsigned n = 2 * (g->roster->n - 1);

	return (uint8_t)(n < UINT8_MAX ? n : UINT8_MAX);
}

/* A rumour spreads to N in about log2(N) rounds. */
static uint8_t relay_fresh(const struct gossip *g)
{
	unsigned rounds = 1;

	for (unsigned n = g->roster->n; n > 1; n >>= 1)
		rounds++;
	rounds *= g->branching;
	return (uint8_t)(rounds < UINT8_MAX ? rounds : UINT8_MAX);
}

static bool changed_enough(float from, float to)
{
	return fabsf(to - from) > CHANGED_ENOUGH * fmaxf(from, to);
}

static void state_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct state *s = g->own;
	struct entry *own = entry_of(g, policy, g->self), *told = &s->announced[policy];

	if (own->present && own->demand == demand && own->weight == weight)
		return;
	if (!own->present || changed_enough(told->demand, demand) ||
		changed_enough(told->weight, weight)) {
		own->fresh = own_fresh(g);
		*told = (struct entry){.demand = demand, .weight = weight};
	}
	own->present = true;
	own->version = g->tick + 1; /* it goes out with the next tick */
	own->demand = demand;
	own->weight = weight;
}

static struct datagram_record record_of(
	const struct gossip *g, unsigned policy, const struct entry *entry)
{
	return (struct datagram_record){
		.policy = g->policies->ids[policy],
		.version = entry->version,
		.demand = entry->demand,
		.weight = entry->weight,
	};
}

/* Those that changed, and a few that did not; goes on next time where the room ended. */
static uint16_t write_own(struct gossip *g, struct cursor *cursor)
{
	struct state *s = g->own;
	unsigned refresh = REFRESH, i = 0;
	uint16_t n = 0;

	for (; i < g->policies->n && cursor_left(cursor) >= DATAGRAM_RECORD; i++) {
		unsigned policy = (s->own_at + i) % g->policies->n;
		struct entry *own = entry_of(g, policy, g->self);
		struct datagram_record record;

		if (!own->present || (own->fresh == 0 && refresh == 0))
			continue;
		if (own->fresh)
			own->fresh--;
		else
			refresh--;
		record = record_of(g, policy, own);
		datagram_write_record(cursor, &record);
		n++;
	}
	if (g->policies->n)
		s->own_at = (s->own_at + (i < g->policies->n ? i : REFRESH)) % g->policies->n;
	return n;
}

static uint16_t write_relayed(struct gossip *g, struct cursor *cursor, unsigned origin)
{
	uint16_t n = 0;

	for (unsigned i = 0; i < g->policies->n && cursor_left(cursor) >= DATAGRAM_RECORD; i++) {
		struct entry *entry = entry_of(g, i, origin);
		struct datagram_record record;

		if (!entry->present || entry->fresh == 0)
			continue;
		entry->fresh--;
		record = record_of(g, i, entry);
		datagram_write_record(cursor, &record);
		n++;
	}
	return n;
}

/* One section; false when there is nothing in it but a tick, and that is not wanted. */
static bool write_section(struct gossip *g, struct cursor *cursor, unsigned origin, bool alone)
{
	const struct state *s = g->own;
	const struct peer *peer = &s->mesh.peers[origin];
	struct datagram_section section = {peer->id, peer->epoch, peer->tick, 0};
	struct cursor begin = *cursor;

	datagram_write_section(cursor, &section);
	section.n_records = write_relayed(g, cursor, origin);
	if (section.n_records == 0 && !alone) {
		*cursor = begin;
		return false;
	}
	datagram_write_section(&begin, &section);
	return true;
}

/* What we have heard of others, as far as the room goes; each gets its turn. */
static void write_sections(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct state *s = g->own;
	unsigned n = g->roster->n, alone = TICKS_ALONE, origin = s->relay_at;

	for (unsigned i = 0; i < n; i++, origin = (origin + 1) % n) {
		uint8_t *at = cursor->at;

		if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
			break;
		if (origin == g->self || origin == to || !s->mesh.peers[origin].alive ||
			!write_section(g, cursor, origin, alone > 0))
			continue;
		if (alone > 0 && cursor->at == at + DATAGRAM_SECTION) {
			alone--;
			s->relay_at = (origin + 1) % n;
		}
	}
	if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
		s->relay_at = origin;
}

static void state_forget(struct gossip *g, unsigned origin)
{
	for (unsigned i = 0; i < g->policies->n; i++)
		*entry_of(g, i, origin) = (struct entry){0};
}

static void take_record(struct gossip *g, unsigned origin, const struct datagram_record *record)
{
	unsigned policy = roster_find(g->policies, record->policy);
	struct entry *entry;

	if (policy == g->policies->n) {
		g->counters.unknown_policy++;
		return;
	}
	entry = entry_of(g, policy, origin);
	if (entry->present && !serial_newer(record->version, entry->version))
		return;
	*entry = (struct entry){
		.version = record->version,
		.demand = record->demand,
		.weight = record->weight,
		.present = true,
		.fresh = relay_fresh(g),
	};
}

static void take_records(struct gossip *g, struct cursor *cursor, unsigned n, unsigned origin)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (origin < g->roster->n)
			take_record(g, origin, &record);
	}
}

/* The origin whose records are to be taken, or none when they are not. */
static unsigned take_section(
	struct gossip *g, const struct datagram_section *section, uint64_t now_ns)
{
	unsigned n = g->roster->n, origin = roster_find(g->roster, section->origin);
	struct state *s = g->own;
	struct peer *peer;

	if (origin == n || origin == g->self || section->epoch == 0)
		return n;
	peer = &s->mesh.peers[origin];
	/* Hearsay may introduce a peer; only the peer itself can say that it has restarted. */
	if (!peer->known)
		estimator_believe(g, origin, section->epoch, section->tick, now_ns);
	if (peer->epoch != section->epoch)
		return n;
	peer_heard(peer, section->tick, now_ns);
	return origin;
}

static void state_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	take_records(g, &cursor, body->n_records, from);
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;

		datagram_read_section(&cursor, &section);
		take_records(g, &cursor, section.n_records, take_section(g, &section, now_ns));
	}
}

static bool records_valid(struct cursor *cursor, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (cursor->failed || !estimator_rate_valid(record.demand) ||
			!estimator_rate_valid(record.weight))
			return false;
	}
	return true;
}

static bool state_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	(void)g;
	if (!records_valid(&cursor, body->n_records))
		return false;
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;

		datagram_read_section(&cursor, &section);
		if (cursor.failed || !records_valid(&cursor, section.n_records))
			return false;
	}
	return true;
}

static struct gossip_sum state_sum(const struct gossip *g, unsigned policy)
{
	const struct state *s = g->own;
	struct gossip_sum sum = {0};

	for (unsigned i = 0; i < g->roster->n; i++) {
		const struct entry *entry = entry_of(g, policy, i);

		if (i == g->self)
			continue;
		if (!s->mesh.peers[i].alive || !entry->present) {
			sum.lost++;
			continue;
		}
		sum.weight += entry->weight;
		sum.demand += entry->demand;
	}
	return sum;
}

static void state_tick(struct gossip *g, uint64_t now_ns)
{
	struct state *s = g->own;

	mesh_tick(&s->mesh, g, now_ns);
}

static unsigned state_next(struct gossip *g)
{
	struct state *s = g->own;

	return mesh_next(&s->mesh, g);
}

static uint16_t state_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	uint16_t n = write_own(g, cursor);

	if (g->roster->n - 1 > g->branching)
		write_sections(g, cursor, to);
	return n;
}

static struct peer *state_find(const struct gossip *g, unsigned index)
{
	struct state *s = g->own;

	return &s->mesh.peers[index];
}

static struct peer *state_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	(void)now_ns;
	return state_find(g, index);
}

static unsigned state_alive(const struct gossip *g)
{
	const struct state *s = g->own;

	return mesh_alive(&s->mesh, g);
}

/* Each relays what it hears, but what counts is who hears whom, and that each finds by itself. */
static uint64_t state_spread(const struct gossip *g)
{
	(void)g;
	return 0;
}

const struct estimator estimator_state = {
	.create = state_create,
	.destroy = state_destroy,
	.set = state_set,
	.tick = state_tick,
	.next = state_next,
	.write = state_write,
	.find = state_find,
	.watched = state_find,
	.admit = state_admit,
	.forget = state_forget,
	.check = state_check,
	.take = state_take,
	.sum = state_sum,
	.alive = state_alive,
	.silence = mesh_silence,
	.spread = state_spread,
};
