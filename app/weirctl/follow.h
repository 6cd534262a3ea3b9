/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters that are polled, each by a thread of its own, so that one without answers does not delay
 * the others. A limiter that is gone is tried until it is back.
 */
#ifndef WEIR_WEIRCTL_FOLLOW_H
#define WEIR_WEIRCTL_FOLLOW_H

#include "ask_boxes.h"

/* Queries an open limiter: returns 0 and the document, or an error of source.h. */
typedef int (*follow_fn)(struct box *box, const struct request *request, json_t **document);

struct follow;

/*
 * Begins to poll until the process ends. From now on, follow_wait() receives the signals that end
 * programs and the terminal's change of size. NULL: no memory or no thread.
 */
struct follow *follow_start(struct boxes *boxes, const struct options *options, follow_fn ask);

enum follow_event {
	FOLLOW_NEWS = 1,   /* a limiter has answered, or is gone */
	FOLLOW_KEY = 2,    /* standard input can be read */
	FOLLOW_SIZE = 4,   /* the terminal's size can have changed */
	FOLLOW_END = 8,    /* the user ends the program */
	FOLLOW_PAUSE = 16, /* Ctrl-Z */
};

/* Waits at most `ms` for any of these; returns 0 or more bits. `keys`: also for standard input. */
unsigned follow_wait(struct follow *follow, int ms, bool keys);

/*
 * Returns one limiter to show for each followed one, with only its name, which stays theirs. Freed
 * by follow_free().
 */
struct boxes follow_shown(const struct boxes *boxes);
void follow_free(struct boxes *shown);

/*
 * Moves new results into them: fresh documents, or why there is none and since when. Returns true
 * if all are fresh or gone. `news`: one of them has not been shown so yet.
 */
bool follow_take(struct follow *follow, struct boxes *shown, bool *news);

/* Marks all as shown. */
void follow_done(struct boxes *shown);

/*
 * If no limiter has answered yet and all are gone, reports why on standard error; otherwise false.
 */
bool follow_in_vain(const struct boxes *shown);

/* Seconds of a monotonic clock. */
double follow_now(void);

#endif
