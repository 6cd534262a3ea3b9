/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a configuration: refused with a reason, or accepted and complete. Never a crash, a
 * leak or a control character in text for an operator. An accepted one can also be described.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate/allocate.h"
#include "config/compare.h"
#include "config/describe.h"
#include "config/load.h"
#include "policy/config.h"
#include "policy/kind.h"
#include "config/group.h"
#include "json/locate.h"
#include "json/scan.h"
#include "json/slips.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_messages(const char *messages, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (messages[i] != '\n' && (messages[i] < ' ' || messages[i] > '~'))
			abort();
	}
}

/* A path may be UTF-8, but contains no control characters for a terminal. */
static void check_description(const struct config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return;
	config_describe(config, out);
	fclose(out);
	for (size_t i = 0; i < size; i++) {
		if (text[i] != '\n' && iscntrl((unsigned char)text[i]))
			abort();
	}
	free(text);
}

static void check_policy(const struct policy *policy)
{
	bool windowed = meter_can(policy->meter, METER_WINDOW);
	bool quota = policy_is_quota(policy);

	if (policy->allocator == NULL || (policy->limit_bps == 0) != (policy->burst_bytes == 0) ||
		(policy->limit_bps == 0 && !quota))
		abort();
	if (quota != (policy->total > 0) || quota != (policy->chunk > 0) ||
		quota != (policy->meter == METER_CREDIT) ||
		(policy->period == PERIOD_FIXED) != (policy->period_ns > 0))
		abort();
	if (policy->guarantee > GUARANTEE_HARD ||
		policy->allocator->moves != (policy->indicator != NULL) ||
		(policy->allocator->moves && policy->guarantee != GUARANTEE_HARD))
		abort();
	if (policy->count > COUNT_FLOWS || policy->meter >= METER_KINDS ||
		policy->action > (policy_is_coloured(policy) ? ACTION_PASS : ACTION_SHAPE) ||
		windowed != (policy->window_ns > 0))
		abort();
	if (policy->meter == METER_PHANTOM &&
		(policy->classes.n < PHANTOM_CLASSES_MIN ||
			policy->classes.n > PHANTOM_CLASSES_MAX || policy->classes.weights[0] == 0))
		abort();
	if (policy_is_coloured(policy) &&
		(policy->colours.second.burst_bytes == 0 || policy->action == ACTION_SHAPE))
		abort();
	if (policy->mark < MARK_ECN || policy->mark > 63 || policy->per_v4 > 32 ||
		policy->per_v6 > 128 || (policy->per_v4 > 0) != (policy->sources > 0))
		abort();
}

static void check_matches(const struct policy *policy, int n_wires)
{
	if ((policy->more != NULL) != (policy->n_more > 0))
		abort();
	for (unsigned i = 0; i < policy_n_matches(policy); i++) {
		const struct match *match = policy_match(policy, i);

		if (match->wire < CONFIG_ANY || match->wire >= n_wires ||
			match->vlan < CONFIG_ANY || match->vlan > 4094 ||
			match->dscp < CONFIG_ANY || match->dscp > 63)
			abort();
		if (match->src.family != 0 && match->dst.family != 0 &&
			match->src.family != match->dst.family)
			abort();
	}
}

static void check_config(const struct config *config)
{
	check_description(config);
	if (config->gossip.self >= config->gossip.n_roster ||
		config->gossip.estimator > ESTIMATOR_TREE)
		abort();
	if (config->ledger.store[0] == '\0' || config->ledger.lease_ns == 0 ||
		config->ledger.n_etcd > CONFIG_ETCD_MAX)
		abort();
	for (unsigned i = 0; i < config->ledger.n_edges; i++) {
		if (config->ledger.edges[i].a >= config->gossip.n_roster ||
			config->ledger.edges[i].b >= config->gossip.n_roster)
			abort();
	}
	for (unsigned i = 0; i < config->n_policies; i++) {
		check_policy(&config->policies[i]);
		check_matches(&config->policies[i], (int)config->n_wires);
	}
}

