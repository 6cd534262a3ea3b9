/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports events. Each is a row of event_table.h, written as a line of text or as a JSON object,
 * and kept for later requests. A thread that reports an event does not wait for the reader of the
 * log (log.h). Never on a worker's packet path.
 */
#ifndef WEIR_APP_EVENT_H
#define WEIR_APP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "event_table.h"
#include "policy/config.h"

/* The fields of an event, its text, and the rate at which it may be written. Pure; any thread. */

/* Bytes of a text with its NUL; a longer one is cut off. */
#define EVENT_TEXT 2048

enum event_kind { EVENT_WORD, EVENT_COUNT, EVENT_REAL };

struct event_field {
	const char *name; /* NULL: the end of a list */
	enum event_kind kind;
	const char *word; /* from any source: unprintable characters become question marks */
	uint64_t count;
	double real;
};

static inline struct event_field event_word(const char *name, const char *word)
{
	return (struct event_field){.name = name, .kind = EVENT_WORD, .word = word};
}

static inline struct event_field event_count(const char *name, uint64_t count)
{
	return (struct event_field){.name = name, .kind = EVENT_COUNT, .count = count};
}

static inline struct event_field event_real(const char *name, double real)
{
	return (struct event_field){.name = name, .kind = EVENT_REAL, .real = real};
}

/* Fills the fields into a template. Names without a field stay as they are. */
void event_fill(char text[EVENT_TEXT], const char *template, const struct event_field *fields);

/* Returns a field's value: a new reference, or NULL if out of memory. */
json_t *event_value(const struct event_field *field);

/* Lines of a row, or of a trouble and its end, in the window that began at began_ns. */
struct event_window {
	uint64_t began_ns;
	uint32_t lines, held;
};

#define EVENT_WINDOW_NS UINT64_C(10000000000)

/* Returns true if the window has ended and its suppressed lines have not been reported. */
bool event_window_due(const struct event_window *window, uint64_t now_ns);

/*
 * Returns true if one more line may be written. Otherwise it is suppressed and counted. If the
 * window has ended, this begins a new one, with held = lines = 0: report its suppressed lines
 * first. most: 0 means no bound.
 */
bool event_window_admit(struct event_window *window, unsigned most, uint64_t now_ns);

#define EVENT_ID(id, level, most, ends, text) EVENT_##id,
enum event_id { EVENT_ROWS(EVENT_ID) EVENTS };
#undef EVENT_ID

/*
 * Reports an event, as in event(PEER_LOST, event_word("peer", name), event_count("limiters", n)).
 * It needs all fields of the row's text, and no others; test/unit/check_events.py checks that. Any
 * thread except the workers'.
 */
#define event(id, ...) \
	event_say(EVENT_##id, (const struct event_field[]){{0}, ##__VA_ARGS__, {0}} + 1)

void event_say(enum event_id id, const struct event_field *fields);

/*
 * From now on a thread writes all lines to this file (log_open()), with this level and format.
 * These include the lines that EAL, its drivers and libraries write to their log and to stderr.
 * Returns 0 or a negative errno; after a failure each thread writes its own lines. Main thread.
 */
int events_open(int fd, const struct log_config *config);

/* Reports suppressed lines, then calls log_close(). Main thread. */
void events_close(unsigned patience_s);

/* Sets the level and format of later lines. Control. */
void events_configure(const struct log_config *config);
struct log_config events_configured(void);

/* Returns when events_review() must report suppressed lines; UINT64_MAX if there are none. */
uint64_t events_next(void);
void events_review(uint64_t now_ns);

/*
 * Events that are kept. Each has the number after the previous one's. If there are too many, the
 * oldest one of the row with the most is removed, so that no row evicts the last events of another.
 */
#define EVENTS_KEPT 512

/* Returns the number of the next event; the first one is 1. Any thread. */
uint64_t events_number(void);

/* Returns a kept event as an object, with its number: a new reference, or NULL. */
json_t *events_get(uint64_t number);

/* Returns the first kept event with this number or a later one, as above, and sets the number. */
json_t *events_from(uint64_t *number);

/* Writes all events as a table in Markdown. */
void events_describe(FILE *out);

/* --- troubles --------------------------------------------------------------------------------- */

/*
 * Detects when a trouble begins and ends, by a counter that grows while it lasts, so that both are
 * reported once. Pure; any thread.
 */
struct trouble {
	bool lasts, known; /* `known`: the counter has been read before */
	uint64_t count;    /* at the last look */
	uint64_t before;   /* count before the trouble began */
	uint64_t began_ns; /* time at which it began */
	uint64_t grew_ns;  /* last look at which the count had grown */
};

enum trouble_news { TROUBLE_SAME, TROUBLE_BEGINS, TROUBLE_ENDS };

/*
 * Looks at the counter. Counts from before the first look are ignored. The trouble ends after
 * quiet_ns without growth.
 */
static inline enum trouble_news trouble_look(
	struct trouble *trouble, uint64_t count, uint64_t now_ns, uint64_t quiet_ns)
{
	bool grew = trouble->known && count > trouble->count;
	uint64_t before = trouble->count;

	trouble->known = true;
	trouble->count = count;
	if (grew)
		trouble->grew_ns = now_ns;
	if (grew && !trouble->lasts) {
		trouble->lasts = true;
		trouble->before = before;
		trouble->began_ns = now_ns;
		return TROUBLE_BEGINS;
	}
	if (!trouble->lasts || grew || now_ns - trouble->grew_ns < quiet_ns)
		return TROUBLE_SAME;
	trouble->lasts = false;
	return TROUBLE_ENDS;
}

/* Returns the count since the trouble began. */
static inline uint64_t trouble_counted(const struct trouble *trouble)
{
	return trouble->count - trouble->before;
}

/* The level of a quota. */
enum total_level { TOTAL_PLENTY, TOTAL_NEAR_END, TOTAL_SPENT_ALL };

/*
 * Returns the level of a quota. At 90 % it is near its end. It is spent if no more is left than the
 * part that workers hold (a 65536th) and one packet of so many units. A small amount returns by
 * itself. So a spent quota keeps this level until more than twice as much is left; one near its
 * end, until more than 15 % is left.
 */
static inline enum total_level total_level(
	enum total_level before, uint64_t left, uint64_t total, uint64_t packet)
{
	uint64_t spent = total / 65536 + packet, near = total / 10;

	if (left <= spent || (before == TOTAL_SPENT_ALL && left <= 2 * spent))
		return TOTAL_SPENT_ALL;
	if (left <= near || (before != TOTAL_PLENTY && left <= near + near / 2))
		return TOTAL_NEAR_END;
	return TOTAL_PLENTY;
}

#endif
