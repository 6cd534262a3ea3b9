/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/flowspec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/flowspec_former.h"
#include "import/flowspec_gobgp.h"
#include "import/flowspec_overlap.h"
#include "import/flowspec_rule.h"

#define SHOWN_MOST 200
#define PEER_MOST  80

/* By whether it is IPv6, as an End-of-RIB has it. */
static const char *const family_names[] = {"ipv4", "ipv6"};

/* An update as it comes. */
struct rule_update {
	struct flowspec *flowspec;
	json_t *rules; /* of its peer */
	const json_t *attributes;
	const char *peer;
	FILE *say;
	bool changed, no_memory;
};

int flowspec_init(struct flowspec *flowspec, const char *prefix)
{
	*flowspec = (struct flowspec){.prefix = prefix,
		.peers = json_object(),
		.prefixes = json_object(),
		.told = json_object()};
	return flowspec->peers && flowspec->prefixes && flowspec->told ? 0 : -ENOMEM;
}

void flowspec_free(struct flowspec *flowspec)
{
	json_decref(flowspec->peers);
	json_decref(flowspec->prefixes);
	json_decref(flowspec->told);
	*flowspec = (struct flowspec){0};
}

/* What the speaker calls it, else all of it. */
static json_t *words_of_rule(const json_t *rule)
{
	const char *text = json_string_value(json_object_get(rule, "string"));
	char *dump = text == NULL ? json_dumps(rule, JSON_COMPACT) : NULL;
	json_t *words = json_sprintf("%.*s", SHOWN_MOST, text != NULL ? text : dump ? dump : "");

	free(dump);
	return words != NULL ? words : json_string("flow");
}

/* 0 and a policy, with its name and its strictness beside it, for the table. */
static int make_policy(const struct rule_update *update, const json_t *rule, bool ipv6,
	const char *name, json_t **entry, char why[FLOWSPEC_WHY])
{
	json_t *policy = NULL, *match = NULL;
	uint64_t strictness = 0;
	int ret = flowspec_match(rule, ipv6, &match, why);

	if (ret == 0)
		ret = flowspec_actions(update->attributes, &policy, &strictness, why);
	if (ret == 0 && (json_object_set_new(policy, "name", json_string(name)) < 0 ||
				json_object_set(policy, "match", match) < 0 ||
				json_object_set_new(policy, "note", words_of_rule(rule)) < 0))
		ret = -ENOMEM;
	if (ret == 0)
		*entry = json_pack("{s:O, s:f, s:b, s:s}", "policy", policy, "passes",
			(double)strictness, "ipv6", ipv6, "peer", update->peer);
	json_decref(policy);
	json_decref(match);
	return ret == 0 && *entry == NULL ? -ENOMEM : ret;
}

static void say_refused(const struct rule_update *update, const json_t *rule, const char *why)
{
	json_t *words = words_of_rule(rule);

	fprintf(update->say, "weirctl: refused: %s, of %s: %s; it limits nothing\n",
		json_string_value(words), update->peer, why);
	json_decref(words);
}

static bool is_announced(const struct flowspec *flowspec, const char *name)
{
	const char *peer;
	json_t *rules;

	json_object_foreach (flowspec->peers, peer, rules) {
		if (json_object_get(rules, name) != NULL)
			return true;
	}
	return false;
}

/* Those of the same prefixes, by their names: made where it is missing; borrowed. */
static json_t *beside_policy(struct flowspec *flowspec, const json_t *policy)
{
	char *prefixes = flowspec_prefixes(policy);
	json_t *beside = prefixes ? json_object_get(flowspec->prefixes, prefixes) : NULL;

	if (prefixes && beside == NULL) {
		beside = json_object();
		if (json_object_set_new(flowspec->prefixes, prefixes, beside) < 0)
			beside = NULL;
	}
	free(prefixes);
	return beside;
}

