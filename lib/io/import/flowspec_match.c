/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/flowspec_match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/flowspec_set.h"
#include "policy/value.h"

#define PORTS     65536
#define PROTOCOLS 256
#define DSCPS     (DSCP_MAX + 1)
#define TCP       6
#define UDP       17

struct components {
	char dst[PREFIX_TEXT_MAX], src[PREFIX_TEXT_MAX]; /* "": any */
	bool has_protocols, has_dscps, has_ports, has_dst_ports, has_src_ports;
	struct number_set protocols, dscps, ports, dst_ports, src_ports;
};

struct matches {
	json_t *list;
	bool no_memory, too_many;
};

bool flowspec_is_remark(const char *member)
{
	return strcmp(member, "string") == 0 || strcmp(member, "next-hop") == 0;
}

__attribute__((format(printf, 2, 0))) static int refuse(
	char why[FLOWSPEC_WHY], const char *words, const char *what)
{
	snprintf(why, FLOWSPEC_WHY, words, what);
	return -EINVAL;
}

/* What exabgp calls protocols that Weir calls by their numbers. */
static int protocol_named(const char *word)
{
	static const struct {
		const char *name;
		int number;
	} others[] = {{"igmp", 2}, {"egp", 8}, {"rsvp", 46}, {"ah", 51}, {"ospf", 89}, {"ipip", 94},
		{"pim", 103}};
	static const char unknown[] = "unknown protocol type ";
	int number = proto_number(word);
	char *end;

	if (number > 0)
		return number;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(word, others[i].name) == 0)
			return others[i].number;
	if (strncmp(word, unknown, strlen(unknown)) != 0)
		return -1;
	number = (int)strtoul(word + strlen(unknown), &end, 10);
	return *end == '\0' ? number : -1;
}

/* --- components ------------------------------------------------------------------------------- */

/* Behind the prefix of an IPv6 component is its offset, of which only 0 is a prefix. */
static int read_prefix(const json_t *list, bool ipv6, char text[PREFIX_TEXT_MAX])
{
	const char *written = json_string_value(json_array_get(list, 0));
	struct prefix prefix;
	char *offset;
	int ret;

	if (written == NULL || json_array_size(list) != 1 || strlen(written) >= PREFIX_TEXT_MAX)
		return -EINVAL;
	snprintf(text, PREFIX_TEXT_MAX, "%s", written);
	offset = strchr(text, '/');
	offset = offset != NULL && ipv6 ? strchr(offset + 1, '/') : NULL;
	if (offset != NULL && strcmp(offset, "/0") != 0)
		return -EINVAL;
	if (offset != NULL)
		*offset = '\0';
	ret = prefix_parse(text, &prefix);
	if ((ret < 0 && ret != -EDOM) || (prefix.family == 6) != ipv6)
		return -EINVAL;
	prefix_format(&prefix, text, PREFIX_TEXT_MAX);
	return 0;
}

static int read_ports(const json_t *list, struct number_set *set, bool *has)
{
	*has = true;
	return number_set_read(set, PORTS, list, NULL);
}

/* -ENOENT: a match has nothing of that name. */
static int read_component(struct components *c, bool ipv6, const char *name, const json_t *value)
{
	if (strcmp(name, ipv6 ? "destination-ipv6" : "destination-ipv4") == 0)
		return read_prefix(value, ipv6, c->dst);
	if (strcmp(name, ipv6 ? "source-ipv6" : "source-ipv4") == 0)
		return read_prefix(value, ipv6, c->src);
	if (strcmp(name, "port") == 0)
		return read_ports(value, &c->ports, &c->has_ports);
	if (strcmp(name, "destination-port") == 0)
		return read_ports(value, &c->dst_ports, &c->has_dst_ports);
	if (strcmp(name, "source-port") == 0)
		return read_ports(value, &c->src_ports, &c->has_src_ports);
	if (strcmp(name, ipv6 ? "next-header" : "protocol") == 0) {
		c->has_protocols = true;
		return number_set_read(&c->protocols, PROTOCOLS, value, protocol_named);
	}
	if (strcmp(name, ipv6 ? "traffic-class" : "dscp") == 0) {
		c->has_dscps = true;
		return number_set_read(&c->dscps, DSCPS, value, NULL);
	}
	return -ENOENT;
}

