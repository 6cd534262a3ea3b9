/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A time zone from tzdata's compiled files (TZif, RFC 8536): the offset of local time from UTC at
 * any moment. This reads the files because the C library supports only one zone for the whole
 * process, TZ. After a file's last transition, the rule at its end (a POSIX TZ string) applies. So
 * a file from today works for all later years. Times are Unix time, without leap seconds. Pure; any
 * thread.
 */
#ifndef WEIR_POLICY_ZONE_H
#define WEIR_POLICY_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_NAME_MAX 64 /* bytes of a name, with the terminator */
#define ZONE_NEVER    INT64_MAX

/* Largest file of tzdata, in bytes. Real ones have less than 4 KiB. */
#define ZONE_FILE_MAX (256U << 10)

struct zone;

/*
 * Returns true if it can be the name of a zone, "Europe/Berlin". It consists of letters, digits,
 * "_", "-", "+" and single "/". So it cannot lead to files outside the directory.
 */
bool zone_name_valid(const char *name);

/*
 * Parses the contents of a file. Returns 0 and a zone for zone_free(), -ENOMEM or -EINVAL. -EINVAL
 * means no such file, one with leap seconds, or one of the first version, which ends in 2037.
 */
int zone_parse(const uint8_t *bytes, size_t len, const char *name, struct zone **out);
void zone_free(struct zone *zone);

const char *zone_name(const struct zone *zone);

/* An offset from UTC, and the end of its time. */
struct zone_span {
	int32_t offset_s;
	int64_t until; /* later than the requested time; the offset might not change there */
};

struct zone_span zone_at(const struct zone *zone, int64_t unix_s);

/*
 * Writes "2026-11-23T18:00:00+01:00" into buf (at least ZONE_TEXT_MAX bytes); UTC if zone is NULL.
 */
#define ZONE_TEXT_MAX 40
char *zone_format(const struct zone *zone, int64_t unix_s, char *buf);

/* Returns a hash of the name and of the rule for later years; never 0. */
uint64_t zone_digest(const struct zone *zone);

/*
 * The rule for the offset in all later years: a POSIX TZ string such as
 * "CET-1CEST,M3.5.0,M10.5.0/3", with RFC 8536's larger hours. For zone.c and its test.
 */

enum zone_day {
	ZONE_DAY_OF_365,   /* from 1; 29 February is not counted */
	ZONE_DAY_OF_YEAR,  /* from 0 */
	ZONE_DAY_OF_MONTH, /* a weekday of a month */
};

/* A moment in each year when the clocks change. */
struct zone_turn {
	enum zone_day kind;
	int32_t day; /* day of the year; or day of the week, Sunday is 0 */
	int32_t month, week;
	int32_t time_s; /* from midnight, by the clock before the change */
};

struct zone_rule {
	bool turns; /* false: always standard time */
	int32_t standard_s, summer_s;
	struct zone_turn begins, ends; /* begin and end of summer time */
};

/* Returns 0 or -EINVAL. */
int zone_rule_parse(const char *text, struct zone_rule *out);

/* Returns the offset at a time. *until is the next time when it can change (or ZONE_NEVER). */
int32_t zone_rule_at(const struct zone_rule *rule, int64_t unix_s, int64_t *until);

#endif
