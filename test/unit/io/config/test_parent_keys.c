/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies of a hierarchy: valid parents, keys that exclude a parent, guaranteed rates, and changes
 * at a reload.
 */
#include "config_cases.h"

#include "config/load.h"
#include "config/compare.h"
#include "policy/kind.h"

#define P(name, members) "{'name': '" name "', 'limit': '10Mbit/s'" members "}"
#define CHILD(name, of, members) \
	P(name, ", 'match': {'vlan': " name "}, 'parent': '" of "'" members)
#define PARENT(members) P("top", members)
#define IN_TOP(members) POLICIES(PARENT("") ", " CHILD("1", "top", members))
#define BELOW(members)  POLICIES(PARENT(members) ", " CHILD("1", "top", members))
#define TOTAL(units)    ", 'allocator': 'quota', 'total': '" units "'"
#define AT0             "w.json:1: policies[0] 'top'*"
#define AT1             "w.json:1: policies[1] '1'*"
#define AT2             "w.json:1: policies[2] '2'*"

static void test_who(void **state)
{
	static const struct config_case cases[] = {
		{IN_TOP(""), ""},
		/* The order does not matter. */
		{POLICIES(CHILD("1", "top", "") ", " PARENT("")), ""},
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD("2", "1", "") ", " CHILD(
			 "3", "2", "")),
			""},
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD("2", "1", "") ", " CHILD(
			 "3", "2", "") ", " CHILD("4", "3", "") ", " CHILD("5", "4", "")),
			"w.json:1: policies[4] '4'.parent: '3': expected*at most 2 above*at most 4 levels\n"},
		{POLICIES(PARENT("") ", " CHILD("1", "tpo", "")),
			AT1 "parent: 'tpo': expected the name of another policy: did you mean "
			    "'top'?\n"},
		{POLICIES(P("wide", "") ", " PARENT(", 'match': {'vlan': 9}") ", " CHILD(
			 "2", "topp", "")),
			AT2 "parent: 'topp': expected the name of another policy: did you mean "
			    "'top'?\n"},
		{POLICIES(CHILD("1", "1", "")),
			"w.json:1: policies[0] '1'.parent: '1': expected a policy that is not below "
			"this one\n"},
		{POLICIES(CHILD("1", "2", "") ", " CHILD("2", "1", "") ", " CHILD("3", "2", "")),
			"w.json:1: policies[0] '1'.parent: '2': expected a policy that is not below "
			"this one\nw.json:1: policies[1] '2'.parent: '1': expected a policy that is "
			"not below this one\n"},
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 0")),
			AT1 "parent: 0: expected the name of another policy\n"},
		{POLICIES(P("1", ", 'weight': 2")),
			"w.json:1: policies[0] '1'*'weight'*'parent'\n"},
		{POLICIES(P("1", ", 'guaranteed': '1Mbit/s'")),
			"w.json:1: policies[0] '1'*'guaranteed'*'parent'\n"},
		{IN_TOP(", 'weight': 1000"), ""},
		{IN_TOP(", 'weight': 1001"),
			AT1 "weight: 1001: expected a whole number from 1 to 1000\n"},
		{IN_TOP(", 'weight': 0"),
			AT1 "weight: 0: expected a whole number from 1 to 1000\n"},
		/* Two policies without a match differ only if one is a parent. */
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 'top'")), ""},
		{POLICIES(PARENT(", 'match': {}") ", " P("1", ", 'parent': 'top'")),
			AT1 "match: same*policies[0] 'top' (w.json:1)*unique*\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

/* Makes n policies, each below the next, and the last below the first. */
static char *make_circle(unsigned n, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	fputs("{\"limiter\": \"me\", \"policies\": [", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
			"%s{\"name\": \"p%u\", \"limit\": \"1Mbit/s\", \"parent\": \"p%u\", "
			"\"match\": {\"vlan\": %u}}",
			i > 0 ? ", " : "", i, (i + 1) % n, i);
	fputs("]}", out);
	fclose(out);
	return text;
}

/* A circle of any length is refused; a long chain has too many levels. */
static void test_circles(void **state)
{
	static const struct {
		unsigned n;
		const char *words, *rest;
	} rows[] = {
		{1000, "a policy that is not below this one\n",
			"\nw.json: and 980 more errors, 1000 in all\n"},
		{1001, "a policy with at most 2 above it: there are at most 4 levels\n", ""},
		{3000, "a policy with at most 2 above it: there are at most 4 levels\n", ""},
	};
	static const char begin[] = "w.json:1: policies[0] \"p0\".parent: \"p1\": expected ";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *config;
		char *text, *messages, *more;
		size_t size;

		text = make_circle(rows[i].n, &size);
		assert_int_equal(parse_config_case(text, size, &messages, &config), -EINVAL);
		assert_int_equal(strncmp(messages, begin, strlen(begin)), 0);
		more = messages + strlen(begin);
		assert_int_equal(strncmp(more, rows[i].words, strlen(rows[i].words)), 0);
		more += strlen(rows[i].words);
		assert_true(strlen(more) >= strlen(rows[i].rest));
		if (rows[i].rest[0] != '\0')
			more += strlen(more) - strlen(rows[i].rest);
		assert_string_equal(more, rows[i].rest);
		free(messages);
		free(text);
	}
}

