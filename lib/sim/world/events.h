/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A queue of events in virtual time. Events at the same time are taken in the order in which they
 * were added, so that a run can be replayed.
 */
#ifndef WEIR_SIM_EVENTS_H
#define WEIR_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `world` is the argument of events_run(). */
typedef void (*event_fn)(void *world, void *object, uint64_t argument);

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
	uint64_t added, taken;
	uint64_t now_ns;   /* time of the last event taken */
	int error;         /* negative errno that ends the run: -ENOMEM, an event was not added */
	bool newest_first; /* reverses the order of events at the same time */
};

/* Adds an event; a time in the past means now. Returns 0, or -ENOMEM, which also ends the run. */
int events_at(struct events *events, uint64_t at_ns, event_fn fn, void *object, uint64_t argument);

/* Adds an event delay_ns from now. */
static inline int events_after(
	struct events *events, uint64_t delay_ns, event_fn fn, void *object, uint64_t argument)
{
	return events_at(events, events->now_ns + delay_ns, fn, object, argument);
}

/*
 * Removes the next event and sets now_ns to its time. Returns false if there is none at or before
 * until_ns.
 */
bool events_take(struct events *events, uint64_t until_ns, struct event *out);

/* Runs all events up to until_ns, or until an error. */
void events_run(struct events *events, uint64_t until_ns, void *world);

void events_free(struct events *events);

#endif
