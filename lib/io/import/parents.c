/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * When all lines of a list are read: whose parent is whose, and who has packets of his own.
 */
#include <stdio.h>
#include <string.h>

#include "base/math.h"
#include "import/list.h"
#include "import/network.h"
#include "policy/units.h"
#include "policy/value.h"

/* Whether there can be one of that name: with a prefix, and as LibreQoS has it. */
static bool make_name(const struct subscriber_list *list, const char *prefix, const char *text,
	char name[CONFIG_NAME_MAX])
{
	char plain[LIST_TEXT_MOST];

	snprintf(plain, sizeof(plain), "%s", text);
	if (list->columns.libreqos)
		list_make_plain(plain);
	return (size_t)snprintf(name, CONFIG_NAME_MAX, "%s%s", prefix, plain) < CONFIG_NAME_MAX &&
	       name_valid(name);
}

/* Above a circuit: Weir has four levels. */
#define NODES_MOST 3

#define GUARANTEED_LEAST 8000 /* bit/s */

/* The node itself, or the next one above it that limits something; NULL: none. */
static const char *real_node(const struct subscriber_list *list, const char *text)
{
	const json_t *node = json_object_get(list->nodes, text);

	while (node != NULL && json_is_true(json_object_get(node, "virtual"))) {
		text = json_string_value(json_object_get(node, "parent"));
		node = text != NULL ? json_object_get(list->nodes, text) : NULL;
	}
	return text;
}

/* A node, and those above it, become policies when the first circuit is below them. */
static bool find_node(
	struct subscriber_list *list, unsigned line, const char *text, char name[CONFIG_NAME_MAX])
{
	const json_t *node = json_object_get(list->nodes, text);
	const char *above = json_string_value(json_object_get(node, "parent"));
	char parent[CONFIG_NAME_MAX];
	json_t *policy;

	if (node == NULL || !make_name(list, list->terms->prefix, text, name) ||
		json_object_get(list->out.lines, name) != NULL)
		return false;
	if (json_object_get(list->used, name) != NULL)
		return list_claim_name(list, line, COLUMN_PARENT, name, text);
	above = above != NULL ? real_node(list, above) : NULL;
	if (above != NULL && !find_node(list, line, above, parent))
		return false;
	if (!list_claim_name(list, line, COLUMN_PARENT, name, text))
		return false;
	policy = json_pack("{s:s, s:O, s:s*}", "name", name, "limit",
		json_object_get(node, "limit"), "parent", above != NULL ? parent : NULL);
	list->no_memory |= json_object_set_new(list->used, name, policy) < 0;
	return true;
}

/* Into name. What is of this list and no longer in it goes. */
static bool find_running(const struct subscriber_list *list, const char *text,
	const json_t *running, char name[CONFIG_NAME_MAX])
{
	if (!make_name(list, list->terms->parent_prefix, text, name))
		return false;
	if (list->terms->running == NULL)
		return list->nodes == NULL || list->terms->parent_prefix[0] != '\0';
	return (json_object_get(running, name) != NULL &&
		strncmp(name, list->terms->prefix, strlen(list->terms->prefix)) != 0);
}

/* Either of the list itself, or of its network, or one that runs: into name. */
static bool find_parent(struct subscriber_list *list, unsigned line, const char *text,
	const json_t *running, char name[CONFIG_NAME_MAX])
{
	if (make_name(list, list->terms->prefix, text, name) &&
		json_object_get(list->out.lines, name) != NULL)
		return list_claim_name(list, line, COLUMN_PARENT, name, text) &&
		       json_object_get(list->nodes, text) == NULL;
	if (json_object_get(list->nodes, text) != NULL)
		return find_node(list, line, text, name);
	return find_running(list, text, running, name) &&
	       list_claim_name(list, line, COLUMN_PARENT, name, text);
}

/* Whether there is one; nothing becomes a policy for it. */
static bool has_parent(const struct subscriber_list *list, const char *text, const json_t *running)
{
	char name[CONFIG_NAME_MAX];

	return json_object_get(list->nodes, text) != NULL ||
	       (make_name(list, list->terms->prefix, text, name) &&
		       json_object_get(list->out.lines, name) != NULL) ||
	       find_running(list, text, running, name);
}

