/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of lib/control/book share.
 */
#ifndef WEIR_BOOK_PRIVATE_H
#define WEIR_BOOK_PRIVATE_H

#include "book/book.h"

/* The row of one policy, which begins with its id. */
static inline const void *row_at(const struct book *book, const void *policies, unsigned i)
{
	return (const uint8_t *)policies + i * book->ops->policy_bytes;
}

static inline uint32_t row_id(const void *row)
{
	return *(const uint32_t *)row;
}

/* The account of a policy, or (NULL) of one of which there is a record only. 0 or an errno. */
int account_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out);

/* The one of that id among n that are sorted, or NULL. */
struct book_account *accounts_find(struct book_account *const *by_id, unsigned n, uint32_t id);

/* Fills `by_id` with n accounts, sorted; false if two are of one id. */
bool accounts_sort(struct book_account **by_id, struct book_account *const *accounts, unsigned n);

#endif
