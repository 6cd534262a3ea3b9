/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queries the limiters of this machine, and collects the answers of each in one document:
 * - "process", "config", "health", "drops", "unparsed", "gossip", "ledger" and "workers" from the
 *   commands of these names;
 * - "ports" with their "stats" and whether they are "up";
 * - "peers", except this limiter, with whether they are "alive";
 * - "left_out": the numbers of policies and peers that were left out;
 * - "at_ms" of the first page of policies;
 * - "shares", by name, of the policies that are viewed;
 * - "up": whether the limiter has answered, and "took_s".
 */
#ifndef WEIR_EXPORTER_BOXES_H
#define WEIR_EXPORTER_BOXES_H

#include "ask/targets.h"
#include "metrics.h"

#define BOXES_MOST 64

/* The most of each kind, because each adds a label. */
struct gather_most {
	unsigned policies, peers;
};

/* Names of policies that viewers look at. */
#define LOOKED_AT_MOST 16
#define POLICY_NAME    64
struct looked_at {
	char names[LOOKED_AT_MOST][POLICY_NAME];
	unsigned n;
};

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

/* NULL does nothing. */
void boxes_free(struct boxes *boxes);

/*
 * Returns the index of a limiter in `boxes` (NULL: none), or BOXES_MOST. Fastest if the guess is
 * right.
 */
unsigned boxes_find(const struct boxes *boxes, const char *limiter, unsigned guess);

/* Undoes ++boxes->readers. */
void boxes_leave(struct boxes *boxes);

/* Queries of all limiters, one round after the other. Not to be copied. */
struct round {
	const struct boxes_options *options;
	struct targets targets; /* wait with targets_wait() until none is busy */
	struct looked_at looked_at;
	struct boxes *boxes; /* the result, which the queries fill */
};

/* Returns 0; 1 if two sockets have the same name; or a negative errno. Borrows the options. */
int round_open(struct round *round, const struct boxes_options *options);

/* Waits for running queries. */
void round_close(struct round *round);

/* Begins a round, which takes no longer than the patience. The previous one has ended. */
void round_begin(struct round *round, const struct looked_at *looked_at);

/* Returns the result when no limiter is busy, for boxes_free(). NULL: no memory. */
struct boxes *round_end(struct round *round);

/*
 * Returns 0, the document and the policies, which begin as all zero. Or returns an error of the
 * source, and neither. Parts that an older limiter does not have are missing.
 */
int gather(struct source *source, const struct gather_most *most, const struct looked_at *looked_at,
	json_t **document, struct policy_pages *policies);

#endif
