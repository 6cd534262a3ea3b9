/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The store's file: an LMDB environment (copy on write, two alternating roots, so that a commit is
 * there or is not), and what LMDB leaves open.
 *
 *     key                  value
 *     1 byte, 0            the head: magic, version, epoch, whether the store began blank, and all
 *                          records' checksums by exclusive or: none is missing, none is old
 *     kind, id (4, BE)     checksum (8) of the key and of what follows, record
 *
 * The file is made under another name and renamed when it is whole; the directory is locked, since
 * LMDB by itself would let several processes in. Its blocks are allocated before they are used, so
 * that a full disk is met when the store grows and not in the middle of a commit, and a file that
 * is shorter than it says has been cut off: to touch what is missing would be a SIGBUS. No mapping
 * is ever written (MDB_WRITEMAP): the same signal would come of a full disk.
 *
 * One thread at a time; which one does not matter. Errors are negative errnos, as of store.h.
 */
#ifndef WEIR_STORE_DB_H
#define WEIR_STORE_DB_H

#include <limits.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <lmdb.h>

#include "store/batch.h"

struct db {
	MDB_env *env; /* NULL: to be opened again after an error that LMDB does not survive */
	MDB_dbi dbi;
	MDB_txn *txn; /* that is under way */
	MDB_cursor *cursor;
	jmp_buf trap;
	int dir; /* locked as long as it is open */
	char path[PATH_MAX];
	uint64_t epoch, sum;
	bool blank;
};

/* Makes an empty store of epoch 0 in the directory, which is made if its parent is there. */
int db_make(const char *directory, bool blank);

/* Opens it, and counts the epoch. */
int db_open(struct db *db, const char *directory);
void db_close(struct db *db);

/* Puts the batch, which is durable when this returns 0; otherwise none of it is known to be. */
int db_write(struct db *db, struct batch *batch);

/* See store_each(). */
int db_each(struct db *db, uint8_t kind,
	int (*each)(void *context, uint32_t id, const void *record, size_t len), void *context);

#endif
