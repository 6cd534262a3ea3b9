/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials of policies: their keys, inherited values, policies without trials, and changes at a
 * reload.
 */
#include "config_cases.h"

#include "config/load.h"
#include "config/compare.h"
#include "policy/kind.h"
#include "policy/trial.h"

#define TRIAL(members)             LIMITED(", 'trial': {" members "}")
#define WITH_TRIAL(terms, members) LIMITED(terms ", 'trial': {" members "}")
#define AT                         "w.json:1: policies[0] 'p'*"
#define EMPTY                      "expected at least one of 'limit', 'burst', 'meter', 'window' and 'classes'\n"
#define TRIED                      " *\n"

static void test_trial_values(void **state)
{
	static const struct config_case cases[] = {
		{TRIAL("'limit': '5Mbit/s'"), ""},
		{TRIAL("'burst': '1MB'"), ""},
		{TRIAL("'meter': 'gcra'"), ""},
		{TRIAL("'meter': 'hybrid', 'window': '1s', 'note': 'for a day'"), ""},
		{TRIAL("'meter': 'phantom', 'classes': {'by': 'dscp'}"), ""},
		{TRIAL(""), AT "trial: an empty object: " EMPTY},
		{TRIAL("'note': 'nothing'"), AT "trial: an object: " EMPTY},
		{LIMITED(", 'trial': '5Mbit/s'"), AT "trial: '5Mbit/s': expected an object\n"},
		{TRIAL("'limit': '5Mbit'"), AT "trial.limit: '5Mbit': " MEANT_RATE("5Mbit/s")},
		{TRIAL("'limit': '1bit/s'"), AT "trial.limit: '1bit/s': " RATE_RANGE},
		{TRIAL("'limt': '5Mbit/s'"), AT "trial.limt: unknown key: did you mean 'limit'?\n"},
		{TRIAL("'action': 'drop'"), AT "trial.action: unknown key: 'action' belongs*\n"},
		{TRIAL("'meter': 'hybrid'"),
			AT "trial.window: missing: expected a time such as '1s' for this meter\n"},
		{TRIAL("'window': '1s'"),
			AT "trial*'window'*'meter': 'fixed-window' or 'hybrid'\n"},
		{TRIAL("'meter': 'hybrid', 'window': '1s', 'burst': '1MB'"), AT
			"trial*'burst'*'meter': 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115'\n"},
		{TRIAL("'classes': {'by': 'flow'}"), AT "trial*'classes'*'meter': 'phantom'\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_trial_with_other_keys(void **state)
{
#define FIVE "'limit': '5Mbit/s'"
	static const struct config_case cases[] = {
		{WITH_TRIAL(", 'action': 'shape'", FIVE), ""},
		{WITH_TRIAL(", 'action': 'mark'", FIVE), ""},
		{WITH_TRIAL(", 'per': 'src'", FIVE), ""},
		{WITH_TRIAL(", 'allocator': 'adaptor'", FIVE), ""},
		{WITH_TRIAL(", 'allocator': 'gtb'", FIVE),
			AT "*'trial'*'allocator': 'gtb'*remove*\n"},
		{WITH_TRIAL(", 'allocator': 'grd'", FIVE),
			AT "*'trial'*'allocator': 'grd'*remove*\n"},
		{WITH_TRIAL(", 'allocator': 'quota', 'total': '5TB'", FIVE),
			AT "*'trial'*'allocator': 'quota'*remove*\n"},
		{TRIAL("'meter': 'random-drop'"),
			AT "trial.meter: 'random-drop': expected 'token-bucket', 'gcra', "
			   "'fixed-window', 'hybrid' or 'phantom'" TRIED},
		{WITH_TRIAL(", 'action': 'shape'", "'meter': 'gcra'"),
			AT "trial.meter: 'gcra': expected 'token-bucket'" TRIED},
		{WITH_TRIAL(", 'guarantee': 'hard'", "'meter': 'hybrid', 'window': '1s'"),
			AT "trial.meter: 'hybrid': expected 'token-bucket', 'gcra' or "
			   "'phantom'" TRIED},
		{WITH_TRIAL(", 'per': 'src'", "'meter': 'phantom'"),
			AT "trial*'meter'*'per'*another meter\n"},
		{POLICY(", 'limit': '5/s', 'count': 'flows', 'trial': {'meter': 'phantom'}"),
			AT "trial*'meter'*'count': 'flows'*another meter\n"},
		{POLICY(", 'limit': '500/s', 'count': 'packets', 'trial': {" FIVE "}"), AT
			"trial.limit: '5Mbit/s': expected a number per time such as '500/s', '100/min', '10k/h' or '5/d'*\n"},
		/* A value with an error has one message. */
		{TRIAL("'meter': 'bucket'"), AT "trial.meter: 'bucket': expected ^*\n"},
		{WITH_TRIAL(", 'allocator': 'magic'", "'meter': 'random-drop'"),
			AT "allocator: 'magic': expected one of @\n"},
		{0},
	};

	(void)state;
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
static void test_inherits(void **state)
{
#define MBIT                  UINT64_C(1000000)
#define TERMS(terms, members) POLICY(", 'limit': '10Mbit/s'" terms ", 'trial': {" members "}")
	(void)state;
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
static void test_times(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
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

static void test_trial_changes(void **state)
{
	static const char five[] = TERMS("", "'limit': '5Mbit/s'");
	static const char none[] = POLICY(", 'limit': '10Mbit/s'");

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trial_values),
		cmocka_unit_test(test_trial_with_other_keys),
		cmocka_unit_test(test_inherits),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_trial_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
