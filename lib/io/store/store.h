/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What must survive kill -9 and power loss: small records, by kind and id, in an SQLite database
 * that has a directory to itself. A thread of the store's own writes and syncs, so that whoever
 * saves never waits for a disk: records are handed over together, and the descriptor says when all
 * of them, or none, are durable.
 *
 * A store also counts the starts of its owner (the epoch): a number larger than that of any earlier
 * start, durable before store_open() returns. One owner at a time: a second one is refused.
 *
 * A record is written where it was, and the journal beside it stays as long as it was: so a full
 * disk is met when the store grows. What a power failure may do to a file is found at the start: a
 * file cut off, pages of zeros, records that are missing or of other bytes than were put.
 *
 * All calls from one thread, control's.
 */
#ifndef WEIR_STORE_STORE_H
#define WEIR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* What names the ledger that the store is a part of: 128 random bits. All zero: not known. */
struct store_identity {
	uint64_t high, low;
};

/*
 * A new, empty store in a directory (which is made if its parent is there): this limiter has never
 * run, and begins with its shares. Refuses what is there already. 0 or a negative errno: -EEXIST.
 */
int store_create(const char *directory, struct store_identity identity);

/*
 * Opens the store, counts this start and returns its epoch (from 1). 0; -ENOENT (no store here: it
 * was never created, or is lost), -EBUSY (another process has it), -EBADMSG (damaged), -ENODATA
 * (of an earlier version: its records have no names), -EPROTONOSUPPORT (of a later version),
 * -EILSEQ (older than its sentinel: sentinel.h), -EXDEV (of another machine: machine_id.h),
 * -EMEDIUMTYPE (a file of it is not a regular file), or what the file system says (-ENOSPC,
 * -EROFS, -EACCES, -EIO).
 */
int store_open(const char *directory, struct store **out, uint64_t *epoch);

/*
 * Makes a store the one of this machine, and its present state the newest: an operator's word after
 * -EILSEQ or -EXDEV. 0, or an error of store_open() or of writing
 * the sentinel.
 */
int store_accept(const char *directory);

/*
 * What store_open() would say, as far as reading tells it: nothing is changed, but that others find
 * the store locked meanwhile. Of a commit that was cut short it does not see what lies under it.
 */
int store_look(const char *directory);

/*
 * store_open() where it found none: makes one that remembers that what was before is not known, for
 * a recovering start (ledger/ledger.h). Its epochs go on from the wall clock, `now_s` seconds since
 * 1970, so that they are larger than those that were forgotten. -EEXIST: there is one; -ETIME: the
 * clock has not been set, and others would take what we say for old.
 */
#define STORE_CLOCK_LEAST_S 1767225600 /* 2026-01-01: Weir is not older */
int store_open_recovering(
	const char *directory, uint64_t now_s, struct store **out, uint64_t *epoch);

/*
 * Whether store_open_recovering() made it, at this start or an earlier one: then of a policy that
 * has no record nothing is known; else it has never run here.
 */
bool store_recovering(const struct store *store);

/*
 * Why the sentinel is not up to date, a negative errno, or 0. Without it, store_open() does not
 * notice an older state of the store. -EBUSY while a commit is under way.
 */
int store_sentinel_error(const struct store *store);

/* True if store_open() found no sentinel of a store that had one, and made it. */
bool store_sentinel_missing(const struct store *store);

/*
 * The identity; and one that was not known is, durably with the next commit that ends well, as if
 * it were a record. -EBUSY: a commit is under way, or store_result() has not told its end yet.
 */
struct store_identity store_identity(const struct store *store);
int store_set_identity(struct store *store, struct store_identity identity);

/* How long store_close() waits for a disk. */
#define STORE_PATIENCE_MS 2000

/*
 * Writes out what was handed over, and closes. NULL is fine. A disk that hangs is left behind, with
 * all that belongs to the store, until the process ends.
 */
void store_close(struct store *store);

/*
 * All records of a kind, before the first store_commit(); stops at the first negative answer and
 * returns it. What `record` points at is gone when `each` returns, and of any alignment. 0 or
 * -EBADMSG (damaged), -EIO; -EBUSY while a commit is under way.
 */
int store_each(struct store *store, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context);

/*
 * Adds a record to what is to be handed over; replaces one of that kind and id, or (NULL) removes
 * it. 0 or -ENOMEM.
 */
int store_put(struct store *store, uint8_t kind, uint64_t id, const void *record, size_t len);

/* Forgets what has been put since the last commit. */
void store_discard(struct store *store);

/*
 * Hands over what was put. 0, or -EBUSY: what was handed over before is still being written, or
 * store_result() has not told yet how that ended. What could not be written is forgotten.
 */
int store_commit(struct store *store);

/*
 * Readable when a commit has ended; and how: 0 (durable), -EAGAIN (not yet, or none was begun), or
 * why nothing of it is known to be durable (-ENOSPC, -EIO, -EBADMSG, -ENOMEM, -ENOENT: the file
 * was removed, or -ESTALE: another process has changed or replaced it). Each end is told once. The
 * next commit is tried as if none had failed.
 */
int store_fd(const struct store *store);
int store_result(struct store *store);

#endif
