/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The store's file: an SQLite database with a rollback journal, and what SQLite leaves open.
 *
 *     records (kind, id, record)  kind: -2, of the owner (struct db_owner), or of a record
 * head (epoch, recovering, one row; recovering: the store began so; identity: of the ledger, 0 as
 *           commits, seal,      long as it is not known; seal: the checksums of all records and of
 *       identity_high, _low)    the head by exclusive or, so that no record can be missing, of
 *                               former times, or of other bytes
 *
 * Its version is SQLite's user_version: 3. Versions 1 and 2 had one key of the kind and an id of 32
 * bits, and no names in their records, and are refused.
 *
 * The state is in one place: before a page is overwritten its former content is durable in
 * the journal, so that a commit is there or is not. A write-ahead log would be quicker and is not
 * used: one that is cut off is an earlier state, which nothing tells from the latest.
 *
 * The file is made under another name and renamed when it is whole. The directory is locked for
 * other limiters, the file for whoever opens it with SQLite's own tools.
 *
 * One thread at a time; which one does not matter. Errors are negative errnos, as of store.h.
 */
#ifndef WEIR_STORE_DB_H
#define WEIR_STORE_DB_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <sys/stat.h>

#include <sqlite3.h>

#include "store/batch.h"
#include "store/sentinel.h"
#include "store/store.h"

/* A commit in the head. */
struct db_mark {
	uint64_t commits;
	int64_t seal;
};

/* A record of the store about itself. All zero: of one that was never opened. */
struct db_owner {
	uint64_t word;     /* random word of the newest start */
	uint64_t previous; /* word of the start before it */
	uint64_t machine;  /* see store_machine(); 0: none */
};

struct db {
	sqlite3 *sqlite; /* NULL: to be opened and checked again, after an error */
	int dir;         /* locked as long as it is open */
	char path[PATH_MAX];
	uint64_t epoch, commits;
	uint64_t sum; /* of all records' checksums by exclusive or */
	bool recovering;
	struct store_identity identity;
	struct db_mark last, pending; /* the last commit, and one that may have failed */
	struct db_mark found;         /* in the file, when it was opened */
	struct stat left;             /* the file after the last commit */
	struct db_owner owner;
	struct sentinel sentinel;
	bool sentinel_missing; /* at the opening of a store that had one */
	int sentinel_error;    /* last error of the sentinel, negative; 0: it is up to date */
};

/*
 * Makes an empty store in the directory, which is made if its parent is there. Starts are counted
 * from `epoch`: 0, or, in a recovering one, which has no identity (0) yet, more than were counted
 * in the one that was lost.
 */
int db_make(const char *directory, uint64_t epoch, struct store_identity identity);

/* See store_look(). */
int db_look(const char *directory);

/* See store_accept(). */
int db_accept(const char *directory);

/* Opens it, and counts the epoch. */
int db_open(struct db *db, const char *directory);
void db_close(struct db *db);

/*
 * Puts the batch, which is durable when this returns 0; otherwise none of it is known to be.
 * -ESTALE: the file is not as the last commit left it. Then the next call looks again.
 */
int db_write(struct db *db, const struct batch *batch);

/* See store_each(). */
int db_each(struct db *db, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context);

#endif
