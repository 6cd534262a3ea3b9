/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The budgets that have been asked for, found by name, and two queues of them: of those that are to
 * be asked, and of those that have been answered. One owner at a time.
 */
#ifndef WEIR_ETCD_ASKS_H
#define WEIR_ETCD_ASKS_H

#include "etcd/draw.h"

struct ask {
	struct ask *next;  /* in a queue */
	struct ask *chain; /* of names with the same hash */
	bool busy;         /* from the draw on until its answer has been fetched */
	struct etcd_draw draw;
	struct etcd_answer answer;
	struct drawn drawn;
};

struct ask_queue {
	struct ask *first, *last;
};

struct asks {
	struct ask **chains;
	unsigned n, n_chains; /* a power of two, or 0 */
};

/* The one of that name; a new one if there is none; NULL: no memory. Stays where it is. */
struct ask *asks_find(struct asks *asks, const char *budget);
void asks_free(struct asks *asks);

void ask_push(struct ask_queue *queue, struct ask *ask);
struct ask *ask_pop(struct ask_queue *queue); /* NULL when there is none */

#endif
