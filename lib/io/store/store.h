/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State that must survive kill -9 and power loss: small records, by kind and id, in an SQLite
 * database with a directory to itself. A thread of the store writes and syncs, so the caller never
 * waits for a disk. The caller submits records together; a descriptor becomes readable when all or
 * none are durable.
 *
 * A store also counts the starts of its owner (the epoch). The number exceeds that of any earlier
 * start, and is durable before store_open() returns. One owner at a time: a second one is rejected.
 *
 * Records are overwritten in place, and the journal file keeps its size. So a full disk only
 * matters when the store grows. The start detects damage by a power failure: a truncated file,
 * pages of zeros, and missing or altered records.
 *
 * All calls come from one thread, control.
 */
#ifndef WEIR_STORE_STORE_H
#define WEIR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* Identity of the ledger that the store belongs to: 128 random bits. All zero: unknown. */
struct store_identity {
	uint64_t high, low;
};

/*
 * Makes a new, empty store in a directory, which is created if its parent exists. The limiter has
 * never run, and starts with its shares. Returns 0 or a negative errno; -EEXIST if there is a
 * store.
 */
int store_create(const char *directory, struct store_identity identity);

/*
 * Opens the store, counts this start and returns its epoch (from 1). Returns 0, or
 *
 *     -ENOENT           no store: it was never created, or is lost
 *     -EBUSY            another process has it open
 *     -EBADMSG          damaged
 *     -ENODATA          of an earlier version: its records have no names
 *     -EPROTONOSUPPORT  of a later version
 *     -EILSEQ           older than its sentinel (sentinel.h)
 *     -EXDEV            of another machine (sentinel.h)
 *     -EMEDIUMTYPE      one of its files is not a regular file
 *
 * or an error of the file system (-ENOSPC, -EROFS, -EACCES, -EIO).
 */
int store_open(const char *directory, struct store **out, uint64_t *epoch);

/*
 * Assigns a store to this machine, and declares its present state the newest. For an operator's
 * command after -EILSEQ or -EXDEV. Returns 0, an error of store_open(), or of writing the sentinel.
 */
int store_accept(const char *directory);

/*
 * Checks a store without changing it. Returns the result of store_open(), as far as reading can
 * find it. The store is locked during the call, so others get -EBUSY. Content that a commit left
 * incomplete is not checked, because the journal must be played back first.
 */
int store_look(const char *directory);

/*
 * Makes and opens a store after store_open() found none, for a recovering start (ledger/ledger.h).
 * The store records that its earlier state is unknown. Epochs continue from the wall clock, `now_s`
 * seconds since 1970, so that they exceed the lost ones. Returns -EEXIST if there is a store, and
 * -ETIME if the clock is not set: peers would take our messages for old ones.
 */
#define STORE_CLOCK_LEAST_S 1767225600 /* 2026-01-01: Weir is not older */
int store_open_recovering(
	const char *directory, uint64_t now_s, struct store **out, uint64_t *epoch);

/*
 * Returns true if store_open_recovering() made the store, at this start or an earlier one. Then the
 * earlier state of a policy without a record is unknown; otherwise such a policy has never run
 * here.
 */
bool store_recovering(const struct store *store);

/*
 * Returns the negative errno of the last write of the sentinel, or 0 if it is up to date. Without
 * it, store_open() does not detect an older copy of the store. -EBUSY during a commit.
 */
int store_sentinel_error(const struct store *store);

/* Returns true if store_open() found that a store had lost its sentinel, and made it. */
bool store_sentinel_missing(const struct store *store);

/*
 * Returns the identity. The other function sets an unknown one, which becomes durable with the next
 * successful commit, like a record. It returns -EBUSY if a commit has not ended, or if its result
 * was not collected.
 */
struct store_identity store_identity(const struct store *store);
int store_set_identity(struct store *store, struct store_identity identity);

/* Longest wait for the disk in store_close(). */
#define STORE_PATIENCE_MS 2000

/*
 * Writes the submitted records and closes. NULL is allowed. If the disk hangs, the thread and the
 * memory of the store remain until the process ends.
 */
void store_close(struct store *store);

/*
 * Calls `each` for all records of a kind. Stops at the first negative return value, and returns it.
 * Must be called before the first store_commit(). `record` has any alignment, and is valid only
 * during the call. Returns 0, -EBADMSG (damaged), -EIO, or -EBUSY during a commit.
 */
int store_each(struct store *store, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context);

/*
 * Adds a record to the next commit. It replaces the one of that kind and id; NULL removes it.
 * Returns 0 or -ENOMEM.
 */
int store_put(struct store *store, uint8_t kind, uint64_t id, const void *record, size_t len);

/* Discards all records added since the last commit. */
void store_discard(struct store *store);

/*
 * Starts to write the added records. Returns 0, or -EBUSY: the previous commit has not ended, or
 * its result was not collected. Records that could not be written are lost.
 */
int store_commit(struct store *store);

/*
 * The descriptor store_fd() is readable when a commit has ended. The function store_result()
 * returns its outcome once: 0 (durable), -EAGAIN (not ended, or none was started), or an error.
 * After an error, possibly none of it is durable: -ENOSPC, -EIO, -EBADMSG, -ENOMEM, -ENOENT (the
 * file was removed) or -ESTALE (another process has changed or replaced it). The next commit does
 * not depend on that failure.
 */
int store_fd(const struct store *store);
int store_result(struct store *store);

#endif
