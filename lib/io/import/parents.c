/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * When all lines of a list are read: whose parent is whose, and who has packets of his own.
 */
#include <stdio.h>
#include <string.h>

#include "import/list.h"
#include "import/network.h"
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
	unsigned errors = list->diagnostics->errors;
	char name[CONFIG_NAME_MAX];

	if (text == NULL)
		refuse_share(list, policy, own);
	else if (list->nodes_refused)
		return;
	else if (find_parent(list, line, text, running, name) && strcmp(name, own) != 0)
		list->no_memory |= json_object_set_new(policy, "parent", json_string(name)) < 0;
	else if (list->diagnostics->errors == errors)
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
		parent = json_string_value(json_object_get(policy, "parent"));
		if (parent != NULL)
			list->no_memory |= json_object_set_new(parents, parent, json_true()) < 0;
	}
	check_others(list, running);
	json_decref(running);
	return parents;
}

/* Without packets of its own, and without others below it, a policy would have every packet. */
static void refuse_idle(struct subscriber_list *list, const json_t *policy, const json_t *parents)
{
	const char *name = json_string_value(json_object_get(policy, "name"));

	if (json_object_get(policy, "match") == NULL && json_object_get(parents, name) == NULL)
		list_refuse_at(list,
			(unsigned)json_integer_value(json_object_get(list->out.lines, name)),
			COLUMN_ADDRESSES, "",
			"at least one, or others that name it as their parent", NULL);
}

static void append_nodes(struct subscriber_list *list)
{
	const char *name;
	json_t *policy;

	json_object_foreach (list->used, name, policy)
		list->no_memory |= json_array_append(list->out.policies, policy) < 0;
}

void list_settle(struct subscriber_list *list)
{
	json_t *parents, *policy;
	size_t i;

	if (list->columns.libreqos)
		leave_out_circuits(list);
	parents = resolve_parents(list);
	json_array_foreach (list->out.policies, i, policy) {
		settle_addresses(list, policy);
		refuse_idle(list, policy, parents);
	}
	json_decref(parents);
	append_nodes(list);
}