static json_t *by_name(const json_t *policies)
{
	json_t *names = json_object(), *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		const char *name = json_string_value(json_object_get(policy, "name"));

		if (name != NULL)
			json_object_set(names, name, policy);
	}
	return names;
}

/* Whether a policy that runs is a total, and so is all above it. */
static bool is_total_alone(const json_t *running, const char *name)
{
	const json_t *policy = json_object_get(running, name);
	bool is_total = policy != NULL;

	while (is_total && policy != NULL) {
		const char *allocator = json_string_value(json_object_get(policy, "allocator"));

		is_total = allocator != NULL && strcmp(allocator, "quota") == 0;
		policy = json_object_get(
			running, json_string_value(json_object_get(policy, "parent")));
	}
	return is_total;
}

static void drop_share(json_t *policy)
{
	json_object_del(policy, "guaranteed");
	json_object_del(policy, "weight");
}

/* Nothing can be guaranteed of nothing. LibreQoS has a least rate for each circuit anyway. */
static void refuse_share(struct subscriber_list *list, json_t *policy, const char *name)
{
	static const struct {
		enum column column;
		const char *key;
	} shares[] = {{COLUMN_GUARANTEED, "guaranteed"}, {COLUMN_WEIGHT, "weight"}};
	unsigned line = (unsigned)json_integer_value(json_object_get(list->out.lines, name));

	if (list->columns.libreqos || list->terms->flat) {
		drop_share(policy);
		return;
	}
	for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		if (json_object_get(policy, shares[i].key) != NULL)
			list_refuse_at(
				list, line, shares[i].column, "", "none without a parent", NULL);
}

static void refuse_parent(struct subscriber_list *list, unsigned line, const char *text)
{
	list_refuse_at(list, line, COLUMN_PARENT, text,
		"the name of another policy, in the file or in force", NULL);
}

static void resolve_parent(struct subscriber_list *list, json_t *policy, const json_t *running)
{
	const char *own = json_string_value(json_object_get(policy, "name"));
	const json_t *parent = json_object_get(list->parents, own);
	const char *text = json_string_value(json_object_get(parent, "text"));
	unsigned line = (unsigned)json_integer_value(json_object_get(parent, "line"));
	char name[CONFIG_NAME_MAX];

	text = text != NULL ? real_node(list, text) : NULL;
	list->is_bad = false;
	if (text == NULL)
		refuse_share(list, policy, own);
	else if (list->nodes_refused)
		return;
	else if (find_parent(list, line, text, running, name) && strcmp(name, own) != 0)
		list->no_memory |= json_object_set_new(policy, "parent", json_string(name)) < 0;
	else if (!list->is_bad)
		refuse_parent(list, line, text);
	if (list->columns.libreqos &&
		is_total_alone(running, json_string_value(json_object_get(policy, "parent"))))
		drop_share(policy);
}

/* A parent that holds for nobody is a mistake all the same, where there is none such. */
static void check_others(struct subscriber_list *list, const json_t *running)
{
	const json_t *parent;
	size_t i;

	json_array_foreach (list->others, i, parent) {
		const char *text = json_string_value(json_object_get(parent, "text"));

		if (!list->nodes_refused && !has_parent(list, text, running))
			refuse_parent(list,
				(unsigned)json_integer_value(json_object_get(parent, "line")),
				text);
	}
}

/* One prefix stands by itself. */
static void settle_addresses(const struct subscriber_list *list, json_t *policy)
{
	json_t *addresses = list_addresses(list, policy);
	size_t n = json_array_size(addresses);

	if (n == 1)
		json_object_set(json_object_get(policy, "match"),
			list->terms->upload ? "src" : "dst", json_array_get(addresses, 0));
	else if (n == 0)
		json_object_del(policy, "match");
}

