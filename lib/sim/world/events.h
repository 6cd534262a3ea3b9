/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What happens next in virtual time: a queue of events by time, and of those of one time by the
 * order in which they were added, so that a run replays.
 */
#ifndef WEIR_SIM_EVENTS_H
#define WEIR_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

typedef void (*event_fn)(struct sim *sim, void *object, uint64_t argument);

struct event {
	uint64_t at_ns;
	uint64_t order;
	event_fn fn;
	void *object;
	uint64_t argument;
};

/* Zeroed before use. */
struct events {
	struct event *heap; /* four children a node: half as many levels as with two */
	size_t n, room;
	uint64_t added;
};

/* Returns 0 or -ENOMEM. */
int events_add(struct events *events, uint64_t at_ns, event_fn fn, void *object, uint64_t argument);

/* Takes the next one out; false when there is none at or before until_ns. */
bool events_take(struct events *events, uint64_t until_ns, struct event *out);

void events_free(struct events *events);

#endif
