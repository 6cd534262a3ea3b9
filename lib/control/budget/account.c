/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The account of one policy, for the book. A record is three numbers of eight bytes, big-endian:
 * the total, flags and the length of a period. Then comes the record of the quota. An account that
 * lost its memory has a record with the flag and without the quota. Without a record it would
 * appear as a new account after the next crash.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/math.h"
#include "base/wire.h"
#include "budget/budget_private.h"

/* --- the neighbours' terms -------------------------------------------------------------------- */

/* The terms by which a neighbour spends: the total, its unit, and the number of limiters. */

static uint64_t unit_share_of(
	const struct budget *b, const struct budget_policy *policy, uint64_t total)
{
	unsigned n = b->params.n;

	if (policy->drawn)
		return 0;
	return total / n + (b->book.position < total % n);
}

uint64_t unit_share(const struct budget *b, const struct unit_account *a)
{
	return unit_share_of(b, &a->policy, a->total);
}

struct unit_terms unit_own_terms(const struct budget *b, const struct unit_account *a)
{
	if (a->book.gone)
		return (struct unit_terms){0};
	return (struct unit_terms){
		.terms = hash64_step(HASH64_BASIS, a->policy.terms) | 1,
		.unit = a->policy.unit,
		.total = a->policy.total,
		.n = b->params.n,
	};
}

/* Sets the total in force to the least of ours and the neighbours'. Returns true if it changed. */
static bool unit_go_by_least(const struct budget *b, struct unit_account *a)
{
	struct unit_terms own = unit_own_terms(b, a);
	uint64_t total = a->policy.total, n = b->params.n;
	uint32_t most = b->params.n;
	bool changed;

	for (unsigned e = 0; e < b->book.n_edges; e++) {
		struct unit_edge *edge = &a->edges[e];
		const struct unit_terms *reported = &edge->reported;
		const bool both = reported->terms && own.terms;

		edge->apart = both && (reported->terms != own.terms || reported->unit != own.unit);
		edge->differs = edge->apart || (both && reported->total != own.total);
		/* Totals of another unit cannot be compared with ours. */
		if (reported->terms && reported->unit == a->policy.unit) {
			total = min_u64(total, reported->total);
			most = reported->n > most ? reported->n : most;
		}
	}
	if (most > n)
		total = (uint64_t)((unsigned __int128)total * n / most);
	changed = total != a->total;
	a->total = total;
	return changed;
}

bool unit_receive_terms(
	struct unit_edge *edge, const struct unit_terms *terms, const struct tree_header *header)
{
	bool newer = header->epoch != edge->reported_epoch ? header->epoch > edge->reported_epoch
							   : header->stamp > edge->reported_stamp;

	if (!newer)
		return false;
	edge->reported = *terms;
	edge->reported_epoch = header->epoch;
	edge->reported_stamp = header->stamp;
	edge->asked = false;
	return true;
}

_Static_assert(offsetof(struct budget_policy, id) == offsetof(struct book_name, id) &&
		       offsetof(struct budget_policy, check) == offsetof(struct book_name, check) &&
		       offsetof(struct budget_policy, name) == offsetof(struct book_name, name),
	"a row begins as a name");

#define HEAD_BYTES (3 * sizeof(uint64_t))

/*
 * Least interval between reports of the units left here, and between requests for terms, in
 * multiples of repeat_ns.
 */
#define NEWS_REPEATS 8

#define FLAG_DRAWN      1
#define FLAG_RECOVERING 2
#define FLAG_DOUBT      4 /* memory was lost recently: see TIME_DOUBT_NS */

static void unit_close(struct book *book, struct book_account *account)
{
	struct unit_account *a = (struct unit_account *)account;

	if (a->ready)
		TAILQ_REMOVE(&((struct budget *)book)->ready, a, next_ready);
	quota_destroy(a->quota);
	free(a);
}

static struct quota_params quota_params(struct budget *b, const struct unit_account *a)
{
	const struct budget_policy *policy = &a->policy;

	return (struct quota_params){
		.share = unit_share(b, a),
		.period = policy->period,
		.undated = policy->undated,
		.n_edges = b->book.n_edges,
		.epoch = b->book.next_epoch++,
		.word = b->book.word,
		.total = policy->drawn ? 0 : policy->total,
		.proof_until_ns = b->book.proof_until_ns,
		.durable = b->params.durable,
		.chunk = policy->chunk,
		.theta_ns = b->params.theta_ns,
		.memory_ns = b->params.memory_ns,
		.repeat_ns = b->params.repeat_ns,
		.limiters = b->params.n,
		.seed = prng_next(&b->prng),
	};
}

