/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Steps of a configuration change that read and write. First the new configuration is found, and
 * kept on trial before it is in force. When it is in force, the history gets a line, and its record
 * is good unless it must still be confirmed. Runs on the thread of reload.c, which can wait for
 * disks.
 */
#ifndef WEIR_APP_CHANGE_H
#define WEIR_APP_CHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "change/between.h"

struct config;
struct instance;
struct kept;

enum change_kind {
	CHANGE_RELOAD,   /* read the file again */
	CHANGE_APPLY,    /* a whole new configuration */
	CHANGE_POLICY,   /* change one policy, or several together */
	CHANGE_ROLLBACK, /* return to a previous configuration */
	CHANGE_CONFIRM,  /* confirm the running configuration */
	CHANGE_UNDO,     /* return to the last good one without confirmation */
	CHANGE_START,    /* keep the configuration of a start */
};

struct change_request {
	enum change_kind kind;
	int64_t uid, gid, pid; /* requester; uid -1: a signal or a timer */
	int fd;                /* apply, policy: sealed input; owned, -1: none */
	json_t *edit;          /* policy: edits (change/edit.h); owned; NULL: read from fd */
	uint64_t number;       /* rollback: record, 0: the previous one */
	uint64_t within_ns;    /* apply: time to confirm it, 0: confirmed already */
};

struct change {
	struct change_request request;
	uint64_t running, good; /* records at the begin of the change; 0: none */
	bool waits;             /* the running configuration must still be confirmed */

	/* Results of change_read(). */
	struct config *config; /* NULL: refused, or nothing to read */
	json_t *document, *about, *line;
	char file_digest[CHANGE_DIGEST_MAX]; /* "": the file cannot be read */
	uint64_t number;                     /* record that will be in force; 0: none */
	bool written;                        /* the record is a new one */
	bool lists;                          /* valid: the history lists its differences */
	int keep_error; /* why there is no record; a reload is in force anyway */
	int file;       /* descriptor of the record, for reading; -1 */
};

/*
 * Finds the new configuration. Errors are reported to err; then there is no config. Returns 0 or a
 * negative errno. -EBUSY: a change must be confirmed first.
 */
int change_read(struct change *change, struct instance *inst, FILE *err);

/*
 * Keeps a valid configuration on trial. Returns 0, or a negative errno, reported: it must not run
 * then.
 */
int change_keep(struct change *change, struct instance *inst, FILE *err);

/*
 * Records the outcome: the change is in force (error 0), or was refused with `messages`. Writes the
 * line of history. Returns 0 or a negative errno.
 */
int change_end(struct change *change, struct kept *kept, int error, const char *messages);

/* Returns the word for a kind of change. */
const char *change_word(enum change_kind kind);

/* Frees the contents, not the struct: that takes long for large documents. */
void change_clear(struct change *change);

/* --- places of errors in edits ---------------------------------------------------------------- */

/*
 * Relates the errors of a whole configuration to the edits of policies that it was made with. So an
 * operator reads about the words that they typed. No thread, clock or file.
 */

/*
 * Returns the name for read_for_machine() of a configuration with these edits. It begins each of
 * its messages, and stays there if a message belongs to no edit.
 */
const char *edits_label(const json_t *edits);

/*
 * Copies the messages (a line each, as read_for_machine() writes them) to `out`, with the place of
 * an edit in place of the label. `document` is the configuration with the edits in it.
 *
 *	policy "video": limit: 5: expected ...                          the edited policy
 *	policy "link": this change conflicts with policy "video": ...   another one
 *	edits[17]: policy "video": limit: 5: expected ...               one edit of an array
 *
 * Returns 0 or -ENOMEM.
 */
int edits_place(const json_t *edits, const json_t *document, const char *messages, FILE *out);

#endif
