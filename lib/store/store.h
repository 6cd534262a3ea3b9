/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What must survive kill -9 and power loss: small records, by kind and id, in an LMDB environment
 * of one directory. A thread of the store's own writes and syncs, so that whoever saves never waits
 * for a disk: records are handed over together, and the descriptor says when all of them, or none,
 * are durable.
 *
 * A store also counts the starts of its owner (the epoch): a number larger than that of any earlier
 * start, durable before store_open() returns. One owner at a time: a second one is refused.
 *
 * All calls from one thread, control's.
 */
#ifndef WEIR_STORE_STORE_H
#define WEIR_STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * A new, empty store in a directory (which is made if its parent is there): this limiter has never
 * run, and begins with its shares. Refuses what is there already. 0 or a negative errno: -EEXIST.
 */
int store_create(const char *directory);

/*
 * Opens the store, counts this start and returns its epoch (from 1). 0; -ENOENT (no store here: it
 * was never created, or is lost), -EBUSY (another process has it), -EBADMSG (damaged, or of a later
 * version), or what the file system says (-ENOSPC, -EROFS, -EACCES, -EIO).
 */
int store_open(const char *directory, struct store **out, uint64_t *epoch);

/*
 * The same where store_open() found none: makes one that remembers that what was before is not
 * known, for a blank start (ledger/ledger.h).
 */
int store_open_blank(const char *directory, struct store **out, uint64_t *epoch);

/* Writes out what was handed over, and closes. NULL is fine. */
void store_close(struct store *store);

/*
 * All records of a kind, before the first store_put(); stops at the first negative answer and
 * returns it. What `record` points at is gone when `each` returns.
 */
int store_each(struct store *store, uint8_t kind,
	int (*each)(void *context, uint32_t id, const void *record, size_t len), void *context);

/* Adds a record to what is to be handed over; replaces one of that kind and id. 0 or -ENOMEM. */
int store_put(struct store *store, uint8_t kind, uint32_t id, const void *record, size_t len);

/* Forgets what has been put since the last commit. */
void store_discard(struct store *store);

/* Hands over what was put. 0, or -EBUSY: what was handed over before is still being written. */
int store_commit(struct store *store);

/* Readable when a commit has ended; and how: 0 (durable), -EAGAIN (not yet, or none was begun), or
 * why nothing of it is known to be durable (-ENOSPC, -EIO). Each end is told once. */
int store_fd(const struct store *store);
int store_result(struct store *store);

#endif
