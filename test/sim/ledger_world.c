/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ledgers in virtual time, on random connected graphs. Clocks are fast or slow and start anywhere.
 * Statements are lost, repeated, reordered and delayed without bound. There are partitions, crashes
 * at every point of saving, and restarts with the newest durable record or without one. Ledgers
 * grant, promise, inherit, spend and change shares. One seed is one run.
 *
 * On request limiters join. A joiner has a share of 0. Each limiter has a set of joiners, which
 * it reports to others, and an edge to each of them. Its set is complete when all
 * members of it have reported the same one. A limiter that loses its memory can lose its set, too.
 *
 * The world computes the true state of each ledger. For a running one it is the ledger's own state,
 * and for one that is down its newest durable record. For one without memory it is the neighbours'
 * state of their edges to it. After every step it checks:
 *
 *   - the books: balances + spent + sum over directed edges of (granted - received) = shares;
 *   - no ledger has received more than the other has granted, or promised and not yet taken back;
 *   - for rates, the sum of amounts that running ledgers can use, and that their workers still
 *     enforce, is within the sum of shares; for units, the sum of spendable and spent amounts is;
 *   - with debts, these sums are within the shares plus the debts. Debts arise only in seeds in
 *     which shares fall or neighbours lose their memory at the same time.
 *
 * In the end the network heals, and nothing is in flight, locked, or lost, exactly. Amounts that a
 * ledger spent before it lost its memory are forgotten, and so not part of the books, as
 * documented.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "ledger/ledger.h"
#include "worlds.h"

#define N_MAX      8
#define FLYING     2000
#define LATE       24
#define MILLION    1000000
#define LEASE      (UINT64_C(1000) * MILLION) /* a thousand ticks of a right clock */
#define RECORD_MAX 2048
#define NOTHING    0xff /* no statement begins like that */

struct books {
	int64_t balance;
	uint64_t spent, share;
	struct ledger_view edges[N_MAX];
};

struct node {
	struct ledger *l; /* NULL: it is down */
	bool lost;        /* its memory is lost, and not yet restored by neighbours */
	unsigned n_edges;
	unsigned n_first;     /* edges that it had at the start of the world */
	unsigned peer[N_MAX]; /* neighbour at the end of each edge */
	bool joined;
	bool virgin;          /* joined, and its first recovery has not ended */
	uint32_t set;         /* joiners, a bit for each node */
	uint32_t sets[N_MAX]; /* newest set that each node has reported to this start */
	bool reported[N_MAX]; /* one has */
	uint32_t friend;
	uint64_t share;
	uint64_t clock; /* at tick 0 */
	uint64_t pace;  /* ticks of its clock in a million true ones */
	enum { IDLE, SAVING, DURABLE } saving;
	uint8_t coming[RECORD_MAX], record[RECORD_MAX];
	size_t coming_len, record_len;                /* 0: there is no record */
	struct books coming_books, books, told_books; /* being saved, durable, committed */
	uint64_t enforced, enforced_until;            /* by the workers; end, by its clock */
};

struct flight {
	unsigned from, to;
	uint8_t bytes[LEDGER_STATEMENT_BYTES];
};

struct world {
	uint64_t seed, step, tick;
	struct prng prng, joiner; /* joins are drawn from a generator of their own */
	unsigned n, n_first;      /* n_first: without joiners */
	struct node nodes[N_MAX];
	struct flight flying[FLYING], late[LATE]; /* late: repeated much later */
	unsigned n_flying;
	uint64_t epoch;
	uint32_t drift_ppm;
	bool units; /* no lease, and units are spent */
	bool debts; /* debts can arise */
	bool crashes, forgets, splits, joins;
	bool reports;  /* nodes report their sets now */
	unsigned loss; /* in 100 */
	unsigned side[N_MAX];
	uint64_t adoptions, memory_losses, news, invalid, joined;
	bool failed;
};

static void complain_ledger_world(struct world *w, const char *what, __int128 got, __int128 limit)
{
	if (!w->failed)
		printf("seed %" PRIu64 " step %" PRIu64 ": %s: %" PRId64 ", expected %" PRId64 "\n",
			w->seed, w->step, what, (int64_t)got, (int64_t)limit);
	w->failed = true;
}