/* LibreQoS does so, too. It is done before anybody is a parent for them. */
static void leave_out_circuits(struct subscriber_list *list)
{
	for (size_t i = json_array_size(list->out.policies); i-- > 0;) {
		json_t *policy = json_array_get(list->out.policies, i);
		const char *name = json_string_value(json_object_get(policy, "name"));

		if (json_array_size(list_addresses(list, policy)) > 0)
			continue;
		list_say(list, (unsigned)json_integer_value(json_object_get(list->out.lines, name)),
			true, "a circuit without addresses is left out");
		json_object_del(list->out.lines, name);
		json_array_remove(list->out.policies, i);
	}
}

/* The names that stand as parents. */
static json_t *resolve_parents(struct subscriber_list *list)
{
	json_t *running = by_name(list->terms->running), *parents = json_object(), *policy;
	size_t i;

	json_array_foreach (list->out.policies, i, policy) {
		const char *parent;

		resolve_parent(list, policy, running);
		list_note_bad(list, json_string_value(json_object_get(policy, "name")));
		parent = json_string_value(json_object_get(policy, "parent"));
		if (parent != NULL)
			list->no_memory |= json_object_set_new(parents, parent, json_true()) < 0;
	}
	check_others(list, running);
	json_decref(running);
	return parents;
}

/* Without packets of its own, and without others below it, a policy would have every packet. */
static void refuse_idle(struct subscriber_list *list, json_t *policy, const json_t *parents)
{
	const char *name = json_string_value(json_object_get(policy, "name"));

	list->is_bad = false;
	if (json_array_size(list_addresses(list, policy)) == 0 &&
		json_object_get(parents, name) == NULL)
		list_refuse_at(list,
			(unsigned)json_integer_value(json_object_get(list->out.lines, name)),
			COLUMN_ADDRESSES, "",
			"at least one, or others that name it as their parent", NULL);
	list_note_bad(list, name);
}

static void append_nodes(struct subscriber_list *list)
{
	const char *name;
	json_t *policy;

	json_object_foreach (list->used, name, policy) {
		list->no_memory |= json_array_append(list->out.policies, policy) < 0;
		list->no_memory |= json_object_set(list->out.nodes, name,
					   json_object_get(
						   json_object_get(list->ids, name), "text")) < 0;
	}
}

/* Levels of nodes down to the lowest one that has circuits, by the node. */
static json_t *heights_of_nodes(struct subscriber_list *list)
{
	json_t *heights = json_object();
	const json_t *parent;
	const char *name;

	json_object_foreach (list->parents, name, parent) {
		const char *text = real_node(
			list, json_string_value(json_object_get(parent, "text")));
		json_int_t height = 1;

		for (; text != NULL && json_object_get(list->nodes, text) != NULL; height++) {
			if (json_integer_value(json_object_get(heights, text)) >= height)
				break;
			list->no_memory |= json_object_set_new(
						   heights, text, json_integer(height)) < 0;
			text = json_string_value(
				json_object_get(json_object_get(list->nodes, text), "parent"));
		}
	}
	return heights;
}

/* The nodes next to the circuits stay if a tree is too deep: they have the smallest rates. */
static void flatten_nodes(struct subscriber_list *list)
{
	json_t *heights = heights_of_nodes(list), *height;
	const char *node;

	json_object_foreach (heights, node, height) {
		if (json_integer_value(height) <= NODES_MOST)
			continue;
		list_warn_of_node(list, node,
			"more than three levels of nodes above circuits: this one is left out, and "
			"limits nothing");
		list->no_memory |= json_object_set_new(json_object_get(list->nodes, node),
					   "virtual", json_true()) < 0;
	}
	json_decref(heights);
}

static uint64_t rate_at(const json_t *policy, const char *key)
{
	const char *text = json_string_value(json_object_get(policy, key));
	uint64_t bps = 0;

	return text != NULL && units_parse_rate(text, &bps) == 0 ? bps : 0;
}

static const json_t *node_above(const struct subscriber_list *list, const json_t *policy)
{
	return json_object_get(list->used, json_string_value(json_object_get(policy, "parent")));
}

