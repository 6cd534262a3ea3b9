/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The account of one policy: its ledger, for the book, and which neighbours are to hear of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "conserve/conserve_private.h"

_Static_assert(offsetof(struct conserve_policy, id) == 0, "a row begins with its id");

uint64_t conserve_share(const struct overlay_params *roster, unsigned self, uint64_t limit)
{
	unsigned before = 0;

	for (unsigned i = 0; i < roster->n; i++)
		before += roster->ids[i] < roster->ids[self];
	return limit / roster->n + (before < limit % roster->n);
}

static uint64_t conserve_share_of(const struct conserve *c, uint64_t limit)
{
	return conserve_share(&c->params.overlay, c->params.self, limit);
}

void rate_due(struct conserve *c, struct rate_account *a, unsigned edge)
{
	if (a->edges[edge].due)
		return;
	a->edges[edge].due = true;
	TAILQ_INSERT_TAIL(&c->links[edge].due, a, edges[edge].next_due);
}

void rate_due_to_all(struct conserve *c, struct rate_account *a)
{
	for (unsigned e = 0; e < c->book.n_edges; e++)
		rate_due(c, a, e);
}

static void rate_close(struct book *book, struct book_account *account)
{
	struct conserve *c = (struct conserve *)book;
	struct rate_account *a = (struct rate_account *)account;

	if (a->news)
		TAILQ_REMOVE(&c->news, a, next_news);
	for (unsigned e = 0; e < book->n_edges; e++)
		if (a->edges[e].due)
			TAILQ_REMOVE(&c->links[e].due, a, edges[e].next_due);
	ledger_destroy(a->ledger);
	free(a);
}

int rate_set(const struct conserve *c, struct rate_account *a, const struct conserve_policy *policy)
{
	uint64_t part = policy->limit / c->params.overlay.n;
	int ret = ledger_set_share(a->ledger, conserve_share_of(c, policy->limit));

	if (ret)
		return ret;
	/* What they said was of another indicator. */
	for (unsigned e = 0; a->policy.indicator != policy->indicator && e < c->book.n_edges; e++)
		a->edges[e].neighbour.fresh = false;
	a->policy = *policy;
	a->floor = part / FLOOR_PART;
	a->grain = part / GRAIN_PART + 1;
	return 0;
}

static int rate_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out)
{
	const struct conserve *c = (const struct conserve *)book;
	const struct conserve_policy gone = {.id = record ? record->id : 0};
	const struct conserve_policy *terms = policy ? policy : &gone;
	struct ledger_params params = {
		.share = conserve_share_of(c, terms->limit),
		.n_edges = book->n_edges,
		.friend = book->n_edges && c->params.promise ? OVERLAY_FRIEND : LEDGER_NOBODY,
		.lease_ns = c->params.lease_ns,
		.drift_ppm = c->params.drift_ppm,
		.epoch = book->next_epoch++,
		.recovering = book->recovering && !record,
	};
	struct rate_account *a = calloc(1, sizeof(*a) + book->n_edges * sizeof(a->edges[0]));
	int ret;

	if (!a)
		return -ENOMEM;
	if (record)
		ret = ledger_restore(&params, record->at, record->len, now_ns, &a->ledger);
	else
		ret = ledger_create(&params, now_ns, &a->ledger);
	/* A record holds the share of its time. */
	if (ret == 0 && (terms->limit > 0 || !record))
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

static int rate_check(
	const struct book *book, const struct book_account *account, const void *policy)
{
	const struct conserve *c = (const struct conserve *)book;
	const struct rate_account *a = (const struct rate_account *)account;
	uint64_t limit = ((const struct conserve_policy *)policy)->limit;

	if (limit > LEDGER_MOST)
		return -EINVAL;
	if (a && (__int128)ledger_balance(a->ledger) + conserve_share_of(c, limit) >
			 (int64_t)LEDGER_MOST)
		return -EOVERFLOW;
	return 0;
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

static bool rate_unsaved(const struct book *book, const struct book_account *account)
{
	(void)book;
	return ledger_uncommitted(((const struct rate_account *)account)->ledger);
}

static int rate_save(struct book *book, struct book_account *account, uint8_t *record, size_t *len)
{
	(void)book;
	return ledger_save(((struct rate_account *)account)->ledger, record, len);
}

/* Everybody hears at once of what is his now; what changes nothing for him can wait. */
static void rate_announce(struct conserve *c, struct rate_account *a)
{
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		struct rate_edge *edge = &a->edges[e];
		struct ledger_view view = ledger_view(a->ledger, e);

		if (view.granted != edge->told || view.promised != edge->promised || !view.known)
			rate_due(c, a, e);
		edge->told = view.granted;
		edge->promised = view.promised;
	}
}

static void rate_committed(struct book *book, struct book_account *account, bool durable)
{
	struct rate_account *a = (struct rate_account *)account;

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
	.unsaved = rate_unsaved,
	.save = rate_save,
	.committed = rate_committed,
};