static uint64_t node_local_time(const struct world *w, const struct node *node)
{
	return node->clock + w->tick * node->pace;
}

static unsigned ledger_rand_below(struct world *w, unsigned n)
{
	return prng_below(&w->prng, n);
}

static bool ledger_chance(struct world *w, unsigned percent)
{
	return ledger_rand_below(w, 100) < percent;
}

/* Returns 0 to `most`: often all, nothing or one more than there is. */
static uint64_t random_amount(struct world *w, uint64_t most)
{
	switch (ledger_rand_below(w, 6)) {
	case 0:
		return most;
	case 1:
		return most + 1;
	case 2:
		return most < 3 ? most : ledger_rand_below(w, 3);
	default:
		return (uint64_t)(prng_unit(&w->prng) * (double)most);
	}
}

/* Returns the number of the edge to a peer, or n_edges. */
static unsigned edge_between(const struct node *node, unsigned peer)
{
	unsigned e = 0;

	while (e < node->n_edges && node->peer[e] != peer)
		e++;
	return e;
}

static void books_of(const struct node *node, struct books *books)
{
	books->balance = ledger_balance(node->l);
	books->spent = ledger_spent(node->l);
	books->share = node->share;
	for (unsigned e = 0; e < node->n_edges; e++)
		books->edges[e] = ledger_view(node->l, e);
}

/*
 * Computes the books of a node without memory from its neighbours' edges, with both sides swapped.
 */
static void books_of_lost(
	const struct world *w, unsigned i, const struct books *all, struct books *books)
{
	const struct node *node = &w->nodes[i];
	int64_t balance = (int64_t)node->share;

	*books = (struct books){.share = node->share};
	for (unsigned k = 0; k < w->n; k++) {
		const struct node *peer = &w->nodes[k];
		unsigned there = edge_between(peer, i), e = edge_between(node, k);
		const struct ledger_view *other = &all[k].edges[there];

		if (peer->lost || there == peer->n_edges)
			continue;
		balance += (int64_t)other->granted - (int64_t)other->received;
		if (e == node->n_edges)
			continue; /* the edge is lost, too */
		books->edges[e].granted = other->received;
		books->edges[e].locked = other->received;
		books->edges[e].received = other->granted;
	}
	books->balance = balance;
}

/* Returns the amount that node i has received over an edge of its peer. */
static uint64_t received_over(const struct world *w, const struct books *all, unsigned i,
	const struct ledger_view *edge, unsigned peer)
{
	unsigned there = edge_between(&w->nodes[i], peer);

	if (there < w->nodes[i].n_edges)
		return all[i].edges[there].received;
	return w->nodes[i].lost ? edge->granted : 0;
}

static void true_books(const struct world *w, struct books *all)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->nodes[i].lost)
			continue;
		if (w->nodes[i].l)
			books_of(&w->nodes[i], &all[i]);
		else
			all[i] = w->nodes[i].books;
	}
	for (unsigned i = 0; i < w->n; i++)
		if (w->nodes[i].lost)
			books_of_lost(w, i, all, &all[i]);
}

static void check_books(struct world *w, const struct books *all)
{
	__int128 sum = 0, shares = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct node *node = &w->nodes[i];

		sum += (__int128)all[i].balance + all[i].spent;
		shares += all[i].share;
		for (unsigned e = 0; e < node->n_edges; e++) {
			const struct ledger_view *mine = &all[i].edges[e];
			uint64_t taken = received_over(w, all, node->peer[e], mine, i);

			sum += (__int128)mine->granted - taken;
			if (taken > mine->locked && !node->lost)
				complain_ledger_world(w, "received beyond what was promised", taken,
					mine->locked);
		}
	}
	if (sum != shares)
		complain_ledger_world(w, "the books", sum, shares);
}

