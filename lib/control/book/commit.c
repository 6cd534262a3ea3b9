/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commits all accounts that need it together: one request to the disk in a round, however many have
 * changed.
 */
#include <errno.h>
#include <string.h>

#include "book/book_private.h"

void book_changed(struct book *book, struct book_account *account)
{
	if (account->changed || !book->ops->unsaved(book, account))
		return;
	account->changed = true;
	TAILQ_INSERT_TAIL(&book->changed, account, next_changed);
}

bool book_unsaved(const struct book *book)
{
	return !TAILQ_EMPTY(&book->changed) || book->n_forgotten > 0;
}

static int account_save(
	struct book *book, struct book_account *account, book_write write, void *context)
{
	uint8_t *body = account_write_head(book, account);
	size_t len;
	int ret = book->ops->save(book, account, body, &len);

	if (ret)
		return ret;
	account->saving = account->stored = true;
	if (!write)
		return 0;
	return write(context, account->id, book->record, (size_t)(body - book->record) + len);
}

int book_save(struct book *book, book_write write, void *context)
{
	struct book_account *account;
	int ret = 0;

	if (book->n_saving > 0 || book->n_forgetting > 0)
		return -EBUSY;
	/* Before the others: one of them may have begun again with such an id. */
	while (ret == 0 && book->n_forgetting < book->n_forgotten) {
		uint64_t id = book->forgotten[book->n_forgetting++];

		ret = write ? write(context, id, NULL, 0) : 0;
	}
	for (account = TAILQ_FIRST(&book->changed); ret == 0 && account;
		account = TAILQ_NEXT(account, next_changed)) {
		book->n_saving++;
		ret = account_save(book, account, write, context);
	}
	if (ret < 0) {
		book_save_failed(book);
		return ret;
	}
	return book->n_saving > 0 || book->n_forgetting > 0 ? 0 : -EAGAIN;
}

/* Accounts that have changed since wait again, after the others. */
static void end_commit_round(struct book *book, bool durable)
{
	if (durable && book->n_forgetting > 0) {
		book->n_forgotten -= book->n_forgetting;
		memmove(book->forgotten, book->forgotten + book->n_forgetting,
			book->n_forgotten * sizeof(*book->forgotten));
	}
	book->n_forgetting = 0;
	book->has_store |= durable;
	for (; book->n_saving > 0; book->n_saving--) {
		struct book_account *account = TAILQ_FIRST(&book->changed);

		TAILQ_REMOVE(&book->changed, account, next_changed);
		account->saving = account->changed = false;
		book->ops->committed(book, account, durable);
		book_changed(book, account);
	}
}

void book_committed(struct book *book)
{
	end_commit_round(book, true);
}

void book_save_failed(struct book *book)
{
	end_commit_round(book, false);
}
