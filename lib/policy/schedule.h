/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits by weekday and time of day, as the clocks of a zone show them. Whatever they show is what
 * counts: a time that is left out in spring is never, and one that comes twice in autumn is both
 * times. At most one entry holds at any time; where none does the policy's own limit does. Pure;
 * any thread.
 */
#ifndef WEIR_POLICY_SCHEDULE_H
#define WEIR_POLICY_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/zone.h"

#define SCHEDULE_ENTRIES_MOST 64
#define SCHEDULE_DAY_S        86400
#define SCHEDULE_DAYS         7
#define SCHEDULE_EVERY_DAY    0x7f
#define SCHEDULE_NONE         (-1)

struct schedule_entry {
	uint8_t days;    /* that it begins on; bit 0: Monday */
	uint32_t from_s; /* from midnight, below a day */
	uint32_t to_s;   /* up to a day; no later than from_s: that of the next day */
	bool own_burst;  /* it names one; else that is the policy's, or made from the limit */
	struct limit_terms terms;
};

/* From that second of the week on, Monday's first being 0. */
struct schedule_turn {
	uint32_t at_s;
	int entry; /* or SCHEDULE_NONE */
};

struct schedule {
	char zone_name[ZONE_NAME_MAX];
	const struct zone *zone; /* not this one's own */
	struct schedule_entry *entries;
	unsigned n;
	struct schedule_turn *turns; /* ascending, the first at 0 */
	unsigned n_turns;
};

/* Two entries that would hold at once, the former of the list first, and when in the week. */
struct schedule_clash {
	unsigned first, second;
	uint32_t at_s;
};

/*
 * Finds the turns of the entries: to be called before those below, again after any change of them.
 * 0; -EEXIST: two entries overlap; -ENOMEM.
 */
int schedule_arrange(struct schedule *schedule, struct schedule_clash *clash);

/* Not its zone. NULL is no schedule. */
void schedule_free(struct schedule *schedule);

struct schedule_now {
	int entry;     /* or SCHEDULE_NONE */
	int64_t until; /* when that is another one; ZONE_NEVER: it will always be this one */
};

struct schedule_now schedule_at(const struct schedule *schedule, int64_t unix_s);

/* As the policy is configured, of which a schedule or an override may make another limit. */
struct limit_terms policy_terms(const struct policy *policy);

/* As if the policy had this limit, and no other one. */
struct policy policy_with_terms(const struct policy *policy, const struct limit_terms *terms);

/*
 * A hash of what holds when: of two schedules that are written in different ways it is the same if
 * they mean the same. 0: of none.
 */
uint64_t schedule_digest(const struct schedule *schedule);

/* By digest. Each may be NULL. */
bool schedule_equal(const struct schedule *a, const struct schedule *b);

/* "mon-fri", "sat,sun", "mon-thu,sat", in small letters or not, "daily". 0 or -EINVAL. */
int schedule_parse_days(const char *text, uint8_t *days);

/* "08:00", "23:59:59", "24:00". Seconds from midnight; 0 or -EINVAL. */
int schedule_parse_time(const char *text, uint32_t *time_s);

/* "mon,tue,wed" into buf (at least SCHEDULE_DAYS_MAX); returns buf. */
#define SCHEDULE_DAYS_MAX 32
char *schedule_format_days(uint8_t days, char *buf);

/* "Mon 08:00" into buf (at least SCHEDULE_TEXT_MAX); returns buf. */
#define SCHEDULE_TEXT_MAX 16
char *schedule_format(uint32_t second_of_week, char *buf);

#endif