static uint64_t smaller_amount(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns by how much the balance is below the amounts that others can take of it. */
static uint64_t debt_of(const struct books *books, unsigned n_edges)
{
	__int128 left = books->balance;

	for (unsigned e = 0; e < n_edges; e++)
		left -= books->edges[e].locked - books->edges[e].granted;
	return left < 0 ? (uint64_t)-left : 0;
}

/*
 * Returns the debt of a node without memory. Amounts granted but not yet sent were never received.
 * Promised amounts can have been inherited; if debts can arise, the promiser can have used them,
 * too.
 */
static uint64_t debt_of_lost(const struct world *w, unsigned i, const struct books *all)
{
	__int128 left = w->nodes[i].share;

	for (unsigned k = 0; k < w->n; k++) {
		const struct node *other = &w->nodes[k];
		unsigned there = edge_between(other, i);
		const struct ledger_view *its = &all[k].edges[there];
		const struct ledger_view *told = &other->told_books.edges[there];

		if (there < other->n_edges && !other->lost)
			left += (__int128)(w->debts ? smaller_amount(its->granted, told->granted)
						    : smaller_amount(its->locked, told->locked)) -
				its->received;
	}
	return left < 0 ? (uint64_t)-left : 0;
}

static uint64_t enforced_units(const struct world *w, const struct node *node)
{
	uint64_t usable = ledger_usable(node->l, node_local_time(w, node), NULL);

	if (node_local_time(w, node) < node->enforced_until || usable > node->enforced)
		return node->enforced;
	return usable;
}

static void check_sums(struct world *w, const struct books *all)
{
	__int128 usable = 0, enforce = 0, spend = 0, shares = 0, debts = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct node *node = &w->nodes[i];

		shares += all[i].share;
		spend += all[i].spent;
		debts += node->lost ? debt_of_lost(w, i, all) : debt_of(&all[i], node->n_edges);
		if (!node->l)
			continue;
		usable += ledger_usable(node->l, node_local_time(w, node), NULL);
		enforce += enforced_units(w, node);
		spend += ledger_free(node->l);
	}
	if (debts > 0 && !w->debts)
		complain_ledger_world(w, "a debt", debts, 0);
	if (usable > shares + debts)
		complain_ledger_world(w, "usable", usable, shares + debts);
	if (enforce > shares + debts)
		complain_ledger_world(w, "enforced", enforce, shares + debts);
	if (spend > shares + debts)
		complain_ledger_world(w, "spent, and to be spent", spend, shares + debts);
}

static void check_ledger_world(struct world *w)
{
	static struct books all[N_MAX];

	true_books(w, all);
	check_books(w, all);
	check_sums(w, all);
}

static void publish_usable(struct world *w, struct node *node)
{
	node->enforced = ledger_usable(node->l, node_local_time(w, node), &node->enforced_until);
}

static void start_ledger_node(struct world *w, struct node *node, bool recovering)
{
	struct ledger_params params = {
		.share = node->share,
		.n_edges = node->n_edges,
		.n_added = node->n_edges - node->n_first,
		.friend = node->friend,
		.lease_ns = w->units ? 0 : LEASE,
		.drift_ppm = w->drift_ppm,
		.epoch = ++w->epoch,
		.word = (uint32_t)prng_next(&w->prng) | 1,
		.recovering = recovering,
		.incomplete = w->joins,
	};
	int ret;

	memset(node->reported, 0, sizeof(node->reported));
	/* Clocks start anywhere, also before that of the last start. */
	node->clock = prng_next(&w->prng) >> 4;
	node->clock >>= ledger_rand_below(w, 30);
	if (recovering || node->record_len == 0)
		ret = ledger_create(&params, node_local_time(w, node), &node->l);
	else
		ret = ledger_restore(&params, node->record, node->record_len,
			node_local_time(w, node), &node->l);
	if (ret)
		complain_ledger_world(w, "start", ret, 0);
	else if (!recovering && node->record_len)
		node->share = node->books.share; /* the record's, until it is set again */
	node->told_books = recovering || node->record_len == 0 ? (struct books){0} : node->books;
	node->lost = recovering && ledger_recovering(node->l);
	node->saving = IDLE;
	if (node->l)
		publish_usable(w, node);
}

static void save_ledger_node(struct world *w, struct node *node)
{
	if (ledger_save(node->l, node->coming, &node->coming_len)) {
		if (!node->lost && node->saving == IDLE)
			complain_ledger_world(w, "save", 0, 1);
		return;
	}
	if (node->coming_len > RECORD_MAX)
		abort();
	books_of(node, &node->coming_books);
	node->saving = SAVING;
}

static void make_ledger_durable(struct node *node)
{
	memcpy(node->record, node->coming, node->coming_len);
	node->record_len = node->coming_len;
	node->books = node->coming_books;
	node->saving = DURABLE;
}

