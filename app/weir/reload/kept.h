/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State directory (--state): the running configuration, the last good one, and the facts kept about
 * both. kept_choose() selects the configuration of a start:
 *
 *     the file is refused, or     the last good one, or none if that has "on_refused": "stop"
 *     its start failed
 *     the file is unchanged       the last good one: the file, the file with single changes, or
 *     since the last good one     another configuration that was applied
 *     the file has changed        the file, with the single changes that it does not overrule
 *
 * The main thread uses it until the control loop begins. After that, the thread of changes uses the
 * members that are passed to it, and control the others.
 */
#ifndef WEIR_APP_KEPT_H
#define WEIR_APP_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "change/between.h"
#include "change/keep.h"
#include "policy/confirm.h"
#include "policy/config.h"

struct seen;

#define KEPT_HISTORY 256 /* lines in memory */

struct kept {
	struct keep *keep;     /* used by the thread of changes while it runs, like the next four */
	json_t *configuration; /* running configuration, as in its record */
	uint64_t configuration_of; /* number of that record; 0: it is in memory only */
	struct seen *file_seen;    /* state of the file and its includes when it had file_digest */
	char file_digest[CHANGE_DIGEST_MAX];
	char *directory;          /* argument of --state */
	struct confirm confirm;   /* numbers of records of keep */
	json_t *about;            /* see about_make(); NULL: nothing is kept */
	int running_file;         /* descriptor of the running record, for reading; -1 */
	json_t *history;          /* newest lines, the oldest first */
	const char *start_failed; /* how the start of the file failed; NULL: it is tried */
	char *refused; /* why the file was refused, if the last good one runs instead; NULL */
	char *trouble; /* why the configuration or its history is not kept; NULL */
	/* Choice of the start, to be kept when it runs; NULL: it is kept already. */
	json_t *document;
	json_t *start; /* line of history of the start; NULL once written */
};

/*
 * Opens a state directory. If it cannot be used, the limiter runs anyway and keeps nothing: returns
 * 0 and NULL, reported on err. NULL also if no directory is requested. -ENOMEM.
 */
int kept_open(const char *directory, FILE *err, struct kept **out);
void kept_close(struct kept *kept); /* kept can be NULL */

/*
 * Chooses the configuration of a start by the rules above. Works like config_load() if nothing is
 * kept, except that unusable key files are errors too. Errors of the file are reported on err, and
 * so is a start with another configuration.
 */
int kept_choose(struct kept *kept, const char *file, FILE *err, struct config **out);

/*
 * Returns true if a failed start can be repeated with the last good configuration. It differs from
 * the chosen one, and has no "on_refused": "stop". Main thread.
 */
bool kept_can_go_back(struct kept *kept);

/*
 * Reads a record: from memory for the running one, or if number is 0, see kept_have(). Returns as
 * keep_read(). The thread of changes.
 */
int kept_read(struct kept *kept, uint64_t number, struct keep_record *record);

/*
 * Keeps a configuration in memory with the number of its record, which is read often. Number 0: it
 * could not be kept, and this is the only copy of the running one. Takes the reference.
 */
void kept_have(struct kept *kept, uint64_t number, json_t *configuration);

/* Remembers the digest of the file as long as the file is unchanged. Takes over `seen`. */
void kept_know_file(struct kept *kept, struct seen *seen, const char digest[CHANGE_DIGEST_MAX]);

/* Returns true if the file is unchanged; then `digest` has its digest. */
bool kept_knows_file(const struct kept *kept, char digest[CHANGE_DIGEST_MAX]);

/* Describes the running configuration: "the file", "apply of ... by alice; the file differs". */
void kept_words(const struct kept *kept, char *words, size_t room);

/* Returns true if the running configuration differs from the file as last read. */
bool kept_differs(const struct kept *kept);

/*
 * Returns the facts about a configuration: the change that made it, its digest, the digest of the
 * file then, and singles. Without a document, the digest is left out; kept_digest() computes it
 * later.
 */
json_t *about_make(
	const json_t *line, const json_t *document, const char *file_digest, const json_t *singles);

/*
 * Computes the digest of the running configuration if it is in memory and has none yet. Called by
 * the thread of changes; control stores it with kept_put_digest(). Until then, the configuration
 * counts as different from the file.
 */
bool kept_digest(const struct kept *kept, char digest[CHANGE_DIGEST_MAX]);
void kept_put_digest(struct kept *kept, const char *digest);

/* Returns a line of history with `what`, the present time and the user. The caller adds members. */
json_t *history_line(const char *what, int64_t uid, int64_t gid, int64_t pid);

/* Adds the line to those in memory; takes the reference. Control, or before it runs. */
void kept_remember(struct kept *kept, json_t *line);

#endif
