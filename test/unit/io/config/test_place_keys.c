/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "place": its keys, checks and description, and changes at a reload.
 */
#include "check.h"

#include "config_cases.h"

#include "config/describe.h"
#include "config/load.h"
#include "config/compare.h"
#include "policy/kind.h"

#define SLO             ", 'action': 'shape', 'slo': {'p99': '1ms'}"
#define PLACED(members) LIMITED(SLO ", 'place': {" members "}")

TEST(test_values)
{
	static const struct config_case cases[] = {
		{PLACED(""), ""},
		{PLACED("'key': 'src/1'"), ""},
		{PLACED("'key': 'src/128'"), ""},
		{PLACED("'key': 'src'"), "p0.place.key: place_source"},
		{PLACED("'key': 'src/0'"), "p0.place.key: place_source"},
		{PLACED("'key': 'src/129'"), "p0.place.key: place_source"},
		{PLACED("'key': 24"), "p0.place.key: place_source"},
		{PLACED("'concentrate': false, 'max-min': false, 'correlate': false"), ""},
		{PLACED("'correlate': 1"), "p0.place.correlate: not_bool"},
		{PLACED("'max_min': true"),
			"p0.place.max_min: unknown_key: did you mean 'max-min'?"},
		{LIMITED(", 'action': 'shape', 'place': {}"), "p0.place: key_required: 'slo'"},
		/* A value with an error has one message. */
		{LIMITED(", 'action': 'shape', 'slo': {'p99': '1ns'}, 'place': {}"),
			"p0.slo.p99: out_of_range: 1us to 10s"},
		{0},
	};

	run_cases(cases);
}

static struct config *read_config(const char *text)
{
	struct config *config;
	char *json = with_quotes(text);

	assert_int_equal(config_parse(json, strlen(json), "w.json", stderr, &config), 0);
	free(json);
	return config;
}

TEST(test_meaning)
{
	static const struct {
		const char *text;
		bool placed;
		uint8_t v4, v6;
	} cases[] = {
		{LIMITED(""), false, 32, 128},
		{LIMITED(SLO), true, 32, 128},
		{PLACED("'key': 'src/24'"), true, 24, 64},
		{PLACED("'key': 'src/32'"), true, 32, 64},
		{PLACED("'key': 'src/48'"), true, 32, 48},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config = read_config(cases[i].text);
		const struct policy *policy = &config->policies[0];

		assert_int_equal(policy_is_placed(policy), cases[i].placed);
		assert_int_equal(policy->place.key.v4, cases[i].v4);
		assert_int_equal(policy->place.key.v6, cases[i].v6);
		assert_int_equal(policy->place.round_ns, 1000000000);
		assert_true(policy->place.concentrate && policy->place.max_min &&
			    policy->place.correlate);
		config_free(config);
	}
}

#define DISTRIBUTED(policy)                                                                  \
	"{'limiter': 'me', 'workers': [1, 2], " PORTS                                        \
	"'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'distribute': true}], 'policies': " \
	"[{'name': 'p', 'limit': '10Mbit/s'" policy "}]}"

TEST(test_words)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{DISTRIBUTED(SLO), "given to the fewest workers*every 1s\n"},
		{DISTRIBUTED(SLO ", 'place': {'key': 'src/24', 'concentrate': false}"),
			"given to all workers*every 1s*/24 (IPv6: /64) to different*\n"},
		{DISTRIBUTED(SLO ", 'place': {'key': 'src/48', 'round': '200ms'}"),
			"every 200ms*/48 to different*\n"},
		{DISTRIBUTED(SLO ", 'place': {'key': 'src/24', 'correlate': false}"),
			"given to the fewest workers*every 1s\n"},
		{LIMITED(SLO), NULL},
		{DISTRIBUTED(""), NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config = read_config(cases[i].text);
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		config_describe(config, out);
		fclose(out);
		if (cases[i].words ? !has_parts(text, cases[i].words) : !!strstr(text, "given to"))
			fail_msg("case %zu: %s", i, text);
		free(text);
		config_free(config);
	}
}

TEST(test_changes)
{
	static const struct {
		const char *now;
		uint8_t change;
	} cases[] = {
		{PLACED("'key': 'src/24'"), 0},
		{PLACED("'key': 'src/25'"), POLICY_TERMS},
		{PLACED("'key': 'src/24', 'round': '2s'"), POLICY_TERMS},
		{PLACED("'key': 'src/24', 'concentrate': false"), POLICY_TERMS},
		{PLACED("'key': 'src/24', 'max-min': false"), POLICY_TERMS},
		{PLACED("'key': 'src/24', 'correlate': false"), POLICY_TERMS},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *old = read_config(PLACED("'key': 'src/24'"));
		struct config *now = read_config(cases[i].now);
		struct config_diff *diff;

		assert_int_equal(config_diff(old, now, "w.json", stderr, &diff), 0);
		assert_int_equal(diff->changes[0], cases[i].change);
		config_diff_free(diff);
		config_free(old);
		config_free(now);
	}
}
