/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials of policies: their keys, inherited values, policies without trials, and changes at a
 * reload.
 */
#include "check.h"

#include "config_cases.h"

#include "config/load.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/trial.h"

#define TRIAL(members)             LIMITED(", 'trial': {" members "}")
#define WITH_TRIAL(terms, members) LIMITED(terms ", 'trial': {" members "}")

TEST(test_trial_values)
{
	static const struct config_case cases[] = {
		{TRIAL("'limit': '5Mbit/s'"), ""},
		{TRIAL("'burst': '1MB'"), ""},
		{TRIAL("'meter': 'gcra'"), ""},
		{TRIAL("'meter': 'hybrid', 'window': '1s', 'note': 'for a day'"), ""},
		{TRIAL("'meter': 'phantom', 'classes': {'by': 'dscp'}"), ""},
		{TRIAL(""), "p0.trial: trial_empty"},
		{TRIAL("'note': 'nothing'"), "p0.trial: trial_empty"},
		{LIMITED(", 'trial': '5Mbit/s'"), "p0.trial: not_object"},
		{TRIAL("'limit': '5Mbit'"),
			"p0.trial.limit: wrong_value: *did you mean '5Mbit/s'?"},
		{TRIAL("'limit': '1bit/s'"), "p0.trial.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{TRIAL("'limt': '5Mbit/s'"), "p0.trial.limt: unknown_key: did you mean 'limit'?"},
		{TRIAL("'action': 'drop'"),
			"p0.trial.action: unknown_key: 'action' belongs in 'policies[]'"},
		{TRIAL("'meter': 'hybrid'"), "p0.trial.window: window_missing"},
		{TRIAL("'window': '1s'"),
			"p0.trial.window: key_required: 'meter': 'fixed-window' or 'hybrid'"},
		{TRIAL("'meter': 'hybrid', 'window': '1s', 'burst': '1MB'"),
			"p0.trial.burst: key_required: 'meter': 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115'"},
		{TRIAL("'classes': {'by': 'flow'}"),
			"p0.trial.classes: key_required: 'meter': 'phantom'"},
		{0},
	};

	run_cases(cases);
}

TEST(test_trial_with_other_keys)
{
#define FIVE "'limit': '5Mbit/s'"
	static const struct config_case cases[] = {
		{WITH_TRIAL(", 'action': 'shape'", FIVE), ""},
		{WITH_TRIAL(", 'action': 'mark'", FIVE), ""},
		{WITH_TRIAL(", 'per': 'src'", FIVE), ""},
		{WITH_TRIAL(", 'allocator': 'adaptor'", FIVE), ""},
		{WITH_TRIAL(", 'allocator': 'gtb'", FIVE),
			"p0.trial: key_excluded: 'allocator': 'gtb'*"},
		{WITH_TRIAL(", 'allocator': 'grd'", FIVE),
			"p0.trial: key_excluded: 'allocator': 'grd'*"},
		{WITH_TRIAL(", 'allocator': 'quota', 'total': '5TB'", FIVE),
			"p0.trial: key_excluded: 'allocator': 'quota'*"},
		{TRIAL("'meter': 'random-drop'"),
			"p0.trial.meter: trial_meter: 'token-bucket', 'gcra', 'fixed-window', 'hybrid' or 'phantom', in a trial"},
		{WITH_TRIAL(", 'action': 'shape'", "'meter': 'gcra'"),
			"p0.trial.meter: trial_meter: 'token-bucket', with the action 'shape'"},
		{WITH_TRIAL(", 'guarantee': 'hard'", "'meter': 'hybrid', 'window': '1s'"),
			"p0.trial.meter: trial_meter: 'token-bucket', 'gcra' or 'phantom', with 'guarantee': 'hard'"},
		{WITH_TRIAL(", 'per': 'src'", "'meter': 'phantom'"),
			"p0.trial.meter: meter_excludes_per"},
		{POLICY(", 'limit': '5/s', 'count': 'flows', 'trial': {'meter': 'phantom'}"),
			"p0.trial.meter: meter_excludes_flows"},
		{POLICY(", 'limit': '500/s', 'count': 'packets', 'trial': {" FIVE "}"),
			"p0.trial.limit: wrong_count_rate: packets"},
		/* A value with an error has one message. */
		{TRIAL("'meter': 'bucket'"),
			"p0.trial.meter: wrong_choice: *did you mean 'token-bucket'?"},
		{WITH_TRIAL(", 'allocator': 'magic'", "'meter': 'random-drop'"),
			"p0.allocator: not_one_of"},
		{0},
	};

	run_cases(cases);
}

static void check_trial(const char *members, uint64_t limit_bps, uint64_t burst, uint64_t window_ns)
{
	struct config *config = must_parse(members);
	struct policy trial = policy_trial(&config->policies[0]);

	assert_true(policy_has_trial(&config->policies[0]));
	assert_int_equal(trial.limit_bps, limit_bps);
	assert_int_equal(trial.burst_bytes, burst);
	assert_int_equal(trial.window_ns, window_ns);
	assert_int_equal(trial.action, ACTION_DROP);
	config_free(config);
}

/* A missing key has the policy's value, or its default with the trial's keys. */
TEST(test_inherits)
{
#define MBIT                  UINT64_C(1000000)
#define TERMS(terms, members) POLICY(", 'limit': '10Mbit/s'" terms ", 'trial': {" members "}")
	check_trial(TERMS("", "'limit': '5Mbit/s'"), 5 * MBIT, 5 * MBIT / 32, 0);
	check_trial(TERMS(", 'burst': '999kB'", "'limit': '5Mbit/s'"), 5 * MBIT, 999000, 0);
	check_trial(TERMS(", 'burst': '999kB'", "'burst': '40kB'"), 10 * MBIT, 40000, 0);
	check_trial(TERMS("", "'meter': 'phantom'"), 10 * MBIT, 10 * MBIT * 35 / 800, 0);
	check_trial(TERMS(", 'meter': 'hybrid', 'window': '2s'", "'limit': '5Mbit/s'"), 5 * MBIT,
		5 * MBIT / 32, 2000000000);
	check_trial(TERMS(", 'meter': 'hybrid', 'window': '2s'", "'window': '1s'"), 10 * MBIT,
		10 * MBIT / 32, 1000000000);
	/* A queue of 100 ms and a bucket of 100 ms drop like one bucket of both. */
	check_trial(TERMS(", 'action': 'shape', 'shape': {'delay': '100ms'}", "'limit': '5Mbit/s'"),
		5 * MBIT, 5 * MBIT / 40, 0);
	check_trial(TERMS(", 'action': 'shape', 'shape': {'delay': '100ms', 'queue': '10kB'}",
			    "'limit': '5Mbit/s'"),
		5 * MBIT, 5 * MBIT / 80 + 10000, 0);
}

/* A limit per another time unit, and its window if the policy has none. */
TEST(test_times)
{
#define WINDOWS(members, tried)                                                            \
	POLICY(", 'count': 'packets', 'meter': 'fixed-window', 'limit': '120/min'" members \
	       ", 'trial': {" tried "}")
	static const struct {
		const char *document;
		uint32_t limit_s;
		uint64_t window_s;
	} rows[] = {
		{WINDOWS("", "'limit': '60/min'"), 60, 60},
		{WINDOWS("", "'limit': '60/h'"), 3600, 3600},
		{WINDOWS("", "'limit': '60/h', 'window': '2h'"), 3600, 7200},
		{WINDOWS(", 'window': '30s'", "'limit': '60/min'"), 60, 30},
		{WINDOWS(", 'window': '30s'", "'window': '1min'"), 60, 60},
		{WINDOWS("", "'meter': 'token-bucket'"), 60, 0},
		{POLICY(", 'count': 'packets', 'limit': '9/s', 'trial': {'limit': '60/min'}"), 60,
			0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].document);
		struct policy trial = policy_trial(&config->policies[0]);

		assert_int_equal(trial.limit_s, rows[i].limit_s);
		assert_int_equal(trial.window_ns, rows[i].window_s * 1000000000);
		config_free(config);
	}
}

