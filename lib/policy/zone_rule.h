/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the rule by which a zone goes on in all years, a TZ string of POSIX such as
 * "CET-1CEST,M3.5.0,M10.5.0/3", with RFC 8536's larger hours. Pure; any thread.
 */
#ifndef WEIR_POLICY_ZONE_RULE_H
#define WEIR_POLICY_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum zone_day {
	ZONE_DAY_OF_365,   /* from 1, and 29 February is never counted */
	ZONE_DAY_OF_YEAR,  /* from 0 */
	ZONE_DAY_OF_MONTH, /* a weekday of a month */
};

/* A moment of each year. */
struct zone_turn {
	enum zone_day kind;
	int32_t day; /* of the year; or of the week, from Sunday, 0 */
	int32_t month, week;
	int32_t time_s; /* from midnight, by the clocks before the turn */
};

struct zone_rule {
	bool turns; /* else it is always standard time */
	int32_t standard_s, summer_s;
	struct zone_turn begins, ends; /* of summer time */
};

/* 0 or -EINVAL. */
int zone_rule_parse(const char *text, struct zone_rule *out);

/* The offset at a time, and the next one after it at which that may change (or ZONE_NEVER). */
int32_t zone_rule_at(const struct zone_rule *rule, int64_t unix_s, int64_t *until);

#endif
