/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The store's file: an SQLite database with a rollback journal.
 *
 *     records (kind, id, record)    kind: that of a record; -2: the owner (struct db_owner)
 *     head (epoch, recovering,      one row
 *           commits, seal,
 *           identity_high, _low)
 *
 * `recovering`: the store was made by a recovering start. `identity`: of the ledger, 0 while
 * unknown. `seal`: exclusive or of the checksums of all records and of the head. It detects records
 * that are missing, old or altered.
 *
 * The file's version is SQLite's user_version: 3. Versions 1 and 2 are rejected: their key had the
 * kind and an id of 32 bits, and their records had no names.
 *
 * The state is in one place. Before a page is overwritten, the journal holds its previous content
 * durably, so a commit is whole or absent. A write-ahead log would be faster. But a truncated log
 * is a valid earlier state, which cannot be distinguished from the latest.
 *
 * The file is made under another name and renamed when it is complete. The directory is locked
 * against other limiters, the file against SQLite's own tools.
 *
 * Any thread, one at a time. Errors are negative errnos, the same as in store.h.
 */
#ifndef WEIR_STORE_DB_H
#define WEIR_STORE_DB_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

#include <sqlite3.h>

#include "store/sentinel.h"
#include "store/store.h"

/*
 * A batch of records that become durable together, in the order of batch_put(). If two have the
 * same kind and id, the later one counts. A record without bytes (at: NULL) removes the stored
 * record of that kind and id. An all-zero struct is an empty batch. One thread at a time.
 */
struct batch {
	uint8_t *bytes; /* each record after its header */
	size_t len, room;
};

struct batch_record {
	uint8_t kind;
	uint64_t id;
	const void *at; /* any alignment; NULL: none */
	size_t len;
};

/* Appends a record. Returns 0, or -ENOMEM with the batch unchanged. */
int batch_put(struct batch *batch, uint8_t kind, uint64_t id, const void *record, size_t len);

/*
 * Reads the record at *offset (initially 0), and advances *offset. Returns 1, or 0 after the last.
 */
int batch_next(const struct batch *batch, size_t *offset, struct batch_record *record);

/* Empties the batch, and keeps its memory for later records. */
void batch_clear(struct batch *batch);
void batch_free(struct batch *batch);

/* A commit in the head. */
struct db_mark {
	uint64_t commits;
	int64_t seal;
};

/* A record of the store about itself. All zero if it was never opened. */
struct db_owner {
	uint64_t word;     /* random word of the newest start */
	uint64_t previous; /* word of the start before it */
	uint64_t machine;  /* see store_machine(); 0: none */
};

struct db {
	sqlite3 *sqlite; /* NULL after an error: to be opened and checked again */
	int dir;         /* locked while it is open */
	char path[PATH_MAX];
	uint64_t epoch, commits;
	uint64_t sum; /* exclusive or of all records' checksums */
	bool recovering;
	struct store_identity identity;
	struct db_mark last, pending; /* the last commit, and one that may have failed */
	struct db_mark found;         /* in the file when it was opened */
	struct stat left;             /* the file after the last commit */
	struct db_owner owner;
	struct sentinel sentinel;
	bool sentinel_missing; /* when a store that had one was opened */
	int sentinel_error;    /* last error of the sentinel, negative; 0: it is up to date */
};

/*
 * Makes an empty store in the directory, which is created if its parent exists. `epoch` is the
 * count of starts to continue from: 0, or for a recovering store more than the lost one had
 * counted. A recovering store has no identity (0) yet.
 */
int db_make(const char *directory, uint64_t epoch, struct store_identity identity);

/* See store_look(). */
int db_look(const char *directory);

/* See store_accept(). */
int db_accept(const char *directory);

/* Opens and checks the store, and commits the next epoch. */
int db_open(struct db *db, const char *directory);
void db_close(struct db *db);

/*
 * Writes the batch. Returns 0 once it is durable; after an error it may or may not be. -ESTALE:
 * another process has changed the file since our last commit. After an error the next call opens it
 * again.
 */
int db_write(struct db *db, const struct batch *batch);

/* See store_each(). */
int db_each(struct db *db, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context);

#endif
