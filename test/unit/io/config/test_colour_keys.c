/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Meters of colours: their keys, second buckets and defaults, and settings that exclude each other.
 */
#include "check.h"

#include "config_cases.h"

#include "config/load.h"
#include "policy/kind.h"

#define PEAK(members)    LIMITED(", 'meter': 'trtcm', 'peak': {" members "}")
#define EXCESS(members)  LIMITED(", 'meter': 'trtcm-4115', 'excess': {" members "}")
#define SPILT(members)   LIMITED(", 'meter': 'srtcm', 'excess': {" members "}")
#define COLOURS(members) LIMITED(", 'meter': 'srtcm', 'colours': {" members "}")
#define OF_DSCP(members) COLOURS("'aware': true, 'dscp': {" members "}")
#define COUNTED(limit, members)                                                                  \
	POLICY(", 'count': 'packets', 'meter': 'trtcm', 'limit': '" limit "', 'peak': {" members \
	       "}")
#define ENTRIES                "}, 'schedule': {'zone': 'UTC', 'entries': [{'from': '08:00', 'to': '18:00', "
#define SCHEDULED(peak, entry) PEAK(peak ENTRIES entry "}]")

TEST(test_colours)
{
	static const struct config_case cases[] = {
		{COLOURS(""), ""},
		{COLOURS("'aware': false, 'green': 'pass', 'yellow': 'count', 'red': 'drop'"), ""},
		{COLOURS("'green': {'mark': 'af11'}, 'yellow': {'mark': 'ecn', 'note': 'n'}"), ""},
		{COLOURS("'red': {'mark': 63}"), ""},
		{COLOURS("'red': 'mark'"), "p0.colours.red: wrong_choice"},
		{COLOURS("'red': 7"), "p0.colours.red: colour_action"},
		{COLOURS("'red': {}"), "p0.colours.red.mark: wrong_mark"},
		{COLOURS("'blue': 'pass'"), "p0.colours.blue: unknown_key: *see*"},
		{COLOURS("'dscp': {'ef': 'red'}"), "p0.colours.dscp: key_required: 'aware': true"},
		{LIMITED(", 'colours': {'dscp': {'ef': 'red'}}"),
			"p0.colours: key_required: 'meter': 'srtcm', 'trtcm' or 'trtcm-4115'"},
		{OF_DSCP(""), ""},
		{OF_DSCP("'note': 'n', '0': 'red', '63': 'green', 'af41': 'yellow'"), ""},
		{OF_DSCP("'note': 7"), "p0.colours.dscp.note: note_type"},
		{OF_DSCP("'64': 'red', 'af44': 'red'"), "p0.colours.dscp.64: not_dscp_key\n"
							"p0.colours.dscp.af44: not_dscp_key"},
		{OF_DSCP("'ef': 'red', '46': 'red'"), "p0.colours.dscp.46: colour_twice"},
		{OF_DSCP("'0': 'blue'"), "p0.colours.dscp.0: wrong_choice"},
		{COLOURS("'aware': true, 'dscp': ['red']"), "p0.colours.dscp: colours_type"},
		{0},
	};

	run_cases(cases);
}

TEST(test_second)
{
	static const struct config_case cases[] = {
		{LIMITED(", 'meter': 'trtcm'"), "p0.peak: peak_missing: trtcm"},
		{LIMITED(", 'meter': 'trtcm-4115'"), "p0.excess: excess_missing: trtcm-4115"},
		{LIMITED(", 'meter': 'srtcm'"), ""},
		{SPILT("'burst': '1B'"), ""},
		{SPILT(""), "p0.excess.burst: wrong_value"},
		{SPILT("'burst': '1MB', 'limit': '1Mbit/s'"),
			"p0.excess.limit: srtcm_excess_limit"},
		{EXCESS("'limit': '8kbit/s', 'burst': '1B'"), ""},
		{EXCESS("'burst': '1MB'"), "p0.excess.limit: wrong_value"},
		{PEAK("'burst': '1MB'"), "p0.peak.limit: wrong_value"},
		/* At least the limit and its burst. */
		{PEAK("'limit': '10Mbit/s'"), ""},
		{PEAK("'limit': '9999999bit/s'"), "p0.peak.limit: peak_below_limit: 10Mbit/s"},
		{PEAK("'limit': '20Mbit/s', 'burst': '312.5kB'"), ""},
		{PEAK("'limit': '20Mbit/s', 'burst': '312499B'"),
			"p0.peak.burst: peak_burst_below_burst: 312.5kB"},
		{COUNTED("500/s", "'limit': '30000/min'"), ""},
		{COUNTED("500/s", "'limit': '29999/min'"),
			"p0.peak.limit: peak_below_limit: 500/s"},
		{COUNTED("30000/min", "'limit': '500/s'"), ""},
		{COUNTED("30000/min", "'limit': '499/s'"),
			"p0.peak.limit: peak_below_limit: 30k/min"},
		{COUNTED("500/s", "'limit': '500/s', 'burst': 50"), ""},
		{COUNTED("500/s", "'limit': '500/s', 'burst': 49"),
			"p0.peak.burst: peak_burst_below_burst: 50"},
		{0},
	};

	run_cases(cases);
}