static void test_what_goes(void **state)
{
#define COUNTED(name, limit, members) \
	"{'name': '" name "', 'count': 'packets', 'limit': '" limit "'" members "}"
#define BELOW_TOTAL(members) POLICIES(PARENT(TOTAL("5TB")) ", " CHILD("1", "top", members))
	static const struct config_case cases[] = {
		{IN_TOP(", 'action': 'mark'"), ""},
		{IN_TOP(", 'action': 'count'"), ""},
		{BELOW(", 'allocator': 'static'"), NULL},
		{IN_TOP(", 'allocator': 'fps'"), ""},
		{IN_TOP(", 'allocator': 'adaptor'"), ""},
		{IN_TOP(", 'allocator': 'gdrl'"), NULL},
		{IN_TOP(", 'allocator': 'gtb'"),
			AT1 "*'allocator': 'gtb'*'parent'*'central'*'quota'\n"},
		{IN_TOP(", 'allocator': 'grd'"),
			AT1 "*'allocator': 'grd'*'parent'*'central'*'quota'\n"},
		{POLICIES(PARENT(", 'allocator': 'grd'") ", " CHILD("1", "top", "")),
			AT0 "*'allocator': 'grd'*'parent'*'central'*'quota'\n"},
		/*
		 * A quota is a level like any other, but has no part of a rate; only one in a
		 * lineage.
		 */
		{IN_TOP(TOTAL("5TB")), ""},
		{IN_TOP(TOTAL("5TB") ", 'weight': 2"), AT1 "'weight': 2*remove one*\n"},
		{IN_TOP(TOTAL("5TB") ", 'guaranteed': '1Mbit/s'"),
			AT1 "'guaranteed': '1Mbit/s'*remove one*\n"},
		/* A quota has no rate to share. */
		{BELOW_TOTAL(""), ""},
		{BELOW_TOTAL(", 'weight': 2"), AT1 "'weight': 2*quota*remove one*\n"},
		{BELOW_TOTAL(", 'weight': 1"), AT1 "'weight': 1*quota*remove one*\n"},
		{BELOW_TOTAL(", 'guaranteed': '1Mbit/s'"),
			AT1 "'guaranteed': '1Mbit/s'*quota*remove one*\n"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " P("1", ", 'parent': 'top'") ", " CHILD(
			 "2", "1", ", 'weight': 2, 'guaranteed': '1Mbit/s'")),
			""},
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 'top'" TOTAL("5TB")) ", " CHILD(
			 "2", "1", ", 'weight': 2, 'guaranteed': '1Mbit/s'")),
			""},
		{POLICIES(PARENT(TOTAL("5TB")) ", " CHILD(
			 "1", "top", ", 'per': 'src', 'allocator': 'static', 'weight': 2")),
			AT1 "'weight': 2*remove one*\n"},
		/* A parent with an error might have had a rate. */
		{POLICIES(PARENT(", 'parent': 'pot'" TOTAL("5TB")) ", " CHILD(
			 "1", "top", ", 'weight': 2")),
			AT0 "parent: 'pot': expected the name of another policy\n"},
		{POLICIES(PARENT(", 'allocator': 'most'") ", " CHILD("1", "top", ", 'weight': 2")),
			AT0 "allocator: 'most': expected one of @\n"},
		{POLICIES(PARENT(", 'per': 'src', 'allocator': 'static'") ", " CHILD(
			 "1", "top", ", 'weight': 2")),
			AT0 "*'per'*child policies*\n"},
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 'top'" TOTAL("5TB")) ", " CHILD(
			 "2", "1", TOTAL("1TB"))),
			AT2 "*'parent': '1'*quota*choose a parent*\n"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " P("1", ", 'parent': 'top'") ", " CHILD(
			 "2", "1", TOTAL("1TB"))),
			AT2 "*'parent': '1'*quota*choose a parent*\n"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " P("1", ", 'parent': 'top'") ", " CHILD(
			 "2", "1", "")),
			""},
		{IN_TOP(", 'meter': 'gcra'"), AT1 "'meter': 'gcra'*'parent'*'token-bucket'\n"},
		{POLICIES(PARENT(", 'meter': 'phantom'") ", " CHILD("1", "top", "")),
			AT0 "'meter': 'phantom'*'parent'*'token-bucket'\n"},
		{IN_TOP(", 'meter': 'bucket'"), AT1 "meter: 'bucket': expected ^*\n"},
		/* Packets wait at the lowest level, and not for a quota, which has no refill. */
		{IN_TOP(", 'action': 'shape'"), ""},
		{POLICIES(PARENT(", 'action': 'shape'") ", " CHILD("1", "top", "")),
			AT0 "*'action': 'shape'*child policies*'drop', 'mark' or 'count'*\n"},
		{IN_TOP(", 'action': 'shape', 'slo': {'p99': '10ms'}"),
			AT1 "'slo'*'parent'*remove*\n"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " CHILD("1", "top", ", 'action': 'shape'")),
			AT1 "*'parent': 'top'*quota*choose a parent*\n"},
		/* Per-source limits apply at the lowest level. */
		{IN_TOP(", 'per': 'src', 'allocator': 'static'"), ""},
		{IN_TOP(", 'per': 'src', 'allocator': 'static', 'weight': 3"),
			AT1 "'weight': 3*remove one*\n"},
		{POLICIES(PARENT(", 'per': 'src', 'allocator': 'static'") ", " CHILD(
			 "1", "top", "")),
			AT0 "*'per'*child policies*\n"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/min", ", 'parent': 'top', 'per': 'src', 'allocator': 'static'")),
			""},
		/* More than its parent's limit. */
		{POLICIES("{'name': 'top', 'limit': '9999kbit/s'}, " CHILD("1", "top", "")),
			"w.json:1: warning: policies[1] '1'.limit: '10Mbit/s': more than*'top'*\n"},
		{POLICIES(COUNTED("top", "30000/min", "") ", " COUNTED(
			 "1", "30001/min", ", 'parent': 'top'")),
			"w.json:1: warning: policies[1] '1'.limit: '30001/min': more than*'top'*\n"},
		{IN_TOP(", 'trial': {'limit': '5Mbit/s'}"), AT1 "'trial'*'parent'*remove*\n"},
		{IN_TOP(", 'accounting': 'l2'"),
			AT1 "accounting: 'l2': expected the same as its parent 'top'\n"},
		{POLICIES(PARENT(", 'accounting': 'l2'") ", " CHILD("1", "top", "")),
			AT1 "accounting: missing: expected the same as its parent 'top'\n"},
		/* Values with an error are not compared. */
		{IN_TOP(", 'count': 3"),
			AT1 "count: 3: expected 'bytes' or 'packets' or 'flows'\n"},
		{POLICIES(PARENT(", 'count': 3") ", " CHILD("1", "top", "")),
			AT0 "count: 3: expected 'bytes' or 'packets' or 'flows'\n"},
		{BELOW(", 'accounting': 'l2'"), NULL},
		{POLICIES(PARENT("") ", " COUNTED("1", "500/s", ", 'parent': 'top'")),
			AT1 "count: 'packets': expected the same as its parent 'top'\n"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/s", ", 'parent': 'top'")),
			""},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/min", ", 'parent': 'top'")),
			AT1 "limit: '500/min': expected*time of*'top'\n"},
		{0},
	};

	(void)state;
	for (const struct config_case *c = cases; c->document; c++) {
		struct config_case accepted[] = {*c, {0}};

		/* Without an allocator of a group some warn that they are alone. */
		if (accepted[0].messages == NULL)
			accepted[0].messages = "";
		run_cases(accepted);
	}
}