/* Sums of the guaranteed rates of circuits below each node, in bit/s. */
static json_t *sums_of_guarantees(struct subscriber_list *list)
{
	json_t *sums = json_object(), *policy;
	size_t i;

	json_array_foreach (list->out.policies, i, policy) {
		json_int_t guaranteed = (json_int_t)rate_at(policy, "guaranteed");
		const json_t *node = node_above(list, policy);

		for (; node != NULL; node = node_above(list, node)) {
			const char *name = json_string_value(json_object_get(node, "name"));
			json_int_t sum = json_integer_value(json_object_get(sums, name));

			list->no_memory |= json_object_set_new(
						   sums, name, json_integer(sum + guaranteed)) < 0;
		}
	}
	return sums;
}

/* Scales it to the smallest part that a node above leaves of it. */
static void scale_guarantee(struct subscriber_list *list, json_t *policy, const json_t *sums)
{
	uint64_t guaranteed = rate_at(policy, "guaranteed"), scaled = guaranteed;
	const json_t *node = node_above(list, policy);
	char text[UNITS_TEXT_MAX];

	for (; node != NULL; node = node_above(list, node)) {
		uint64_t limit = rate_at(node, "limit"),
			 sum = (uint64_t)json_integer_value(json_object_get(
				 sums, json_string_value(json_object_get(node, "name"))));

		if (sum > limit)
			scaled = min_u64(
				scaled, (uint64_t)((unsigned __int128)guaranteed * limit / sum));
	}
	if (scaled < GUARANTEED_LEAST)
		json_object_del(policy, "guaranteed");
	else if (scaled < guaranteed)
		list->no_memory |= json_object_set_new(policy, "guaranteed",
					   json_string(units_format_rate(
						   scaled, text, sizeof(text)))) < 0;
}

/* LibreQoS scales them too, if circuits are guaranteed more than their node has. */
static void scale_guarantees(struct subscriber_list *list)
{
	json_t *sums = sums_of_guarantees(list), *node, *policy;
	char text[2 * UNITS_TEXT_MAX + 80], had[UNITS_TEXT_MAX];
	const char *name;
	size_t i;

	json_object_foreach (list->used, name, node) {
		uint64_t sum = (uint64_t)json_integer_value(json_object_get(sums, name));

		if (sum <= rate_at(node, "limit"))
			continue;
		snprintf(text, sizeof(text),
			"its circuits are guaranteed %s of its %s: each guarantee is scaled down",
			units_format_rate(sum, had, sizeof(had)),
			json_string_value(json_object_get(node, "limit")));
		list_warn_of_node(list,
			json_string_value(
				json_object_get(json_object_get(list->ids, name), "text")),
			text);
	}
	json_array_foreach (list->out.policies, i, policy)
		scale_guarantee(list, policy, sums);
	json_decref(sums);
}

/* Returns true if there were any. */
static bool leave_out_bad(struct subscriber_list *list)
{
	bool any = false;

	for (size_t i = json_array_size(list->out.policies); i-- > 0;) {
		const json_t *policy = json_array_get(list->out.policies, i);
		const char *name = json_string_value(json_object_get(policy, "name"));

		if (json_object_get(list->out.bad, name) == NULL)
			continue;
		json_object_del(list->out.lines, name);
		json_object_del(list->parents, name);
		json_array_remove(list->out.policies, i);
		any = true;
	}
	return any;
}

void list_settle(struct subscriber_list *list)
{
	json_t *parents, *policy;
	size_t i;

	leave_out_bad(list);
	if (list->columns.libreqos)
		leave_out_circuits(list);
	flatten_nodes(list);
	do {
		json_object_clear(list->used);
		parents = resolve_parents(list);
		json_array_foreach (list->out.policies, i, policy)
			refuse_idle(list, policy, parents);
		json_decref(parents);
	} while (leave_out_bad(list));
	json_array_foreach (list->out.policies, i, policy)
		settle_addresses(list, policy);
	scale_guarantees(list);
	append_nodes(list);
}
