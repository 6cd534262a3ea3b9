/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The column `group` of a policy's keys, against the settings that limiters compare. Each key gets
 * two values: the settings that differ then are those of its row. A key without the column changes
 * none. Each row of the table has a case.
 */
#include "check.h"

#include "base/hash.h"
#include "config/keys.h"
#include "config/load.h"
#include "engine/engine.h"
#include "limiter/aggregate.h"

#define TRTCM "'limit': '1Mbit/s', 'burst': '1MB', 'meter': 'trtcm', 'peak': {'limit': '2Mbit/s', "
#define QUOTA "'allocator': 'quota', 'period': '24h', "
#define SHAPE "'limit': '1Mbit/s', 'burst': '1MB', 'action': 'shape', "
#define FPS   "'limit': '1Mbit/s', 'burst': '1MB', "
#define TIMES(limit)                                                                   \
	FPS "'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', 'to': '09:00'," \
	    "'limit': '" limit "'}]}"

/* A key, and two sets of members that differ only in it. */
static const struct {
	const char *key, *members, *others;
} cases[] = {
	{"match", FPS "'match': {'vlan': 1}", FPS "'match': {'vlan': 2}"},
	{"count", "'count': 'packets', 'limit': '1k/s', 'burst': 9",
		"'count': 'flows', 'limit': '1k/s', 'burst': 9"},
	{"allocator", FPS "'allocator': 'fps'", FPS "'allocator': 'static'"},
	{"limit", FPS "'interval': '50ms'", "'limit': '2Mbit/s', 'burst': '1MB'"},
	{"parent", FPS "'parent': 'a'", FPS "'parent': 'b'"},
	{"weight", FPS "'parent': 'a', 'weight': 2", FPS "'parent': 'a', 'weight': 3"},
	{"guaranteed", FPS "'parent': 'a', 'guaranteed': '9kbit/s'",
		FPS "'parent': 'a', 'guaranteed': '8kbit/s'"},
	{"total", QUOTA "'total': '5TB'", QUOTA "'total': '6TB'"},
	{"period", "'allocator': 'quota', 'total': '5TB', 'period': '24h'",
		"'allocator': 'quota', 'total': '5TB', 'period': '25h'"},
	{"guarantee", FPS "'guarantee': 'soft'", FPS "'guarantee': 'hard'"},
	{"indicator", FPS "'allocator': 'gdrl', 'indicator': 'loss'",
		FPS "'allocator': 'gdrl', 'indicator': 'spare'"},
	{"eta", FPS "'allocator': 'gdrl', 'eta': 1", FPS "'allocator': 'gdrl', 'eta': 2"},
	{"meter", FPS "'meter': 'gcra'", FPS "'meter': 'srtcm'"},
	{"classes", FPS "'meter': 'phantom', 'classes': {'by': 'flow'}",
		FPS "'meter': 'phantom', 'classes': {'by': 'dscp'}"},
	{"colours", TRTCM "'burst': '9MB'}, 'colours': {'red': 'drop'}",
		TRTCM "'burst': '9MB'}, 'colours': {'red': 'pass'}"},
	{"peak", TRTCM "'burst': '9MB'}", TRTCM "'burst': '8MB'}"},
	{"excess", FPS "'meter': 'srtcm', 'excess': {'burst': '9MB'}",
		FPS "'meter': 'srtcm', 'excess': {'burst': '8MB'}"},
	{"window", "'limit': '1Mbit/s', 'meter': 'hybrid', 'window': '1s'",
		"'limit': '1Mbit/s', 'meter': 'hybrid', 'window': '2s'"},
	{"burst", FPS "'interval': '50ms'", "'limit': '1Mbit/s', 'burst': '2MB'"},
	{"schedule", TIMES("2Mbit/s"), TIMES("3Mbit/s")},
	{"per", FPS "'allocator': 'static', 'per': 'src'",
		FPS "'allocator': 'static', 'per': 'src/24'"},
	{"sources", FPS "'allocator': 'static', 'per': 'src', 'sources': 1024",
		FPS "'allocator': 'static', 'per': 'src', 'sources': 2048"},
	{"weigh", FPS "'weigh': 'all'", FPS "'weigh': 'tcp'"},
	{"action", FPS "'action': 'drop'", FPS "'action': 'mark'"},
	{"mark", FPS "'action': 'mark', 'mark': 1", FPS "'action': 'mark', 'mark': 2"},
	{"shape", SHAPE "'shape': {'delay': '50ms'}", SHAPE "'shape': {'delay': '60ms'}"},
	{"slo", SHAPE "'slo': {'p99': '1ms'}", SHAPE "'slo': {'p99': '2ms'}"},
	{"place", SHAPE "'slo': {'p99': '1ms'}, 'place': {'round': '1s'}",
		SHAPE "'slo': {'p99': '1ms'}, 'place': {'round': '2s'}"},
	{"accounting", FPS "'accounting': 'l2'", FPS "'accounting': 'wire'"},
	{"trial", FPS "'trial': {'meter': 'gcra'}", FPS "'trial': {'limit': '2Mbit/s'}"},
	{"interval", FPS "'interval': '50ms'", FPS "'interval': '60ms'"},
	{"ewma", FPS "'ewma': 0.1", FPS "'ewma': 0.2"},
	{"history", FPS "'allocator': 'adaptor', 'history': '10s'",
		FPS "'allocator': 'adaptor', 'history': '20s'"},
	{"step", FPS "'allocator': 'adaptor', 'step': '1s'",
		FPS "'allocator': 'adaptor', 'step': '2s'"},
};

