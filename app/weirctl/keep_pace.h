/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How often a limiter is asked for what it has no room for. Each time takes a transaction, which is
 * judged and written down: so the pause between two becomes longer, one edit goes ahead of all, and
 * what changes policies or takes them away never waits. Pure; the clock is the caller's, in
 * milliseconds.
 */
#ifndef WEIR_WEIRCTL_KEEP_PACE_H
#define WEIR_WEIRCTL_KEEP_PACE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define PACE_LEAST_MS 1000
#define PACE_MOST_MS  60000

struct keep_pace {
	long long pause_ms; /* 0: it has refused nothing so, and all is sent */
	long long until_ms;
	size_t room; /* for so many that are added, as others have been removed since */
	bool tried;  /* one has been taken after the pause: all may be sent */
};

/* It has refused an edit by itself, and not for what the edit is. */
void pace_refused(struct keep_pace *pace, long long now_ms);

/* Whether it adds a policy, and so takes room. */
bool pace_is_add(const json_t *edit);

/* Whether something waits that may be sent now. */
bool pace_is_due(const struct keep_pace *pace, long long now_ms);

/* Leaves those in `edits` that are to be sent now, what makes room first; how many others wait. */
size_t pace_hold(const struct keep_pace *pace, json_t *edits, long long now_ms);

/* It has taken these, and so many wait. */
void pace_taken(struct keep_pace *pace, const json_t *edits, size_t waiting, long long now_ms);

#endif
