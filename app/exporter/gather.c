/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gather.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A reload in the middle of the pages moves policies to other ones: they are read again. */
#define TRIES 3

#define SPEED_UNKNOWN UINT32_MAX

/* Adds a part; one that the limiter does not have is none. */
static int add_part(struct source *source, json_t *document, const char *key, const char *request)
{
	json_t *value;
	int ret = source_get(source, request, &value);

	if (ret == 0)
		json_object_set_new(document, key, value);
	return ret == -ENOENT ? 0 : ret;
}

static int add_port_stats(struct source *source, json_t *port)
{
	char number[24];
	json_t *stats;
	int ret;

	snprintf(number, sizeof(number), "%lld",
		(long long)json_integer_value(json_object_get(port, "port")));
	ret = source_get_of(source, "/ethdev/stats", number, &stats);
	if (ret == 0)
		json_object_set_new(port, "stats", stats);
	return ret == -ENOENT ? 0 : ret;
}

static int add_ports(struct source *source, json_t *document)
{
	int ret = add_part(source, document, "ports", "/weir/ports");
	json_t *port;
	size_t i;

	json_array_foreach (json_object_get(document, "ports"), i, port) {
		const char *link = json_string_value(json_object_get(port, "link"));
		json_int_t speed = json_integer_value(json_object_get(port, "speed_mbps"));

		if (ret)
			return ret;
		if (link)
			json_object_set_new(port, "up", json_boolean(strcmp(link, "UP") == 0));
		if (speed <= 0 || speed >= SPEED_UNKNOWN)
			json_object_del(port, "speed_mbps");
		ret = add_port_stats(source, port);
	}
	return ret;
}

/* Ourselves are none; one that is not watched is neither alive nor lost. */
static bool is_peer(json_t *peer)
{
	const char *state = json_string_value(json_object_get(peer, "state"));

	if (!state || strcmp(state, "self") == 0)
		return false;
	if (strcmp(state, "unwatched") != 0)
		json_object_set_new(peer, "alive", json_boolean(strcmp(state, "alive") == 0));
	if (json_is_null(json_object_get(peer, "differs")))
		json_object_set_new(peer, "differs", json_array());
	return true;
}

static int add_peers(struct source *source, json_t *document, unsigned most)
{
	json_t *listing, *peers = json_array(), *peer;
	json_int_t left_out = 0;
	size_t i;
	int ret = source_list(source, "/weir/peers", NULL, "peers", &listing);

	if (ret == 0) {
		json_array_foreach (json_object_get(listing, "peers"), i, peer) {
			if (!is_peer(peer))
				continue;
			if (json_array_size(peers) < most)
				json_array_append(peers, peer);
			else
				left_out++;
		}
		json_decref(listing);
		json_object_set(document, "peers", peers);
		json_object_set_new(
			json_object_get(document, "left_out"), "peers", json_integer(left_out));
	}
	json_decref(peers);
	return ret == -ENOENT ? 0 : ret;
}

/* The page's rows, of which the document has no more than it may. */
static int take_rows(json_t *document, const json_t *page, unsigned most)
{
	const json_t *rows = json_object_get(page, "policies"), *row;
	json_t *all = json_object_get(document, "policies");
	size_t i;

	if (!json_is_array(rows) || !json_is_array(json_object_get(page, "columns")))
		return -EBADMSG;
	json_object_set(document, "columns", json_object_get(page, "columns"));
	json_array_append_new(json_object_get(document, "pages"),
		json_pack("{s:o, s:O?}", "rows", json_integer((json_int_t)json_array_size(rows)),
			"at_ms", json_object_get(page, "at_ms")));
	json_array_foreach (rows, i, row)
		if (json_array_size(all) < most)
			json_array_append(all, (json_t *)row);
	return 0;
}

static int get_stats(struct source *source, json_int_t start, json_t **page)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)start);
	return source_get_of(source, "/weir/policy_stats", text, page);
}

/* All pages of one generation: 0, 1 if that has changed meanwhile, or a negative errno. */
static int add_pages(struct source *source, json_t *document, unsigned most)
{
	json_int_t next = 0, generation = 0, before, total;
	json_t *page;
	int ret;

	json_object_set_new(document, "policies", json_array());
	json_object_set_new(document, "pages", json_array());
	do {
		before = next;
		ret = get_stats(source, before, &page);
		if (ret)
			return ret;
		ret = take_rows(document, page, most);
		next = json_integer_value(json_object_get(page, "next"));
		total = json_integer_value(json_object_get(page, "total"));
		if (before == 0)
			generation = json_integer_value(json_object_get(page, "generation"));
		else if (generation != json_integer_value(json_object_get(page, "generation")))
			ret = 1;
		json_decref(page);
		if (ret == 0 && next && next <= before) /* it would be followed for ever */
			ret = -EBADMSG;
	} while (ret == 0 && next && json_array_size(json_object_get(document, "policies")) < most);
	json_object_set_new(json_object_get(document, "left_out"), "policies",
		json_integer(total -
			     (json_int_t)json_array_size(json_object_get(document, "policies"))));
	return ret;
}

static int add_policies(struct source *source, json_t *document, unsigned most)
{
	int ret = 1;

	for (unsigned i = 0; ret == 1 && i < TRIES; i++)
		ret = add_pages(source, document, most);
	if (ret == 1) { /* rather none than some twice */
		json_object_del(document, "policies");
		json_object_set_new(json_object_get(document, "left_out"), "policies",
			json_incref(
				json_object_get(json_object_get(document, "config"), "policies")));
	}
	return ret == -ENOENT || ret == 1 ? 0 : ret;
}

static int add_shares(struct source *source, json_t *document, const struct looked_at *looked_at)
{
	json_t *shares = json_object(), *share;
	int ret = 0;

	json_object_set_new(document, "shares", shares);
	for (unsigned i = 0; ret == 0 && i < looked_at->n; i++) {
		ret = source_list(source, "/weir/shares", looked_at->names[i], "limiters", &share);
		if (ret == 0)
			json_object_set_new(shares, looked_at->names[i], share);
		else if (ret == -ENOENT)
			ret = 0;
	}
	return ret;
}

size_t gather_column(const json_t *document, const char *name)
{
	const json_t *column;
	size_t i;

	json_array_foreach (json_object_get(document, "columns"), i, column)
		if (json_is_string(column) && strcmp(json_string_value(column), name) == 0)
			return i;
	return SIZE_MAX;
}

int gather(struct source *source, const struct gather_most *most, const struct looked_at *looked_at,
	json_t **document)
{
	static const struct {
		const char *key, *request;
	} parts[] = {
		{"process", "/weir/process"},
		{"config", "/weir/config"},
		{"health", "/weir/health"},
		{"drops", "/weir/drops"},
		{"unparsed", "/weir/unparsed"},
		{"gossip", "/weir/gossip"},
		{"ledger", "/weir/ledger"},
		{"workers", "/weir/workers"},
	};
	int ret = 0;

	*document = json_pack("{s:{}}", "left_out");
	for (size_t i = 0; ret == 0 && i < sizeof(parts) / sizeof(*parts); i++)
		ret = add_part(source, *document, parts[i].key, parts[i].request);
	if (ret == 0)
		ret = add_ports(source, *document);
	if (ret == 0)
		ret = add_peers(source, *document, most->peers);
	if (ret == 0)
		ret = add_policies(source, *document, most->policies);
	if (ret == 0)
		ret = add_shares(source, *document, looked_at);
	if (ret == 0)
		return 0;
	json_decref(*document);
	*document = NULL;
	return ret;
}
