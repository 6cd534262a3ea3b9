/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * GoBGP writes numbers where exabgp has words: types of components and of attributes, and operators
 * as their bits (RFC 8955, 4.2.1).
 */
#include "import/flowspec_gobgp.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SAFI_FLOW 133
#define AFI_IPV6  2

enum { ATTRIBUTE_REACHED = 14, ATTRIBUTE_UNREACHED, ATTRIBUTE_COMMUNITIES };
enum { OP_EQUAL = 1, OP_GREATER = 2, OP_LESS = 4, OP_AND = 0x40 };
enum { EXPERIMENTAL = 0x80, RATE_BYTES = 6, ACTION, REDIRECT, MARK };

/*
 * A whole number, which the parser has as a real one; 0 if there is none. What is no such number is
 * INT64_MIN, which is no type, no value, and an operator that nothing fulfils.
 */
static json_int_t number_at(const json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return fabs(value) < 0x1p53 && floor(value) == value ? (json_int_t)value : INT64_MIN;
}

static const json_t *find_attribute(const json_t *path, json_int_t type)
{
	const json_t *attribute;
	size_t i;

	json_array_foreach (json_object_get(path, "attrs"), i, attribute)
		if (number_at(attribute, "type") == type)
			return attribute;
	return NULL;
}

static const char *component_name(json_int_t type, bool ipv6)
{
	static const char *const names[][2] = {
		{"component 0", "component 0"},
		{"destination-ipv4", "destination-ipv6"},
		{"source-ipv4", "source-ipv6"},
		{"protocol", "next-header"},
		{"port", "port"},
		{"destination-port", "destination-port"},
		{"source-port", "source-port"},
		{"icmp-type", "icmp-type"},
		{"icmp-code", "icmp-code"},
		{"tcp-flags", "tcp-flags"},
		{"packet-length", "packet-length"},
		{"dscp", "traffic-class"},
		{"fragment", "fragment"},
		{"flow-label", "flow-label"},
	};
	const json_int_t n = sizeof(names) / sizeof(names[0]);

	return type > 0 && type < n ? names[type][ipv6] : names[0][0];
}

/* One after another as a text, with "&" between those that have to hold together. */
static json_t *words_of_items(const json_t *items)
{
	static const char *const operators[] = {"false", "=", ">", ">=", "<", "<=", "!=", "true"};
	json_t *words = json_array(), *item;
	size_t i;

	json_array_foreach (items, i, item) {
		json_int_t op = number_at(item, "op");
		const char *operator= operators[op & (OP_EQUAL | OP_GREATER | OP_LESS)];
		const char *before = "";
		char number[24] = "";
		size_t last = json_array_size(words);

		if (operator[0] != 't' && operator[0] != 'f')
			snprintf(number, sizeof(number), "%lld",
				(long long)number_at(item, "value"));
		if ((op & OP_AND) && last > 0)
			before = json_string_value(json_array_get(words, last - 1));
		if (before[0] == '\0')
			json_array_append_new(words, json_sprintf("%s%s", operator, number));
		else
			json_array_set_new(
				words, last - 1, json_sprintf("%s&%s%s", before, operator, number));
	}
	return words;
}

static json_t *words_of_prefix(const json_t *value, const json_t *component, bool ipv6)
{
	const char *prefix = json_string_value(json_object_get(value, "prefix"));

	if (prefix == NULL)
		return json_array();
	if (!ipv6)
		return json_pack("[s]", prefix);
	return json_pack(
		"[o]", json_sprintf("%s/%lld", prefix, (long long)number_at(component, "offset")));
}

static json_t *rule_of_path(const json_t *path, bool ipv6)
{
	json_t *rule = json_object(), *component;
	size_t i;

	json_array_foreach (json_object_get(json_object_get(path, "nlri"), "value"), i, component) {
		const json_t *value = json_object_get(component, "value");

		json_object_set_new(rule, component_name(number_at(component, "type"), ipv6),
			json_is_object(value) ? words_of_prefix(value, component, ipv6)
					      : words_of_items(value));
	}
	return rule;
}

/* In exabgp's words: with neither of its bits, a blank ends it. */
static json_t *words_of_action(const json_t *community)
{
	bool sample = json_is_true(json_object_get(community, "sample"));
	bool terminal = json_is_true(json_object_get(community, "terminal"));

	return json_sprintf("action %s%s%s", sample ? "sample" : "", sample && terminal ? "-" : "",
		terminal ? "terminal" : "");
}

/* What is no number is shown as it is, and so refused: a rate of 0 would take every packet. */
static json_t *words_of_rate(const json_t *rate)
{
	char *text = json_is_number(rate) ? NULL : json_dumps(rate, JSON_ENCODE_ANY | JSON_COMPACT);
	json_t *words = json_is_number(rate)
				? json_sprintf("rate-limit:%.9g", json_number_value(rate))
				: json_sprintf("rate-limit:%s", text != NULL ? text : "");

	free(text);
	return words;
}

static json_t *words_of_community(const json_t *community)
{
	json_int_t type = number_at(community, "type"), subtype = number_at(community, "subtype");
	bool traffic = type >= EXPERIMENTAL && type <= EXPERIMENTAL + 2;

	if (type == EXPERIMENTAL && subtype == RATE_BYTES)
		return words_of_rate(json_object_get(community, "rate"));
	if (type == EXPERIMENTAL && subtype == MARK)
		return json_sprintf("mark %lld", (long long)number_at(community, "value"));
	if (type == EXPERIMENTAL && subtype == ACTION)
		return words_of_action(community);
	if (traffic && subtype == REDIRECT)
		return json_string("redirect");
	return traffic ? json_sprintf("0x%02x%02x", (unsigned)type, (unsigned)subtype) : NULL;
}

static json_t *attributes_of_path(const json_t *path)
{
	const json_t *all = find_attribute(path, ATTRIBUTE_COMMUNITIES), *community;
	json_t *list = json_array();
	size_t i;

	json_array_foreach (json_object_get(all, "value"), i, community) {
		json_t *words = words_of_community(community);

		if (words != NULL)
			json_array_append_new(list, json_pack("{s:o}", "string", words));
	}
	return json_pack("{s:o}", "extended-community", list);
}

json_t *flowspec_of_gobgp(const json_t *path)
{
	const json_t *family = find_attribute(path, ATTRIBUTE_REACHED);
	json_t *rule;
	bool ipv6;

	if (family == NULL)
		family = find_attribute(path, ATTRIBUTE_UNREACHED);
	if (number_at(family, "safi") != SAFI_FLOW)
		return NULL;
	ipv6 = number_at(family, "afi") == AFI_IPV6;
	rule = rule_of_path(path, ipv6);
	if (json_is_true(json_object_get(path, "withdrawal")))
		return json_pack("{s:{s:{s:[o]}}}", "update", "withdraw",
			ipv6 ? "ipv6 flow" : "ipv4 flow", rule);
	return json_pack("{s:{s:o, s:{s:{s:[o]}}}}", "update", "attribute",
		attributes_of_path(path), "announce", ipv6 ? "ipv6 flow" : "ipv4 flow",
		"no-nexthop", rule);
}
