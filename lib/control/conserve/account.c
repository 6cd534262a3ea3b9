/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The account of one policy: its ledger, for the book, and the neighbours to which it is due.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/math.h"
#include "base/wire.h"
#include "conserve/conserve_private.h"

_Static_assert(
	offsetof(struct conserve_policy, id) == offsetof(struct book_name, id) &&
		offsetof(struct conserve_policy, check) == offsetof(struct book_name, check) &&
		offsetof(struct conserve_policy, name) == offsetof(struct book_name, name),
	"a row begins as a name");

uint64_t conserve_share(const struct overlay_params *roster, unsigned self, uint64_t limit)
{
	unsigned before = 0;

	for (unsigned i = 0; i < roster->n; i++)
		before += roster->ids[i] < roster->ids[self];
	return limit / roster->n + (before < limit % roster->n);
}

uint64_t rate_share(const struct conserve *c, uint64_t limit)
{
	if (c->book.position == c->book.overlay->n)
		return 0;
	return conserve_share(&c->params.overlay, c->params.self, limit);
}

void rate_due(struct conserve *c, struct rate_account *a, unsigned edge)
{
	struct rate_edge *e = &a->edges[edge];

	if (e->due)
		return;
	if (e->stale)
		TAILQ_REMOVE(&c->links[edge].stale, a, edges[edge].next_due);
	e->stale = false;
	e->due = true;
	TAILQ_INSERT_TAIL(&c->links[edge].due, a, edges[edge].next_due);
}

void rate_stale(struct conserve *c, struct rate_account *a, unsigned edge)
{
	struct rate_edge *e = &a->edges[edge];

	if (e->due || e->stale)
		return;
	e->stale = true;
	TAILQ_INSERT_TAIL(&c->links[edge].stale, a, edges[edge].next_due);
}

void rate_stir(struct conserve *c, struct rate_account *a)
{
	if (a->moving)
		return;
	a->moving = true;
	TAILQ_INSERT_TAIL(&c->moving, a, next_moving);
}

void rate_has_news(struct conserve *c, struct rate_account *a)
{
	if (a->news)
		return;
	a->news = true;
	TAILQ_INSERT_TAIL(&c->news, a, next_news);
}

bool rate_is_unconfirmed(const struct rate_account *a, unsigned edge)
{
	struct ledger_view view = ledger_view(a->ledger, edge);

	return ledger_recovering(a->ledger) || view.in_flight > 0 ||
	       (a->restored && !a->edges[edge].has_reported) || (a->waits && !view.confirmed) ||
	       (view.locked > view.granted && view.locked != view.promised);
}

void rate_due_to_all(struct conserve *c, struct rate_account *a)
{
	for (unsigned e = 0; e < c->book.n_edges; e++)
		rate_due(c, a, e);
}

/* Fixes the queues of an account that has moved in memory. */
static void rate_moved(struct conserve *c, struct rate_account *a)
{
	book_account_moved(&c->book, a->book.index, &a->book);
	if (a->news)
		BOOK_ENTRY_MOVED(&c->news, a, next_news);
	if (a->moving)
		BOOK_ENTRY_MOVED(&c->moving, a, next_moving);
	BOOK_ENTRY_MOVED(&c->buckets[a->bucket], a, next_in_bucket);
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		struct rate_link *link = &c->links[e];

		if (a->edges[e].due)
			BOOK_ENTRY_MOVED(&link->due, a, edges[e].next_due);
		else if (a->edges[e].stale)
			BOOK_ENTRY_MOVED(&link->stale, a, edges[e].next_due);
	}
}

static void rate_close(struct book *book, struct book_account *account)
{
	struct conserve *c = (struct conserve *)book;
	struct rate_account *a = (struct rate_account *)account;

	if (a->news)
		TAILQ_REMOVE(&c->news, a, next_news);
	if (a->moving)
		TAILQ_REMOVE(&c->moving, a, next_moving);
	for (unsigned e = 0; e < book->n_edges; e++) {
		struct rate_link *link = &c->links[e];

		if (a->edges[e].due || a->edges[e].stale)
			TAILQ_REMOVE(
				a->edges[e].due ? &link->due : &link->stale, a, edges[e].next_due);
		link->sent[a->bucket] -= a->edges[e].sent_hash;
		link->received[a->bucket] -= a->edges[e].received_hash;
	}
	TAILQ_REMOVE(&c->buckets[a->bucket], a, next_in_bucket);
	ledger_destroy(a->ledger);
	free(a);
}

