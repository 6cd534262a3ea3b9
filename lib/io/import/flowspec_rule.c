/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/flowspec_rule.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "policy/units.h"
#include "policy/value.h"

#define LIMIT_LEAST UINT64_C(8000)
#define LIMIT_MOST  UINT64_C(400000000000)
#define SHOWN_MOST  24 /* of an address in a name */

/*
 * A bucket that no packet fits in: none conforms, so each is dropped, or marked. A policy that
 * passes all has the largest limit, and only counts what is above it.
 */
#define NOTHING_LIMIT "8kbit/s"
#define NOTHING_BURST "1B"
#define ALL_LIMIT     "400Gbit/s"

struct actions {
	bool limited, marks;
	double bytes_per_s;
	unsigned dscp;
};

static int refuse_action(char why[FLOWSPEC_WHY], const char *format, const char *what)
	__attribute__((format(printf, 2, 0)));

static int refuse_action(char why[FLOWSPEC_WHY], const char *format, const char *what)
{
	snprintf(why, FLOWSPEC_WHY, format, what);
	return -EINVAL;
}

/* Several rates: the least holds. A negative one is to be taken for 0 (RFC 8955, 7.1). */
static int take_rate(struct actions *actions, const char *text, char why[FLOWSPEC_WHY])
{
	char *end;
	double rate = strtod(text, &end);

	if (end == text || *end != '\0' || isnan(rate))
		return refuse_action(why, "its rate \"%.40s\" is not understood", text);
	if (rate < 0)
		rate = 0;
	if (!actions->limited || rate < actions->bytes_per_s)
		actions->bytes_per_s = rate;
	actions->limited = true;
	return 0;
}

static int take_mark(struct actions *actions, const char *text, char why[FLOWSPEC_WHY])
{
	char *end;
	unsigned long dscp = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || dscp > DSCP_MAX || actions->marks)
		return refuse_action(why, "its mark \"%.40s\" is not understood", text);
	actions->marks = true;
	actions->dscp = (unsigned)dscp;
	return 0;
}

/* Types of RFC 8955 and its kin, which nobody may pass over; others are routing's. */
static bool is_traffic_action(const json_t *community)
{
	double value = json_number_value(json_object_get(community, "value"));
	unsigned type = value > 0 && value < 0x1p64 ? (unsigned)ldexp(value, -56) : 0x80;

	return type >= 0x80 && type <= 0x82;
}

static int take_community(struct actions *actions, const json_t *community, char why[FLOWSPEC_WHY])
{
	static const struct {
		const char *begins;
		int (*take)(struct actions *actions, const char *text, char why[FLOWSPEC_WHY]);
	} known[] = {{"rate-limit:", take_rate}, {"mark ", take_mark}};
	static const char *const others[] = {"action ", "redirect", "copy-to-nexthop"};
	const char *text = json_string_value(json_object_get(community, "string"));

	if (text == NULL)
		text = "";
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(text, known[i].begins, strlen(known[i].begins)) == 0)
			return known[i].take(actions, text + strlen(known[i].begins), why);
	if (strcmp(text, "action ") == 0) /* neither of its bits */
		return 0;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(text, others[i], strlen(others[i])) == 0)
			return refuse_action(why, "no policy does \"%.60s\"", text);
	if (!is_traffic_action(community))
		return 0;
	return refuse_action(why, "its action \"%.60s\" is not known", text);
}

