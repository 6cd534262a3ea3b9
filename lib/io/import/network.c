/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/network.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "policy/units.h"

#define DEEPEST      64
#define BPS_PER_MBPS 1e6
#define RATE_MOST    1e15

struct network_walk {
	const char *file, *key; /* of the bandwidth */
	struct diagnostics *diagnostics;
	json_t *nodes;
};

static void refuse_node(const struct network_walk *network, const char *name, const char *expected)
{
	if (diagnostics_count(network->diagnostics, false))
		diagnostic_write(network->diagnostics,
			&(struct diagnostic){
				.file = network->file, .place = name, .expected = expected});
}

int network_rate(double mbps, uint64_t *bps)
{
	double rate = round(mbps * BPS_PER_MBPS);

	*bps = 0;
	if (!(rate >= 0 && rate <= RATE_MOST))
		return -ERANGE;
	*bps = (uint64_t)rate;
	return 0;
}

/* Numbers of Mbit/s, with a fraction or without. */
static bool format_bandwidth(const json_t *value, char text[UNITS_TEXT_MAX])
{
	uint64_t bps;

	if (!json_is_number(value) || network_rate(json_number_value(value), &bps) < 0)
		return false;
	units_format_rate(bps, text, UNITS_TEXT_MAX);
	return true;
}

/* LibreQoS writes it in two ways. Such a node groups others on its page, and limits nothing. */
static bool is_virtual(const json_t *node)
{
	const char *type = json_string_value(json_object_get(node, "type"));

	return json_is_true(json_object_get(node, "virtual")) ||
	       (type != NULL && strcasecmp(type, "virtual") == 0);
}

static void take_node(const struct network_walk *network, const char *name, const char *parent,
	const json_t *node)
{
	char limit[UNITS_TEXT_MAX], expected[64];

	snprintf(expected, sizeof(expected), "a number of Mbit/s as \"%s\"", network->key);
	if (!is_virtual(node) && !format_bandwidth(json_object_get(node, network->key), limit))
		refuse_node(network, name, expected);
	else if (json_object_get(network->nodes, name) != NULL)
		refuse_node(network, name, "a name of its own");
	else if (is_virtual(node))
		json_object_set_new(network->nodes, name,
			json_pack("{s:b, s:s*}", "virtual", true, "parent", parent));
	else
		json_object_set_new(network->nodes, name,
			json_pack("{s:s, s:s*}", "limit", limit, "parent", parent));
}

/* What a node may have below it: null is nothing, too. */
static bool is_nodes(const json_t *children)
{
	return children == NULL || json_is_null(children) || json_is_object(children);
}

static void take_nodes(const struct network_walk *network, const char *parent,
	const json_t *children, unsigned depth)
{
	const char *name;
	json_t *node;

	json_object_foreach ((json_t *)(uintptr_t)children, name, node) {
		const json_t *below = json_object_get(node, "children");

		take_node(network, name, parent, node);
		if (!is_nodes(below))
			refuse_node(
				network, name, "as \"children\" an object of nodes by their names");
		if (depth < DEEPEST)
			take_nodes(network, is_virtual(node) ? parent : name, below, depth + 1);
	}
}

json_t *network_nodes(
	const json_t *network, bool upload, const char *file, struct diagnostics *diagnostics)
{
	const struct network_walk all = {.file = file,
		.key = upload ? "uploadBandwidthMbps" : "downloadBandwidthMbps",
		.diagnostics = diagnostics,
		.nodes = json_object()};
	unsigned errors = diagnostics->errors;

	if (!json_is_object(network))
		refuse_node(&all, NULL,
			"an object of nodes by their names, as LibreQoS's network.json is");
	take_nodes(&all, NULL, network, 1);
	if (diagnostics->errors == errors)
		return all.nodes;
	json_decref(all.nodes);
	return NULL;
}
