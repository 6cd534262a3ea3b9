/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limiters of this machine: each is asked by a thread of its own, so that one which does not
 * answer takes no time of another.
 */
#ifndef WEIR_EXPORTER_BOXES_H
#define WEIR_EXPORTER_BOXES_H

#include "gather.h"
#include "metrics.h"

#define BOXES_MOST 64

struct boxes_options {
	const char *sockets[BOXES_MOST]; /* of these limiters; none: of all in the directory */
	unsigned n_sockets;
	const char *directory;
	unsigned patience_ms; /* for all answers of a limiter together */
	struct gather_most most;
};

/* What they said, once; not to be copied. */
struct boxes {
	struct metrics_of of[BOXES_MOST]; /* names are in names[] */
	char names[BOXES_MOST][108];
	unsigned n;
	unsigned readers; /* each of which calls boxes_leave(); one thread */
	bool freed;       /* the last reader frees it */
};

/*
 * Asks all of them, which takes no longer than the patience: a document of each, with "up" and
 * "took_s" whether it answers or not. NULL without memory; boxes_free() is due, also of NULL.
 */
struct boxes *boxes_ask(const struct boxes_options *options, const struct looked_at *looked_at);
void boxes_free(struct boxes *boxes);

/* Undoes ++boxes->readers. */
void boxes_leave(struct boxes *boxes);

/* Whether two of the sockets would have one name; that, or NULL. */
const char *boxes_ambiguous(const struct boxes_options *options);

#endif
