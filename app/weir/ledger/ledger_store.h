/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's store (store/store.h) as it is opened: its epoch, and the records that the brain
 * begins with.
 */
#ifndef WEIR_APP_LEDGER_STORE_H
#define WEIR_APP_LEDGER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "limiter/limiter.h"

struct store;
struct trusted_refusal;

struct ledger_store {
	struct store *store;
	uint64_t epoch;
	struct book_identity identity;
	bool recovering;                /* what was before this store is not known */
	struct limiter_record *records; /* until ledger_store_forget() */
	unsigned n_records;
};

/*
 * Checks that only root and the user can change the directory of a store, its files, and the
 * directories above. 0, also if there is none; or -EPERM with the refusal, which has the remedy.
 * Any thread.
 */
int ledger_store_check(const char *directory, uid_t user, struct trusted_refusal *refusal);

/*
 * Opens the store in a directory, or, if there is none and `make` says so, makes a recovering one;
 * reads its records. 0, or what store_open() says, and -ENOMEM; then *out is all zero. Any thread,
 * whose turn passes on with *out.
 */
int ledger_store_open(const char *directory, bool make, struct ledger_store *out);

/* The brain has the records. */
void ledger_store_forget(struct ledger_store *opened);

/* Also what is not open. */
void ledger_store_close(struct ledger_store *opened);

/* Why it could not be opened, in words for the operator. */
const char *ledger_store_reason(int error);

#endif
