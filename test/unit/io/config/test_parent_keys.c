/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies of a hierarchy: valid parents, keys that exclude a parent, guaranteed rates, and changes
 * at a reload.
 */
#include "check.h"

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

TEST(test_who)
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
			"p4.parent: parent_too_deep: 2, 4"},
		{POLICIES(PARENT("") ", " CHILD("1", "tpo", "")),
			"p1.parent: wrong_parent: did you mean 'top'?"},
		{POLICIES(P("wide", "") ", " PARENT(", 'match': {'vlan': 9}") ", " CHILD(
			 "2", "topp", "")),
			"p2.parent: wrong_parent: did you mean 'top'?"},
		{POLICIES(CHILD("1", "1", "")), "p0.parent: parent_below"},
		{POLICIES(CHILD("1", "2", "") ", " CHILD("2", "1", "") ", " CHILD("3", "2", "")),
			"p0.parent: parent_below\n"
			"p1.parent: parent_below"},
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 0")), "p1.parent: wrong_parent"},
		{POLICIES(P("1", ", 'weight': 2")), "p0.weight: key_required: 'parent'"},
		{POLICIES(P("1", ", 'guaranteed': '1Mbit/s'")),
			"p0.guaranteed: key_required: 'parent'"},
		{IN_TOP(", 'weight': 1000"), ""},
		{IN_TOP(", 'weight': 1001"), "p1.weight: integer_range: 1, 1000"},
		{IN_TOP(", 'weight': 0"), "p1.weight: integer_range: 1, 1000"},
		/* Two policies without a match differ only if one is a parent. */
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 'top'")), ""},
		{POLICIES(PARENT(", 'match': {}") ", " P("1", ", 'parent': 'top'")),
			"p1.match: duplicate_match: policies[0] 'top' (w.json:1)"},
		{0},
	};

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
TEST(test_circles)
{
	static const struct {
		unsigned n;
		const char *first, *last;
	} rows[] = {
		{1000, "parent_below", "more_errors: 980, s, 1000"},
		{1001, "parent_too_deep: 2, 4", ""},
		{3000, "parent_too_deep: 2, 4", ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned written = *rows[i].last ? DIAGNOSTICS_MOST : 1;
		char *text, expected[2048] = "";
		size_t size;

		text = make_circle(rows[i].n, &size);
		for (unsigned k = 0; k < written; k++)
			sprintf(expected + strlen(expected), "p%u.parent: %s\n", k, rows[i].first);
		strcat(expected, rows[i].last);
		expect_messages(text, size, expected);
		free(text);
	}
}

TEST(test_what_goes)
{
#define COUNTED(name, limit, members) \
	"{'name': '" name "', 'count': 'packets', 'limit': '" limit "'" members "}"
#define BELOW_TOTAL(members) POLICIES(PARENT(TOTAL("5TB")) ", " CHILD("1", "top", members))
	static const struct config_case cases[] = {
		{IN_TOP(", 'action': 'mark'"), ""},
		{IN_TOP(", 'action': 'count'"), ""},
		{BELOW(", 'allocator': 'static'"), ""},
		{IN_TOP(", 'allocator': 'fps'"), ""},
		{IN_TOP(", 'allocator': 'adaptor'"), ""},
		{IN_TOP(", 'allocator': 'gdrl'"), ""},
		{IN_TOP(", 'allocator': 'gtb'"),
			"p1.allocator: not_in_hierarchy: a hierarchy ('parent')*"},
		{IN_TOP(", 'allocator': 'grd'"),
			"p1.allocator: not_in_hierarchy: a hierarchy ('parent')*"},
		{POLICIES(PARENT(", 'allocator': 'grd'") ", " CHILD("1", "top", "")),
			"p0.allocator: not_in_hierarchy: a hierarchy ('parent')*"},
		/*
		 * A quota is a level like any other, but has no part of a rate; only one in a
		 * lineage.
		 */
		{IN_TOP(TOTAL("5TB")), ""},
		{IN_TOP(TOTAL("5TB") ", 'weight': 2"),
			"p1.weight: key_excluded: 'allocator': 'quota'*"},
		{IN_TOP(TOTAL("5TB") ", 'guaranteed': '1Mbit/s'"),
			"p1.guaranteed: key_excluded: 'allocator': 'quota'*"},
		/* A quota has no rate to share. */
		{BELOW_TOTAL(""), ""},
		{BELOW_TOTAL(", 'weight': 2"), "p1.weight: parent_is_quota"},
		{BELOW_TOTAL(", 'weight': 1"), "p1.weight: parent_is_quota"},
		{BELOW_TOTAL(", 'guaranteed': '1Mbit/s'"), "p1.guaranteed: parent_is_quota"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " P("1", ", 'parent': 'top'") ", " CHILD(
			 "2", "1", ", 'weight': 2, 'guaranteed': '1Mbit/s'")),
			""},
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 'top'" TOTAL("5TB")) ", " CHILD(
			 "2", "1", ", 'weight': 2, 'guaranteed': '1Mbit/s'")),
			""},
		{POLICIES(PARENT(TOTAL("5TB")) ", " CHILD(
			 "1", "top", ", 'per': 'src', 'allocator': 'static', 'weight': 2")),
			"p1.weight: key_excluded: 'per'*"},
		/* A parent with an error might have had a rate. */
		{POLICIES(PARENT(", 'parent': 'pot'" TOTAL("5TB")) ", " CHILD(
			 "1", "top", ", 'weight': 2")),
			"p0.parent: wrong_parent"},
		{POLICIES(PARENT(", 'allocator': 'most'") ", " CHILD("1", "top", ", 'weight': 2")),
			"p0.allocator: not_one_of"},
		{POLICIES(PARENT(", 'per': 'src', 'allocator': 'static'") ", " CHILD(
			 "1", "top", ", 'weight': 2")),
			"p0.per: not_in_hierarchy: child policies ('parent'), remove one of the two*"},
		{POLICIES(PARENT("") ", " P("1", ", 'parent': 'top'" TOTAL("5TB")) ", " CHILD(
			 "2", "1", TOTAL("1TB"))),
			"p2.parent: below_quota: 'total', 1"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " P("1", ", 'parent': 'top'") ", " CHILD(
			 "2", "1", TOTAL("1TB"))),
			"p2.parent: below_quota: 'total', top"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " P("1", ", 'parent': 'top'") ", " CHILD(
			 "2", "1", "")),
			""},
		{IN_TOP(", 'meter': 'gcra'"),
			"p1.meter: not_in_hierarchy: a hierarchy ('parent')*"},
		{POLICIES(PARENT(", 'meter': 'phantom'") ", " CHILD("1", "top", "")),
			"p0.meter: not_in_hierarchy: a hierarchy ('parent')*"},
		{IN_TOP(", 'meter': 'bucket'"),
			"p1.meter: wrong_choice: *did you mean 'token-bucket'?"},
		/* Packets wait at the lowest level, and not for a quota, which has no refill. */
		{IN_TOP(", 'action': 'shape'"), ""},
		{POLICIES(PARENT(", 'action': 'shape'") ", " CHILD("1", "top", "")),
			"p0.action: not_in_hierarchy: child policies ('parent')*"},
		{IN_TOP(", 'action': 'shape', 'slo': {'p99': '10ms'}"),
			"p1.slo: not_in_hierarchy: a hierarchy ('parent'), remove 'slo'*"},
		{POLICIES(PARENT(TOTAL("5TB")) ", " CHILD("1", "top", ", 'action': 'shape'")),
			"p1.parent: below_quota: 'action': 'shape', top"},
		/* Per-source limits apply at the lowest level. */
		{IN_TOP(", 'per': 'src', 'allocator': 'static'"), ""},
		{IN_TOP(", 'per': 'src', 'allocator': 'static', 'weight': 3"),
			"p1.weight: key_excluded: 'per'*"},
		{POLICIES(PARENT(", 'per': 'src', 'allocator': 'static'") ", " CHILD(
			 "1", "top", "")),
			"p0.per: not_in_hierarchy: child policies ('parent'), remove one of the two*"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/min", ", 'parent': 'top', 'per': 'src', 'allocator': 'static'")),
			""},
		/* More than its parent's limit. */
		{POLICIES("{'name': 'top', 'limit': '9999kbit/s'}, " CHILD("1", "top", "")),
			"warning: p1.limit: limit_above_parent: top"},
		{POLICIES(COUNTED("top", "30000/min", "") ", " COUNTED(
			 "1", "30001/min", ", 'parent': 'top'")),
			"warning: p1.limit: limit_above_parent: top"},
		{IN_TOP(", 'trial': {'limit': '5Mbit/s'}"),
			"p1.trial: not_in_hierarchy: a hierarchy ('parent'), remove 'trial'*"},
		{IN_TOP(", 'accounting': 'l2'"), "p1.accounting: unlike_parent: top"},
		{POLICIES(PARENT(", 'accounting': 'l2'") ", " CHILD("1", "top", "")),
			"p1.accounting: unlike_parent: top"},
		/* Values with an error are not compared. */
		{IN_TOP(", 'count': 3"), "p1.count: wrong_choice"},
		{POLICIES(PARENT(", 'count': 3") ", " CHILD("1", "top", "")),
			"p0.count: wrong_choice"},
		{BELOW(", 'accounting': 'l2'"), ""},
		{POLICIES(PARENT("") ", " COUNTED("1", "500/s", ", 'parent': 'top'")),
			"p1.count: unlike_parent: top"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/s", ", 'parent': 'top'")),
			""},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/min", ", 'parent': 'top'")),
			"p1.limit: not_time_of_parent: top"},
		{0},
	};

	run_cases(cases);
}

