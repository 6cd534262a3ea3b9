/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "config/value_keys.h"
#include "policy/matches.h"

#define SIMULATED_KEYS_MAX 16 /* with the end of the table */

static const struct list policy_list = {
	.keys = policy_keys,
	.size = sizeof(struct policy),
	.count_offset = offsetof(struct group, n_policies),
	.max = CONFIG_POLICIES_MAX,
	.init = policy_init,
};

static const struct key policies_key = {
	.name = "policies",
	KEY_FIELD(struct group, policies),
	.expected = "an array of policies",
	.detail = &policy_list,
};

void group_init(struct reader *reader, struct group *group)
{
	*group = (struct group){0};
	keys_preset(reader, gossip_keys, &group->gossip);
}

void read_group_policies(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct vocabulary *vocabulary = reader->vocabulary;

	reader->vocabulary = &config_vocabulary;
	read_list(reader, path, value, &policies_key, key_field(key, base));
	reader->vocabulary = vocabulary;
}

/* Copies the rows of gossip that a simulated group has. */
static void copy_simulated(struct key keys[SIMULATED_KEYS_MAX])
{
	unsigned n = 0;

	for (const struct key *row = gossip_keys; row->name != NULL; row++) {
		if (!row->simulated)
			continue;
		assert(n < SIMULATED_KEYS_MAX - 1);
		keys[n] = *row;
		if (strcmp(row->name, "estimator") == 0) {
			keys[n].read = read_marked_choice;
			keys[n].detail = simulated_estimators;
		}
		n++;
	}
}

void read_group_gossip(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct vocabulary *vocabulary = reader->vocabulary;
	struct group *group = key_field(key, base);
	struct key keys[SIMULATED_KEYS_MAX] = {0};

	copy_simulated(keys);
	reader->vocabulary = &config_vocabulary;
	read_keys(reader, path, value, keys, &group->gossip);
	reader->vocabulary = vocabulary;
}

void group_check(struct reader *reader, struct group *group, unsigned n_limiters)
{
	static const struct json_path policies = {.key = "policies"};
	struct key keys[SIMULATED_KEYS_MAX] = {0};

	group->gossip.n_roster = n_limiters;
	if (n_limiters == 0)
		return;
	gossip_complete(reader, &group->gossip);
	copy_simulated(keys);
	keys_check(reader, &(const struct json_path){.key = "gossip"}, keys, &group->gossip);
	policies_complete(reader, group->policies, group->n_policies, n_limiters);
	policies_check(reader, group->policies, group->n_policies, n_limiters);
	guarantee_check_gossip(reader, &group->gossip, group->policies, group->n_policies);
	for (unsigned i = 0; i < group->n_policies; i++) {
		struct json_path policy = {.parent = &policies, .index = i};
		struct json_path at = {.parent = &policy, .key = "schedule"};

		if (reader_has(reader, &policy, at.key)) /* virtual time has no time of day */
			reader_report(reader, &at, MESSAGE(SCENARIO_SCHEDULE));
	}
}

void group_free(struct group *group)
{
	policies_free(group->policies, group->n_policies);
	group->policies = NULL;
}
