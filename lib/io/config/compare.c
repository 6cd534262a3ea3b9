/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"
#include "policy/kind.h"
#include "policy/names.h"

#define PLACE_MAX JSON_NAMED_MAX

struct fixed_check {
	const struct complaint_sink *to;
	unsigned n;
};

/* The place is as in the messages of config_load(). */
static void complain_fixed(struct fixed_check *c, const char *place)
{
	c->n++;
	complaint_write(c->to, &(struct complaint){.place = place,
				       .found = "cannot change while the limiter runs",
				       .remedy = "restart it"});
}

static void check_rows(struct fixed_check *c, const char *above, const struct key *keys,
	const void *a, const void *b);

/* Compares elements in their order, by which wires and the roster refer to others. */
static void check_elements(struct fixed_check *c, const char *place, const struct key *key,
	const void *a, const void *b)
{
	const struct list *list = key->detail;
	char at[PLACE_MAX], *old, *new;
	unsigned n_old, n_new;

	memcpy(&old, key_field(key, a), sizeof(old));
	memcpy(&new, key_field(key, b), sizeof(new));
	memcpy(&n_old, (const char *)a + list->count_offset, sizeof(n_old));
	memcpy(&n_new, (const char *)b + list->count_offset, sizeof(n_new));
	if (n_old != n_new)
		complain_fixed(c, place);
	for (unsigned i = 0; i < n_new && n_old == n_new; i++) {
		const char *x = old + i * list->size, *y = new + i * list->size;

		if (list->named)
			snprintf(at, sizeof(at), "%.100s.%.63s", place, y);
		else
			snprintf(at, sizeof(at), "%.160s[%u]", place, i);
		if (list->named && strcmp(x, y) != 0)
			complain_fixed(c, at);
		else
			check_rows(c, at, list->keys, x, y);
	}
}

static void check_rows(struct fixed_check *c, const char *above, const struct key *keys,
	const void *a, const void *b)
{
	for (const struct key *key = keys; key->name != NULL; key++) {
		char place[PLACE_MAX];

		snprintf(place, sizeof(place), "%.200s%s%s", above, *above ? "." : "", key->name);
		if (key->read == read_object)
			check_rows(c, place, key->detail, key_field(key, a), key_field(key, b));
		else if (key->change == KEY_ELEMENTS)
			check_elements(c, place, key, a, b);
		else if ((key->change == KEY_FIXED || key->change == KEY_KIND) &&
			 !key_is_same(key, a, b))
			complain_fixed(c, place);
	}
}

static unsigned row_changes(const struct key *keys, const void *a, const void *b)
{
	unsigned changes = 0;

	for (const struct key *key = keys; key->name != NULL; key++) {
		if (key->read == read_object)
			changes |= row_changes(key->detail, key_field(key, a), key_field(key, b));
		else if (!key_is_same(key, a, b))
			changes |= key->change;
	}
	return changes;
}

/* Parents are compared by name, because an index changes with other policies. */
static uint8_t policy_changes(const struct config *old, const struct policy *before,
	const struct config *config, const struct policy *policy)
{
	unsigned changes = row_changes(policy_keys, before, policy);

	if (policy_has_parent(before) && policy_has_parent(policy) &&
		strcmp(old->policies[before->parent].name, config->policies[policy->parent].name) !=
			0)
		changes |= POLICY_TERMS;
	if (policy_key(before).id != policy_key(policy).id) /* another policy for the group */
		changes |= POLICY_RESTARTS;
	return (uint8_t)changes;
}

static void diff_policies(struct config_diff *diff, const struct config *old,
	const struct config *config, const struct policy_names *names)
{
	for (unsigned i = 0; i < diff->n; i++) {
		const struct policy *policy = &config->policies[i];

		diff->from[i] = policy_names_find(names, policy->name);
		if (diff->from[i] == old->n_policies) {
			diff->from[i] = POLICY_NEW;
			diff->changes[i] = POLICY_ADDED;
			diff->added++;
			continue;
		}
		diff->changes[i] = policy_changes(
			old, &old->policies[diff->from[i]], config, policy);
		diff->changed += diff->changes[i] != 0;
	}
	diff->removed = old->n_policies - (diff->n - diff->added);
}

static int make_diff(
	const struct config *old, const struct config *config, struct config_diff **out)
{
	struct config_diff *diff = calloc(1, sizeof(*diff));
	struct policy_names *names;
	int ret = policy_names_create(old->policies, old->n_policies, &names);

	if (diff) {
		diff->n = config->n_policies;
		diff->from = calloc((size_t)diff->n + 1, sizeof(*diff->from));
		diff->changes = calloc((size_t)diff->n + 1, sizeof(*diff->changes));
	}
	if (ret || !diff || !diff->from || !diff->changes) {
		policy_names_destroy(names);
		config_diff_free(diff);
		return -ENOMEM;
	}
	diff_policies(diff, old, config, names);
	policy_names_destroy(names);
	*out = diff;
	return 0;
}

unsigned config_fixed(
	const struct config *old, const struct config *config, const struct complaint_sink *to)
{
	struct fixed_check c = {.to = to};

	check_rows(&c, "", config_keys, old, config);
	return c.n;
}

int config_diff(const struct config *old, const struct config *config, const char *file, FILE *err,
	struct config_diff **out)
{
	struct complaint_output named = {file, err};

	*out = NULL;
	if (config_fixed(old, config, &(struct complaint_sink){complaint_print_named, &named}) > 0)
		return -EINVAL;
	return make_diff(old, config, out);
}

void config_diff_free(struct config_diff *diff)
{
	if (!diff)
		return;
	free(diff->from);
	free(diff->changes);
	free(diff);
}
