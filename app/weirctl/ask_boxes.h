/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters that are queried: one, or several in parallel. Each answers, or fails, by itself.
 */
#ifndef WEIR_WEIRCTL_ASK_BOXES_H
#define WEIR_WEIRCTL_ASK_BOXES_H

#include <time.h>

#include "ask/client.h"
#include "ctl_options.h"

struct box {
	struct client client; /* while open; otherwise a source that always fails */
	char *name;           /* name among several limiters */
	char *path;
	double timeout_s;
	bool open;
	json_t *document;              /* last answer; NULL */
	json_t *memory;                /* state of the caller between answers; NULL */
	int error;                     /* why there is no answer: a positive errno */
	char *why;                     /* `error` in words */
	const struct options *options; /* while it is followed */
	time_t gone_since;             /* 0: it answers */
	time_t gone_shown;             /* `gone_since` when last shown */
	bool fresh;                    /* its document has not been shown */
};

struct boxes {
	struct box *each;
	unsigned n;
};

/*
 * Finds all limiters that the options name; false: some were not found, reported on standard error.
 */
bool boxes_find(const struct options *options, struct boxes *boxes);
void boxes_free(struct boxes *boxes);

/* Returns 0 or a negative errno, which every request to its source then returns. */
int box_open(struct box *box);
void box_close(struct box *box);

/* Opens it if necessary, and sends the request: sets its document, or error and why. */
void box_ask(struct box *box, const struct command *command, const struct request *request);

/* Sends the request to all in parallel, and waits until each has answered or failed. */
void boxes_ask(struct boxes *boxes, const struct command *command, const struct request *request);

/*
 * Returns why the last request failed, by box->error, for free(): "SOCKET: no answer: …". It can
 * query the limiter for a similar name. NULL: no memory.
 */
char *box_explain(struct box *box, const struct command *command, const struct request *request);

#endif