static int read_components(
	const json_t *rule, bool ipv6, struct components *c, char why[FLOWSPEC_WHY])
{
	const char *name;
	json_t *value;

	memset(c, 0, sizeof(*c));
	json_object_foreach ((json_t *)(uintptr_t)rule, name, value) {
		int ret = flowspec_is_remark(name) ? 0 : read_component(c, ipv6, name, value);

		if (ret == -ENOENT)
			return refuse(why, "a match has no %.60s", name);
		if (ret < 0)
			return refuse(why, "its %.60s is not understood", name);
	}
	return 0;
}

/* --- what can be said ------------------------------------------------------------------------- */

/* Ports are those of TCP and UDP (RFC 8955, 4.2.2.4); Weir knows of more protocols with ports. */
static void narrow_to_ports(struct components *c)
{
	struct number_set both = {.n = PROTOCOLS};

	for (unsigned i = 0; i < 2; i++) {
		unsigned protocol = i == 0 ? TCP : UDP;

		if (!c->has_protocols || number_set_has(&c->protocols, protocol))
			both.bits[protocol / 64] |= UINT64_C(1) << protocol % 64;
	}
	c->protocols = both;
	c->has_protocols = true;
}

/* A match has no number 0 of ports and protocols. */
static int check_set(
	const struct number_set *set, bool has, bool zero, const char *what, char why[FLOWSPEC_WHY])
{
	unsigned first, last;

	if (has && !zero && number_set_has(set, 0))
		return refuse(why, "a match has no %s 0, which it takes: say >=1", what);
	if (has && !number_set_next(set, 0, &first, &last))
		return refuse(why, "it takes no %s, and so no packet", what);
	return 0;
}

static int check_sets(const struct components *c, char why[FLOWSPEC_WHY])
{
	int ret = check_set(&c->protocols, c->has_protocols, false, "protocol", why);

	if (ret == 0)
		ret = check_set(&c->dscps, c->has_dscps, true, "DSCP", why);
	if (ret == 0)
		ret = check_set(&c->ports, c->has_ports, false, "port", why);
	if (ret == 0)
		ret = check_set(&c->dst_ports, c->has_dst_ports, false, "port", why);
	if (ret == 0)
		ret = check_set(&c->src_ports, c->has_src_ports, false, "port", why);
	return ret;
}

static int check_components(struct components *c, char why[FLOWSPEC_WHY])
{
	if (c->has_protocols && number_set_is_whole(&c->protocols))
		c->has_protocols = false;
	if (c->has_ports || c->has_dst_ports || c->has_src_ports)
		narrow_to_ports(c);
	if (c->has_dscps && number_set_is_whole(&c->dscps))
		c->has_dscps = false;
	if (c->has_ports && (c->has_dst_ports || c->has_src_ports))
		return refuse(why, "a match has no %s beside that of one side", "port of either");
	return check_sets(c, why);
}

/* --- one match for each way to take a packet -------------------------------------------------- */

static void set_range(json_t *match, const char *key, unsigned first, unsigned last)
{
	json_object_set_new(match, key,
		first == last ? json_integer(first) : json_sprintf("%u-%u", first, last));
}

/* Takes the match over. */
static void append_match(struct matches *out, json_t *match)
{
	out->too_many |= json_array_size(out->list) >= FLOWSPEC_MATCHES_MOST;
	if (out->too_many)
		json_decref(match);
	else
		out->no_memory |= json_array_append_new(out->list, match) < 0;
}