void unit_link(const struct budget *b, struct unit_account *a, unsigned edge, bool linked)
{
	/*
	 * A guess of the units behind an edge that has had no report. Units that are drawn
	 * elsewhere are with the limiter that drew them.
	 */
	const uint64_t behind = a->policy.drawn ? 1 : a->total / b->params.n + 1;

	quota_link(a->quota, edge, linked && !a->edges[edge].apart, behind);
}

static void unit_join_tree(const struct budget *b, struct unit_account *a)
{
	for (unsigned e = 0; e < b->book.n_edges; e++)
		if (b->links[e].linked)
			unit_link(b, a, e, true);
}

static int unit_open_quota(struct budget *b, struct unit_account *a,
	const struct book_record *record, bool lost, uint64_t now_ns)
{
	struct quota_params params = quota_params(b, a);
	int ret;

	params.recovering = lost;
	a->unknown = lost && a->policy.drawn;
	if (record && !lost)
		ret = quota_restore(&params, (const uint8_t *)record->at + HEAD_BYTES,
			record->len - HEAD_BYTES, now_ns, &a->quota);
	else
		ret = quota_create(&params, now_ns, &a->quota);
	/* A record holds the share of its time; unit_set_drawn() later sets the drawn units. */
	if (ret == 0 && record && !a->policy.drawn)
		ret = quota_set_share(a->quota, params.share, now_ns);
	return ret;
}

static int unit_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out)
{
	struct budget *b = (struct budget *)book;
	uint64_t total = 0, length = 0, flags = book->recovering ? FLAG_RECOVERING : 0;
	struct unit_account *a;
	int ret;

	if (record && record->len < HEAD_BYTES)
		return -EINVAL;
	if (record)
		wire_get64(wire_get64(wire_get64(record->at, &total), &flags), &length);
	if (total > LEDGER_MOST)
		return -EINVAL;
	a = calloc(1, sizeof(*a) + book->n_edges * sizeof(a->edges[0]));
	if (!a)
		return -ENOMEM;
	if (policy)
		a->policy = *(const struct budget_policy *)policy;
	else
		a->policy = (struct budget_policy){
			.total = total, .drawn = flags & FLAG_DRAWN, .period_length = length};
	/* Assumes our own terms for all neighbours until they send theirs. */
	for (unsigned e = 0; e < book->n_edges; e++)
		a->edges[e].reported = unit_own_terms(b, a);
	a->total = a->policy.total;
	if (flags & (FLAG_RECOVERING | FLAG_DOUBT))
		a->doubt_ns = now_ns + TIME_DOUBT_NS;
	ret = unit_open_quota(b, a, record, flags & FLAG_RECOVERING, now_ns);
	if (ret) {
		unit_close(book, &a->book);
		return ret;
	}
	unit_join_tree(b, a);
	a->next_ns = now_ns;
	a->book.record_bytes = HEAD_BYTES + quota_record_size(a->quota);
	*out = &a->book;
	return 0;
}

static int unit_check(
	const struct book *book, const struct book_account *account, const void *policy)
{
	const struct budget *b = (const struct budget *)book;
	const struct unit_account *a = (const struct unit_account *)account;
	const struct budget_policy *terms = policy;

	if (terms->total > LEDGER_MOST)
		return -EINVAL;
	/* Conservative: the balance can already have a part of this share. */
	if (a && (__int128)quota_view(a->quota, 0).balance + unit_share_of(b, terms, terms->total) >
			 (int64_t)LEDGER_MOST)
		return -EOVERFLOW;
	return 0;
}

void unit_reconsider_terms(struct budget *b, struct unit_account *a, uint64_t now_ns)
{
	bool changed = unit_go_by_least(b, a);

	/* Edges with different terms cannot carry units: unlinks them, and links the others. */
	for (unsigned e = 0; e < b->book.n_edges; e++)
		unit_link(b, a, e, b->links[e].linked);
	if (changed && !a->policy.drawn)
		(void)quota_set_share(a->quota, unit_share(b, a), now_ns); /* the share fits */
	a->ask_ns = now_ns;
	unit_wake(b, a);
}

