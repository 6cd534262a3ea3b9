/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "world/events.h"

#include <errno.h>
#include <stdlib.h>

#define CHILDREN   4
#define FIRST_ROOM 1024

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static int grow(struct events *e)
{
	size_t room = e->room ? 2 * e->room : FIRST_ROOM;
	struct event *heap = reallocarray(e->heap, room, sizeof(*heap));

	if (!heap)
		return -ENOMEM;
	e->heap = heap;
	e->room = room;
	return 0;
}

int events_add(struct events *e, uint64_t at_ns, event_fn fn, void *object, uint64_t argument)
{
	struct event added = {at_ns, e->added++, fn, object, argument};
	size_t i = e->n;

	if (e->n == e->room && grow(e))
		return -ENOMEM;
	e->n++;
	while (i > 0) {
		size_t parent = (i - 1) / CHILDREN;

		if (!before(&added, &e->heap[parent]))
			break;
		e->heap[i] = e->heap[parent];
		i = parent;
	}
	e->heap[i] = added;
	return 0;
}

/* Puts an event where the root was. */
static void sink(struct events *e, const struct event *sunk)
{
	size_t i = 0;

	for (;;) {
		size_t first = CHILDREN * i + 1, least = first;
		size_t end = first + CHILDREN < e->n ? first + CHILDREN : e->n;

		if (first >= e->n)
			break;
		for (size_t child = first + 1; child < end; child++)
			if (before(&e->heap[child], &e->heap[least]))
				least = child;
		if (!before(&e->heap[least], sunk))
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
	last = e->heap[--e->n];
	if (e->n > 0)
		sink(e, &last);
	return true;
}

void events_free(struct events *e)
{
	free(e->heap);
	*e = (struct events){0};
}