/* Which of two has a packet is not decided as routers do. */
static void say_overlaps(struct rule_update *update, const char *name, json_t *policy)
{
	json_t *beside = beside_policy(update->flowspec, policy), *other;
	const char *other_name;
	void *next;

	json_object_foreach_safe(beside, next, other_name, other)
	{
		if (!is_announced(update->flowspec, other_name))
			json_object_del(beside, other_name);
		else if (strcmp(other_name, name) != 0 && flowspec_overlap(policy, other))
			fprintf(update->say,
				"weirctl: %s and %s may take the same packets: what is more "
				"specific goes first, and not what RFC 8955 puts first\n",
				json_string_value(json_object_get(policy, "note")),
				json_string_value(json_object_get(other, "note")));
	}
	update->no_memory |= json_object_set(beside, name, policy) < 0;
}

/* 0 or -1; nothing once the owner wants to know no more. */
static int add_told(struct flowspec *flowspec, const char *peer, const char *word)
{
	json_t *words = json_object_get(flowspec->told, peer);

	if (flowspec->told == NULL || json_object_get(words, word) != NULL)
		return 0;
	flowspec->told_more = true;
	if (words != NULL)
		return json_object_set_new(words, word, json_true());
	return json_object_set_new(flowspec->told, peer, json_pack("{s:b}", word, true));
}

/* Nothing is noted of a family that is told whole: so a long session stays short here. */
static void note_told(struct rule_update *update, const char *name, bool ipv6)
{
	const json_t *words = json_object_get(update->flowspec->told, update->peer);

	if (json_object_get(words, family_names[ipv6]) == NULL)
		update->no_memory |= add_told(update->flowspec, update->peer, name) < 0;
}

static int refuse_more(char why[FLOWSPEC_WHY])
{
	snprintf(why, FLOWSPEC_WHY, "its peer has announced %d rules already", FLOWSPEC_RULES_MOST);
	return -EINVAL;
}

/* The one that it announced before goes, also where the new one cannot be. */
static void announce_rule(struct rule_update *update, const json_t *rule, bool ipv6)
{
	char name[CONFIG_NAME_MAX], why[FLOWSPEC_WHY] = "";
	json_t *entry = NULL, *before;
	int ret;

	flowspec_name(rule, ipv6, update->flowspec->prefix, name);
	before = json_object_get(update->rules, name);
	note_told(update, name, ipv6);
	if (before == NULL && json_object_size(update->rules) >= FLOWSPEC_RULES_MOST)
		ret = refuse_more(why);
	else
		ret = make_policy(update, rule, ipv6, name, &entry, why);
	if (ret == -EINVAL)
		say_refused(update, rule, why);
	update->no_memory |= ret == -ENOMEM;
	if (entry == NULL ? before == NULL : before != NULL && json_equal(before, entry)) {
		json_decref(entry);
		return;
	}
	update->changed = true;
	if (entry != NULL && !is_announced(update->flowspec, name))
		say_overlaps(update, name, json_object_get(entry, "policy"));
	if (entry == NULL)
		json_object_del(update->rules, name);
	else
		update->no_memory |= json_object_set_new(update->rules, name, entry) < 0;
}

static void withdraw_rule(struct rule_update *update, const json_t *rule, bool ipv6)
{
	char name[CONFIG_NAME_MAX];

	flowspec_name(rule, ipv6, update->flowspec->prefix, name);
	note_told(update, name, ipv6);
	update->changed |= json_object_del(update->rules, name) == 0;
}

typedef void (*rule_fn)(struct rule_update *update, const json_t *rule, bool ipv6);

static void take_rules(struct rule_update *update, const json_t *rules, bool ipv6, rule_fn take)
{
	const json_t *rule;
	size_t i;

	json_array_foreach (rules, i, rule)
		if (json_is_object(rule))
			take(update, rule, ipv6);
}

