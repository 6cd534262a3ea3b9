/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configurations that were in force, each in a file of its own, in a directory of their own:
 *
 *     0000000017.good.json    in force and confirmed; the highest number is the last good one
 *     0000000018.trial.json   not confirmed
 *     history.jsonl           who changed which keys (journal_add())
 *
 * Each file is a configuration that weir can read. Two comment lines above it hold a digest of the
 * rest of the file, and facts about the configuration. A file is written under another name, synced
 * and renamed, and the directory is synced. So the last good file is whole after a crash or a power
 * failure. A file that the disk has damaged is skipped, and the one before it counts. KEEP_MOST
 * good files are kept.
 *
 * One process at a time has the directory open. One thread at a time, which may wait for the disk.
 */
#ifndef WEIR_CHANGE_KEEP_H
#define WEIR_CHANGE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <stddef.h>

#define KEEP_MOST 16

/* Called before each operation on the disk. A test ends the process there. */
typedef void (*keep_step_fn)(void *context);

struct keep_hooks {
	keep_step_fn step; /* NULL: none */
	void *context;
};

struct keep;

/* A record, to be freed by keep_record_free(). */
struct keep_record {
	uint64_t number; /* from 1 */
	json_t *about, *configuration;
};

/*
 * Opens the directory, which is created if its parent exists. Returns 0; -EBUSY: another process
 * has it open; or an error of the file system.
 */
int keep_open(const char *directory, const struct keep_hooks *hooks, struct keep **out);
void keep_close(struct keep *keep); /* NULL is allowed */

/*
 * Returns the highest number of a good file below `number` (UINT64_MAX: of all), or 0. Reads no
 * file.
 */
uint64_t keep_good_below(const struct keep *keep, uint64_t number);

/* Returns the highest number of an unconfirmed file, or 0. */
uint64_t keep_unconfirmed(const struct keep *keep);

/* Reads a file. Returns 0, -ENOENT, -EBADMSG (damaged), -ENOMEM, or an error of reading. */
int keep_read(const struct keep *keep, uint64_t number, struct keep_record *record);
void keep_record_free(struct keep_record *record);

/*
 * Writes an unconfirmed configuration under a number above all others. Returns 0 when it is
 * durable, or a negative errno such as -ENOSPC; then no other file has changed.
 */
int keep_write(
	struct keep *keep, const json_t *about, const json_t *configuration, uint64_t *number);

/*
 * keep_confirm() makes a file good, durably, and removes the oldest ones. A file that is good stays
 * so. After an error the file may or may not be good after a crash. keep_forget() removes the file.
 */
int keep_confirm(struct keep *keep, uint64_t number);
int keep_forget(struct keep *keep, uint64_t number);

/* Returns a descriptor to read the file, or a negative errno. */
int keep_file(const struct keep *keep, uint64_t number);

/* Used by journal.c, in the same directory. */
int keep_directory(const struct keep *keep);
void keep_step(const struct keep *keep);

/*
 * The history of changes: one JSON object a line, appended to a file. A full file is renamed to
 * history.1.jsonl, the previous one of that name to history.2.jsonl, and so on up to JOURNAL_FILES.
 * A line that a crash has truncated is skipped, and the next one starts on a new line.
 */

#define JOURNAL_FILES     4
#define JOURNAL_FILE_MOST (4 << 20) /* bytes */

/*
 * Appends a line. Returns 0 when it is durable, or a negative errno: no line or half a line was
 * written.
 */
int journal_add(const struct keep *keep, const json_t *line);

/* Returns a new array of the last lines, at most `most`, the oldest first. NULL: out of memory. */
json_t *journal_last(const struct keep *keep, size_t most);

#endif
