/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the sums, the books and the buckets.
 */
#include "base/math.h"
#include "torture_world.h"

static void bucket_fill(struct bucket *b, uint64_t now)
{
	b->level += (level_t)(now - b->at_ns) * b->rate;
	if (b->level > b->most)
		b->level = b->most;
	b->at_ns = now;
}

void bucket_set(struct bucket *b, uint64_t now, uint64_t rate, uint64_t most)
{
	bucket_fill(b, now);
	b->rate = rate;
	b->most = (level_t)most * NANO;
	if (b->level > b->most)
		b->level = b->most;
}

static uint64_t burst_of(
	const struct world *w, const struct rates_node *box, const struct told *told)
{
	if (w->accounts > BURST)
		return told->amounts[BURST];
	return conserve_burst(box->c, RATE, w->burst, told->amounts[RATE]);
}

uint64_t world_tell(const struct world *w, const struct rates_node *box, struct told *told)
{
	uint64_t now = world_clock(w, box), end = now + w->lease, until;

	*told = (struct told){.limit = box->limit, .least = conserve_view(box->c, RATE, now).limit};
	for (unsigned a = 0; a < w->accounts; a++) {
		uint64_t after = conserve_limit(box->c, a, UINT64_MAX, NULL);
		uint8_t ending;

		told->amounts[a] = conserve_limit(box->c, a, now + w->lease / LEASE_AHEAD, &until);
		ending = expiry_ending(told->amounts[a], after);
		told->ending = ending > told->ending ? ending : told->ending;
		end = until < end ? until : end;
	}
	told->burst = burst_of(w, box, told);
	if (w->c->guarantee == TORTURE_LEVELS)
		told->amounts[RATE] = told->amounts[RATE] * box->part / WHOLE;
	return end;
}

void world_enforce(struct rates_node *box, uint64_t at)
{
	uint64_t burst = box->enforced.burst;

	bucket_set(&box->bucket, at, box->enforced.amounts[RATE],
		burst > box->withheld ? burst - box->withheld : 0);
}

static uint64_t box_share_of(const struct world *w, const struct rates_node *box, uint64_t limit)
{
	const unsigned i = (unsigned)(box - w->boxes);

	return i < w->n_founders ? conserve_share(&w->params.overlay, i, limit) : 0;
}

uint64_t world_total(const struct world *w, unsigned account)
{
	return account == RATE ? w->limit : w->burst;
}

uint64_t world_usable(const struct world *w, const struct rates_node *box, unsigned account)
{
	return conserve_limit(box->c, account, world_clock(w, box), NULL);
}

uint64_t world_enforced(const struct rates_node *box, unsigned account)
{
	return box->workers_wake ? 0 : box->enforced.amounts[account];
}

/*
 * Returns the enforced limit. After it falls, shares of the old limit count until the workers have
 * the new one.
 */
static uint64_t sum_limit_shares(const struct world *w)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct rates_node *box = &w->boxes[i];
		uint64_t now = box_share_of(w, box, box->limit);
		uint64_t taken = box->up ? box_share_of(w, box, box->limit_taken) : 0;

		/* Offers from before a change can be in flight. */
		if (world_loans_lend(w) && w->events.now_ns < box->was_until_ns)
			taken = max_u64(taken, box_share_of(w, box, box->was.limit));
		sum += (now > taken ? now : taken) + box->debt;
	}
	return sum;
}

/*
 * Returns the burst that all limiters can have together. Each divides it by the limit that it uses.
 * While they use different limits (in some, only the workers still do), that is at least the
 * smallest.
 */
static uint64_t max_joint_burst(const struct world *w, uint64_t bound)
{
	uint64_t least = w->limit;

	if (w->accounts > BURST)
		return w->burst;
	for (unsigned i = 0; i < w->n; i++) {
		const struct rates_node *box = &w->boxes[i];

		least = box->limit < least ? box->limit : least;
		if (box->up)
			least = box->enforced.least < least ? box->enforced.least : least;
		if (world_loans_lend(w) && w->events.now_ns < box->was_until_ns)
			least = min_u64(least, box->was.least);
	}
	return (uint64_t)(((level_t)w->burst * bound + least - 1) / least);
}

static const char *name_account(unsigned account)
{
	return account == RATE ? "rate" : "burst";
}

/* With damaged numbers of a neighbour, no limiter has more than the whole. */
static void check_each(struct world *w, unsigned account)
{
	for (unsigned i = 0; i < w->n; i++) {
		const struct rates_node *box = &w->boxes[i];
		uint64_t most = account == RATE ? max_u64(box->limit, box->limit_taken) : w->burst;

		if (!box->up)
			continue;
		if (world_usable(w, box, account) > most || world_enforced(box, account) > most)
			torture_complain(w->result, "%s: one has %llu of %llu",
				name_account(account),
				(unsigned long long)world_usable(w, box, account),
				(unsigned long long)most);
	}
}

static void check_torture_sum(struct world *w, unsigned account, uint64_t bound)
{
	const char *of = name_account(account);
	uint64_t sum = 0, enforced = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct rates_node *box = &w->boxes[i];

		if (!box->up)
			continue;
		sum += world_usable(w, box, account);
		enforced += world_enforced(box, account);
	}
	if (sum > bound)
		torture_complain(w->result, "%s: usable %llu of %llu", of, (unsigned long long)sum,
			(unsigned long long)bound);
	if (enforced > bound)
		torture_complain(w->result, "%s: enforced %llu of %llu", of,
			(unsigned long long)enforced, (unsigned long long)bound);
}