/* Announced rules stand below their next hops, withdrawn ones do not. */
static void take_family(struct rule_update *update, const json_t *family, bool ipv6, rule_fn take)
{
	const char *next_hop;
	json_t *rules;

	if (json_is_array(family))
		take_rules(update, family, ipv6, take);
	json_object_foreach ((json_t *)(uintptr_t)family, next_hop, rules)
		take_rules(update, rules, ipv6, take);
}

static void take_families(struct rule_update *update, const json_t *families, rule_fn take)
{
	const char *only = update->flowspec->family;

	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		char key[16];

		snprintf(key, sizeof(key), "%s flow", family_names[ipv6]);
		if (only == NULL || strcmp(only, family_names[ipv6]) == 0)
			take_family(update, json_object_get(families, key), ipv6, take);
	}
}

/* Made where it is missing; borrowed. */
static json_t *rules_of_peer(struct flowspec *flowspec, const char *peer)
{
	json_t *rules = json_object_get(flowspec->peers, peer);

	if (rules != NULL)
		return rules;
	rules = json_object();
	return json_object_set_new(flowspec->peers, peer, rules) == 0 ? rules : NULL;
}

/* Where what a peer had announced in a session that is over stays. Borrowed; made if missing. */
static json_t *former_rules(struct flowspec *flowspec, const char *peer)
{
	char name[PEER_MOST];

	snprintf(name, sizeof(name), "%.64s, before", peer);
	return rules_of_peer(flowspec, name);
}

/* What a peer has announced ends with its session; or stays until it has told all in another. */
static int take_state(struct flowspec *flowspec, const char *peer, const char *state)
{
	json_t *rules = json_object_get(flowspec->peers, peer);
	bool had = json_object_size(rules) > 0;

	if (strcmp(state, "down") != 0)
		return 0;
	for (unsigned i = 0; i < 2 && !flowspec->keep; i++)
		if (add_told(flowspec, peer, family_names[i]) < 0)
			return -ENOMEM;
	if (had && flowspec->keep && json_object_update(former_rules(flowspec, peer), rules) < 0)
		return -ENOMEM;
	json_object_clear(rules);
	return had && !flowspec->keep;
}

/* All of one family is told: what a session before had beside goes. Whether there was any. */
static bool end_family(struct flowspec *flowspec, const char *peer, bool ipv6)
{
	json_t *rules = flowspec->keep ? former_rules(flowspec, peer) : NULL, *entry;
	bool any = false;
	const char *name;
	void *next;

	json_object_foreach_safe(rules, next, name, entry)
	{
		if (json_is_true(json_object_get(entry, "ipv6")) != ipv6)
			continue;
		json_object_del(rules, name);
		any = true;
	}
	return any;
}

/* End-of-RIB, if there is one. 1: something has changed; 0; -ENOMEM. */
static int take_end(struct flowspec *flowspec, const char *peer, const json_t *end)
{
	const char *safi = json_string_value(json_object_get(end, "safi"));
	const char *afi = json_string_value(json_object_get(end, "afi"));
	bool ipv6;

	if (safi == NULL || afi == NULL || strcmp(safi, "flow") != 0)
		return 0;
	ipv6 = strcmp(afi, family_names[1]) == 0;
	if (add_told(flowspec, peer, family_names[ipv6]) < 0)
		return -ENOMEM;
	return end_family(flowspec, peer, ipv6);
}

static int take_message(
	struct flowspec *flowspec, const char *peer, const json_t *message, FILE *say)
{
	const json_t *body = json_object_get(message, "update");
	struct rule_update update = {.flowspec = flowspec,
		.rules = rules_of_peer(flowspec, peer),
		.attributes = json_object_get(body, "attribute"),
		.peer = peer,
		.say = say};
	int ended;

	ended = update.rules ? take_end(flowspec, peer, json_object_get(message, "eor")) : -ENOMEM;
	if (ended < 0)
		return ended;
	update.changed = ended;
	take_families(&update, json_object_get(body, "withdraw"), withdraw_rule);
	take_families(&update, json_object_get(body, "announce"), announce_rule);
	return update.no_memory ? -ENOMEM : update.changed;
}