static void test_guaranteed(void **state)
{
#define G(rate) ", 'guaranteed': '" rate "'"
	static const struct config_case cases[] = {
		{IN_TOP(G("10Mbit/s")), ""},
		{IN_TOP(G("10.1Mbit/s")),
			AT0 "limit: '10Mbit/s': expected at least 10.1Mbit/s*children*\n" AT1
			    "guaranteed: '10.1Mbit/s': expected at most its "
			    "limit, 10Mbit/s\n"},
		{IN_TOP(G("1Mbit")), AT1 "guaranteed: '1Mbit': " MEANT_RATE("1Mbit/s")},
		{POLICIES(PARENT("") ", " CHILD("1", "top", G("6Mbit/s")) ", " CHILD(
			 "2", "top", G("4Mbit/s"))),
			""},
		{POLICIES(PARENT("") ", " CHILD("1", "top", G("6Mbit/s")) ", " CHILD(
			 "2", "top", G("5Mbit/s"))),
			AT0 "limit: '10Mbit/s': expected at least 11Mbit/s*children*\n"},
		/* The default of a middle level is enough for its children. */
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD(
			 "2", "1", G("6Mbit/s")) ", " CHILD("3", "1", G("4Mbit/s"))),
			""},
		{POLICIES(PARENT("") ", " CHILD("1", "top", G("9Mbit/s")) ", " CHILD(
			 "2", "1", G("6Mbit/s")) ", " CHILD("3", "1", G("4Mbit/s"))),
			AT1 "guaranteed: '9Mbit/s': expected at least 10Mbit/s*children*\n"},
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD(
			 "2", "1", G("6Mbit/s")) ", " CHILD("3", "top", G("5Mbit/s"))),
			AT0 "limit: '10Mbit/s': expected at least 11Mbit/s*children*\n"},
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD("2", "1", "") ", " CHILD(
			 "3", "2", G("4Mbit/s")) ", " CHILD("4", "2", G("7Mbit/s"))),
			AT0 "limit: '10Mbit/s': expected at least 11Mbit/s*children*\n" AT1
			    "limit: '10Mbit/s': expected at least 11Mbit/s*children*\n" AT2
			    "limit: '10Mbit/s': expected at least 11Mbit/s*children*\n"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/s", ", 'parent': 'top'" G("400/s"))),
			""},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/s", ", 'parent': 'top'" G("400/min"))),
			AT1 "guaranteed: '400/min': expected a number in the time of 'limit'\n"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "900/s", ", 'parent': 'top'" G("901/s"))),
			AT0 "limit: '900/s': expected at least 901/s*children*\n" AT1
			    "guaranteed: '901/s': expected at most its limit, 900/s\n"},
		{IN_TOP(G("2Mbit/s") ", 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
				     "'to': '18:00', 'limit': '2Mbit/s'}]}"),
			""},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED("1", "500/s",
			 ", 'parent': 'top', 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
			 "'to': '18:00', 'limit': '400/s'}]}")),
			""},
		{IN_TOP(G("2Mbit/s") ", 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
				     "'to': '18:00', 'limit': '1Mbit/s'}]}"),
			AT1
			"schedule.entries[0].limit: '1Mbit/s': expected at least*guaranteed*2Mbit/s\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

/* This message has a quote that stands for another one in tables. */
static void test_scheduled_time(void **state)
{
	char *text = with_quotes(POLICIES(COUNTED("top", "900/min", "") ", " COUNTED("1", "500/min",
		", 'parent': 'top', 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
		"'to': '18:00', 'limit': '400/s'}]}")));
	struct config *config;
	char *messages;

	(void)state;
	assert_int_equal(parse_config_case(text, strlen(text), &messages, &config), -EINVAL);
	assert_parts(messages,
		"w.json:1: policies[1] \"1\".schedule.entries[0].limit: \"400/s\": expected*time of*limit\n");
	free(messages);
	free(text);
}

static void test_fields(void **state)
{
	struct config *config = must_parse(POLICIES(CHILD("1", "mid",
		G("1Mbit/s") ", 'weight': 7") ", " P("mid", ", 'parent': 'top'") ", " CHILD("2",
		"mid", G("2Mbit/s")) ", " PARENT(", 'match': {'vlan': 9}") ", " P("5",
		", 'match': {'vlan': 5}")));
	const struct policy *p = config->policies;

	(void)state;
	assert_int_equal(p[0].parent, 1);
	assert_int_equal(p[0].above, 2);
	assert_int_equal(p[0].weight, 7);
	assert_int_equal(p[0].guaranteed_bps, 1000000);
	assert_false(policy_is_parent(&p[0]));
	assert_int_equal(p[1].parent, 3);
	assert_int_equal(p[1].children, 2);
	assert_int_equal(p[0].sharers, 0);
	assert_int_equal(p[1].sharers, 2);
	assert_int_equal(p[1].above, 1);
	assert_int_equal(p[3].sharers, 1);
	assert_int_equal(p[3].above, 0);
	assert_int_equal(p[1].guaranteed_bps, 3000000);
	assert_true(p[1].unmatched);
	assert_int_equal(p[2].weight, 1);
	assert_int_equal(p[3].parent, POLICY_NO_PARENT);
	assert_int_equal(p[3].children, 1);
	assert_int_equal(p[3].guaranteed_bps, 0);
	assert_false(p[3].unmatched);
	assert_false(policy_has_parent(&p[3]));
	assert_int_equal(p[4].parent, POLICY_NO_PARENT);
	assert_false(policy_is_level(&p[4]));
	assert_null(policy_needs_worker(&p[4]));
	for (int i = 0; i < 4; i++)
		assert_string_equal(policy_needs_worker(&p[i]), "is a level of a hierarchy");
	config_free(config);
}

/* Packets below a hard limit must not pass uncounted. */
static void test_under_hard(void **state)
{
	static const char text[] = POLICIES(P("top", "") ", " P(
		"mid", ", 'parent': 'top', 'guarantee': 'hard'") ", " CHILD("1", "mid",
		"") ", " CHILD("2", "top", "") ", " P("5", ", 'match': {'vlan': 5}"));
	static const bool never[] = {false, true, true, false, false};
	struct config *config = must_parse(text);

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(policy_is_never_exceeded(&config->policies[i]), never[i]);
	config_free(config);
}

static unsigned changes_of(const char *old_text, const char *new_text, const char *name)
{
	struct config *old = must_parse(old_text), *new = must_parse(new_text);
	struct config_diff *diff;
	unsigned changes = UINT_MAX;

	assert_int_equal(config_diff(old, new, "w.json", stderr, &diff), 0);
	for (unsigned i = 0; i < new->n_policies; i++)
		if (strcmp(new->policies[i].name, name) == 0)
			changes = diff->changes[i];
	config_diff_free(diff);
	config_free(old);
	config_free(new);
	return changes;
}

static void test_changes(void **state)
{
#define OF(members)                                                       \
	POLICIES(P("a", "") ", " P("b", ", 'match': {'vlan': 8}") ", " P( \
		"c", ", 'match': {'vlan': 9}" members))
	static const char turned[] = POLICIES(P("b", ", 'match': {'vlan': 8}") ", " P(
		"c", ", 'match': {'vlan': 9}, 'parent': 'a'") ", " P("a", ""));

	(void)state;
	assert_int_equal(changes_of(OF(""), OF(""), "c"), 0);
	assert_int_equal(changes_of(OF(""), OF(", 'parent': 'a'"), "c"), POLICY_TERMS);
	assert_int_equal(changes_of(OF(", 'parent': 'a'"), OF(""), "c"), POLICY_TERMS);
	assert_int_equal(
		changes_of(OF(", 'parent': 'a'"), OF(", 'parent': 'b'"), "c"), POLICY_TERMS);
	assert_int_equal(changes_of(OF(", 'parent': 'a'"), turned, "c"), 0);
	assert_int_equal(changes_of(OF(", 'parent': 'a'"), turned, "a"), 0);
	assert_int_equal(changes_of(OF(", 'parent': 'a'"), OF(", 'parent': 'a', 'weight': 2"), "c"),
		POLICY_TERMS);
	assert_int_equal(changes_of(OF(", 'parent': 'a'"), OF(", 'parent': 'a'" G("1Mbit/s")), "c"),
		POLICY_TERMS);
	/* The parent gets only its children's packets, or all other packets as well. */
	assert_int_equal(changes_of(OF(""), OF(", 'parent': 'a'"), "a"), POLICY_MATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_what_goes),
		cmocka_unit_test(test_guaranteed),
		cmocka_unit_test(test_scheduled_time),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_under_hard),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