void unit_resend_terms(struct budget *b, struct unit_account *a, uint64_t now_ns)
{
	for (unsigned e = 0; e < b->book.n_edges; e++)
		quota_wake_edge(a->quota, e, false);
	unit_reconsider_terms(b, a, now_ns);
}

void unit_set(struct budget *b, struct unit_account *a, const struct budget_policy *policy,
	uint64_t now_ns)
{
	const struct budget_policy *was = &a->policy;
	const bool drawn = was->drawn;
	const bool other = was->total != policy->total || drawn != policy->drawn ||
			   was->terms != policy->terms || was->unit != policy->unit;

	a->policy = *policy;
	quota_set_chunk(a->quota, policy->chunk);
	quota_raise_total(a->quota, policy->drawn ? LEDGER_MOST : policy->total);
	if (other)
		unit_resend_terms(b, a, now_ns);
	if (drawn && !policy->drawn)
		(void)quota_set_share(a->quota, unit_share(b, a), now_ns);
	if (policy->period > quota_view(a->quota, now_ns).period)
		(void)unit_period(b, a, policy->period, now_ns);
	unit_tick(b, a, now_ns);
}

/*
 * Begins the recovery of a limiter that lost its memory, now that the number of its drawn units is
 * available. All of them count as spent.
 */
static int unit_begin_recovering(
	struct budget *b, struct unit_account *a, uint64_t share, uint64_t now_ns)
{
	struct quota_params params = quota_params(b, a);
	struct quota_node *quota;
	int ret;

	params.share = share;
	params.recovering = true;
	params.period = quota_view(a->quota, now_ns).period;
	params.undated = quota_view(a->quota, now_ns).undated;
	ret = quota_create(&params, now_ns, &quota);
	if (ret)
		return ret;
	quota_destroy(a->quota);
	a->quota = quota;
	a->unknown = false;
	unit_join_tree(b, a);
	return 0;
}

int unit_set_drawn(struct budget *b, struct unit_account *a, uint64_t share, uint64_t now_ns)
{
	if (!a->policy.drawn)
		return -EINVAL;
	if (a->unknown)
		return unit_begin_recovering(b, a, share, now_ns);
	return quota_set_share(a->quota, share, now_ns);
}

int unit_period(struct budget *b, struct unit_account *a, uint64_t period, uint64_t now_ns)
{
	bool undated = quota_view(a->quota, now_ns).undated, doubt = now_ns < a->doubt_ns;
	int ret;

	quota_doubt(a->quota, doubt);
	ret = quota_period(a->quota, period, unit_share(b, a), now_ns);
	if (ret)
		return ret;
	a->policy.period = period;
	a->policy.undated = false;
	/* The drawn units are of this period, or might be. */
	a->unknown = (a->unknown && undated) || (doubt && a->policy.drawn);
	unit_tick(b, a, now_ns);
	return 0;
}

static bool unit_untouched(const struct book *book, const struct book_account *account)
{
	const struct unit_account *a = (const struct unit_account *)account;
	struct quota_view view = quota_view(a->quota, 0);

	if (view.recovering || view.spent)
		return false;
	for (unsigned e = 0; e < book->n_edges; e++) {
		struct ledger_view edge = quota_edge(a->quota, e);

		if (edge.granted || edge.received || edge.locked)
			return false;
	}
	return true;
}

struct budget_period budget_account_period(const struct book_account *account)
{
	const struct unit_account *a = (const struct unit_account *)account;
	struct quota_view view = quota_view(a->quota, 0);

	return (struct budget_period){.number = view.undated || a->unknown ? 0 : view.period,
		.length = a->policy.period_length};
}

/* The start that wrote the newest record can have begun the next period. */
void unit_lose(struct budget *b, struct unit_account *a, uint64_t now_ns)
{
	quota_lose(a->quota);
	a->marked = false;
	a->doubt_ns = now_ns + TIME_DOUBT_NS;
	unit_wake(b, a);
}

void unit_wake(struct budget *b, struct unit_account *a)
{
	a->next_ns = b->next_ns = 0;
	book_changed(&b->book, &a->book);
	if (a->ready || a->unknown)
		return;
	a->ready = true;
	TAILQ_INSERT_TAIL(&b->ready, a, next_ready);
}