static uint8_t changes_between(const char *old_terms, const char *new_terms)
{
	struct config *old = must_parse(old_terms), *new = must_parse(new_terms);
	struct config_diff *diff;
	uint8_t changes;

	assert_int_equal(config_diff(old, new, "w.json", stderr, &diff), 0);
	changes = diff->changes[0];
	config_diff_free(diff);
	config_free(old);
	config_free(new);
	return changes;
}

TEST(test_trial_changes)
{
	static const char five[] = TERMS("", "'limit': '5Mbit/s'");
	static const char none[] = POLICY(", 'limit': '10Mbit/s'");

	assert_int_equal(changes_between(five, TERMS("", "'limit': '5000kbit/s'")), 0);
	assert_int_equal(changes_between(none, none), 0);
	/* The policy continues after any change of the trial. */
	assert_int_equal(changes_between(none, five), POLICY_TERMS);
	assert_int_equal(changes_between(five, none), POLICY_TERMS);
	assert_int_equal(changes_between(five, TERMS("", "'limit': '6Mbit/s'")), POLICY_TERMS);
	assert_int_equal(changes_between(five, TERMS("", "'meter': 'phantom'")), POLICY_TERMS);
	assert_int_equal(changes_between(TERMS("", "'meter': 'hybrid', 'window': '1s'"),
				 TERMS("", "'meter': 'hybrid', 'window': '2s'")),
		POLICY_TERMS);
}
