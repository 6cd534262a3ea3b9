/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limiters that are asked: one, or several at the same time, each of which answers, or not, by
 * itself.
 */
#ifndef WEIR_WEIRCTL_ASK_BOXES_H
#define WEIR_WEIRCTL_ASK_BOXES_H

#include <time.h>

#include "ask/client.h"
#include "ctl_options.h"

struct box {
	struct client client; /* while it is open; else a source that always fails so */
	char *name;           /* what it is called among several */
	char *path;
	double timeout_s;
	bool open;
	json_t *document;              /* its last answer; NULL */
	json_t *memory;                /* what who asks keeps from one answer to the next; NULL */
	int error;                     /* why there is none: a positive errno */
	char *why;                     /* that, in words */
	const struct options *options; /* while it is followed */
	time_t gone_since;             /* 0: it is there */
	time_t gone_shown;             /* as it was when it was last shown */
	bool fresh;                    /* its document has not been shown */
};

struct boxes {
	struct box *each;
	unsigned n;
};

/* All that the options name; false: some cannot be found, and standard error says why. */
bool boxes_find(const struct options *options, struct boxes *boxes);
void boxes_free(struct boxes *boxes);

/* 0 or a negative errno, which its source then says to everything that is asked. */
int box_open(struct box *box);
void box_close(struct box *box);

/* Opens it if it is not, and asks: its document is set, or the error, and why. */
void box_ask(struct box *box, const struct command *command, const struct request *request);

/* Asks all of them at once, and waits until each has answered or failed. */
void boxes_ask(struct boxes *boxes, const struct command *command, const struct request *request);

/*
 * Why the last request of it failed, as box->error says, for free(): "SOCKET: no answer: …". It may
 * ask the limiter for what was meant. NULL: there is no memory.
 */
char *box_explain(struct box *box, const struct command *command, const struct request *request);

#endif