/* Prepares the next report to neighbours if it is due. Returns when to look again. */
static uint64_t unit_next_refresh(const struct budget *b, struct unit_account *a, uint64_t now_ns)
{
	if (now_ns < a->news_ns && !quota_is_news(a->quota))
		return a->news_ns;
	a->news_ns = now_ns + NEWS_REPEATS * b->params.repeat_ns;
	/* No viewer misses a report about a policy that is gone. */
	return quota_refresh(a->quota, !a->book.gone, now_ns) ? a->news_ns : UINT64_MAX;
}

/* Requests terms again that are missing or differ from ours. Returns when to look again. */
static uint64_t ask_for_terms(const struct budget *b, struct unit_account *a, uint64_t now_ns)
{
	bool any = false;

	for (unsigned e = 0; e < b->book.n_edges; e++) {
		if (!a->edges[e].differs && !a->edges[e].asked)
			continue;
		any = true;
		if (now_ns >= a->ask_ns && b->book.links[e].alive)
			quota_wake_edge(a->quota, e, true);
	}
	if (any && now_ns >= a->ask_ns)
		a->ask_ns = now_ns + NEWS_REPEATS * b->params.repeat_ns;
	return any ? a->ask_ns : UINT64_MAX;
}

void unit_tick(struct budget *b, struct unit_account *a, uint64_t now_ns)
{
	uint64_t next_ns = b->next_ns, news_ns, ask_ns = ask_for_terms(b, a, now_ns);

	if (now_ns >= a->doubt_ns)
		a->doubt_ns = 0;
	unit_wake(b, a);
	a->next_ns = quota_tick(a->quota, now_ns);
	news_ns = unit_next_refresh(b, a, now_ns);
	if (news_ns < a->next_ns)
		a->next_ns = news_ns;
	if (ask_ns < a->next_ns)
		a->next_ns = ask_ns;
	b->next_ns = a->next_ns < next_ns ? a->next_ns : next_ns;
	book_changed(&b->book, &a->book);
}

static bool unit_is_lost(const struct unit_account *a)
{
	return a->unknown || quota_view(a->quota, 0).recovering;
}

static bool unit_in_use(const struct book *book, const struct book_account *account)
{
	const struct unit_account *a = (const struct unit_account *)account;

	for (unsigned e = 0; e < book->n_edges; e++)
		if (a->edges[e].reported_epoch && a->edges[e].reported.terms)
			return true;
	return false;
}

static bool unit_unsaved(const struct book *book, const struct book_account *account)
{
	const struct unit_account *a = (const struct unit_account *)account;

	if (unit_is_lost(a))
		return ((const struct budget *)book)->params.durable && !a->marked;
	return quota_uncommitted(a->quota);
}

static int unit_save(struct book *book, struct book_account *account, uint8_t *record, size_t *len)
{
	struct unit_account *a = (struct unit_account *)account;
	bool lost = unit_is_lost(a);
	uint64_t flags = (a->policy.drawn ? FLAG_DRAWN : 0) | (lost ? FLAG_RECOVERING : 0) |
			 (a->doubt_ns > 0 ? FLAG_DOUBT : 0);
	int ret = 0;

	(void)book;
	record = wire_put64(
		wire_put64(wire_put64(record, a->total), flags), a->policy.period_length);
	*len = 0;
	if (!lost)
		ret = quota_save(a->quota, record, len);
	if (ret)
		return ret;
	*len += HEAD_BYTES;
	a->marked = lost;
	return 0;
}

/* Ends a commit. If it is durable, the messages and the traffic that waited for it can go. */
static void unit_committed(struct book *book, struct book_account *account, bool durable)
{
	struct unit_account *a = (struct unit_account *)account;

	a->marked &= durable;
	if (a->marked)
		quota_loss_committed(a->quota);
	if (durable)
		quota_committed(a->quota);
	else
		quota_save_failed(a->quota);
	unit_wake((struct budget *)book, a);
}

const struct book_ops unit_ops = {
	.policy_bytes = sizeof(struct budget_policy),
	.open = unit_open,
	.close = unit_close,
	.check = unit_check,
	.untouched = unit_untouched,
	.in_use = unit_in_use,
	.unsaved = unit_unsaved,
	.save = unit_save,
	.committed = unit_committed,
};
