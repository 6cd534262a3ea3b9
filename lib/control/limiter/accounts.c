/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The accounts of both kinds, rates and units: their common part at a limiter. One that has never
 * had a policy of a kind has no accounts of it, and pays for none.
 */
#include <errno.h>
#include <stdlib.h>

#include "limiter/aggregate.h"

/* The records of one kind, into `out`. */
static unsigned records_of(
	const struct limiter_ledger *given, enum limiter_record_kind kind, struct book_record *out)
{
	unsigned found = 0;

	for (unsigned i = 0; i < given->n_records; i++) {
		const struct limiter_record *record = &given->records[i];

		if (record->kind == kind)
			out[found++] = (struct book_record){record->id, record->at, record->len};
	}
	return found;
}

void accounts_restore(struct limiter *l, uint64_t now_ns)
{
	struct limiter_policy *policies = calloc((size_t)l->n_policies + 1, sizeof(*policies));

	for (unsigned i = 0; policies && i < l->n_policies; i++)
		policies[i] = l->aggregates[i].policy;
	if (policies) {
		(void)limiter_rates_set(l, policies, l->n_policies, NULL, 0, now_ns);
		(void)limiter_units_set(l, policies, l->n_policies, NULL, 0, now_ns);
	}
	free(policies);
}

int accounts_set(
	struct limiter *l, const struct limiter_policy *policies, unsigned n, uint64_t now_ns)
{
	struct book_record *records = calloc((size_t)l->ledger.n_records + 1, sizeof(*records));
	unsigned n_records;
	int ret;

	if (!records)
		return -ENOMEM;
	l->ledger.identity = limiter_identity(l);
	n_records = records_of(&l->ledger, LIMITER_RATES, records);
	ret = limiter_rates_set(l, policies, n, records, n_records, now_ns);
	if (ret == 0) {
		n_records = records_of(&l->ledger, LIMITER_UNITS, records);
		ret = limiter_units_set(l, policies, n, records, n_records, now_ns);
		if (ret)
			accounts_restore(l, now_ns);
	}
	free(records);
	return ret;
}

void accounts_index(struct limiter *l)
{
	for (unsigned i = 0; i < l->n_policies; i++) {
		limiter_rates_index(l, &l->aggregates[i]);
		limiter_units_index(l, &l->aggregates[i]);
	}
}

/* Time without another limiter of our name after which the accounts recover, in timeouts. */
#define HELD_TIMEOUTS 10

static void lose_accounts(
	struct limiter *l, enum book_closure reason, bool rates, bool units, uint64_t now_ns)
{
	if (l->conserve && rates)
		conserve_lose(l->conserve, reason);
	if (l->budget && units)
		budget_lose(l->budget, reason, now_ns);
}

static uint64_t count_closures(const struct limiter *l)
{
	return (l->conserve ? conserve_book(l->conserve)->closures : 0) +
	       (l->budget ? budget_book(l->budget)->closures : 0);
}

static void set_doubts(struct limiter *l, struct book *book, bool held)
{
	book->held = held;
	for (unsigned e = 0; e < book->n_edges; e++)
		book->links[e].doubt = (enum book_doubt)gossip_doubt(
			l->gossip, book->links[e].peer);
}

/* A store is old as a whole: if one book has proof, the other one closes, too. */
static void follow_closure(struct limiter *l, uint64_t now_ns)
{
	const struct book *rates = l->conserve ? conserve_book(l->conserve) : NULL;
	const struct book *units = l->budget ? budget_book(l->budget) : NULL;
	bool by_rates = rates && rates->closures > (units ? units->closures : 0);

	if (count_closures(l) == l->closures)
		return;
	l->closure.reason = by_rates ? rates->closes : (units ? units : rates)->closes;
	l->closure.at_ns = now_ns;
	if (rates && units)
		lose_accounts(l, l->closure.reason, !by_rates, by_rates, now_ns);
	l->closures = count_closures(l);
}