/*
 * Next step of a save: begun, durable, committed; or failed, whether or not it has reached the
 * disk.
 */
static void go_on_saving(struct world *w, struct node *node)
{
	switch (node->saving) {
	case IDLE:
		save_ledger_node(w, node);
		break;
	case SAVING:
		if (ledger_chance(w, 90))
			make_ledger_durable(node);
		if (node->saving == DURABLE)
			break;
		if (ledger_chance(w, 50))
			make_ledger_durable(node);
		ledger_save_failed(node->l);
		node->saving = IDLE;
		break;
	case DURABLE:
		publish_usable(w, node);
		ledger_committed(node->l);
		node->told_books = node->coming_books;
		node->saving = IDLE;
		break;
	}
}

static void tell_ledger_edge(struct world *w, unsigned i, unsigned e)
{
	struct node *node = &w->nodes[i];
	struct ledger_statement s;
	struct flight *f;

	if (ledger_is_mute(node->l))
		return;
	ledger_state(node->l, e, node_local_time(w, node), &s);
	if (w->side[i] != w->side[node->peer[e]] || ledger_chance(w, w->loss))
		return;
	f = &w->flying[w->n_flying < FLYING ? w->n_flying++ : ledger_rand_below(w, FLYING)];
	f->from = i;
	f->to = node->peer[e];
	ledger_statement_write(&s, f->bytes);
	if (ledger_chance(w, 10))
		w->late[ledger_rand_below(w, LATE)] = *f;
}

/* Notes the end of a recovery. */
static void end_ledger_loss(struct world *w, struct node *node)
{
	if (!node->lost || ledger_recovering(node->l))
		return;
	w->memory_losses += !node->virgin;
	w->joined += node->virgin;
	node->lost = node->virgin = false;
	books_of(node, &node->told_books);
}

static void hear_ledger_flight(struct world *w, const struct flight *f)
{
	struct node *node = &w->nodes[f->to];
	unsigned edge = edge_between(node, f->from);
	struct ledger_statement s;
	enum ledger_verdict verdict;

	if (!node->l || edge == node->n_edges)
		return;
	if (ledger_statement_read(&s, f->bytes, sizeof(f->bytes))) {
		complain_ledger_world(w, "a statement that cannot be read", 1, 0);
		return;
	}
	verdict = ledger_receive(node->l, edge, node_local_time(w, node), &s);
	w->news += verdict == LEDGER_NEWS;
	if (verdict == LEDGER_INVALID || verdict == LEDGER_DENIED)
		complain_ledger_world(w, "a statement that is not accepted, from", f->from, -1);
	end_ledger_loss(w, node);
}

/* Delivers any message in flight, in any order; it can be repeated later. */
static void deliver_any_flight(struct world *w)
{
	struct flight f;
	unsigned k;

	if (ledger_chance(w, 4)) {
		f = w->late[ledger_rand_below(w, LATE)];
		if (f.bytes[0] != NOTHING)
			hear_ledger_flight(w, &f);
		return;
	}
	if (w->n_flying == 0)
		return;
	/* Mostly late ones; otherwise all delivered news would be old. */
	k = ledger_chance(w, 70)
		    ? w->n_flying - 1 - ledger_rand_below(w, w->n_flying < 6 ? w->n_flying : 6)
		    : ledger_rand_below(w, w->n_flying);
	f = w->flying[k];
	if (ledger_chance(w, 80))
		w->flying[k] = w->flying[--w->n_flying];
	hear_ledger_flight(w, &f);
}

/* Forgets the set of joiners with the memory, sometimes. Addresses of the others are in a file. */
static void forget_joiners(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	if (!w->joins || prng_below(&w->joiner, 2))
		return;
	node->set = node->joined ? UINT32_C(1) << i : 0;
	node->n_edges = node->joined ? w->n_first : node->n_first;
}

