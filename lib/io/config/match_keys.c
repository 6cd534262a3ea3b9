/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a policy's matches: one object or an array of them. Each object has one prefix or
 * several for a side; the policy gets one match for each pair of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "json/vocabulary.h"
#include "config/lists.h"
#include "config/value_keys.h"
#include "json/suggest.h"
#include "policy/kind.h"
#include "policy/value.h"

#define EXPECTED_PORTS "a port such as 443, or a range such as \"1024-2047\""

static void read_wire_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	json_t *wires = json_object_get(reader->root, "wires"), *wire;
	const char *text = json_string_value(value), *name;
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};
	size_t i;

	json_array_foreach (wires, i, wire) {
		name = json_string_value(json_object_get(wire, "name"));
		if (text == NULL || name == NULL)
			continue;
		if (strcmp(text, name) == 0) {
			key_store(key, base, i);
			return;
		}
		suggest_offer(&meant, text, name);
	}
	reader_report(reader, path, MESSAGE(NO_SUCH_WIRE),
		message_part(suggest_remedy(meant.word, remedy)));
}

static const struct choice directions[] = {
	{"a-to-b", DIRECTION_A_TO_B},
	{"b-to-a", DIRECTION_B_TO_A},
	{0},
};

static void expect_proto(struct reader *reader, const struct json_path *path, const char *text)
{
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};

	for (unsigned proto = 1; proto <= UINT8_MAX && text != NULL; proto++)
		if (proto_name((uint8_t)proto) != NULL)
			suggest_offer(&meant, text, proto_name((uint8_t)proto));
	reader_report(reader, path, MESSAGE(WRONG_PROTO), UINT8_MAX,
		message_part(suggest_remedy(meant.word, remedy)));
}

/* Rejects 0, the value for a protocol outside of the parsed bytes. */
static void read_proto(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	json_int_t number = text != NULL ? proto_number(text) : json_integer_value(value);

	if (number >= 1 && number <= UINT8_MAX)
		key_store(key, base, (uint64_t)number);
	else
		expect_proto(reader, path, text);
}

/* Suggests the range with its ends exchanged. */
static const char *turned_remedy(const char *text, char remedy[SUGGEST_REMEDY_MAX])
{
	const char *dash = text != NULL ? strchr(text, '-') : NULL;
	struct port_range range;
	char turned[PORTS_TEXT_MAX];

	if (dash == NULL ||
		(size_t)snprintf(turned, sizeof(turned), "%s-%.*s", dash + 1, (int)(dash - text),
			text) >= sizeof(turned) ||
		port_range_parse(turned, &range) < 0)
		return NULL;
	return suggest_remedy(turned, remedy);
}

static void read_port_range(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	json_int_t number = json_integer_value(value);
	struct port_range range = {(uint16_t)number, (uint16_t)number};
	bool good = number >= 1 && number <= UINT16_MAX;
	char remedy[SUGGEST_REMEDY_MAX];

	if (text != NULL)
		good = port_range_parse(text, &range) == 0;
	if (good)
		memcpy(key_field(key, base), &range, sizeof(range));
	else
		reader_report(reader, path, MESSAGE(WRONG_PORTS),
			message_part(turned_remedy(text, remedy)));
}

static void read_dscp(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	int dscp = dscp_of_value(value);

	if (dscp < 0)
		reader_report(reader, path, MESSAGE(WRONG_DSCP), DSCP_MAX);
	else
		key_store(key, base, (uint64_t)dscp);
}

/* Several prefixes of a side; n = 0: the match has the only one. */
struct prefix_list {
	struct prefix *all;
	unsigned n;
};

/* The keys of one object. */
struct match_parts {
	struct match match;
	struct prefix_list src, dst;
};

static const struct key prefix_key = {.size = sizeof(struct prefix)};

static void read_prefix_array(struct reader *reader, const struct json_path *path, json_t *value,
	struct prefix_list *list)
{
	size_t n = json_array_size(value), i;
	json_t *element;

