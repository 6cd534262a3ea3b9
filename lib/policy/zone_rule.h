/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the rule for a zone's offset in all later years. It is a POSIX TZ string
 * such as "CET-1CEST,M3.5.0,M10.5.0/3", with RFC 8536's larger hours. Pure; any thread.
 */
#ifndef WEIR_POLICY_ZONE_RULE_H
#define WEIR_POLICY_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

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
