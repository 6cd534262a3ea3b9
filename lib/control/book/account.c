/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Accounts of a book: records, the search by id, and policies that change at run time. A record is
 * the fingerprint of the edges, the check of the name (eight bytes each, big-endian), and the name
 * after its length (one byte). Then comes the record of the account itself. With added edges, bit 7
 * of the length is 1, and names of these edges come before that: their number (2), the number of
 * them to founders (2), and of each id (4) and `born` (8).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "book/book_private.h"

static int compare_accounts(const void *a, const void *b)
{
	uint64_t x = (*(struct book_account *const *)a)->id;
	uint64_t y = (*(struct book_account *const *)b)->id;

	return (x > y) - (x < y);
}

bool accounts_sort(struct book_account **by_id, struct book_account *const *accounts, unsigned n)
{
	bool distinct = true;

	for (unsigned i = 0; i < n; i++)
		by_id[i] = accounts[i];
	qsort(by_id, n, sizeof(struct book_account *), compare_accounts);
	for (unsigned i = 1; i < n; i++)
		distinct &= by_id[i]->id != by_id[i - 1]->id;
	return distinct;
}

struct book_account *accounts_find(struct book_account *const *by_id, unsigned n, uint64_t id)
{
	const struct book_account key = {.id = id}, *at = &key;
	struct book_account *const *found = bsearch(
		&at, by_id, n, sizeof(*found), compare_accounts);

	return found ? *found : NULL;
}

struct book_account *book_find(const struct book *book, uint64_t id)
{
	return accounts_find(book->by_id, book->n, id);
}

struct book_account *book_find_named(struct book *book, unsigned edge, uint64_t id, uint64_t check)
{
	struct book_account *account = book_find(book, id);

	if (!account || account->check == check)
		return account;
	book->links[edge].collided++;
	return NULL;
}

bool book_record_name(const struct book_record *record, uint64_t *check, char name[BOOK_NAME_MAX])
{
	const uint8_t *at = record->at;
	size_t len;

	if (record->len < RECORD_HEAD)
		return false;
	at = wire_get64(at + sizeof(uint64_t), check);
	len = *at++ & ~RECORD_NAMES;
	if (len >= BOOK_NAME_MAX || record->len < RECORD_HEAD + len || memchr(at, 0, len))
		return false;
	memcpy(name, at, len);
	name[len] = '\0';
	return true;
}

struct record_names record_names(const struct book_record *record)
{
	struct record_names names = {.at = record->at};
	uint16_t n, n_founders;
	size_t head;

	if (record->len < RECORD_HEAD || !(names.at[RECORD_HEAD - 1] & RECORD_NAMES))
		return (struct record_names){0};
	head = RECORD_HEAD + (names.at[RECORD_HEAD - 1] & ~RECORD_NAMES) + EDGES_HEAD;
	if (record->len < head)
		return (struct record_names){0};
	names.at = wire_get16(wire_get16(names.at + head - EDGES_HEAD, &n), &n_founders);
	names.n = n;
	names.n_founders = n_founders;
	if (n_founders > n || record->len < head + n * EDGE_NAME)
		return (struct record_names){0};
	return names;
}

struct book_member record_name(const struct record_names *names, unsigned i)
{
	struct book_member member = {.joined = i >= names->n_founders};

	wire_get64(wire_get32(names->at + i * EDGE_NAME, &member.id), &member.born);
	return member;
}

/* Returns true if the record names the first ones of the added edges, or none. */
static bool record_fits_edges(const struct book *book, const struct record_names *names)
{
	if (names->n > book->n_edges - book->n_first)
		return false;
	for (unsigned i = 0; i < names->n; i++) {
		const struct book_link *link = &book->links[book->n_first + i];
		struct book_member member = record_name(names, i);

		if (member.id != link->id || member.born != link->born)
			return false;
	}
	return true;
}

/*
 * Finds the part that the account itself has written, and its name; returns false for other edges.
 */
static bool record_body(const struct book *book, const struct book_record *record,
	struct book_name *name, char text[BOOK_NAME_MAX], struct book_record *body)
{
	const struct record_names names = record_names(record);
	const uint8_t *at = record->at;
	uint64_t fingerprint;
	size_t head;

	name->id = record->id;
	name->name = text;
	if (!book_record_name(record, &name->check, text))
		return false;
	wire_get64(record->at, &fingerprint);
	head = RECORD_HEAD + strlen(text);
	if (at[RECORD_HEAD - 1] & RECORD_NAMES)
		head += EDGES_HEAD + names.n * EDGE_NAME;
	if (head > record->len)
		return false;
	*body = (struct book_record){record->id, at + head, record->len - head};
	return fingerprint == book->fingerprint && record_fits_edges(book, &names);
}

uint8_t *account_write_head(const struct book *book, const struct book_account *account)
{
	size_t len = strlen(account->name);
	uint8_t *at = wire_put64(wire_put64(book->record, book->fingerprint), account->check);
	const unsigned n_added = book->n_edges - book->n_first;

	*at++ = (uint8_t)(len | (n_added > 0 ? RECORD_NAMES : 0));
	memcpy(at, account->name, len);
	at += len;
	if (n_added > 0)
		at = wire_put16(wire_put16(at, (uint16_t)n_added), (uint16_t)book->n_named);
	for (unsigned e = book->n_first; e < book->n_edges; e++)
		at = wire_put64(wire_put32(at, book->links[e].id), book->links[e].born);
	return at;
}

int account_record_room(struct book *book, const struct book_account *account)
{
	const size_t len = RECORD_HEAD + BOOK_NAME_MAX + EDGES_HEAD + book->n_edges * EDGE_NAME +
			   account->record_bytes;
	uint8_t *room;

	if (len <= book->record_room)
		return 0;
	room = realloc(book->record, len);
	if (!room)
		return -ENOMEM;
	book->record = room;
	book->record_room = len;
	return 0;
}

