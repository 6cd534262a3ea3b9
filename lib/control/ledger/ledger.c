/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The part that one limiter holds of a total.
 */
#include "ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_private.h"

#define MILLION 1000000

/*
 * Returns the wait in ns on a clock that can be fast, so that a lease has ended on one that can be
 * slow: rounded up. A wait that does not fit never ends.
 */
static uint64_t lease_wait_ns(uint64_t lease_ns, uint32_t drift_ppm)
{
	unsigned __int128 num = (unsigned __int128)lease_ns * (MILLION + drift_ppm);
	unsigned __int128 wait = (num + MILLION - drift_ppm - 1) / (MILLION - drift_ppm);

	return wait > UINT64_MAX ? UINT64_MAX : (uint64_t)wait;
}

static bool ledger_params_valid(const struct ledger_params *params)
{
	return params->share <= LEDGER_MOST && params->lease_ns <= LEDGER_MOST &&
	       params->drift_ppm < MILLION && params->epoch > 0 && params->epoch <= LEDGER_MOST &&
	       params->most <= LEDGER_MOST && params->n_added <= params->n_edges &&
	       (params->friend == LEDGER_NOBODY || params->friend < params->n_edges);
}

int ledger_create(const struct ledger_params *params, uint64_t now_ns, struct ledger **out)
{
	struct ledger *l;

	if (!ledger_params_valid(params))
		return -EINVAL;
	l = calloc(1, sizeof(*l) + (size_t)params->n_edges * sizeof(l->edges[0]));
	if (!l)
		return -ENOMEM;
	l->share = params->share;
	l->epoch = l->first_epoch = params->epoch;
	l->word = params->word;
	l->most = params->most ? max_u64(params->most, params->share) : LEDGER_MOST;
	l->lease_ns = params->lease_ns;
	l->patience_ns = lease_wait_ns(params->lease_ns, params->drift_ppm);
	l->friend = params->friend;
	l->n_edges = params->n_edges;
	l->n_first = params->n_edges - params->n_added;
	l->recovering = params->recovering;
	l->incomplete = params->incomplete;
	l->mute = l->word && !l->recovering;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].reported.at_ns = now_ns;
	if (!l->recovering) {
		l->balance = (int64_t)l->share;
		l->dirty = true;
	} else if (l->n_edges == 0) {
		recovering_ends(l);
	}
	*out = l;
	return 0;
}

void ledger_destroy(struct ledger *l)
{
	free(l);
}

int ledger_make_room(struct ledger **l, uint32_t n_edges)
{
	struct ledger *larger;

	if (n_edges <= (*l)->n_edges)
		return 0;
	larger = realloc(*l, sizeof(*larger) + (size_t)n_edges * sizeof(larger->edges[0]));
	if (!larger)
		return -ENOMEM;
	*l = larger;
	return 0;
}

void ledger_add_edge(struct ledger *l, uint64_t now_ns)
{
	l->edges[l->n_edges++] = (struct ledger_edge){.reported.at_ns = now_ns};
	l->dirty |= !l->recovering;
}

bool ledger_set_complete(struct ledger *l, bool complete)
{
	l->incomplete = !complete;
	return l->recovering && recovering_ends(l);
}

void ledger_lose(struct ledger *l)
{
	if (l->recovering)
		return;
	l->recovering = true;
	l->balance = 0;
	l->spent = 0;
	l->epoch = max_u64(l->epoch, l->denied_epoch) + 1;
	l->mute = l->word != 0;
	l->saving = l->dirty = false;
	for (uint32_t i = 0; i < l->n_edges; i++) {
		struct ledger_edge *e = &l->edges[i], lost = {.sent_stamp = e->sent_stamp,
							      .reported = e->reported,
							      .life = e->life};

		lost.reported.granted = lost.reported.received = lost.reported.promised = 0;
		lost.now.least_epoch = lost.saved.least_epoch = lost.committed.least_epoch =
			e->now.least_epoch;
		*e = lost;
	}
}

