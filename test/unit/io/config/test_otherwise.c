/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "default" of wires: the treatment of unmatched packets.
 */
#include "check.h"

#include "config_cases.h"
#include "config/describe.h"
#include "config/compare.h"
#include "policy/matches.h"
#include "policy/trial.h"

#define P(name, match) "{'name': '" name "', 'match': " match ", 'limit': '1Mbit/s'}"
#define DEVICES                                                            \
	"'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}, " \
	"'x': {'device': 'net_null2'}, 'y': {'device': 'net_null3'}"
#define BOX(otherwise, policies)                                                            \
	"{'limiter': 'me', 'ports': {" DEVICES "}, 'wires': ["                              \
	"{'name': 'v', 'a': 'x', 'b': 'y'}, {'name': 'w', 'a': 'lan', 'b': 'wan'" otherwise \
	"}], 'policies': [" policies "]}"
#define DEFAULT(value) ", 'default': " value
#define TWO            P("a", "{'vlan': 1}") ", " P("b", "{'src': '10.0.0.0/8'}")

TEST(test_values)
{
	struct config *config = must_parse(BOX("", TWO));

	assert_int_equal(config->wires[1].otherwise, OTHERWISE_PASS);
	assert_int_equal(config_drops(config), 0);
	config_free(config);
	config = must_parse(BOX(DEFAULT("'pass'"), TWO));
	assert_int_equal(config_drops(config), 0);
	config_free(config);
	config = must_parse(BOX(DEFAULT("'drop'"), TWO));
	assert_int_equal(config_drops(config), 2);
	assert_int_equal(policies_count_matches(config->policies, 2), 2);
	config_enter_shadow(config);
	assert_int_equal(config_drops(config), 0);
	config_free(config);
	/* Without a policy no packet passes; here that is no mistake. */
	config = must_parse(BOX(DEFAULT("'drop'"), ""));
	assert_int_equal(config_drops(config), 2);
	config_free(config);
}

/* The policy gets one more match, after all others. */
TEST(test_policy)
{
	struct config *config = must_parse(BOX(DEFAULT("{'policy': 'b'}"), TWO));
	const struct match *match;

	assert_int_equal(config_drops(config), 0);
	assert_int_equal(policy_n_matches(&config->policies[0]), 1);
	assert_int_equal(policy_n_matches(&config->policies[1]), 2);
	match = policy_match(&config->policies[1], 1);
	assert_true(match->last);
	assert_int_equal(match->wire, 1);
	assert_int_equal(match->direction, DIRECTION_ANY);
	assert_int_equal(match->vlan, CONFIG_ANY);
	assert_int_equal(match->dscp, CONFIG_ANY);
	assert_int_equal(match->src.family | match->dst.family | match->proto, 0);
	config_free(config);
}

/* A parent without a match gets the unmatched packets of each wire that names it. */
TEST(test_parent)
{
	static const char link[] = BOX(DEFAULT("{'policy': 'link'}"),
		"{'name': 'link', 'limit': '9Mbit/s'}, "
		"{'name': 'a', 'parent': 'link', 'match': {'vlan': 1}, 'limit': '1Mbit/s'}");
	static const char both[] =
		"{'limiter': 'me', 'ports': {" DEVICES "}, 'wires': ["
		"{'name': 'v', 'a': 'x', 'b': 'y', 'default': {'policy': 'link'}}, "
		"{'name': 'w', 'a': 'lan', 'b': 'wan', 'default': {'policy': 'link'}}], "
		"'policies': [{'name': 'link', 'limit': '9Mbit/s'}, "
		"{'name': 'a', 'parent': 'link', 'match': {'vlan': 1}, 'limit': '1Mbit/s'}]}";
	static const struct {
		const char *text;
		unsigned n;
		int wires[2];
	} rows[] = {{link, 1, {1}}, {both, 2, {0, 1}}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].text);
		const struct policy *policy = &config->policies[0];

		assert_int_equal(policy_n_matches(policy), rows[i].n);
		assert_int_equal(policies_count_matches(config->policies, 2), rows[i].n + 1);
		for (unsigned k = 0; k < rows[i].n; k++) {
			assert_int_equal(policy_match(policy, k)->wire, rows[i].wires[k]);
			assert_true(policy_match(policy, k)->last);
		}
		config_free(config);
	}
}

