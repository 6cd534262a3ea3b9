/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A queue of events in virtual time.
 */
#include "world/events.h"

#include <errno.h>
#include <stdlib.h>

#define CHILDREN   4
#define FIRST_ROOM 64

/* Compares by time, then by order, in one comparison without a branch. */
static bool event_before(const struct event *a, const struct event *b)
{
	return ((unsigned __int128)a->at_ns << 64 | a->order) <
	       ((unsigned __int128)b->at_ns << 64 | b->order);
}

static int events_grow(struct events *e)
{
	size_t room = e->room ? 2 * e->room : FIRST_ROOM;
	struct event *heap = reallocarray(e->heap, room, sizeof(*heap));

	if (!heap)
		return -ENOMEM;
	e->heap = heap;
	e->room = room;
	return 0;
}

int events_at(struct events *e, uint64_t at_ns, event_fn fn, void *object, uint64_t argument)
{
	struct event added = {at_ns > e->now_ns ? at_ns : e->now_ns,
		e->newest_first ? ~e->added : e->added, fn, object, argument};
	size_t i = e->n;

	if (e->n == e->room && events_grow(e)) {
		e->error = -ENOMEM;
		return -ENOMEM;
	}
	e->n++;
	e->added++;
	while (i > 0) {
		size_t parent = (i - 1) / CHILDREN;

		if (!event_before(&added, &e->heap[parent]))
			break;
		e->heap[i] = e->heap[parent];
		i = parent;
	}
	e->heap[i] = added;
	return 0;
}

/* Removes the root, and inserts an event. */
static void events_sink(struct events *e, const struct event *sunk)
{
	size_t i = 0;

	for (;;) {
		size_t first = CHILDREN * i + 1, least = first;
		size_t end = first + CHILDREN < e->n ? first + CHILDREN : e->n;

		if (first >= e->n)
			break;
		for (size_t child = first + 1; child < end; child++)
			if (event_before(&e->heap[child], &e->heap[least]))
				least = child;
		if (!event_before(&e->heap[least], sunk))
			break;
		e->heap[i] = e->heap[least];
		i = least;
	}
	e->heap[i] = *sunk;
}

bool events_take(struct events *e, uint64_t until_ns, struct event *out)
{
	struct event last;

	if (e->n == 0 || e->heap[0].at_ns > until_ns)
		return false;
	*out = e->heap[0];
	e->now_ns = out->at_ns;
	e->taken++;
	last = e->heap[--e->n];
	if (e->n > 0)
		events_sink(e, &last);
	return true;
}

void events_run(struct events *e, uint64_t until_ns, void *world)
{
	struct event event;

	while (e->error == 0 && events_take(e, until_ns, &event))
		event.fn(world, event.object, event.argument);
}

void events_free(struct events *e)
{
	free(e->heap);
	*e = (struct events){0};
}