static void crash_ledger_node(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	bool others_lost = false;

	for (unsigned k = 0; k < w->n; k++)
		others_lost |= k != i && w->nodes[k].lost && !w->nodes[k].virgin;
	/* A node that is still recovering and crashes again is as lost as before. */
	if (!node->lost) {
		node->lost = w->forgets && ledger_chance(w, 40) && (w->debts || !others_lost);
		if (node->record_len == 0 && !node->lost && (w->debts || !others_lost))
			node->lost = true;
		else if (node->record_len == 0 && !node->lost)
			return;
	}
	if (node->lost && node->record_len > 0)
		forget_joiners(w, i);
	if (node->lost)
		node->record_len = 0;
	else
		node->share = node->books.share;
	ledger_destroy(node->l);
	node->l = NULL;
	node->saving = IDLE;
	node->enforced = 0;
}

static void inherit_from_edge(struct world *w, struct node *node, unsigned e)
{
	__int128 before = ledger_balance(node->l);
	uint64_t inheritable = ledger_inheritable(node->l, e, node_local_time(w, node));
	uint64_t taken = ledger_inherit(node->l, e, node_local_time(w, node));

	w->adoptions += taken > 0;
	if (taken != inheritable || ledger_balance(node->l) - before != taken)
		complain_ledger_world(w, "inherited", taken, inheritable);
	if (taken > 0)
		publish_usable(w, node); /* used immediately */
}

/* Advances to about the first tick at which an edge's timeout can end. */
static void wait_for_adoption(struct world *w, struct node *node, unsigned e)
{
	struct ledger_view view = ledger_view(node->l, e);
	uint64_t waited = node_local_time(w, node) - view.received_ns, pace = node->pace;
	uint64_t wait = w->units ? 0
				 : (LEASE * (MILLION + w->drift_ppm) + MILLION - w->drift_ppm - 1) /
					   (MILLION - w->drift_ppm);

	if (waited < wait)
		w->tick += (wait - waited + pace - 1) / pace;
	if (ledger_chance(w, 30) && w->tick > 0)
		w->tick += ledger_rand_below(w, 3);
	check_ledger_world(w);
	inherit_from_edge(w, node, e);
}

static void set_share(struct world *w, struct node *node)
{
	uint64_t share = w->debts ? random_amount(w, 1000)
				  : node->share + ledger_rand_below(w, 100);

	if (node->lost || node->joined || ledger_set_share(node->l, share))
		return;
	node->share = share;
	publish_usable(w, node);
}

static void restart_ledger_node(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	start_ledger_node(w, node, node->lost || node->record_len == 0);
}

static void act_on(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];
	unsigned e = ledger_rand_below(w, node->n_edges);
	uint64_t most = ledger_balance(node->l) > 0 ? (uint64_t)ledger_balance(node->l) : 0;

	switch (ledger_rand_below(w, 16)) {
	case 0:
	case 1:
		ledger_grant(node->l, e, random_amount(w, ledger_free(node->l)));
		break;
	case 2:
		ledger_promise(node->l, random_amount(w, most));
		break;
	case 3:
		if (w->units)
			ledger_spend(node->l, random_amount(w, ledger_free(node->l) / 8));
		break;
	case 4:
		inherit_from_edge(w, node, e);
		break;
	case 5:
		publish_usable(w, node);
		break;
	case 6:
		if (ledger_chance(w, 20))
			set_share(w, node);
		break;
	case 7:
		if (ledger_chance(w, 30))
			wait_for_adoption(w, node, e);
		break;
	case 8:
		if (w->crashes && ledger_chance(w, 15))
			crash_ledger_node(w, i);
		break;
	case 9:
	case 10:
	case 11:
		go_on_saving(w, node);
		break;
	default:
		for (e = 0; e < node->n_edges; e++)
			tell_ledger_edge(w, i, e);
	}
}

/* --- joins ----------------------------------------------------------------------------------- */

/* Adds an edge to a member of the set. Without a running ledger it is added at the start. */
static void learn_joiner(struct world *w, unsigned i, unsigned joiner)
{
	struct node *node = &w->nodes[i];

	node->set |= UINT32_C(1) << joiner;
	if (i == joiner || edge_between(node, joiner) < node->n_edges)
		return;
	if (node->l && ledger_make_room(&node->l, node->n_edges + 1))
		abort();
	if (node->l)
		ledger_add_edge(node->l, node_local_time(w, node));
	node->peer[node->n_edges++] = joiner;
}

