/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits by weekday and local time of day in a time zone. Local time decides: an hour skipped in
 * spring never occurs, and one repeated in autumn occurs twice. At most one entry applies at any
 * time. If none does, the policy's own limit applies. Pure; any thread.
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
	uint8_t days;    /* on which it begins; bit 0: Monday */
	uint32_t from_s; /* from midnight, less than a day */
	uint32_t to_s;   /* from midnight, at most a day; if not after from_s, on the next day */
	bool own_burst;  /* the entry has a burst; false: the policy's, or made from the limit */
	struct limit_terms terms;
};

/* A change of the limit, in seconds since Monday, 00:00. */
struct schedule_turn {
	uint32_t at_s;
	int entry; /* or SCHEDULE_NONE */
};

struct schedule {
	char zone_name[ZONE_NAME_MAX];
	const struct zone *zone; /* borrowed: schedule_free() does not free it */
	struct schedule_entry *entries;
	unsigned n;
	struct schedule_turn *turns; /* ascending; the first is at 0 */
	unsigned n_turns;
};

/* Two entries that overlap, in the order of the list, and the second of the week when they do. */
struct schedule_clash {
	unsigned first, second;
	uint32_t at_s;
};

/*
 * Computes the turns from the entries. Call it before the functions below, and again after any
 * change of the entries. Returns 0, -EEXIST (two entries overlap) or -ENOMEM.
 */
int schedule_arrange(struct schedule *schedule, struct schedule_clash *clash);

/* Frees all but the zone. schedule can be NULL. */
void schedule_free(struct schedule *schedule);

struct schedule_now {
	int entry;     /* or SCHEDULE_NONE */
	int64_t until; /* time of the next change; ZONE_NEVER: none */
};

struct schedule_now schedule_at(const struct schedule *schedule, int64_t unix_s);

/* Returns the configured limit, without a schedule or an override. */
struct limit_terms policy_terms(const struct policy *policy);

/* Returns the policy with this limit, without a schedule. */
struct policy policy_with_terms(const struct policy *policy, const struct limit_terms *terms);

/*
 * Returns a hash of the times and limits. It is the same for two schedules that mean the same but
 * are written differently. 0: no schedule.
 */
uint64_t schedule_digest(const struct schedule *schedule);

/* Compares digests. Each can be NULL. */
bool schedule_equal(const struct schedule *a, const struct schedule *b);

/* Parses "mon-fri", "sat,sun", "mon-thu,sat" or "daily", in any case. Returns 0 or -EINVAL. */
int schedule_parse_days(const char *text, uint8_t *days);

/* Parses "08:00", "23:59:59" or "24:00" into seconds from midnight. Returns 0 or -EINVAL. */
int schedule_parse_time(const char *text, uint32_t *time_s);

/* Writes "mon,tue,wed" into buf (at least SCHEDULE_DAYS_MAX bytes); returns buf. */
#define SCHEDULE_DAYS_MAX 32
char *schedule_format_days(uint8_t days, char *buf);

/* Writes "Mon 08:00" into buf (at least SCHEDULE_TEXT_MAX bytes); returns buf. */
#define SCHEDULE_TEXT_MAX 16
char *schedule_format(uint32_t second_of_week, char *buf);

#endif