void book_account_moved(struct book *book, unsigned i, struct book_account *account)
{
	book->accounts[i] = account;
	if (account->changed)
		BOOK_ENTRY_MOVED(&book->changed, account, next_changed);
}

void account_close(struct book *book, struct book_account *account)
{
	free(account->name);
	book->ops->close(book, account);
}

/* Closes the account, and has its record removed. Returns 0, or -ENOMEM and it stays. */
static int account_forget(struct book *book, struct book_account *account)
{
	if (account->stored && book->n_forgotten == book->forgotten_room) {
		unsigned room = 2 * book->forgotten_room + 16;
		uint64_t *ids = realloc(book->forgotten, room * sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		book->forgotten = ids;
		book->forgotten_room = room;
	}
	if (account->stored)
		book->forgotten[book->n_forgotten++] = account->id;
	if (account->changed)
		TAILQ_REMOVE(&book->changed, account, next_changed);
	account_close(book, account);
	return 0;
}

/* Sets its name, and makes room for its record. */
static int account_begin(
	struct book *book, struct book_account *account, const struct book_name *name)
{
	int ret = account_record_room(book, account);

	account->id = name->id;
	account->check = name->check;
	account->name = strdup(name->name);
	return account->name ? ret : -ENOMEM;
}

int account_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out)
{
	struct book_name name = {0}, was;
	char text[BOOK_NAME_MAX];
	struct book_record body;
	int ret;

	if (record && !record_body(book, record, &was, text, &body))
		return -EINVAL;
	name = policy ? row_name(policy) : was;
	if (strlen(name.name) >= BOOK_NAME_MAX)
		return -EINVAL;
	if (policy && record && (name.check != was.check || strcmp(name.name, text) != 0))
		return -EEXIST;
	ret = book->ops->open(book, policy, record ? &body : NULL, now_ns, out);
	if (ret)
		return ret;
	(*out)->gone = !policy;
	(*out)->stored = record;
	(*out)->born = !record && book->has_store;
	ret = account_begin(book, *out, &name);
	if (ret)
		account_close(book, *out);
	return ret;
}

/* --- policies that change at run time --------------------------------------------------------- */

/* New lists of accounts, prepared separately; they take effect when nothing can fail any more. */
struct book_update {
	struct book_account **accounts, **by_id;
	unsigned n;
};

static int update_add(struct book *book, struct book_update *u, const void *policy, uint64_t now_ns)
{
	struct book_name name = row_name(policy);
	struct book_account *account = book_find(book, name.id);
	/* Another account can have the same id. */
	const bool other = account &&
			   (account->check != name.check || strcmp(account->name, name.name) != 0);
	int ret = other ? -EEXIST : 0;

	if (ret == 0)
		ret = book->ops->check(book, account, policy);

	if (ret == 0 && !account)
		ret = account_open(book, policy, NULL, now_ns, &account);
	if (ret == 0)
		u->accounts[u->n++] = account;
	return ret;
}

static int update_prepare(
	struct book *book, struct book_update *u, const void *policies, unsigned n, uint64_t now_ns)
{
	size_t room = (size_t)n + book->n + 1;
	int ret = 0;

	u->accounts = calloc(room, sizeof(struct book_account *));
	u->by_id = calloc(room, sizeof(struct book_account *));
	if (!u->accounts || !u->by_id)
		return -ENOMEM;
	for (unsigned i = 0; ret == 0 && i < n; i++)
		ret = update_add(book, u, row_at(book, policies, i), now_ns);
	if (ret)
		return ret;
	return accounts_sort(u->by_id, u->accounts, u->n) ? 0 : -EINVAL;
}

/* Keeps accounts of removed policies that can still be in the ledgers of neighbours. */
static void keep_removed(struct book *book, struct book_update *u, unsigned n)
{
	for (unsigned i = 0; i < book->n; i++) {
		struct book_account *account = book->accounts[i];

		if (accounts_find(u->by_id, n, account->id))
			continue;
		if (!account->saving && book->ops->untouched(book, account) &&
			account_forget(book, account) == 0)
			continue;
		account->gone = true;
		u->accounts[u->n++] = account;
	}
}

int book_update(struct book *book, const void *policies, unsigned n, uint64_t now_ns)
{
	struct book_update u = {0};
	int ret = update_prepare(book, &u, policies, n, now_ns);

	if (ret) {
		for (unsigned i = 0; i < u.n; i++)
			if (book_find(book, u.accounts[i]->id) != u.accounts[i])
				account_close(book, u.accounts[i]);
		free(u.accounts);
		free(u.by_id);
		return ret;
	}
	for (unsigned i = 0; i < n; i++)
		u.accounts[i]->gone = false;
	keep_removed(book, &u, n);
	accounts_sort(u.by_id, u.accounts, u.n);
	free(book->accounts);
	free(book->by_id);
	book->accounts = u.accounts;
	book->by_id = u.by_id;
	book->n = u.n;
	book->n_policies = n;
	for (unsigned i = 0; i < u.n; i++)
		u.accounts[i]->index = i;
	return 0;
}

unsigned book_forget(struct book *book,
	bool (*may)(void *context, const struct book_account *account), void *context)
{
	unsigned n = book->n_policies, forgotten;

	for (unsigned i = n; i < book->n; i++) {
		struct book_account *account = book->accounts[i];

		if (may(context, account) && !account->saving && account_forget(book, account) == 0)
			continue;
		book->accounts[n] = account;
		account->index = n++;
	}
	forgotten = book->n - n;
	book->n = n;
	accounts_sort(book->by_id, book->accounts, n);
	return forgotten;
}