/* An object of exabgp's. */
static int take_object(struct flowspec *flowspec, const json_t *json, FILE *say)
{
	const json_t *neighbor = json_object_get(json, "neighbor");
	const json_t *message = json_object_get(neighbor, "message");
	const char *peer = json_string_value(
		json_object_get(json_object_get(neighbor, "address"), "peer"));
	const char *state = json_string_value(json_object_get(neighbor, "state"));

	if (neighbor != NULL && peer == NULL)
		return -EINVAL;
	if (message != NULL)
		return take_message(flowspec, peer, message, say);
	return state != NULL ? take_state(flowspec, peer, state) : 0;
}

/* A list of GoBGP's, which has chosen among its peers' paths itself. */
static int take_paths(struct flowspec *flowspec, const json_t *paths, FILE *say)
{
	bool changed = false;
	const json_t *path;
	size_t i;

	json_array_foreach (paths, i, path) {
		json_t *message = flowspec_of_gobgp(path);
		int ret = message ? take_message(flowspec, "gobgp", message, say) : 0;

		flowspec->complete |= message != NULL;
		json_decref(message);
		if (ret < 0)
			return ret;
		changed |= ret;
	}
	return changed;
}

int flowspec_line(struct flowspec *flowspec, const char *line, size_t len, FILE *say)
{
	/* Communities are numbers of 64 bits without a sign, of which their texts say the same. */
	json_t *json = json_loadb(line, len, JSON_DECODE_INT_AS_REAL, NULL);
	int ret = -EINVAL;

	if (json_is_array(json))
		ret = take_paths(flowspec, json, say);
	else if (json_is_object(json))
		ret = take_object(flowspec, json, say);
	if (ret == -EINVAL)
		fprintf(say, "weirctl: not a line of exabgp's JSON, or of GoBGP's: \"%.*s\"\n",
			(int)(len < 60 ? len : 60), line);
	json_decref(json);
	return ret;
}

/* The stricter one of two peers' stays; and the note names both. */
static int offer_entry(json_t *by_name, const char *name, json_t *entry)
{
	json_t *best = json_object_get(by_name, name);
	json_t *passes = json_object_get(entry, "passes"),
	       *policy = json_object_get(entry, "policy");
	char line[PEER_MOST];

	if (best == NULL) {
		best = json_pack("{s:O, s:O, s:[O]}", "policy", policy, "passes", passes, "note",
			json_object_get(policy, "note"));
		if (json_object_set_new(by_name, name, best) < 0)
			return -1;
	} else if (json_real_value(passes) < json_real_value(json_object_get(best, "passes"))) {
		json_object_set(best, "policy", policy);
		json_object_set(best, "passes", passes);
	}
	snprintf(line, sizeof(line), FLOWSPEC_OF "%.64s",
		json_string_value(json_object_get(entry, "peer")));
	return flowspec_add_peer(json_object_get(best, "note"), line);
}

/* Its note is all that outlives this process. */
static int append_best(json_t *policies, const json_t *best)
{
	json_t *policy = json_copy(json_object_get(best, "policy"));
	int ret = json_object_set(policy, "note", json_object_get(best, "note"));

	return ret | json_array_append_new(policies, policy);
}

json_t *flowspec_policies(const struct flowspec *flowspec)
{
	json_t *by_name = json_object(), *policies = json_array(), *rules, *entry;
	const char *peer, *name;
	int ret = by_name != NULL && policies != NULL ? 0 : -1;

	json_object_foreach (flowspec->peers, peer, rules) {
		json_object_foreach (rules, name, entry)
			ret |= offer_entry(by_name, name, entry);
	}
	json_object_foreach (by_name, name, entry)
		ret |= append_best(policies, entry);
	json_decref(by_name);
	if (ret == 0)
		return policies;
	json_decref(policies);
	return NULL;
}