/* Stores the compared values of the policy "p" with these members. Returns their number. */
static unsigned values_of(const char *members, uint64_t values[AGREE_POLICY_MOST])
{
	FILE *unread = fopen("/dev/null", "w"); /* a warning that gossip is insecure */
	struct limiter_policy *policies;
	struct config *config = NULL;
	char text[2048];
	unsigned n;

	snprintf(text, sizeof(text),
		"{'limiter': 'me', 'ports': {'l': {'device': 'net_null0'}, 'w': {'device': "
		"'net_null1'}}, 'wires': [{'name': 'w', 'a': 'l', 'b': 'w'}], 'gossip': "
		"{'insecure': true, 'roster': [{'name': 'me', 'address': '10.0.0.1:1'}, {'name': "
		"'you', 'address': '10.0.0.2:1'}]}, 'policies': [{'name': 'p', %s}, {'name': 'a', "
		"'match': {'vlan': 8}, 'limit': '9Mbit/s'}, {'name': 'b', 'match': {'vlan': 9}, "
		"'limit': '9Mbit/s'}]}",
		members);
	for (char *at = text; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	assert_non_null(unread);
	assert_int_equal(config_parse(text, strlen(text), "compared", unread, &config), 0);
	fclose(unread);
	policies = engine_limiter_policies(config->policies, config->n_policies, LOANS_SOFT, 0);
	assert_non_null(policies);
	n = terms_of_policy(&policies[0], values);
	free(policies);
	config_free(config);
	return n;
}

static size_t find_case(const char *key)
{
	size_t i = 0;

	while (i < COUNT(cases) && strcmp(cases[i].key, key) != 0)
		i++;
	if (i == COUNT(cases))
		fail_msg("no case for the key %s", key);
	return i;
}

static void check_key(const struct key *key)
{
	uint64_t values[AGREE_POLICY_MOST], changed[AGREE_POLICY_MOST];
	size_t i = find_case(key->name);
	unsigned n = values_of(cases[i].members, values);
	bool fixed, found = false;

	assert_int_equal(values_of(cases[i].others, changed), n);
	for (unsigned t = 0; t < n; t++) {
		uint32_t things = UINT32_C(1) << t;
		const char *name = limiter_thing(NULL, false, &things, &fixed);

		/* A policy with another period is another policy of the group. */
		if (values[t] == changed[t] || strcmp(name, "name") == 0)
			continue;
		if (key->group == NULL || strcmp(key->group, name) != 0)
			fail_msg("%s changes the setting \"%s\" of the group", key->name, name);
		found = true;
	}
	if (!found && key->group != NULL)
		fail_msg("%s does not change the setting \"%s\"", key->name, key->group);
}

TEST(test_rows)
{
	for (const struct key *key = policy_keys; key->name != NULL; key++)
		if (strcmp(key->name, "name") != 0) /* another policy */
			check_key(key);
}

/* Limiters of two versions compare these values: a change would report a config mismatch. */
TEST(test_recorded)
{
	uint64_t hash = HASH64_BASIS, values[AGREE_POLICY_MOST];

	for (size_t i = 0; i < COUNT(cases); i++) {
		unsigned n = values_of(cases[i].members, values);

		for (unsigned t = 0; t < n; t++)
			hash = hash64_step(hash, values[t]);
	}
	assert_int_equal(hash, UINT64_C(0x3cb2dd35603533e3));
}