/* Lets a limiter join, with edges to the first ones. One of the others adds it to its set. */
static void add_ledger_joiner(struct world *w)
{
	unsigned i = w->n++;
	struct node *node = &w->nodes[i];

	node->joined = node->virgin = node->lost = true;
	node->pace = MILLION;
	node->friend = prng_below(&w->joiner, w->n_first);
	for (unsigned k = 0; k < w->n_first; k++)
		node->peer[node->n_edges++] = k;
	learn_joiner(w, i, i);
	learn_joiner(w, prng_below(&w->joiner, i), i);
	start_ledger_node(w, node, true);
}

/* Node `from` reports its set to another one, which merges it. */
static void report_set(struct world *w, unsigned from, unsigned to)
{
	struct node *node = &w->nodes[to];
	uint32_t set = w->nodes[from].set;

	if (from == to || !node->l || !w->nodes[from].l || w->side[from] != w->side[to])
		return;
	node->sets[from] = set;
	node->reported[from] = true;
	for (unsigned k = w->n_first; k < w->n; k++)
		if (set >> k & 1)
			learn_joiner(w, to, k);
}

/* Returns true if all members of its set have reported the same set to this start. */
static bool set_is_confirmed(const struct world *w, unsigned i)
{
	const struct node *node = &w->nodes[i];

	for (unsigned k = 0; k < w->n; k++) {
		bool member = k < w->n_first || node->set >> k & 1;

		if (k != i && member && (!node->reported[k] || node->sets[k] != node->set))
			return false;
	}
	return true;
}

/* Lets a recovery end if the set is complete. */
static void use_confirmed_set(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	if (!node->l)
		return;
	ledger_set_complete(node->l, set_is_confirmed(w, i));
	end_ledger_loss(w, node);
}

static void act_on_joins(struct world *w)
{
	if (w->n < N_MAX && prng_below(&w->joiner, 100) == 0)
		add_ledger_joiner(w);
	/* At times sets arrive quickly; at other times a recovery has to wait for them. */
	w->reports ^= prng_below(&w->joiner, 300) == 0;
	for (unsigned k = 0; w->reports && k < w->n; k++)
		report_set(w, prng_below(&w->joiner, w->n), prng_below(&w->joiner, w->n));
	use_confirmed_set(w, prng_below(&w->joiner, w->n));
}

static void act_ledger_world(struct world *w)
{
	unsigned i = ledger_rand_below(w, w->n);

	if (w->joins)
		act_on_joins(w);

	w->tick += ledger_rand_below(w, 4) ? ledger_rand_below(w, 10) : ledger_rand_below(w, 500);
	if (w->splits && ledger_chance(w, 2))
		w->side[ledger_rand_below(w, w->n)] ^= 1;
	if (w->nodes[i].l)
		act_on(w, i);
	else if (ledger_chance(w, 15))
		restart_ledger_node(w, i);
	for (unsigned k = ledger_rand_below(w, 4); k > 0 && !w->failed; k--) {
		check_ledger_world(w);
		deliver_any_flight(w);
	}
}

/* Commits, and sends statements to all neighbours. */
static void round_of(struct world *w, unsigned i)
{
	struct node *node = &w->nodes[i];

	for (unsigned k = 0; k < 4 && (k == 0 || node->saving != IDLE); k++)
		go_on_saving(w, node);
	for (unsigned e = 0; e < node->n_edges; e++)
		tell_ledger_edge(w, i, e);
}

static void check_healed(struct world *w)
{
	__int128 sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct node *node = &w->nodes[i];

		if (ledger_recovering(node->l))
			complain_ledger_world(w, "still blank after healing: node", i, -1);
		sum += (__int128)ledger_balance(node->l) + ledger_spent(node->l) - node->share;
		for (unsigned e = 0; e < node->n_edges; e++) {
			const struct node *other = &w->nodes[node->peer[e]];
			struct ledger_view mine = ledger_view(node->l, e);
			struct ledger_view its = ledger_view(other->l, edge_between(other, i));

			if (!mine.met)
				complain_ledger_world(w, "an edge that is not met", 0, 1);
			if (mine.granted != its.received || mine.in_flight != 0)
				complain_ledger_world(
					w, "in flight after healing", mine.granted, its.received);
			if (mine.locked != mine.promised)
				complain_ledger_world(
					w, "locked after healing", mine.locked, mine.promised);
			if (e != node->friend && mine.promised != mine.granted)
				complain_ledger_world(
					w, "promised to a stranger", mine.promised, mine.granted);
		}
	}
	if (sum != 0)
		complain_ledger_world(w, "lost after healing", sum, 0);
}