/* Returns 0 if an account (NULL: a new one) can have that limit; -EINVAL or -EOVERFLOW. */
static int rate_fits(const struct conserve *c, const struct rate_account *a, uint64_t limit)
{
	if (limit > LEDGER_MOST)
		return -EINVAL;
	if (a && (__int128)ledger_balance(a->ledger) + rate_share(c, limit) > (int64_t)LEDGER_MOST)
		return -EOVERFLOW;
	return 0;
}

struct rate_terms rate_own_terms(const struct conserve *c, const struct rate_account *a)
{
	struct rate_terms terms = {.terms = HASH64_BASIS};

	if (a->book.gone || a->policy.limit == 0)
		return (struct rate_terms){0};
	terms.terms = hash64_step(terms.terms, a->policy.terms);
	terms.terms = hash64_step(terms.terms, a->policy.indicator != NULL);
	terms.terms = hash64_step(terms.terms, c->params.lease_ns);
	terms.terms = hash64_step(terms.terms, c->params.drift_ppm) | 1;
	terms.unit = a->policy.unit;
	terms.limit = a->policy.limit;
	terms.burst = a->policy.burst;
	terms.n = c->params.overlay.n;
	return terms;
}

void rate_write_terms(const struct rate_terms *terms, uint8_t *at)
{
	at = wire_put32(wire_put64(at, terms->terms), terms->unit);
	wire_put32(wire_put64(wire_put64(at, terms->limit), terms->burst), terms->n);
}

/* All use the equal part by the largest number of limiters. */
bool rate_go_by_least(const struct conserve *c, struct rate_account *a)
{
	struct rate_terms own = rate_own_terms(c, a);
	struct conserve_policy least = a->policy;
	uint64_t n = c->params.overlay.n, most = n;

	for (unsigned e = 0; e < c->book.n_edges; e++) {
		struct rate_edge *edge = &a->edges[e];
		const struct rate_terms *reported = &edge->reported;
		const bool both = reported->terms && own.terms;

		edge->apart = both && (reported->terms != own.terms || reported->unit != own.unit);
		edge->differs = edge->apart || (both && (reported->limit != own.limit ||
								reported->burst != own.burst));
		/* Numbers of another unit do not apply. */
		if (!reported->terms || reported->unit != least.unit || least.limit == 0)
			continue;
		least.limit = min_u64(least.limit, reported->limit);
		most = reported->n > most ? reported->n : most;
		if (reported->burst > 0 && least.burst > 0)
			least.burst = min_u64(least.burst, reported->burst);
	}
	if (most > n)
		least.limit = (uint64_t)((unsigned __int128)least.limit * n / most);
	if (least.limit == a->limit && least.burst == a->burst)
		return false;
	/* This share is no more than the policy's, which fits. */
	(void)ledger_set_share(a->ledger, rate_share(c, least.limit));
	a->limit = least.limit;
	a->burst = least.burst;
	a->floor = least.limit / n / FLOOR_PART;
	a->grain = least.limit / n / GRAIN_PART + 1;
	return true;
}

int rate_set(struct conserve *c, struct rate_account *a, const struct conserve_policy *policy)
{
	int ret = rate_fits(c, a, policy->limit);

	if (ret)
		return ret;
	/* Received values are of another indicator. */
	for (unsigned e = 0; a->policy.indicator != policy->indicator && e < c->book.n_edges; e++)
		a->edges[e].neighbour.fresh = false;
	a->policy = *policy;
	rate_stir(c, a);
	rate_has_news(c, a);
	ledger_raise_most(a->ledger, policy->limit);
	if (!rate_go_by_least(c, a))
		(void)ledger_set_share(a->ledger, rate_share(c, a->limit));
	return 0;
}

/*
 * Sets the terms of neighbours until they send some: our own, or those in use when the record was
 * written, if that limit was less. All neighbours are necessary to raise a limit.
 */
static void assume_terms(
	const struct conserve *c, struct rate_account *a, const struct conserve_policy *policy)
{
	uint64_t share = ledger_share(a->ledger);
	struct rate_terms assumed;

	a->policy = *policy;
	assumed = rate_own_terms(c, a);
	if (share < rate_share(c, policy->limit))
		assumed.limit = share * c->params.overlay.n; /* the limit with that share */
	for (unsigned e = 0; e < c->book.n_edges; e++)
		a->edges[e].reported = assumed;
}

