/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Things that wait for their turn, first come, first served, in memory that is taken once: for as
 * many as there are things, since each waits at most once. Whose it is knows that. One thread.
 */
#ifndef WEIR_BASE_QUEUE_H
#define WEIR_BASE_QUEUE_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct queue {
	void **at;
	unsigned room, first, n;
};

/* Empty. 0 or -ENOMEM; queue_free() is due in either case. */
static inline int queue_init(struct queue *queue, unsigned room)
{
	*queue = (struct queue){.room = room + 1};
	queue->at = calloc((size_t)room + 1, sizeof(*queue->at));
	return queue->at ? 0 : -ENOMEM;
}

static inline void queue_free(struct queue *queue)
{
	free(queue->at);
	*queue = (struct queue){0};
}

/* The i-th that waits, below queue->n. */
static inline void *queue_at(const struct queue *queue, unsigned i)
{
	unsigned at = queue->first + i;

	return queue->at[at < queue->room ? at : at - queue->room];
}

/* To the end. */
static inline void queue_push(struct queue *queue, void *thing)
{
	unsigned at = queue->first + queue->n++;

	queue->at[at < queue->room ? at : at - queue->room] = thing;
}

/* The first of one or more. */
static inline void *queue_pop(struct queue *queue)
{
	void *thing = queue->at[queue->first];

	if (++queue->first == queue->room)
		queue->first = 0;
	queue->n--;
	return thing;
}

#endif