TEST(test_guaranteed)
{
#define G(rate) ", 'guaranteed': '" rate "'"
	static const struct config_case cases[] = {
		{IN_TOP(G("10Mbit/s")), ""},
		{IN_TOP(G("10.1Mbit/s")), "p0.limit: below_children: 10.1Mbit/s\n"
					  "p1.guaranteed: guaranteed_above_limit: 10Mbit/s"},
		{IN_TOP(G("1Mbit")), "p1.guaranteed: wrong_value: *did you mean '1Mbit/s'?"},
		{POLICIES(PARENT("") ", " CHILD("1", "top", G("6Mbit/s")) ", " CHILD(
			 "2", "top", G("4Mbit/s"))),
			""},
		{POLICIES(PARENT("") ", " CHILD("1", "top", G("6Mbit/s")) ", " CHILD(
			 "2", "top", G("5Mbit/s"))),
			"p0.limit: below_children: 11Mbit/s"},
		/* The default of a middle level is enough for its children. */
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD(
			 "2", "1", G("6Mbit/s")) ", " CHILD("3", "1", G("4Mbit/s"))),
			""},
		{POLICIES(PARENT("") ", " CHILD("1", "top", G("9Mbit/s")) ", " CHILD(
			 "2", "1", G("6Mbit/s")) ", " CHILD("3", "1", G("4Mbit/s"))),
			"p1.guaranteed: below_children: 10Mbit/s"},
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD(
			 "2", "1", G("6Mbit/s")) ", " CHILD("3", "top", G("5Mbit/s"))),
			"p0.limit: below_children: 11Mbit/s"},
		{POLICIES(PARENT("") ", " CHILD("1", "top", "") ", " CHILD("2", "1", "") ", " CHILD(
			 "3", "2", G("4Mbit/s")) ", " CHILD("4", "2", G("7Mbit/s"))),
			"p0.limit: below_children: 11Mbit/s\n"
			"p1.limit: below_children: 11Mbit/s\n"
			"p2.limit: below_children: 11Mbit/s"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/s", ", 'parent': 'top'" G("400/s"))),
			""},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "500/s", ", 'parent': 'top'" G("400/min"))),
			"p1.guaranteed: not_time_of_limit"},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED(
			 "1", "900/s", ", 'parent': 'top'" G("901/s"))),
			"p0.limit: below_children: 901/s\n"
			"p1.guaranteed: guaranteed_above_limit: 900/s"},
		{IN_TOP(G("2Mbit/s") ", 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
				     "'to': '18:00', 'limit': '2Mbit/s'}]}"),
			""},
		{POLICIES(COUNTED("top", "900/s", "") ", " COUNTED("1", "500/s",
			 ", 'parent': 'top', 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
			 "'to': '18:00', 'limit': '400/s'}]}")),
			""},
		{IN_TOP(G("2Mbit/s") ", 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', "
				     "'to': '18:00', 'limit': '1Mbit/s'}]}"),
			"p1.schedule.entries[0].limit: below_guaranteed: 2Mbit/s"},
		{0},
	};

	run_cases(cases);
}

