/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other policies at run time.
 */
#include <errno.h>
#include <stdlib.h>

#include "book/book_private.h"

/* New lists of accounts, prepared separately; they take effect when nothing can fail any more. */
struct book_update {
	struct book_account **accounts, **by_id;
	unsigned n;
};

static void conserve_update_free(struct book *book, struct book_update *u)
{
	for (unsigned i = 0; i < u->n; i++)
		if (book_find(book, u->accounts[i]->id) != u->accounts[i])
			account_close(book, u->accounts[i]);
	free(u->accounts);
	free(u->by_id);
}

static int update_add(struct book *book, struct book_update *u, const void *policy, uint64_t now_ns)
{
	struct book_name name = row_name(policy);
	struct book_account *account = book_find(book, name.id);
	int ret = account && !account_is_named(account, &name) ? -EEXIST : 0;

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

/* Keeps accounts that are gone from the configuration, but not from the ledgers of others. */
static void conserve_keep_removed(struct book *book, struct book_update *u, unsigned n)
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
		conserve_update_free(book, &u);
		return ret;
	}
	for (unsigned i = 0; i < n; i++)
		u.accounts[i]->gone = false;
	conserve_keep_removed(book, &u, n);
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