	if (n == 0 || n > CONFIG_MATCHES_MAX) {
		reader_report(reader, path, MESSAGE(PREFIXES_NUMBER), CONFIG_MATCHES_MAX);
		return;
	}
	list->all = calloc(n, sizeof(*list->all));
	if (list->all == NULL) {
		reader->no_memory = true;
		return;
	}
	list->n = (unsigned)n;
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};

		read_ip_prefix(reader, &at, element, &prefix_key, &list->all[i]);
	}
}

/* Reads a prefix, several, or the name of a list that was not expanded. */
static void read_prefixes(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, struct prefix_list *list, void *base)
{
	if (json_is_array(value))
		read_prefix_array(reader, path, value, list);
	else if (lists_name(value) != NULL)
		lists_refuse(reader, path);
	else
		read_ip_prefix(reader, path, value, key, base);
}

static void read_sources(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	read_prefixes(reader, path, value, key, &((struct match_parts *)base)->src, base);
}

static void read_destinations(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	read_prefixes(reader, path, value, key, &((struct match_parts *)base)->dst, base);
}

static const struct vocabulary_entry direction_values[] = {
	{"a-to-b", "ab forward"},
	{"b-to-a", "ba reverse"},
	{0},
};

const struct key match_keys[] = {
	KEY("wire", read_wire_name, KEY_PART, KEY_FIELD(struct match_parts, match.wire),
		UNSET("any"), "the wire of the packet", "link interface port circuit oif iif",
		.form = "wire-name"),
	KEY("direction", read_choice, KEY_PART, KEY_FIELD(struct match_parts, match.direction),
		UNSET("any"), "from port `a` of the wire to port `b`, or back",
		"dir way flow inout updown", .detail = directions, .value_words = direction_values),
	KEY("src", read_sources, KEY_PART, KEY_FIELD(struct match_parts, match.src), UNSET("any"),
		"source address: in one of these",
		"source cidr prefix saddr srcip sourceaddress from srcaddress ip subnet sourceip",
		.form = "prefixes", .common = true),
	KEY("dst", read_destinations, KEY_PART, KEY_FIELD(struct match_parts, match.dst),
		UNSET("any"), "destination address: in one of these. The same family as `src`",
		"destination cidr prefix daddr dstip destinationaddress to dstaddress ip subnet destinationip",
		.form = "prefixes", .common = true),
	KEY("vlan", read_integer, KEY_PART, KEY_FIELD(struct match_parts, match.vlan), UNSET("any"),
		"outermost VLAN", "vid vlanid tag dot1q",
		.detail = &(const struct integer_range){0, 4094}),
	KEY("dscp", read_dscp, KEY_PART, KEY_FIELD(struct match_parts, match.dscp), UNSET("any"),
		"DSCP of the outermost IP header", "tos trafficclass qos diffserv codepoint",
		.form = "dscp"),
	KEY("proto", read_proto, KEY_PART, KEY_FIELD(struct match_parts, match.proto), UNSET("any"),
		"transport protocol, also after IPv6 extension headers",
		"protocol ipprotocol l4proto nexthdr ipproto", .form = "protocol", .common = true),
	KEY("src-port", read_port_range, KEY_PART, KEY_FIELD(struct match_parts, match.src_port),
		UNSET("any"),
		"source port. Without `proto`, of any protocol with ports; not with a `proto` "
		"without ports",
		"sport port sourceport fromport", .form = "port-range", .common = true),
	KEY("dst-port", read_port_range, KEY_PART, KEY_FIELD(struct match_parts, match.dst_port),
		UNSET("any"), "destination port, with the same rules",
		"dport port destinationport toport", .form = "port-range", .common = true),
	{0},
};

static void check_match_ports(struct reader *reader, const struct json_path *path,
	const struct match *match, const char *name)
{
	struct json_path at = {.parent = path, .key = name};

	if (match->proto != 0 && !proto_has_ports(match->proto) && reader_has(reader, path, name))
		reader_report(reader, &at, MESSAGE(PORTS_NEED_PROTO));
}

/* A growing array of matches. */
struct match_list {
	struct match *all;
	unsigned n, room;
};