static void heal_ledger_world(struct world *w)
{
	memset(w->side, 0, sizeof(w->side));
	w->loss = 0;
	for (unsigned i = 0; i < w->n; i++)
		if (!w->nodes[i].l)
			restart_ledger_node(w, i);
	for (unsigned k = 0; k < (w->joins ? 24 : 12) && !w->failed; k++) {
		/* Sets arrive late, so that a recovery could end without them. */
		for (unsigned p = 0; w->joins && k >= 8 && p < w->n * w->n; p++)
			report_set(w, p / w->n, p % w->n);
		for (unsigned i = 0; i < w->n; i++) {
			w->tick += 1 + ledger_rand_below(w, 20);
			round_of(w, i);
		}
		while (w->n_flying > 0 && !w->failed) {
			w->step++;
			deliver_any_flight(w);
			check_ledger_world(w);
		}
		for (unsigned i = 0; w->joins && i < w->n; i++)
			use_confirmed_set(w, i);
	}
	if (!w->failed)
		check_healed(w);
}

static void join_ledger_nodes(struct world *w, unsigned a, unsigned b)
{
	struct node *one = &w->nodes[a], *other = &w->nodes[b];

	for (unsigned e = 0; e < one->n_edges; e++)
		if (one->peer[e] == b)
			return;
	one->peer[one->n_edges] = b;
	other->peer[other->n_edges] = a;
	one->n_first = ++one->n_edges;
	other->n_first = ++other->n_edges;
}

static void populate_ledger_world(struct world *w)
{
	uint64_t most = ledger_chance(w, 10) ? UINT64_C(1) << 52 : 1000;

	w->n = w->n_first = 2 + ledger_rand_below(w, ledger_chance(w, 60) ? 3 : N_MAX - 1);
	w->drift_ppm = (const uint32_t[]){0, 100, 10000, 200000}[ledger_rand_below(w, 4)];
	w->units = ledger_chance(w, 25);
	w->debts = ledger_chance(w, 25);
	w->crashes = ledger_chance(w, 75);
	w->forgets = ledger_chance(w, 50);
	w->splits = ledger_chance(w, 50);
	w->loss = ledger_chance(w, 50) ? ledger_rand_below(w, 40) : 0;
	for (unsigned i = 1; i < w->n; i++)
		join_ledger_nodes(w, i, ledger_rand_below(w, i));
	for (unsigned k = ledger_rand_below(w, w->n + 1); k > 0; k--) {
		unsigned a = ledger_rand_below(w, w->n), b = ledger_rand_below(w, w->n);

		if (a != b)
			join_ledger_nodes(w, a, b);
	}
	for (unsigned i = 0; i < w->n; i++) {
		struct node *node = &w->nodes[i];

		node->share = random_amount(w, most);
		node->pace = MILLION - w->drift_ppm +
			     (ledger_chance(w, 70) ? (ledger_chance(w, 50) ? 2 * w->drift_ppm : 0)
						   : ledger_rand_below(w, 2 * w->drift_ppm + 1));
		node->friend = ledger_chance(w, 90) ? ledger_rand_below(w, node->n_edges)
						    : LEDGER_NOBODY;
		start_ledger_node(w, node, false);
	}
}

bool run_ledger_world(uint64_t seed, unsigned steps, bool joins, struct ledger_sums *sums)
{
	static struct world world;
	struct world *w = &world;

	memset(w, 0, sizeof(*w));
	memset(w->late, NOTHING, sizeof(w->late));
	w->seed = seed;
	prng_seed(&w->prng, seed);
	prng_seed(&w->joiner, ~seed);
	w->joins = w->reports = joins;
	populate_ledger_world(w);
	for (; w->step < steps && !w->failed; w->step++) {
		act_ledger_world(w);
		check_ledger_world(w);
	}
	if (!w->failed)
		heal_ledger_world(w);
	for (unsigned i = 0; i < w->n; i++)
		ledger_destroy(w->nodes[i].l);
	sums->adoptions += w->adoptions;
	sums->memory_losses += w->memory_losses;
	sums->news += w->news;
	sums->joined += w->joined;
	return !w->failed;
}
