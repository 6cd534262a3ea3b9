/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queries the limiters of this machine. Each has its own thread, so one that does not answer delays
 * no other.
 */
#ifndef WEIR_EXPORTER_BOXES_H
#define WEIR_EXPORTER_BOXES_H

#include "gather.h"
#include "metrics.h"

#define BOXES_MOST 64

struct boxes_options {
	const char *sockets[BOXES_MOST]; /* sockets to query; none: all in the directory */
	unsigned n_sockets;
	const char *directory;
	unsigned patience_ms; /* for all answers of one limiter together */
	struct gather_most most;
};

/* The answers of all limiters in one round. Not to be copied. */
struct boxes {
	struct metrics_of of[BOXES_MOST]; /* their names are in names[] */
	char names[BOXES_MOST][108];
	unsigned n;
	unsigned readers; /* each calls boxes_leave(); one thread */
	bool freed;       /* the last reader frees it */
};

/*
 * Queries all limiters, which takes no longer than the patience. Each gets a document with "up" and
 * "took_s", even if it does not answer. Returns NULL without memory. Free the result with
 * boxes_free(); NULL does nothing there.
 */
struct boxes *boxes_ask(const struct boxes_options *options, const struct looked_at *looked_at);
void boxes_free(struct boxes *boxes);

/* Undoes ++boxes->readers. */
void boxes_leave(struct boxes *boxes);

/* Returns a socket whose limiter name is that of another socket, or NULL. */
const char *boxes_ambiguous(const struct boxes_options *options);

#endif