static bool match_list_grow(struct match_list *list)
{
	unsigned room = list->room > 0 ? 2 * list->room : 4;
	struct match *grown;

	if (list->n < list->room)
		return true;
	grown = realloc(list->all, room * sizeof(*grown));
	if (grown == NULL)
		return false;
	list->all = grown;
	list->room = room;
	return true;
}

static const struct prefix *side_prefix(
	const struct prefix_list *list, const struct prefix *single, unsigned i)
{
	return list->n > 0 ? &list->all[i] : single;
}

static unsigned side_count(const struct prefix_list *list)
{
	return list->n > 0 ? list->n : 1;
}

/* Appends a match for each pair of prefixes of one family. */
static void append_pairs(
	struct reader *reader, const struct match_parts *parts, struct match_list *list)
{
	struct match match = parts->match;

	for (unsigned d = 0; d < side_count(&parts->dst); d++) {
		match.dst = *side_prefix(&parts->dst, &parts->match.dst, d);
		for (unsigned s = 0; s < side_count(&parts->src); s++) {
			match.src = *side_prefix(&parts->src, &parts->match.src, s);
			if (match.src.family != 0 && match.dst.family != 0 &&
				match.src.family != match.dst.family)
				continue;
			if (!match_list_grow(list)) {
				reader->no_memory = true;
				return;
			}
			list->all[list->n++] = match;
		}
	}
}

static void append_matches(struct reader *reader, const struct json_path *path,
	const struct match_parts *parts, struct match_list *list)
{
	uint64_t pairs = (uint64_t)side_count(&parts->dst) * side_count(&parts->src);
	const struct prefix *src = side_prefix(&parts->src, &parts->match.src, 0);
	const struct prefix *dst = side_prefix(&parts->dst, &parts->match.dst, 0);
	unsigned before = list->n;

	if (pairs + before > CONFIG_MATCHES_MAX) {
		reader_report(
			reader, path, MESSAGE(PAIRS_TOO_MANY), CONFIG_MATCHES_MAX, pairs + before);
		return;
	}
	append_pairs(reader, parts, list);
	if (list->n > before || reader->no_memory)
		return;
	reader_report(reader, path, MESSAGE(FAMILIES_DIFFER), src->family, dst->family);
}

static void read_match_object(
	struct reader *reader, const struct json_path *path, json_t *value, struct match_list *list)
{
	struct match_parts parts = {
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY}};
	unsigned errors = reader->errors;

	read_keys(reader, path, value, match_keys, &parts);
	check_match_ports(reader, path, &parts.match, "src-port");
	check_match_ports(reader, path, &parts.match, "dst-port");
	if (errors == reader->errors && !reader->no_memory)
		append_matches(reader, path, &parts, list);
	free(parts.src.all);
	free(parts.dst.all);
}

/* Moves the list's memory to the policy. */
static void take_matches(struct policy *policy, struct match_list *list)
{
	policy->match = list->all[0];
	policy->n_more = list->n - 1;
	if (policy->n_more > 0) {
		struct match *fits;

		memmove(&list->all[0], &list->all[1], policy->n_more * sizeof(list->all[0]));
		fits = realloc(list->all, policy->n_more * sizeof(*fits));
		policy->more = fits != NULL ? fits : list->all;
		list->all = NULL;
	}
}

/*
 * Called also without a match: an element of "policies" that is no object is not read, and its
 * match.wire stays WIRE_REFUSED.
 */
void read_matches(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct policy *policy = base;
	struct match_list list = {0};
	unsigned errors = reader->errors;
	json_t *element;
	size_t i;

	(void)key;
	policy->match.wire = CONFIG_ANY;
	if (value == NULL)
		return;
	if (json_is_array(value) && json_array_size(value) == 0)
		reader_report(reader, path, MESSAGE(MATCH_EMPTY));
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};

		read_match_object(reader, &at, element, &list);
	}
	if (!json_is_array(value))
		read_match_object(reader, path, value, &list);
	if (reader->errors != errors || reader->no_memory)
		policy->match.wire = WIRE_REFUSED;
	else
		take_matches(policy, &list);
	free(list.all);
}