void ledger_loss_committed(struct ledger *l)
{
	if (l->recovering)
		l->mute = false;
}

void ledger_continue(struct ledger *l, const struct ledger *previous)
{
	l->count = previous->count;
	l->saved_count = previous->saved_count;
	l->epoch = max_u64(l->epoch, previous->epoch);
	l->first_epoch = previous->first_epoch;
	l->mute = previous->mute;
	l->ahead_ns = previous->ahead_ns;
	memcpy(l->lives, previous->lives, sizeof(l->lives));
	for (uint32_t i = 0; i < l->n_edges && i < previous->n_edges; i++) {
		const struct ledger_edge *from = &previous->edges[i];
		struct ledger_edge *e = &l->edges[i];

		e->sent_stamp = from->sent_stamp;
		e->asked = from->asked;
		e->was_asked = from->was_asked;
		e->life = from->life;
		e->now.least_epoch = from->now.least_epoch;
		e->saved.least_epoch = from->saved.least_epoch;
		e->committed.least_epoch = from->committed.least_epoch;
		if (from->reported.epoch == 0)
			continue; /* recovering: its next statement has all */
		e->reported.epoch = from->reported.epoch;
		e->reported.stamp = from->reported.stamp;
		e->reported.word = from->reported.word;
		e->reported.count = from->reported.count;
	}
}

uint64_t ledger_count(const struct ledger *l)
{
	return l->count;
}

bool ledger_is_mute(const struct ledger *l)
{
	return l->mute;
}

void ledger_raise_most(struct ledger *l, uint64_t most)
{
	l->most = max_u64(l->most, min_u64(most, LEDGER_MOST));
}

bool ledger_recovering(const struct ledger *l)
{
	return l->recovering;
}

bool ledger_is_echoed(const struct ledger *l, const struct ledger_statement *statement)
{
	return statement->echo_epoch == l->epoch;
}

uint64_t ledger_share(const struct ledger *l)
{
	return l->share;
}

int64_t ledger_balance(const struct ledger *l)
{
	return l->balance;
}

static uint64_t above_zero(__int128 amount)
{
	return amount > 0 ? (uint64_t)amount : 0;
}

/* Returns the amount that the neighbour at the end of this edge can take of the balance. */
static uint64_t edge_promised(const struct ledger_edge *e)
{
	uint64_t lock = edge_lock(e);

	return lock > e->now.granted ? lock - e->now.granted : 0;
}

uint64_t ledger_usable(const struct ledger *l, uint64_t now_ns, uint64_t *until_ns)
{
	__int128 left = l->balance;
	uint64_t until = UINT64_MAX;

	for (uint32_t i = 0; i < l->n_edges; i++) {
		const struct ledger_edge *e = &l->edges[i];

		if (now_ns >= e->leased_ns)
			left -= edge_promised(e);
		else if (edge_promised(e) > 0 && e->leased_ns < until)
			until = e->leased_ns;
	}
	if (until_ns)
		*until_ns = until;
	return above_zero(left);
}

uint64_t ledger_free(const struct ledger *l)
{
	__int128 left = l->balance;

	for (uint32_t i = 0; i < l->n_edges; i++)
		left -= edge_promised(&l->edges[i]);
	return above_zero(left);
}

/*
 * Units that have left are not given back. The allocator assigns later ones. If those were also
 * owed, they would go back and forth until the whole of an earlier, larger limit is paid.
 */
static void trim_inherited(struct ledger *l)
{
	uint64_t most = above_zero(l->balance);

	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].inherited = min_u64(l->edges[i].inherited, most);
}

int ledger_grant(struct ledger *l, uint32_t edge, uint64_t amount)
{
	struct ledger_edge *e = &l->edges[edge];

	if (l->recovering)
		return -EAGAIN;
	if (!edge_is_met(l, e))
		return -ENOTCONN;
	if (amount > ledger_free(l))
		return -EDQUOT;
	if (amount > LEDGER_MOST - e->now.promised)
		return -EOVERFLOW;
	if (amount == 0)
		return 0;
	l->balance -= (int64_t)amount;
	e->now.granted += amount;
	e->now.promised += amount;
	e->inherited -= amount < e->inherited ? amount : e->inherited;
	trim_inherited(l);
	l->dirty = true;
	return 0;
}