void accounts_watch_names(struct limiter *l, uint64_t now_ns)
{
	bool usurped = gossip_usurped(l->gossip);

	if (!l->conserve && !l->budget)
		return;
	if (usurped && !l->closure.held) {
		lose_accounts(l, BOOK_NAME_TWICE, true, !l->conserve, now_ns);
		l->closure.held = true;
		limiter_rates_refresh(l, now_ns);
	}
	if (usurped)
		l->held_until_ns = now_ns + HELD_TIMEOUTS * gossip_timeout(l->gossip);
	l->closure.held &= now_ns < l->held_until_ns;
	if (l->conserve)
		set_doubts(l, conserve_book(l->conserve), l->closure.held);
	if (l->budget)
		set_doubts(l, budget_book(l->budget), l->closure.held);
	follow_closure(l, now_ns);
}

struct limiter_closure limiter_closure(const struct limiter *l, uint64_t now_ns)
{
	struct limiter_closure closure = l->closure;
	unsigned rates = l->conserve ? conserve_policies(l->conserve) : 0;
	unsigned units = l->budget ? budget_book(l->budget)->n_policies : 0;

	closure.closed = closure.held;
	/* Without a closure, none is looked at. */
	for (unsigned i = 0; closure.reason && !closure.closed && i < rates; i++)
		closure.closed = conserve_recovering(l->conserve, i);
	for (unsigned i = 0; closure.reason && !closure.closed && i < units; i++)
		closure.closed = budget_view(l->budget, i, now_ns).recovering;
	return closure;
}

void accounts_receive(struct limiter *l, uint64_t now_ns, const struct gossip_message *message)
{
	accounts_watch_names(l, now_ns);
	if (l->conserve && message->len > 0 && conserve_is_kind(message->at[0]))
		limiter_rates_receive(l, now_ns, message);
	if (l->budget && message->len > 0 && message->at[0] == BUDGET_MESSAGE)
		limiter_units_receive(l, now_ns, message);
	if (message->len > 0 && message->at[0] == AGREE_MESSAGE)
		(void)agree_receive(l->agree, message->from, now_ns, message->at, message->len);
	if (l->loan && message->len > 0 && message->at[0] == LOAN_MESSAGE)
		loans_receive(l, now_ns, message);
	limiter_members_receive(l, message);
	follow_closure(l, now_ns);
}

size_t accounts_send(struct limiter *l, uint8_t *buf, unsigned *peer)
{
	uint8_t *at = gossip_message_at(buf);
	size_t room = gossip_message_room(l->gossip), len = 0;

	if (l->conserve)
		len = conserve_send(l->conserve, l->now_ns, at, room, peer);
	if (len == 0 && l->budget)
		len = budget_send(l->budget, l->now_ns, at, room, peer);
	if (len == 0)
		len = agree_send(l->agree, l->now_ns, at, room, peer);
	if (len == 0 && l->loan)
		len = loans_send(l, at, room, peer);
	if (len == 0)
		len = limiter_members_send(l, at, room, peer);
	return len > 0 ? gossip_seal_message(l->gossip, buf, len, *peer)
		       : gossip_answer(l->gossip, buf, peer);
}

static bool add_neighbour(struct book *book, unsigned peer, struct limiter_neighbour *neighbour)
{
	unsigned edge = book_edge(book, peer);
	const struct book_link *link = &book->links[edge];

	if (edge == book->n_edges)
		return false;
	if (link->has_reported) {
		neighbour->has_reported = true;
		neighbour->peer_identity = link->peer_identity;
		neighbour->foreign |= book_identity_known(link->peer_identity) &&
				      book_identity_known(book->identity) &&
				      !book_identity_equal(link->peer_identity, book->identity);
	}
	neighbour->foreign_messages += link->foreign;
	neighbour->invalid += link->invalid;
	neighbour->twice |= link->doubt == BOOK_TWICE;
	neighbour->collided += link->collided;
	return true;
}

bool limiter_neighbour(const struct limiter *l, unsigned peer, struct limiter_neighbour *neighbour)
{
	bool found = false;

	*neighbour = (struct limiter_neighbour){0};
	if (l->conserve)
		found |= add_neighbour(conserve_book(l->conserve), peer, neighbour);
	if (l->budget)
		found |= add_neighbour(budget_book(l->budget), peer, neighbour);
	return found;
}

static struct book *book_of(const struct limiter *l, enum limiter_record_kind kind)
{
	if (kind == LIMITER_RATES)
		return l->conserve ? conserve_book(l->conserve) : NULL;
	return l->budget ? budget_book(l->budget) : NULL;
}