/* Each match once for each range of numbers, where there is such a component at all. */
static void multiply_ranges(
	struct matches *all, bool has, const struct number_set *set, const char *key)
{
	struct matches out = {.list = json_array()};
	unsigned first, last;
	json_t *match;
	size_t i;

	if (!has || all->no_memory || all->too_many) {
		json_decref(out.list);
		return;
	}
	json_array_foreach (all->list, i, match) {
		for (unsigned at = 0; number_set_next(set, at, &first, &last) && !out.too_many;
			at = last + 1) {
			json_t *copy = json_copy(match);

			set_range(copy, key, first, last);
			append_match(&out, copy);
		}
	}
	json_decref(all->list);
	*all = out;
}

/* Protocols and DSCPs have no ranges. */
static void multiply_singly(
	struct matches *all, bool has, const struct number_set *set, const char *key)
{
	struct matches out = {.list = json_array()};
	json_t *match;
	size_t i;

	if (!has || all->no_memory || all->too_many) {
		json_decref(out.list);
		return;
	}
	json_array_foreach (all->list, i, match) {
		for (unsigned number = 0; number < set->n && !out.too_many; number++) {
			const char *name = NULL;
			json_t *copy;

			if (!number_set_has(set, number))
				continue;
			if (strcmp(key, "proto") == 0)
				name = proto_name((uint8_t)number);
			copy = json_copy(match);
			json_object_set_new(
				copy, key, name ? json_string(name) : json_integer(number));
			append_match(&out, copy);
		}
	}
	json_decref(all->list);
	*all = out;
}

/* A port of either side: those to it, and those from it. */
static void multiply_sides(struct matches *all, const struct components *c)
{
	struct matches from = {.list = json_copy(all->list)};

	if (c->has_ports) {
		multiply_ranges(all, true, &c->ports, "dst-port");
		multiply_ranges(&from, true, &c->ports, "src-port");
		all->no_memory |= json_array_extend(all->list, from.list) < 0;
		all->too_many |= from.too_many ||
				 json_array_size(all->list) > FLOWSPEC_MATCHES_MOST;
	}
	json_decref(from.list);
}

/* What names neither address is of its family all the same. */
static json_t *first_match(const struct components *c, bool ipv6)
{
	json_t *match = json_object();

	if (c->dst[0] != '\0')
		json_object_set_new(match, "dst", json_string(c->dst));
	if (c->src[0] != '\0')
		json_object_set_new(match, "src", json_string(c->src));
	if (c->dst[0] == '\0' && c->src[0] == '\0')
		json_object_set_new(match, "dst", json_string(ipv6 ? "::/0" : "0.0.0.0/0"));
	return match;
}

int flowspec_match(const json_t *rule, bool ipv6, json_t **match, char why[FLOWSPEC_WHY])
{
	struct components *c = malloc(sizeof(*c));
	struct matches all = {0};
	int ret = c == NULL ? -ENOMEM : read_components(rule, ipv6, c, why);

	*match = NULL;
	if (ret == 0)
		ret = check_components(c, why);
	if (ret == 0) {
		all.list = json_pack("[o]", first_match(c, ipv6));
		multiply_singly(&all, c->has_protocols, &c->protocols, "proto");
		multiply_singly(&all, c->has_dscps, &c->dscps, "dscp");
		multiply_ranges(&all, c->has_dst_ports, &c->dst_ports, "dst-port");
		multiply_ranges(&all, c->has_src_ports, &c->src_ports, "src-port");
		multiply_sides(&all, c);
	}
	free(c);
	if (ret == 0 && all.too_many)
		ret = refuse(why, "it is more %s than one policy is to have", "matches");
	if (ret == 0 && (all.no_memory || all.list == NULL))
		ret = -ENOMEM;
	if (ret == 0)
		*match = json_array_size(all.list) == 1 ? json_incref(json_array_get(all.list, 0))
							: json_incref(all.list);
	json_decref(all.list);
	return ret;
}
