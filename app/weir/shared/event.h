/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Says what happens: each event is a row of event_table.h, written as a line of text or as an
 * object of JSON, and kept for whoever asks later. Nobody who says something waits for whoever
 * reads it (log.h). Never on a worker's packet path.
 */
#ifndef WEIR_APP_EVENT_H
#define WEIR_APP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "event_table.h"
#include "event_text.h"
#include "policy/config.h"

#define EVENT_ID(id, level, most, ends, text) EVENT_##id,
enum event_id { EVENT_ROWS(EVENT_ID) EVENTS };
#undef EVENT_ID

/*
 * event(PEER_LOST, event_word("peer", name), event_count("limiters", n)): all fields that the row's
 * text has, and no others, which test/unit/check_events.py sees to. Any thread but a worker's.
 */
#define event(id, ...) \
	event_say(EVENT_##id, (const struct event_field[]){{0}, ##__VA_ARGS__, {0}} + 1)

void event_say(enum event_id id, const struct event_field *fields);

/*
 * From now on all lines go to this file by a thread (log_open()), also those that EAL, its drivers
 * and libraries write to their log and to stderr; and what is written has this level and format.
 * Main thread. Returns 0 or a negative errno; then lines are written by whoever has them.
 */
int events_open(int fd, const struct log_config *config);

/* As log_close(), and before that what was held back is said. Main thread. */
void events_close(unsigned patience_s);

/* What is written from now on. Control. */
void events_configure(const struct log_config *config);
struct log_config events_configured(void);

/* When events_review() has something to say of what was held back; UINT64_MAX: it has nothing. */
uint64_t events_next(void);
void events_review(uint64_t now_ns);

/*
 * So many are kept, each with a number, one more than that before it. When there are more, the
 * oldest one of the row with the most goes, so that no row evicts the last ones of another.
 */
#define EVENTS_KEPT 512

/* The number that the next one will have; before the first it is 1. Any thread. */
uint64_t events_number(void);

/* An object of one that is kept, as it is written, and its number: a new reference, or NULL. */
json_t *events_get(uint64_t number);

/* Returns the first kept one with this or a later number, as events_get(), and sets the number. */
json_t *events_from(uint64_t *number);

/* The table of doc/operate/events.md. */
void events_describe(FILE *out);

#endif