TEST(test_scheduled_time)
{
	static const struct config_case cases[] = {
		{POLICIES(COUNTED("top", "900/min", "") ", " COUNTED("1", "500/min",
			 ", 'parent': 'top', 'schedule': {'zone': 'UTC', 'entries': [{'from': "
			 "'08:00', 'to': '18:00', 'limit': '400/s'}]}")),
			"p1.schedule.entries[0].limit: not_time_of_policy"},
		{0},
	};

	run_cases(cases);
}

TEST(test_fields)
{
	struct config *config = must_parse(POLICIES(CHILD("1", "mid",
		G("1Mbit/s") ", 'weight': 7") ", " P("mid", ", 'parent': 'top'") ", " CHILD("2",
		"mid", G("2Mbit/s")) ", " PARENT(", 'match': {'vlan': 9}") ", " P("5",
		", 'match': {'vlan': 5}")));
	const struct policy *p = config->policies;

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
TEST(test_under_hard)
{
	static const char text[] = POLICIES(P("top", "") ", " P(
		"mid", ", 'parent': 'top', 'guarantee': 'hard'") ", " CHILD("1", "mid",
		"") ", " CHILD("2", "top", "") ", " P("5", ", 'match': {'vlan': 5}"));
	static const bool never[] = {false, true, true, false, false};
	struct config *config = must_parse(text);

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

TEST(test_changes)
{
#define OF(members)                                                       \
	POLICIES(P("a", "") ", " P("b", ", 'match': {'vlan': 8}") ", " P( \
		"c", ", 'match': {'vlan': 9}" members))
	static const char turned[] = POLICIES(P("b", ", 'match': {'vlan': 8}") ", " P(
		"c", ", 'match': {'vlan': 9}, 'parent': 'a'") ", " P("a", ""));

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