static int rate_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out)
{
	struct conserve *c = (struct conserve *)book;
	const struct conserve_policy gone = {.id = record ? record->id : 0};
	const struct conserve_policy *terms = policy ? policy : &gone;
	struct ledger_params params = {
		.share = rate_share(c, terms->limit),
		.n_edges = book->n_edges,
		.n_added = book->n_edges - book->n_first,
		.friend = book->n_edges && c->params.promise ? OVERLAY_FRIEND : LEDGER_NOBODY,
		.lease_ns = c->params.lease_ns,
		.drift_ppm = c->params.drift_ppm,
		.epoch = book->next_epoch++,
		.word = book->word,
		.most = terms->limit,
		.recovering = record ? record->len == 0 : book->recovering,
		.incomplete = !c->complete,
	};
	struct rate_account *a = calloc(1, sizeof(*a) + book->n_edges * sizeof(a->edges[0]));
	int ret;

	if (!a)
		return -ENOMEM;
	a->bucket = (unsigned)(terms->id * HASH_GOLDEN >> (64 - DIGEST_BITS));
	TAILQ_INSERT_TAIL(&c->buckets[a->bucket], a, next_in_bucket);
	rate_stir(c, a);
	a->restored = record && record->len > 0;
	a->waits = book->proof_until_ns > 0;
	a->lost = a->marked = record && record->len == 0;
	if (a->restored)
		ret = ledger_restore(&params, record->at, record->len, now_ns, &a->ledger);
	else
		ret = ledger_create(&params, now_ns, &a->ledger);
	if (ret == 0 && policy)
		assume_terms(c, a, terms);
	/* A record holds the share of its time. */
	if (ret == 0 && (terms->limit > 0 || !a->restored))
		ret = rate_set(c, a, terms);
	else
		a->policy = *terms;
	if (ret) {
		rate_close(book, &a->book);
		return ret;
	}
	a->measure = (struct gdrl_measure){.demand = (double)params.share, .packet = 1};
	a->book.record_bytes = ledger_record_size(a->ledger);
	*out = &a->book;
	return 0;
}

void rate_begin_link(struct conserve *c, unsigned e, uint64_t now_ns)
{
	TAILQ_INIT(&c->links[e].due);
	TAILQ_INIT(&c->links[e].stale);
	book_note_received(&c->book, e, now_ns);
	c->links[e].received_ns = now_ns;
}

/* Moves the links, with the heads of their queues. Returns 0 or -ENOMEM. */
static int rate_move_links(struct conserve *c, unsigned n)
{
	const unsigned before = c->book.n_edges;
	struct gdrl_neighbour *neighbours;
	struct rate_link *links = calloc((size_t)n + 1, sizeof(*links));
	uint64_t *amounts = calloc((size_t)n + 1, sizeof(*amounts));

	neighbours = calloc((size_t)n + 1, sizeof(*neighbours));
	if (!links || !amounts || !neighbours) {
		free(links);
		free(amounts);
		free(neighbours);
		return -ENOMEM;
	}
	memcpy(links, c->links, before * sizeof(*links));
	for (unsigned e = 0; e < before; e++) {
		BOOK_QUEUE_MOVED(&links[e].due, edges[e].next_due);
		BOOK_QUEUE_MOVED(&links[e].stale, edges[e].next_due);
	}
	free(c->links);
	free(c->amounts);
	free(c->neighbours);
	c->links = links;
	c->amounts = amounts;
	c->neighbours = neighbours;
	return 0;
}

/* Edges of an account are at its end, so that it moves. */
static int rate_make_room(struct book *book, unsigned n_edges)
{
	struct conserve *c = (struct conserve *)book;
	int ret = rate_move_links(c, n_edges);

	for (unsigned i = 0; ret == 0 && i < book->n; i++) {
		struct rate_account *a = rate_at(c, i);
		struct rate_account *larger;

		if (ledger_make_room(&a->ledger, n_edges))
			return -ENOMEM;
		larger = realloc(a, sizeof(*a) + n_edges * sizeof(a->edges[0]));
		if (!larger)
			return -ENOMEM;
		rate_moved(c, larger);
	}
	return ret;
}

static void rate_add_edge(struct book *book, uint64_t now_ns)
{
	struct conserve *c = (struct conserve *)book;
	const unsigned e = book->n_edges - 1;

	rate_begin_link(c, e, now_ns);
	for (unsigned i = 0; i < book->n; i++) {
		struct rate_account *a = rate_at(c, i);

		a->edges[e] = (struct rate_edge){.reported = rate_own_terms(c, a)};
		ledger_add_edge(a->ledger, now_ns);
		a->book.record_bytes = ledger_record_size(a->ledger);
		rate_due(c, a, e);
		rate_stir(c, a);
		book_changed(book, &a->book);
	}
}