static const enum limiter_record_kind kinds[] = {LIMITER_RATES, LIMITER_UNITS};

unsigned limiter_unused(const struct limiter *l)
{
	unsigned n = 0;

	for (unsigned k = 0; k < 2; k++) {
		const struct book *book = book_of(l, kinds[k]);

		n += book ? book->n - book->n_policies : 0;
	}
	return n;
}

struct forgetting {
	const struct book *book;
	enum limiter_record_kind kind;
	bool (*may)(void *context, const struct limiter_unused *unused);
	void *context;
};

static bool may_forget(void *context, const struct book_account *account)
{
	const struct forgetting *f = context;
	struct limiter_unused unused = {.kind = f->kind,
		.name = account->name,
		.untouched = f->book->ops->untouched(f->book, account),
		.in_use = f->book->ops->in_use(f->book, account)};

	if (f->kind == LIMITER_UNITS)
		unused.period = budget_account_period(account);
	return f->may(f->context, &unused);
}

unsigned limiter_forget(struct limiter *l,
	bool (*may)(void *context, const struct limiter_unused *unused), void *context)
{
	unsigned n = 0;

	for (unsigned k = 0; k < 2; k++) {
		struct book *book = book_of(l, kinds[k]);
		struct forgetting f = {book, kinds[k], may, context};

		n += book ? book_forget(book, may_forget, &f) : 0;
	}
	return n;
}

const char *limiter_name_taken(const struct limiter *l, const struct limiter_policy *policy)
{
	for (unsigned k = 0; k < 2; k++) {
		const struct book *book = book_of(l, kinds[k]);
		const struct book_account *account = book ? book_find(book, policy->id) : NULL;

		if (account && account->check != policy->check)
			return account->name;
	}
	return NULL;
}

bool limiter_record_taken(const struct limiter_record *records, unsigned n,
	const struct limiter_policy *policy, char name[BOOK_NAME_MAX])
{
	for (unsigned i = 0; i < n; i++) {
		const struct limiter_record *record = &records[i];
		uint64_t check;

		if (record->id == policy->id &&
			book_record_name(&(struct book_record){record->id, record->at, record->len},
				&check, name) &&
			check != policy->check)
			return true;
	}
	return false;
}

bool limiter_uncommitted(const struct limiter *l)
{
	return (l->conserve && book_unsaved(conserve_book(l->conserve))) ||
	       (l->budget && book_unsaved(budget_book(l->budget)));
}

/* One kind's writer before that of all. */
struct writer {
	limiter_write write;
	void *context;
	enum limiter_record_kind kind;
};

static int write_limiter_record(void *context, uint64_t id, const void *record, size_t len)
{
	const struct writer *writer = context;

	return writer->write(writer->context, writer->kind, id, record, len);
}

int limiter_save(struct limiter *l, limiter_write write, void *context)
{
	struct writer rates = {write, context, LIMITER_RATES};
	struct writer units = {write, context, LIMITER_UNITS};
	int ret = -EAGAIN, also = -EAGAIN;

	if (l->conserve && !loans_hold_grants(l))
		ret = book_save(
			conserve_book(l->conserve), write ? write_limiter_record : NULL, &rates);
	if (ret != 0 && ret != -EAGAIN)
		return ret;
	if (l->budget)
		also = book_save(
			budget_book(l->budget), write ? write_limiter_record : NULL, &units);
	if (also == 0 || also == -EAGAIN)
		return ret == 0 ? 0 : also;
	/* Both or neither. */
	if (ret == 0)
		book_save_failed(conserve_book(l->conserve));
	return also;
}

void limiter_committed(struct limiter *l, uint64_t now_ns)
{
	l->now_ns = now_ns;
	if (l->conserve)
		book_committed(conserve_book(l->conserve));
	if (l->budget) {
		book_committed(budget_book(l->budget));
		limiter_units_tick(l, now_ns);
	}
}

void limiter_save_failed(struct limiter *l)
{
	if (l->conserve)
		book_save_failed(conserve_book(l->conserve));
	if (l->budget)
		book_save_failed(budget_book(l->budget));
}
