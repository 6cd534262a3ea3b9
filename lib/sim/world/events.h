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

/* `world` is what events_run() was given. */
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
	uint64_t now_ns;   /* time of the event that was taken last */
	int error;         /* a negative errno ends the run: -ENOMEM when an event is missing */
	bool newest_first; /* events of one time happen in the opposite order */
};

/*
 * Adds an event; one that would be in the past happens now. Returns 0, or -ENOMEM, which is also
 * the run's error.
 */
int events_at(struct events *events, uint64_t at_ns, event_fn fn, void *object, uint64_t argument);

/* Adds an event delay_ns from now. */
static inline int events_after(
	struct events *events, uint64_t delay_ns, event_fn fn, void *object, uint64_t argument)
{
	return events_at(events, events->now_ns + delay_ns, fn, object, argument);
}

/* Takes the next one out, and it is its time; false when there is none at or before until_ns. */
bool events_take(struct events *events, uint64_t until_ns, struct event *out);

/* Lets happen what is to happen at or before until_ns, as long as there is no error. */
void events_run(struct events *events, uint64_t until_ns, void *world);

void events_free(struct events *events);

#endif
