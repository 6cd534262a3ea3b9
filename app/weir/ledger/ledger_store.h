/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Opens a limiter's store (store/store.h): its epoch, and the records that the limiter begins with.
 */
#ifndef WEIR_APP_LEDGER_STORE_H
#define WEIR_APP_LEDGER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "limiter/limiter.h"
#include "policy/config.h"

struct store;
struct trusted_refusal;

struct ledger_store {
	struct store *store;
	uint64_t epoch;
	struct book_identity identity;
	bool recovering;                /* the store began without the state before it */
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
 * Opens the store in a directory and reads its records. If there is none and `make` is true, makes
 * a recovering one. Returns 0, an error of store_open(), or -ENOMEM; then *out is all zero. Any
 * thread, which can pass *out to another one.
 */
int ledger_store_open(const char *directory, bool make, struct ledger_store *out);

/* Frees the records after the limiter has them. */
void ledger_store_forget(struct ledger_store *opened);

/* Also for a store that is not open. */
void ledger_store_close(struct ledger_store *opened);

/* Returns why it could not be opened, in words for the operator. */
const char *ledger_store_reason(int error);

/* --- a new ledger ----------------------------------------------------------------------------- */

/*
 * `weir --new-ledger`: the operator asserts that this limiter has never run. With `--accept-ledger`
 * the operator asserts that no newer store exists and no other machine uses this one.
 */

/*
 * Makes the empty store of a configuration, and its parent directory if only that is missing. The
 * store gets the identity from the command line (`typed`), or (NULL) a new one. Reports on standard
 * output, errors on standard error. Returns 0, -EEXIST (the limiter has run; its store is
 * unchanged), -EINVAL (no identity), or an error of store_create().
 */
int new_ledger(const struct config *config, const char *typed);

/*
 * Accepts the store of a configuration as the newest one, and binds it to this machine. Returns 0
 * or an error of store_accept(), which it reports.
 */
int accept_ledger(const struct config *config);

#endif
