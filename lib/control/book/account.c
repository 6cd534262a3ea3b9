/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One account, and finding it. A record is the fingerprint of the edges (eight bytes, big-endian)
 * and what the account itself has written.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/wire.h"
#include "book/book_private.h"

static int compare_accounts(const void *a, const void *b)
{
	uint32_t x = (*(struct book_account *const *)a)->id;
	uint32_t y = (*(struct book_account *const *)b)->id;

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

struct book_account *accounts_find(struct book_account *const *by_id, unsigned n, uint32_t id)
{
	const struct book_account key = {.id = id}, *at = &key;
	struct book_account *const *found = bsearch(
		&at, by_id, n, sizeof(*found), compare_accounts);

	return found ? *found : NULL;
}

struct book_account *book_find(const struct book *book, uint32_t id)
{
	return accounts_find(book->by_id, book->n, id);
}

/* What the account itself has written; false if that is of other edges. */
static bool record_body(
	const struct book *book, const struct book_record *record, struct book_record *body)
{
	uint64_t fingerprint;

	if (record->len < sizeof(fingerprint))
		return false;
	memcpy(&fingerprint, record->at, sizeof(fingerprint));
	*body = (struct book_record){record->id, (const uint8_t *)record->at + sizeof(fingerprint),
		record->len - sizeof(fingerprint)};
	return be64toh(fingerprint) == book->fingerprint;
}

int account_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out)
{
	struct book_record body;
	uint8_t *room;
	int ret;

	if (record && !record_body(book, record, &body))
		return -EINVAL;
	ret = book->ops->open(book, policy, record ? &body : NULL, now_ns, out);
	if (ret)
		return ret;
	(*out)->id = policy ? row_id(policy) : record->id;
	(*out)->gone = !policy;
	room = realloc(book->record, sizeof(uint64_t) + (*out)->record_bytes);
	if (!room) {
		book->ops->close(book, *out);
		return -ENOMEM;
	}
	book->record = room;
	return 0;
}