/* Exact: rates are float32, and a factor of 8 is one of their exponents. */
static int pack_limit(const struct actions *actions, json_t **policy, uint64_t *strictness,
	char why[FLOWSPEC_WHY])
{
	double bits = floor(actions->bytes_per_s) * 8;
	char text[UNITS_TEXT_MAX];

	*strictness = bits < (double)LIMIT_MOST ? (uint64_t)bits : LIMIT_MOST;
	if (bits > (double)LIMIT_MOST)
		return refuse_action(why, "its rate is above %s", ALL_LIMIT);
	units_format_rate(*strictness, text, sizeof(text));
	if (bits == 0)
		*policy = json_pack("{s:s, s:s}", "limit", NOTHING_LIMIT, "burst", NOTHING_BURST);
	else if (bits < (double)LIMIT_LEAST)
		return refuse_action(why, "its rate of %s is below 8kbit/s, the least", text);
	else
		*policy = json_pack("{s:s}", "limit", text);
	return *policy != NULL ? 0 : -ENOMEM;
}

int flowspec_actions(
	const json_t *attributes, json_t **policy, uint64_t *strictness, char why[FLOWSPEC_WHY])
{
	static const char *const keys[] = {"extended-community", "extended-community-ipv6"};
	struct actions actions = {0};
	const json_t *community;
	size_t i;

	*policy = NULL;
	*strictness = UINT64_MAX;
	for (unsigned k = 0; k < 2; k++)
		json_array_foreach (json_object_get(attributes, keys[k]), i, community) {
			int ret = take_community(&actions, community, why);

			if (ret < 0)
				return ret;
		}
	if (actions.limited && actions.marks)
		return refuse_action(why, "no policy both marks and %s", "limits");
	if (actions.limited)
		return pack_limit(&actions, policy, strictness, why);
	if (actions.marks)
		*policy = json_pack("{s:s, s:s, s:s, s:i}", "limit", NOTHING_LIMIT, "burst",
			NOTHING_BURST, "action", "mark", "mark", (int)actions.dscp);
	else
		*policy = json_pack("{s:s, s:s}", "limit", ALL_LIMIT, "action", "count");
	return *policy != NULL ? 0 : -ENOMEM;
}

uint64_t flowspec_passes(const json_t *policy)
{
	const char *limit = json_string_value(json_object_get(policy, "limit"));
	const char *burst = json_string_value(json_object_get(policy, "burst"));
	uint64_t bps = 0;

	if (json_object_get(policy, "action") != NULL || limit == NULL ||
		units_parse_rate(limit, &bps) < 0)
		return UINT64_MAX;
	return burst != NULL && strcmp(burst, NOTHING_BURST) == 0 ? 0 : bps;
}

/* The rule without remarks. */
static json_t *bare_rule(const json_t *rule)
{
	json_t *bare = json_object(), *value;
	const char *name;

	json_object_foreach ((json_t *)(uintptr_t)rule, name, value) {
		if (!flowspec_is_remark(name))
			json_object_set(bare, name, value);
	}
	return bare;
}

/* Whoever writes it, and in whatever order: what it matches is the same. */
static uint64_t hash_rule(const json_t *rule, bool ipv6)
{
	uint64_t hash = hash64_step(HASH64_BASIS, ipv6);
	char *text, why[FLOWSPEC_WHY];
	json_t *bare;

	if (flowspec_match(rule, ipv6, &bare, why) < 0)
		bare = bare_rule(rule);
	text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS);
	for (const char *at = text; at != NULL && *at != '\0'; at++)
		hash = hash64_step(hash, (unsigned char)*at);
	free(text);
	json_decref(bare);
	return hash;
}

void flowspec_name(const json_t *rule, bool ipv6, const char *prefix, char name[CONFIG_NAME_MAX])
{
	static const char *const keys[2][2] = {
		{"destination-ipv4", "source-ipv4"}, {"destination-ipv6", "source-ipv6"}};
	const char *shown = NULL;

	for (unsigned i = 0; i < 2 && shown == NULL; i++)
		shown = json_string_value(json_array_get(json_object_get(rule, keys[ipv6][i]), 0));
	snprintf(name, CONFIG_NAME_MAX, "%.30s%.*s-%016" PRIx64, prefix, SHOWN_MOST - 8,
		shown != NULL ? shown : "any", hash_rule(rule, ipv6));
	for (char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
			*c = '_';
}
