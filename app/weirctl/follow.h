/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Boxes that are asked again and again, each by a thread of its own, so that one which does not
 * answer holds up nobody. One that is gone is tried until it is back.
 */
#ifndef WEIR_WEIRCTL_FOLLOW_H
#define WEIR_WEIRCTL_FOLLOW_H

#include "ask_boxes.h"

/* Asks an open box: 0 and the document, or what source.h says. */
typedef int (*follow_fn)(struct box *box, const struct request *request, json_t **document);

struct follow;

/*
 * Begins; signals that end programs, and a terminal's change of size, are for follow_wait() from
 * now on. It goes on until the process ends. NULL: there is no memory, or no thread.
 */
struct follow *follow_start(struct boxes *boxes, const struct options *options, follow_fn ask);

enum follow_event {
	FOLLOW_NEWS = 1,   /* a box has answered, or is gone */
	FOLLOW_KEY = 2,    /* standard input can be read */
	FOLLOW_SIZE = 4,   /* the terminal may have another size */
	FOLLOW_END = 8,    /* somebody wants it to end */
	FOLLOW_PAUSE = 16, /* Ctrl-Z */
};

/* Waits for any of these, at most so long: 0 or some. `keys`: also for standard input. */
unsigned follow_wait(struct follow *follow, int ms, bool keys);

/*
 * Boxes to be shown, as many as are followed, with their names and nothing else. Freed by nobody.
 */
struct boxes follow_shown(const struct boxes *boxes);
void follow_free(struct boxes *shown);

/*
 * Takes what has come since into them: documents, which are fresh, or why there is none and since
 * when. Whether all are fresh or gone; `news`: whether one is, and was not when it was last shown.
 */
bool follow_take(struct follow *follow, struct boxes *shown, bool *news);

/* They have been shown. */
void follow_done(struct boxes *shown);

/* If no box has answered yet, and none will, standard error is told why; else false. */
bool follow_in_vain(const struct boxes *shown);

/* Seconds of a clock that goes on evenly. */
double follow_now(void);

#endif