/* Scheduled limits must be within the peak, which is the same at all times. */
TEST(test_scheduled)
{
#define TWENTY "'limit': '20Mbit/s'"
	static const struct config_case cases[] = {
		{SCHEDULED(TWENTY, "'limit': '20Mbit/s'"), ""},
		{SCHEDULED(TWENTY, "'limit': '20000001bit/s'"),
			"p0.schedule.entries[0].limit: above_peak: 20Mbit/s"},
		{SCHEDULED(TWENTY, "'limit': '5Mbit/s', 'burst': '625kB'"), ""},
		/* Values with an error are not compared. */
		{SCHEDULED("'limit': '1bit/s'", "'limit': '20Mbit/s'"),
			"p0.peak.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{SCHEDULED(TWENTY, "'limit': '5Mbit/s', 'burst': '625001B'"),
			"p0.schedule.entries[0].burst: above_peak: 625kB"},
		/* A default burst above that of the peak is an error too. */
		{SCHEDULED(TWENTY ", 'burst': '468750B'", "'limit': '15Mbit/s'"), ""},
		{SCHEDULED(TWENTY ", 'burst': '320kB'", "'limit': '15Mbit/s'"),
			"p0.schedule.entries[0].burst: above_peak: 320kB, set 'burst': the default for this limit is 468.75kB"},
		{SCHEDULED(TWENTY ", 'burst': '320kB'", "'limit': '15Mbit/s', 'burst': '320kB'"),
			"warning: p0.schedule.entries[0].burst: burst_below_tcp: 468.75kB"},
		{LIMITED(", 'burst': '320kB', 'meter': 'trtcm', 'peak': {" TWENTY ", 'burst': "
			 "'320kB'" ENTRIES "'limit': '15Mbit/s'}]}"),
			"warning: p0.schedule.entries[0].burst: burst_below_tcp: 468.75kB"},
		/* The burst is the policy's, for which there is a message already. */
		{SCHEDULED(TWENTY ", 'burst': '300kB'", "'limit': '15Mbit/s'"),
			"p0.peak.burst: peak_burst_below_burst: 312.5kB"},
		{0},
	};

	run_cases(cases);
}

/* Defaults are those of a policy with that limit; a peak gets at least the policy's burst. */
TEST(test_bursts)
{
	static const struct {
		const char *document;
		uint64_t limit_bps, burst;
	} rows[] = {
		{PEAK("'limit': '20Mbit/s'"), 20000000, 625000},
		{PEAK("'limit': '20Mbit/s', 'burst': '1MB'"), 20000000, 1000000},
		{LIMITED(", 'burst': '4MB', 'meter': 'trtcm', 'peak': {'limit': '20Mbit/s'}"),
			20000000, 4000000},
		{EXCESS("'limit': '4Mbit/s'"), 4000000, 125000},
		{EXCESS("'limit': '4Mbit/s', 'burst': '1B'"), 4000000, 1},
		{LIMITED(", 'meter': 'srtcm'"), 0, 312500},
		{LIMITED(", 'meter': 'srtcm', 'burst': '1MB'"), 0, 1000000},
		{SPILT("'burst': '7kB'"), 0, 7000},
		{COUNTED("500/s", "'limit': '1000/s'"), 8000, 100},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct config *config = must_parse(rows[i].document);
		const struct limit_terms *second = &config->policies[0].colours.second;

		assert_int_equal(second->limit_bps, rows[i].limit_bps);
		assert_int_equal(second->burst_bytes, rows[i].burst);
		config_free(config);
	}
}

TEST(test_defaults)
{
	struct config *config = must_parse(COLOURS(""));
	const struct policy *policy = &config->policies[0];
	const struct colours_config *colours = &policy->colours;

	assert_false(colours->aware);
	for (unsigned dscp = 0; dscp < COLOUR_DSCPS; dscp++) {
		bool assured = dscp >= 8 && dscp < 40;
		enum colour colour = assured && dscp % 8 == 4   ? COLOUR_YELLOW
				     : assured && dscp % 8 == 6 ? COLOUR_RED
								: COLOUR_GREEN;

		assert_int_equal(colours->of_dscp[dscp], colour);
	}
	assert_int_equal(colours->actions[COLOUR_GREEN].action, ACTION_PASS);
	assert_int_equal(colours->actions[COLOUR_YELLOW].action, ACTION_PASS);
	assert_int_equal(colours->actions[COLOUR_RED].action, ACTION_DROP);
	assert_int_equal(policy->action, ACTION_DROP);
	config_free(config);
}

TEST(test_values)
{
	struct config *config = must_parse(COLOURS(
		"'aware': true, 'dscp': {'ef': 'yellow', 'af11': 'red', '14': 'green'}, 'green': "
		"'count', 'yellow': {'mark': 'af12'}, 'red': {'mark': 'ecn'}"));
	const struct policy *policy = &config->policies[0];
	const struct colours_config *colours = &policy->colours;

	assert_true(colours->aware);
	assert_int_equal(colours->of_dscp[46], COLOUR_YELLOW);
	assert_int_equal(colours->of_dscp[10], COLOUR_RED);
	assert_int_equal(colours->of_dscp[12], COLOUR_YELLOW);
	assert_int_equal(colours->of_dscp[14], COLOUR_GREEN);
	assert_int_equal(colours->actions[COLOUR_GREEN].action, ACTION_COUNT);
	assert_int_equal(colours->actions[COLOUR_YELLOW].action, ACTION_MARK);
	assert_int_equal(colours->actions[COLOUR_YELLOW].mark, 12);
	assert_int_equal(colours->actions[COLOUR_RED].action, ACTION_MARK);
	assert_int_equal(colours->actions[COLOUR_RED].mark, MARK_ECN);
	/* The policy has those of red. */
	assert_int_equal(policy->action, ACTION_MARK);
	assert_int_equal(policy->mark, MARK_ECN);
	config_free(config);
	config = must_parse(COLOURS("'red': {'mark': 9}"));
	assert_int_equal(config->policies[0].mark, 9);
	config_free(config);
}
