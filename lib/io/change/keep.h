/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configurations that have been in force, each whole in a file of its own, in a directory that
 * nothing else is in:
 *
 *     0000000017.good.json    in force, and confirmed: that of the highest number is the last good
 *     0000000018.trial.json   nobody has confirmed it
 *     history.jsonl           who has changed what (journal.h)
 *
 * Each is a configuration that weir reads as it stands; two lines of comment above it have a digest
 * of all that follows, and what is to be said of it. A file is written under another name, synced,
 * renamed, and the directory synced: so that whatever ends the process, or the power, the last good
 * one is there, whole. One that a disk has lost or damaged all the same is passed over for the one
 * before it. KEEP_MOST good ones are kept.
 *
 * One process has it at a time; one thread at a time, which may wait for the disk.
 */
#ifndef WEIR_CHANGE_KEEP_H
#define WEIR_CHANGE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define KEEP_MOST 16

/* Called before each thing that is done to the disk: for tests, which end the process there. */
typedef void (*keep_step_fn)(void *context);

struct keep_hooks {
	keep_step_fn step; /* NULL: none */
	void *context;
};

struct keep;

/* For keep_record_free(). */
struct keep_record {
	uint64_t number; /* from 1 */
	json_t *about, *configuration;
};

/*
 * Opens the directory, which is made if its parent is there. 0; -EBUSY: another process has it; or
 * what the file system says.
 */
int keep_open(const char *directory, const struct keep_hooks *hooks, struct keep **out);
void keep_close(struct keep *keep); /* NULL is none */

/* The number of the newest good one below a number (UINT64_MAX: of all), or 0. Reads no file. */
uint64_t keep_good_below(const struct keep *keep, uint64_t number);

/* The newest that nobody has confirmed, or 0. */
uint64_t keep_unconfirmed(const struct keep *keep);

/* 0; -ENOENT; -EBADMSG: it is damaged; -ENOMEM; or what reading says. */
int keep_read(const struct keep *keep, uint64_t number, struct keep_record *record);
void keep_record_free(struct keep_record *record);

/*
 * Keeps one that nobody has confirmed yet, under a number higher than all. 0 when it is durable, or
 * a negative errno (-ENOSPC), and nothing that was there has changed.
 */
int keep_write(
	struct keep *keep, const json_t *about, const json_t *configuration, uint64_t *number);

/*
 * From now on it is good, durably, and the oldest go; or it is gone. Of a confirmation that failed
 * nobody knows whether it will be good after a crash.
 */
int keep_confirm(struct keep *keep, uint64_t number);
int keep_forget(struct keep *keep, uint64_t number);

/* A descriptor of its file, to read; or a negative errno. */
int keep_file(const struct keep *keep, uint64_t number);

/* For journal.h, of the same directory. */
int keep_directory(const struct keep *keep);
void keep_step(const struct keep *keep);

#endif