TEST(test_refused)
{
	static const struct config_case cases[] = {
		{BOX(DEFAULT("'deny'"), TWO),
			"wires[1].default: wrong_choice: *did you mean 'drop'?"},
		{BOX(DEFAULT("true"), TWO), "wires[1].default: wrong_otherwise"},
		{BOX(DEFAULT("{}"), TWO), "wires[1].default.policy: wrong_name"},
		{BOX(DEFAULT("{'policy': 'b', 'limit': 1}"), TWO),
			"wires[1].default.limit: unknown_key: *see*"},
		{BOX(DEFAULT("{'policy': 'rest'}"), TWO ", " P("rests", "{'vlan': 9}")),
			"wires[1].default.policy: no_such_policy: did you mean 'rests'?"},
		{BOX(DEFAULT("'drop'"), TWO ", " P("all", "{}")),
			"warning: wires[1].default: otherwise_unreached: all"},
		{BOX(DEFAULT("{'policy': 'b'}"), TWO ", " P("all", "[{'vlan': 9}, {'wire': 'w'}]")),
			"warning: wires[1].default: otherwise_unreached: all"},
		{BOX(DEFAULT("'drop'"), TWO ", " P("all", "{'wire': 'v'}")), ""},
		{BOX(DEFAULT("'drop'"), TWO ", " P("all", "{'wire': 'w', 'direction': 'a-to-b'}")),
			""},
		{BOX(DEFAULT("'pass'"), TWO ", " P("all", "{}")), ""},
		{0},
	};

	run_cases(cases);
}

static struct config_diff *compare(const char *before, const char *after)
{
	struct config *old = must_parse(before), *new = must_parse(after);
	struct config_diff *diff;

	assert_int_equal(config_diff(old, new, "w.json", stderr, &diff), 0);
	config_free(old);
	config_free(new);
	return diff;
}

/* An explicit match with the same fields is different, because it precedes others. */
TEST(test_differs)
{
	struct config *config = must_parse(BOX(DEFAULT("{'policy': 'b'}"), TWO));
	struct match match = *policy_match(&config->policies[1], 1);

	assert_true(match_equal(&match, policy_match(&config->policies[1], 1)));
	match.last = false;
	assert_false(match_equal(&match, policy_match(&config->policies[1], 1)));
	config_free(config);
	config = must_parse(BOX(DEFAULT("{'policy': 'b'}"), TWO ", " P("c", "{'wire': 'v'}")));
	config_free(config);
}

/* "default" can change while packets flow. */
TEST(test_changed)
{
	struct config_diff *diff = compare(BOX("", TWO), BOX(DEFAULT("'drop'"), TWO));

	assert_int_equal(diff->changed, 0);
	config_diff_free(diff);
	diff = compare(BOX(DEFAULT("'drop'"), TWO), BOX(DEFAULT("{'policy': 'b'}"), TWO));
	assert_int_equal(diff->changes[0], 0);
	assert_int_equal(diff->changes[1], POLICY_MATCH);
	config_diff_free(diff);
}

static void expect_words(const char *document, const char *words)
{
	struct config *config = must_parse(document);
	char *said;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	config_describe(config, out);
	fclose(out);
	if (!has_parts(said, words))
		fail_msg("%s", said);
	free(said);
	config_free(config);
}

TEST(test_described)
{
	expect_words(BOX(DEFAULT("'drop'"), TWO),
		"wire w: a is lan, b is wan\n  IP without a policy is dropped*link*\n");
	expect_words(BOX(DEFAULT("{'policy': 'b'}"), TWO), "policy \"b\" takes*another policy*\n");
	expect_words(BOX(DEFAULT("{'policy': 'b'}"), TWO),
		"  takes from 10.0.0.0/8\n    or wire w, *another policy*\n");
}