void rate_recovered(struct conserve *c, struct rate_account *a)
{
	rate_stir(c, a);
	rate_has_news(c, a);
	rate_due_to_all(c, a);
	book_changed(&c->book, &a->book);
}

void rate_lose(struct conserve *c, struct rate_account *a)
{
	ledger_lose(a->ledger);
	a->lost = true;
	a->marked = a->restored = a->waits = false;
	for (unsigned e = 0; e < c->book.n_edges; e++)
		a->edges[e].neighbour.fresh = false;
	rate_due_to_all(c, a);
	rate_stir(c, a);
	rate_has_news(c, a);
	book_changed(&c->book, &a->book);
}

void conserve_lose(struct conserve *c, enum book_closure closure)
{
	book_closes(&c->book, closure);
	for (unsigned i = 0; i < c->book.n; i++)
		rate_lose(c, rate_at(c, i));
}

bool rate_waits(struct conserve *c, struct rate_account *a, uint64_t now_ns)
{
	bool all = true, speaks = false;

	for (unsigned e = 0; a->waits && e < c->book.n_edges; e++) {
		struct ledger_view view = ledger_view(a->ledger, e);

		all &= view.confirmed;
		speaks |= view.denies ||
			  (view.known && !view.confirmed && book_alive(&c->book, e, now_ns));
	}
	if (a->waits && (all || (now_ns >= c->book.proof_until_ns && !speaks))) {
		a->waits = false;
		rate_stir(c, a);
		rate_has_news(c, a);
	}
	return a->waits;
}

static int rate_check(
	const struct book *book, const struct book_account *account, const void *policy)
{
	const struct conserve *c = (const struct conserve *)book;
	const struct rate_account *a = (const struct rate_account *)account;

	return rate_fits(c, a, ((const struct conserve_policy *)policy)->limit);
}

static bool rate_untouched(const struct book *book, const struct book_account *account)
{
	const struct rate_account *a = (const struct rate_account *)account;

	if (ledger_recovering(a->ledger))
		return false;
	for (unsigned e = 0; e < book->n_edges; e++) {
		struct ledger_view view = ledger_view(a->ledger, e);

		if (view.granted || view.received || view.locked)
			return false;
	}
	return true;
}

static bool rate_in_use(const struct book *book, const struct book_account *account)
{
	const struct rate_account *a = (const struct rate_account *)account;

	for (unsigned e = 0; e < book->n_edges; e++)
		if (a->edges[e].has_reported && a->edges[e].reported.terms)
			return true;
	return false;
}

static bool rate_unsaved(const struct book *book, const struct book_account *account)
{
	const struct rate_account *a = (const struct rate_account *)account;

	(void)book;
	if (ledger_recovering(a->ledger))
		return a->lost && !a->marked;
	return ledger_uncommitted(a->ledger);
}

static int rate_save(struct book *book, struct book_account *account, uint8_t *record, size_t *len)
{
	struct rate_account *a = (struct rate_account *)account;
	int ret;

	(void)book;
	*len = 0;
	if (a->lost && ledger_recovering(a->ledger)) {
		a->marked = true;
		return 0;
	}
	ret = ledger_save(a->ledger, record, len);
	a->marked &= ret != 0;
	return ret;
}

/* Makes changed grants and promises due immediately; neighbours without a change can wait. */
static void rate_announce(struct conserve *c, struct rate_account *a)
{
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		struct rate_edge *edge = &a->edges[e];
		struct ledger_view view = ledger_view(a->ledger, e);

		if (view.granted != edge->granted || view.promised != edge->promised || !view.known)
			rate_due(c, a, e);
		edge->granted = view.granted;
		edge->promised = view.promised;
	}
}

static void rate_committed(struct book *book, struct book_account *account, bool durable)
{
	struct rate_account *a = (struct rate_account *)account;

	rate_stir((struct conserve *)book, a);
	rate_has_news((struct conserve *)book, a);
	a->marked &= durable;
	if (a->marked) {
		ledger_loss_committed(a->ledger);
		rate_due_to_all((struct conserve *)book, a);
	}
	if (durable) {
		ledger_committed(a->ledger);
		rate_announce((struct conserve *)book, a);
	} else {
		ledger_save_failed(a->ledger);
	}
}

const struct book_ops rate_ops = {
	.policy_bytes = sizeof(struct conserve_policy),
	.open = rate_open,
	.close = rate_close,
	.check = rate_check,
	.untouched = rate_untouched,
	.in_use = rate_in_use,
	.unsaved = rate_unsaved,
	.save = rate_save,
	.committed = rate_committed,
	.make_room = rate_make_room,
	.add_edge = rate_add_edge,
};