/* The value at an offset equals the one that the parser made from it. */
static void check_located(const char *text, size_t len, const struct json_path *path, json_t *value)
{
	bool exact = false;
	size_t offset = json_locate(text, path, &exact);
	json_t *same;

	if (!exact || offset >= len)
		abort();
	same = json_loadb(
		text + offset, len - offset, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
	if (same == NULL || !json_equal(same, value))
		abort();
	json_decref(same);
}

/* Each value of a small tree; `left` bounds the work. */
static void check_places(
	const char *text, size_t len, const struct json_path *path, json_t *value, unsigned *left)
{
	const char *name;
	json_t *member;
	size_t i;

	if (*left == 0)
		return;
	(*left)--;
	check_located(text, len, path, value);
	json_object_foreach (value, name, member) {
		struct json_path at = {.parent = path, .key = name};

		check_places(text, len, &at, member, left);
	}
	json_array_foreach (value, i, member) {
		struct json_path at = {.parent = path, .index = i};

		check_places(text, len, &at, member, left);
	}
}

/* The tokens of any bytes are in order, and only blanks are between them. */
static void check_tokens(const char *text, size_t len, bool comments)
{
	struct json_scan scan = {.text = text, .len = len, .comments = comments};
	struct json_token token;
	size_t at = 0;
	bool more;

	do {
		more = json_scan_next(&scan, &token);
		for (; at < token.begin; at++) {
			if (text[at] == '\0' || strchr(" \t\r\n", text[at]) == NULL)
				abort();
		}
		if (at > token.begin || token.end > len || more != (token.end > token.begin))
			abort();
		at = token.end;
	} while (more);
	if (at != len)
		abort();
}

/* Comments become only blanks, and the explanation of invalid JSON is within its bounds. */
static void check_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct slip slip = {0};
	json_error_t error;
	unsigned left = 64;
	json_t *root;

	if (text == NULL)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	check_tokens(text, size, size % 2 == 0);
	if (json_blank_comments(text, size) == size) {
		for (size_t i = 0; i < size; i++) {
			if (text[i] != (char)data[i] && text[i] != ' ')
				abort();
		}
		root = json_loadb(text, size, JSON_DECODE_ANY, &error);
		if (root != NULL)
			check_places(text, size, NULL, root, &left);
		else
			slip_explain(text, size, &error, &slip);
		if (slip.offset > size || (root == NULL && slip.found[0] == '\0'))
			abort();
		json_decref(root);
	}
	free(text);
}

/* Compares a configuration with itself, which changes nothing, and with a small one. */
static void check_diffs(const struct config *config, const char *text, size_t size)
{
	static const char small[] = "{\"limiter\": \"me\"}";
	FILE *nowhere = fopen("/dev/null", "w");
	struct config_diff *diff;
	struct config *same, *other;

	if (config_parse(text, size, "fuzz", nowhere, &same) ||
		config_diff(config, same, "fuzz", nowhere, &diff))
		abort();
	config_diff_free(diff);
	config_free(same);
	if (config_parse(small, strlen(small), "small", nowhere, &other))
		abort();
	if (config_diff(other, config, "fuzz", nowhere, &diff) == 0)
		config_diff_free(diff);
	config_free(other);
	fclose(nowhere);
}

static int parse_config(const char *text, size_t size, FILE *err)
{
	struct config *config;
	int rc = config_parse(text, size, "fuzz", err, &config);

	if (rc == 0) {
		check_config(config);
		check_diffs(config, text, size);
	}
	config_free(config);
	return rc;
}

static const struct key group_keys[] = {
	{"policies", read_group_policies, .required = true},
	{"gossip", read_group_gossip, .required = true},
	{0},
};

/* Parses the bytes as a document with a group in it. */
static int parse_group(const char *text, size_t size, FILE *err)
{
	struct reader reader;
	struct group group;
	int rc = reader_parse(&reader, text, size, "fuzz", err);

	if (rc < 0)
		return rc;
	group_init(&reader, &group);
	read_keys(&reader, NULL, reader.root, group_keys, &group);
	group_check(&reader, &group, 1 + size % 3);
	rc = reader_finish(&reader);
	for (unsigned i = 0; rc == 0 && i < group.n_policies; i++)
		check_policy(&group.policies[i]);
	group_free(&group);
	return rc;
}

static void check_parse(
	int (*parse)(const char *text, size_t size, FILE *err), const char *text, size_t size)
{
	char *messages = NULL;
	size_t n_messages = 0;
	FILE *err = open_memstream(&messages, &n_messages);
	int rc;

	if (err == NULL)
		return;
	rc = parse(text, size, err);
	fclose(err);
	check_messages(messages, n_messages);
	if (rc < 0 && n_messages == 0)
		abort();
	free(messages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_text(data, size);
	check_parse(parse_config, (const char *)data, size);
	check_parse(parse_group, (const char *)data, size);
	return 0;
}
