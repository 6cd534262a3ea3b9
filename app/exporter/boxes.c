/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "boxes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reload between two pages moves policies to other pages, so all are read again. */
#define TRIES 3

#define SPEED_UNKNOWN UINT32_MAX

/* Adds a part. A part that the limiter does not have is left out. */
static int add_part(struct source *source, json_t *document, const char *key, const char *request)
{
	json_t *value;
	int ret = source_get(source, request, &value);

	if (ret == 0)
		json_object_set_new(document, key, value);
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
		char number[24];
		json_t *stats;

		if (ret)
			return ret;
		if (link)
			json_object_set_new(port, "up", json_boolean(strcmp(link, "UP") == 0));
		if (speed <= 0 || speed >= SPEED_UNKNOWN)
			json_object_del(port, "speed_mbps");
		snprintf(number, sizeof(number), "%lld",
			(long long)json_integer_value(json_object_get(port, "port")));
		ret = source_get_of(source, "/ethdev/stats", number, &stats);
		if (ret == 0)
			json_object_set_new(port, "stats", stats);
		else if (ret == -ENOENT)
			ret = 0;
	}
	return ret;
}

/* Returns whether it is a peer, not this limiter. Sets "alive" if the peer is watched. */
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

/* Returns 0, or 1 if the page has another generation than the first. */
static int check_generation(json_t *document, const json_t *page, bool first)
{
	json_t *generation = json_object_get(page, "generation");

	if (!first)
		return !json_equal(json_object_get(document, "generation"), generation);
	json_object_set(document, "generation", generation);
	json_object_set(document, "at_ms", json_object_get(page, "at_ms"));
	return 0;
}

/*
 * Adds all pages of one generation. Returns 0, 1 if the generation changed, or a negative errno.
 * The limiter makes a page while the previous one is read here.
 */
static int add_pages(
	struct source *source, json_t *document, struct policy_pages *policies, unsigned most)
{
	struct pages pages = {.source = source, .command = "/weir/policy_stats"};
	json_int_t total = 0;
	bool more;
	int ret;

	policy_pages_free(policies);
	policies->whole = true;
	do {
		bool first = pages.next == 0;
		json_t *page;

		ret = pages_take(&pages, &page);
		total = json_integer_value(json_object_get(page, "total"));
		if (ret == 0)
			ret = check_generation(document, page, first);
		more = ret == 0 && pages.next && pages.next < most;
		if (more)
			ret = pages_send(&pages);
		if (ret == 0)
			ret = policy_pages_add(policies, page, most - policies->n);
		json_decref(page);
	} while (ret == 0 && more);
	if (ret >= 0)
		json_object_set_new(json_object_get(document, "left_out"), "policies",
			json_integer(total - (json_int_t)policies->n));
	return ret;
}

static int add_policies(
	struct source *source, json_t *document, struct policy_pages *policies, unsigned most)
{
	int ret = 1;

	for (unsigned i = 0; ret == 1 && i < TRIES; i++)
		ret = add_pages(source, document, policies, most);
	if (ret == 1) { /* no policies, rather than some of them twice */
		policy_pages_free(policies);
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

int gather(struct source *source, const struct gather_most *most, const struct looked_at *looked_at,
	json_t **document, struct policy_pages *policies)
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
		ret = add_policies(source, *document, policies, most->policies);
	if (ret == 0)
		ret = add_shares(source, *document, looked_at);
	if (ret == 0)
		return 0;
	json_decref(*document);
	policy_pages_free(policies);
	*document = NULL;
	return ret;
}

/* --- all limiters ---------------------------------------------------------------------------- */

/* Runs on the thread of a limiter. Adds "up" and "took_s", also after a failure. */
static int gather_target(struct target *target, const void *context, json_t **document)
{
	const struct round *round = context;
	struct metrics_of *of = &round->boxes->of[target - round->targets.each];
	json_t *answers;
	int ret = gather(&target->client.source, &round->options->most, &round->looked_at, &answers,
		&of->policies);

	*document = NULL;
	target_close(target);
	if (!answers)
		answers = json_object();
	json_object_set_new(answers, "up", json_boolean(ret == 0));
	json_object_set_new(answers, "took_s", json_real(steady_s() - target->began_s));
	of->document = answers;
	return ret;
}

int round_open(struct round *round, const struct boxes_options *options)
{
	int ret = 0;

	*round = (struct round){.options = options,
		.targets = {.total_ms = options->patience_ms,
			.query = gather_target,
			.context = round}};
	for (unsigned i = 0; ret == 0 && i < options->n_sockets; i++)
		ret = targets_add(&round->targets, NULL, options->sockets[i]);
	return ret;
}

void round_close(struct round *round)
{
	targets_free(&round->targets);
	boxes_free(round->boxes);
	round->boxes = NULL;
}

void round_begin(struct round *round, const struct looked_at *looked_at)
{
	struct boxes *boxes = calloc(1, sizeof(*boxes));

	round->boxes = boxes;
	round->looked_at = *looked_at;
	if (!boxes)
		return;
	if (!round->options->n_sockets)
		targets_refresh(&round->targets, round->options->directory, BOXES_MOST);
	boxes->n = round->targets.n;
	for (unsigned i = 0; i < boxes->n; i++) {
		snprintf(boxes->names[i], sizeof(boxes->names[i]), "%s",
			round->targets.each[i].name);
		boxes->of[i].limiter = boxes->names[i];
	}
	targets_begin(&round->targets);
}

struct boxes *round_end(struct round *round)
{
	struct boxes *boxes = round->boxes;

	round->boxes = NULL;
	return boxes;
}

void boxes_free(struct boxes *boxes)
{
	if (!boxes)
		return;
	boxes->freed = true;
	if (boxes->readers)
		return;
	for (unsigned i = 0; i < boxes->n; i++) {
		json_decref((json_t *)boxes->of[i].document);
		policy_pages_free(&boxes->of[i].policies);
	}
	free(boxes);
}

void boxes_leave(struct boxes *boxes)
{
	boxes->readers--;
	if (boxes->freed)
		boxes_free(boxes);
}

unsigned boxes_find(const struct boxes *boxes, const char *limiter, unsigned guess)
{
	if (boxes && guess < boxes->n && strcmp(boxes->of[guess].limiter, limiter) == 0)
		return guess;
	for (unsigned i = 0; boxes && i < boxes->n; i++)
		if (strcmp(boxes->of[i].limiter, limiter) == 0)
			return i;
	return BOXES_MOST;
}