void world_check_sums(struct world *w)
{
	uint64_t bound = sum_limit_shares(w);

	w->result->checks++;
	for (unsigned a = 0; w->flips && a < w->accounts; a++)
		check_each(w, a);
	if (w->flips)
		return;
	check_torture_sum(w, RATE, bound);
	if (w->accounts > BURST)
		check_torture_sum(w, BURST, w->burst);
	bucket_set(&w->bound, w->events.now_ns, bound, max_joint_burst(w, bound));
}

/* Returns the edge of a limiter to another one, or their number. */
static unsigned edge_back_to(const struct world *w, const struct rates_node *box, unsigned self)
{
	unsigned e = 0;

	while (e < conserve_edges(box->c) && world_number_of_edge(w, box, e) != self)
		e++;
	return e;
}

/*
 * Asserts that each limiter has received no more over an edge than can have been granted, and that
 * its balance is right.
 */
static void check_account(struct world *w, struct rates_node *box, unsigned account)
{
	unsigned self = (unsigned)(box - w->boxes);
	struct conserve_view view = conserve_view(box->c, account, world_clock(w, box));
	int64_t balance = (int64_t)view.share, debt = (int64_t)view.promised - view.balance;

	debt = debt > 0 ? debt : 0;
	if (account == RATE)
		box->debt = (uint64_t)debt;
	if (debt > 0 && (!w->falls || account == BURST))
		torture_complain(w->result, "a debt of %lld", (long long)debt);
	for (unsigned e = 0; e < conserve_edges(box->c); e++) {
		struct conserve_edge_view mine = conserve_edge(box->c, account, e, 0);
		const struct rates_node *peer = &w->boxes[world_number_of_edge(w, box, e)];
		struct ledger_view its = {0};
		unsigned back;

		balance += (int64_t)mine.ledger.received - (int64_t)mine.ledger.granted;
		if (peer->lost || !peer->c)
			continue;
		back = edge_back_to(w, peer, self);
		if (back < conserve_edges(peer->c))
			its = conserve_edge(peer->c, account, back, 0).ledger;
		if (mine.ledger.received > its.locked)
			torture_complain(w->result, "received %llu of %llu",
				(unsigned long long)mine.ledger.received,
				(unsigned long long)its.locked);
	}
	if (balance != view.balance)
		torture_complain(w->result, "the books: %lld, not %lld", (long long)view.balance,
			(long long)balance);
}

void world_check_books(struct world *w, struct rates_node *box)
{
	for (unsigned a = 0; a < w->accounts && !w->flips; a++)
		check_account(w, box, a);
}

void world_spend(struct world *w, struct rates_node *box)
{
	if (box->workers_wake)
		return;
	bucket_fill(&box->bucket, w->events.now_ns);
	bucket_fill(&w->bound, w->events.now_ns);
	if (w->flips) {
		box->bucket.level = 0;
		return;
	}
	if (box->bucket.level > w->bound.level) {
		torture_complain(w->result, "admitted %llu beyond the limit",
			(unsigned long long)((box->bucket.level - w->bound.level) / NANO));
		return;
	}
	w->bound.level -= box->bucket.level;
	box->bucket.level = 0;
}

/*
 * Returns true if every amount is accounted for: no limiter is recovering, nothing is in flight,
 * and the whole can be used.
 */
static bool account_is_whole(const struct world *w, unsigned account, uint64_t *sum)
{
	bool whole = true;

	*sum = 0;
	for (unsigned i = 0; i < w->n; i++) {
		const struct rates_node *box = &w->boxes[i];
		struct conserve_view view = conserve_view(box->c, account, world_clock(w, box));

		whole = whole && !view.recovering && view.in_flight == 0 && view.balance >= 0;
		*sum += view.usable;
	}
	return whole && *sum == world_total(w, account);
}

/*
 * Checks between two moves, because some limiters never stop to move amounts. Once whole is enough.
 */
void world_look_for_rest(struct world *w)
{
	uint64_t sum;

	if (w->dead || w->events.now_ns <= w->end - (w->end - w->calm_ns) / 2)
		return;
	for (unsigned a = 0; a < w->accounts; a++)
		w->whole[a] = w->whole[a] || account_is_whole(w, a, &sum);
}

void world_count_passed(struct world *w)
{
	uint64_t now = w->events.now_ns,
		 from = w->passed_at > w->live_ns ? w->passed_at : w->live_ns;

	for (unsigned a = 0; a < w->accounts; a++) {
		struct passed *passed = &w->passed[a];

		if (now > from)
			passed->sum += (level_t)passed->rate * (now - from);
		passed->rate = 0;
		for (unsigned i = 0; i < w->n; i++)
			if (w->boxes[i].up)
				passed->rate += world_enforced(&w->boxes[i], a);
	}
	w->passed_at = now;
}

static void check_whole(struct world *w, unsigned account)
{
	uint64_t sum, all = world_total(w, account);

	if (w->whole[account] || account_is_whole(w, account, &sum))
		return;
	w->result->lost += all > sum ? all - sum : 0;
	torture_complain(w->result, "%s: %llu of %llu in the end", name_account(account),
		(unsigned long long)sum, (unsigned long long)all);
}

static void check_passed(struct world *w, unsigned account)
{
	uint64_t all = world_total(w, account), mean;

	mean = (uint64_t)(w->passed[account].sum / (w->passed_at - w->live_ns));
	if ((level_t)mean * 100 >= (level_t)all * PASSES)
		return;
	torture_complain(w->result, "%s: %llu of %llu pass when all is well again",
		name_account(account), (unsigned long long)mean, (unsigned long long)all);
}

void world_check_end(struct world *w)
{
	w->events.now_ns = w->end;
	world_count_passed(w);
	for (unsigned a = 0; a < w->accounts; a++) {
		check_whole(w, a);
		check_passed(w, a);
	}
}
