/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private declarations that the files of lib/control/book share.
 */
#ifndef WEIR_BOOK_PRIVATE_H
#define WEIR_BOOK_PRIVATE_H

#include <string.h>

#include "book/book.h"

/* Names of added edges in a record: two numbers of them, and the id and `born` of each. */
#define EDGES_MOST   UINT16_MAX
#define EDGES_HEAD   (2 * sizeof(uint16_t))
#define EDGE_NAME    (sizeof(uint32_t) + sizeof(uint64_t))
#define RECORD_HEAD  (2 * sizeof(uint64_t) + 1)
#define RECORD_NAMES 0x80 /* in the length of the policy's name: names of added edges follow it */

/* The names that a record has, or n = 0. A joiner's record has all founders first. */
struct record_names {
	const uint8_t *at;
	unsigned n, n_founders;
};

struct record_names record_names(const struct book_record *record);
struct book_member record_name(const struct record_names *names, unsigned i);

/* The row of one policy, which begins with its id. */
static inline const void *row_at(const struct book *book, const void *policies, unsigned i)
{
	return (const uint8_t *)policies + i * book->ops->policy_bytes;
}

static inline struct book_name row_name(const void *row)
{
	struct book_name name;

	memcpy(&name, row, sizeof(name));
	if (!name.name)
		name.name = "";
	return name;
}

/* Makes the account of a policy, or (NULL) of a record without a policy. Returns 0 or an errno. */
int account_open(struct book *book, const void *policy, const struct book_record *record,
	uint64_t now_ns, struct book_account **out);

/* Makes room in book->record for the record of an account. Returns 0 or -ENOMEM. */
int account_record_room(struct book *book, const struct book_account *account);

/* Begins a record in book->record; returns the place behind that. */
uint8_t *account_write_head(const struct book *book, const struct book_account *account);

void account_close(struct book *book, struct book_account *account);

/* Returns the one of that id among n that are sorted, or NULL. */
struct book_account *accounts_find(struct book_account *const *by_id, unsigned n, uint64_t id);

/* Fills `by_id` with n accounts, sorted; returns false if two are of one id. */
bool accounts_sort(struct book_account **by_id, struct book_account *const *accounts, unsigned n);

#endif
