/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What runs, what was the last good configuration, and what is known of both: of a limiter that has
 * a state directory (--state). What a start runs is chosen here:
 *
 *     the file is refused, or     the last good one, or none if that says so ("on_refused")
 *     its start has failed
 *     it is as it was when the    the last good one, which may be the file, the file with single
 *     last good one came          changes, or something else that was applied
 *     it is another               the file, with the single changes that it does not overrule
 *
 * Before the control loop main has it; then the thread of changes has what it is handed, and
 * control the rest.
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
	struct keep *keep;         /* the thread's, while there is one, as the next four are */
	json_t *configuration;     /* what runs, as its record has it */
	uint64_t configuration_of; /* that record; 0: it is kept nowhere else */
	struct seen *file_seen;    /* the file, and what it includes, as it was when it had: */
	char file_digest[CHANGE_DIGEST_MAX];
	char *directory;        /* as it was given */
	struct confirm confirm; /* numbers of records of keep */
	json_t *about;          /* of what runs: see about_make(); NULL: of that nothing is kept */
	int running_file;       /* its record, to read; -1 */
	json_t *history;        /* the newest lines, the oldest first */
	const char *start_failed; /* how that of the file has ended; NULL: it is tried */
	char *refused;            /* why the file was, where the last good one runs instead; NULL */
	char *trouble;            /* why what runs, or what was said, is not kept; NULL */
	/* What the start has chosen, to be kept when it runs; NULL: it is kept already. */
	json_t *document;
	json_t *start; /* the line of history that the start is; NULL once it is written */
};

/*
 * Opens a state directory. Without one that can be used the limiter runs all the same, and keeps
 * nothing: 0 and NULL, said on err. NULL is given where none was asked for, too. -ENOMEM.
 */
int kept_open(const char *directory, FILE *err, struct kept **out);
void kept_close(struct kept *kept); /* NULL is none */

/*
 * The configuration that a start runs, by the rules above; as config_load() if nothing is kept,
 * but that key files that will not do are errors, too. What is wrong with the file is said on err,
 * and that something else runs.
 */
int kept_choose(struct kept *kept, const char *file, FILE *err, struct config **out);

/*
 * Returns true if a failed start can be repeated with the last good configuration. It differs from
 * the chosen one, and has no "on_refused": "stop". Main thread.
 */
bool kept_can_go_back(struct kept *kept);

/* A record, from memory if it is there, and then that of what runs; 0: as kept_have() has it. As
 * keep_read(). The thread. */
int kept_read(struct kept *kept, uint64_t number, struct keep_record *record);

/*
 * The configuration is that of a record, which is read again and again; or of none (0), where it
 * could not be kept, and is the only one that there is of what runs. Takes the reference.
 */
void kept_have(struct kept *kept, uint64_t number, json_t *configuration);

/* The digest of the file is known as long as it stays as it is. Takes over what was seen of it. */
void kept_know_file(struct kept *kept, struct seen *seen, const char digest[CHANGE_DIGEST_MAX]);

/* Whether it is known; then `digest` has it. */
bool kept_knows_file(const struct kept *kept, char digest[CHANGE_DIGEST_MAX]);

/* What runs, in words: "the file", "what alice has applied at ...; the file differs". */
void kept_words(const struct kept *kept, char *words, size_t room);

/* Whether what runs is not what the file held when that was last looked at. */
bool kept_differs(const struct kept *kept);

/*
 * What is said of a configuration: what made it, its digest, that of the file then, and singles. Of
 * no document the digest is left out: kept_digest() says it when there is time.
 */
json_t *about_make(
	const json_t *line, const json_t *document, const char *file_digest, const json_t *singles);

/*
 * The digest of what runs, if that is in memory and nothing has said it yet; the thread. Control
 * puts it there, and until then what runs counts as another than the file.
 */
bool kept_digest(const struct kept *kept, char digest[CHANGE_DIGEST_MAX]);
void kept_put_digest(struct kept *kept, const char *digest);

/* A line of history that begins now: "what", "at", by whom. For more members. */
json_t *history_line(const char *what, int64_t uid, int64_t gid, int64_t pid);

/* The line is in memory, too; takes the reference. Control, or before it. */
void kept_remember(struct kept *kept, json_t *line);

#endif