int ledger_spend(struct ledger *l, uint64_t units)
{
	if (l->recovering)
		return -EAGAIN;
	if (units > ledger_free(l))
		return -EDQUOT;
	if (units > LEDGER_MOST - l->spent)
		return -EOVERFLOW;
	l->balance -= (int64_t)units;
	l->spent += units;
	if (units > 0)
		l->dirty = true;
	return 0;
}

int ledger_refund(struct ledger *l, uint64_t units)
{
	if (l->recovering)
		return -EAGAIN;
	if (units > l->spent)
		return -EINVAL;
	if (l->balance + (__int128)units > (int64_t)LEDGER_MOST)
		return -EOVERFLOW;
	l->balance += (int64_t)units;
	l->spent -= units;
	if (units > 0)
		l->dirty = true;
	return 0;
}

uint64_t ledger_spent(const struct ledger *l)
{
	return l->spent;
}

int ledger_promise(struct ledger *l, uint64_t amount)
{
	struct ledger_edge *e;
	uint64_t others = 0;

	if (l->recovering)
		return -EAGAIN;
	if (l->friend == LEDGER_NOBODY)
		return -ENOENT;
	if (!edge_is_met(l, &l->edges[l->friend]))
		return -ENOTCONN;
	/* A previous backup neighbour can still use its promise. */
	for (uint32_t i = 0; i < l->n_edges; i++)
		others += i == l->friend ? 0 : edge_promised(&l->edges[i]);
	if ((__int128)amount + others > (l->balance > 0 ? l->balance : 0))
		return -EDQUOT;
	e = &l->edges[l->friend];
	if (amount > LEDGER_MOST - e->now.granted)
		return -EOVERFLOW;
	if (e->now.promised == e->now.granted + amount)
		return 0;
	e->now.promised = e->now.granted + amount;
	l->dirty = true;
	return 0;
}

/* Lowers promises to the balance. */
static void trim_promises(struct ledger *l)
{
	uint64_t left = l->balance > 0 ? (uint64_t)l->balance : 0;

	for (uint32_t i = 0; i < l->n_edges; i++) {
		struct ledger_terms *terms = &l->edges[i].now;

		if (terms->promised - terms->granted > left)
			terms->promised = terms->granted + left;
		left -= terms->promised - terms->granted;
	}
}

int ledger_set_share(struct ledger *l, uint64_t share)
{
	int64_t change;

	if (share > LEDGER_MOST)
		return -EINVAL;
	if (share == l->share)
		return 0;
	ledger_raise_most(l, share);
	if (!l->recovering) {
		change = (int64_t)share - (int64_t)l->share;
		if (l->balance + (__int128)change > (int64_t)LEDGER_MOST)
			return -EOVERFLOW;
		l->balance += change;
		trim_promises(l);
		trim_inherited(l);
		l->dirty = true;
	}
	l->share = share;
	return 0;
}

struct ledger_view ledger_view(const struct ledger *l, uint32_t edge)
{
	const struct ledger_edge *e = &l->edges[edge];
	uint64_t acked = e->reported.received;

	return (struct ledger_view){
		.granted = e->now.granted,
		.promised = e->now.promised,
		.received = e->received,
		.in_flight = e->now.granted > acked ? e->now.granted - acked : 0,
		.locked = max_u64(edge_lock(e), e->now.granted),
		.inherited = min_u64(e->inherited, above_zero(l->balance)),
		.met = edge_is_met(l, e),
		.known = e->reported.known,
		.count = e->life.count,
		.confirmed = e->confirmed,
		.denies = e->denials > 0,
		.received_ns = e->reported.at_ns,
	};
}
