/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "default" of a wire: treatment of packets that match no policy. Reads, checks and describes it.
 */
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/describe.h"
#include "config/keys.h"
#include "json/suggest.h"
#include "policy/matches.h"

static const struct choice otherwise_choices[] = {
	{"pass", OTHERWISE_PASS},
	{"drop", OTHERWISE_DROP},
	{0},
};

const struct key otherwise_keys[] = {
	KEY("policy", read_name, KEY_PART, KEY_FIELD(struct wire, otherwise_policy), REQUIRED,
		"policy that gets the packets without a policy", "name rule class"),
	{0},
};

void read_otherwise(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	static const struct key word = {
		KEY_FIELD(struct wire, otherwise), .detail = otherwise_choices};
	struct wire *wire = base;

	(void)key;
	if (json_is_string(value)) {
		read_choice(reader, path, value, &word, base);
		return;
	}
	if (!json_is_object(value)) {
		reader_report(reader, path, MESSAGE(WRONG_OTHERWISE));
		return;
	}
	wire->otherwise = OTHERWISE_POLICY;
	read_keys(reader, path, value, otherwise_keys, wire);
}

static struct policy *find_named(const struct config *config, const char *name)
{
	for (unsigned i = 0; i < config->n_policies; i++)
		if (strcmp(config->policies[i].name, name) == 0)
			return &config->policies[i];
	return NULL;
}

static void expect_policy(struct reader *reader, const struct config *config, unsigned i)
{
	static const struct json_path wires = {.key = "wires"};
	const struct json_path wire = {.parent = &wires, .index = i};
	const struct json_path otherwise = {.parent = &wire, .key = "default"};
	const struct json_path at = {.parent = &otherwise, .key = "policy"};
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};

	for (unsigned k = 0; k < config->n_policies; k++)
		suggest_offer(&meant, config->wires[i].otherwise_policy, config->policies[k].name);
	reader_report(reader, &at, MESSAGE(NO_SUCH_POLICY),
		message_part(suggest_remedy(meant.word, remedy)));
}

/* Adds a match with lower priority than all others. A parent can have no other match. */
static void take_the_rest(struct reader *reader, struct policy *policy, unsigned wire)
{
	const struct match rest = {
		.wire = (int)wire, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .last = true};
	struct match *more;

	if (policy->unmatched) {
		policy->match = rest;
		policy->unmatched = false;
		return;
	}
	more = realloc(policy->more, (policy->n_more + 1) * sizeof(*more));
	if (more == NULL) {
		reader->no_memory = true;
		return;
	}
	more[policy->n_more] = rest;
	policy->more = more;
	policy->n_more++;
}

void otherwise_complete(struct reader *reader, struct config *config)
{
	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];
		struct policy *policy;

		if (wire->otherwise != OTHERWISE_POLICY || wire->otherwise_policy[0] == '\0')
			continue;
		policy = find_named(config, wire->otherwise_policy);
		if (policy == NULL)
			expect_policy(reader, config, i);
		else if (policy->match.wire != WIRE_REFUSED)
			take_the_rest(reader, policy, i);
	}
}

static bool takes_all(const struct match *match, unsigned wire)
{
	return !match->last && (match->wire == CONFIG_ANY || match->wire == (int)wire) &&
	       match->direction == DIRECTION_ANY && match->src.family == 0 &&
	       match->dst.family == 0 && match->vlan == CONFIG_ANY && match->dscp == CONFIG_ANY &&
	       match->proto == 0 && match->src_port.first == 0 && match->dst_port.first == 0;
}

/*
 * Returns a policy that takes all packets of a wire, so that none is left for the default; or NULL.
 */
static const struct policy *find_catch_all(const struct config *config, unsigned wire)
{
	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct policy *policy = &config->policies[i];

		for (unsigned k = 0; k < policy_n_matches(policy); k++)
			if (takes_all(policy_match(policy, k), wire))
				return policy;
	}
	return NULL;
}

void otherwise_warn(struct reader *reader, const struct config *config)
{
	static const struct json_path wires = {.key = "wires"};

	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct json_path wire = {.parent = &wires, .index = i};
		const struct json_path at = {.parent = &wire, .key = "default"};
		const struct policy *policy;

		if (config->wires[i].otherwise == OTHERWISE_PASS)
			continue;
		policy = find_catch_all(config, i);
		if (policy != NULL)
			reader_report(reader, &at, MESSAGE(OTHERWISE_UNREACHED), policy->name);
	}
}

void describe_otherwise(const struct config *config, const struct wire *wire, FILE *out)
{
	if (wire->otherwise == OTHERWISE_POLICY)
		fprintf(out, "  policy \"%s\" takes packets without another policy\n",
			wire->otherwise_policy);
	if (wire->otherwise != OTHERWISE_DROP)
		return;
	fprintf(out,
		"  IP without a policy is dropped%s, except for traffic of the link: neighbour "
		"discovery, link-local addresses, 224.0.0.0/24 and broadcasts\n",
		config->shadow ? " when there is no shadow" : "");
	if (wire_has_plane(config, wire))
		fprintf(out, "  workers decide on it; while Weir is stopped it is lost\n");
}
