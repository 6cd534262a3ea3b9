/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A change of what runs, in the steps of it that read and write: what is to be in force is found
 * and kept before it is, on trial; when it is in force that is said, and it is good unless
 * somebody has yet to confirm it. The thread of reload.c, which may wait for disks; not control.
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
	CHANGE_RELOAD,   /* the file is read again */
	CHANGE_APPLY,    /* another configuration, whole */
	CHANGE_POLICY,   /* one policy, or several at once */
	CHANGE_ROLLBACK, /* one that has been in force before */
	CHANGE_CONFIRM,  /* what is in force stays */
	CHANGE_UNDO,     /* it does not */
	CHANGE_START,    /* what a start runs is kept */
};

struct change_request {
	enum change_kind kind;
	int64_t uid, gid, pid; /* of who asks; uid -1: nobody does, it is a signal or the time */
	int fd;             /* of an apply, or a policy: where it is read, sealed; ours to close */
	json_t *edit;       /* of policies (change/edit.h); ours; NULL: it is read from fd */
	uint64_t number;    /* of a rollback: of the record, 0: the one before */
	uint64_t within_ns; /* of an apply: the time there is to confirm it, 0: it is confirmed */
};

struct change {
	struct change_request request;
	uint64_t running, good; /* records, as the change begins; 0: there is none */
	bool waits;             /* somebody has yet to confirm what runs */

	/* What comes of change_read(). */
	struct config *config; /* NULL: it was refused, or nothing is to be read */
	json_t *document, *about, *line;
	char file_digest[CHANGE_DIGEST_MAX]; /* "": the file cannot be read */
	uint64_t number;                     /* of the record that is in force then; 0: none */
	bool written;                        /* that is a new one */
	bool lists;                          /* it is good: the line says what it changes */
	int keep_error; /* why there is none; of a reload, which is in force all the same */
	int file;       /* its record, to read; -1 */
};

/*
 * Finds what is to be in force. Errors are reported to err; then there is no config. 0 or a
 * negative errno: -EBUSY, a change waits for its confirmation.
 */
int change_read(struct change *change, struct instance *inst, FILE *err);

/* It is good: keeps it on trial. 0 or a negative errno, reported: it must not be in force. */
int change_keep(struct change *change, struct instance *inst, FILE *err);

/*
 * It is in force (error 0), or was refused, as `messages` say: keeps that, and says it in the
 * history. 0 or a negative errno.
 */
int change_end(struct change *change, struct kept *kept, int error, const char *messages);

/* What was asked for, in a word. */
const char *change_word(enum change_kind kind);

/* Frees what is there, not the struct: large documents take their time. */
void change_clear(struct change *change);

#endif
