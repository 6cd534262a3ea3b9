/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The default burst, and bursts that are too small for TCP.
 */
#include "check.h"

#include "config_cases.h"

#include "config/load.h"

/*
 * The default burst is 250 ms of the limit, at least twenty packets and at most the largest burst.
 * It is larger if each class has only a part of it, and smaller if packets wait.
 */
TEST(test_default_burst)
{
	static const struct {
		const char *limit;
		const char *members;
		uint64_t burst;
	} cases[] = {
		{"8kbit/s", "", 30000},
		{"960kbit/s", "", 30000},
		{"960032bit/s", "", 30001},
		{"10Gbit/s", "", 312500000},
		{"137Gbit/s", "", 4281250000},
		{"138Gbit/s", "", 4294967296},
		{"400Gbit/s", "", 4294967296},
		{"10Mbit/s", ", 'meter': 'gcra'", 312500},
		{"10Mbit/s", ", 'action': 'mark'", 312500},
		{"10Mbit/s", ", 'per': 'src'", 312500},
		{"685kbit/s", ", 'meter': 'phantom'", 30000},
		{"10Mbit/s", ", 'meter': 'phantom'", 437500},
		{"400Gbit/s", ", 'meter': 'phantom'", 4294967296},
		{"1.2Mbit/s", ", 'action': 'shape'", 15000},
		{"10Mbit/s", ", 'action': 'shape'", 125000},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[512];

		snprintf(document, sizeof(document), POLICY(", 'limit': '%s'%s"), cases[i].limit,
			cases[i].members);
		config = must_parse(document);
		assert_int_equal(config->policies[0].burst_bytes, cases[i].burst);
		config_free(config);
	}
}

/* A hard limit has ten packets at each limiter. */
TEST(test_default_burst_of_parts)
{
	struct config *config = must_parse(
		"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		", {'name': 'she', 'address': '10.0.0.3:1'}]}, 'policies': ["
		"{'name': 'c', 'limit': '8kbit/s', 'guarantee': 'hard', 'match': {'vlan': 1}},"
		"{'name': 's', 'limit': '8kbit/s', 'match': {'vlan': 2}}]}");

	assert_int_equal(config->policies[0].burst_bytes, 45000);
	assert_int_equal(config->policies[1].burst_bytes, 30000);
	config_free(config);
}

/* A tenth of a second of the limit, and at least ten. */
TEST(test_default_burst_of_counts)
{
	static const struct {
		const char *limit;
		uint64_t burst;
	} cases[] = {
		{"0.125/s", 10},
		{"100/s", 10},
		{"109/s", 10},
		{"110/s", 11},
		{"1G/s", 100000000},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[512];

		snprintf(document, sizeof(document), POLICY(", 'count': 'packets', 'limit': '%s'"),
			cases[i].limit);
		config = must_parse(document);
		assert_int_equal(config->policies[0].burst_bytes, cases[i].burst);
		config_free(config);
	}
}

/* A burst that is too small for TCP, to the byte, and policies without TCP. */
TEST(test_burst_of_tcp)
{
#define BURST(burst)       LIMITED(", 'burst': '" burst "'")
#define PHANTOM(burst)     LIMITED(", 'meter': 'phantom', 'burst': '" burst "'")
#define TINY(more)         LIMITED(", 'burst': '2kB'" more)
#define FAST(limit, burst) POLICY(", 'limit': '" limit "', 'burst': '" burst "'")
#define HARD(limit, burst)                                                                  \
	"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2 \
	"]}, 'policies': [{'name': 'p', 'limit': '" limit                                   \
	"', 'guarantee': 'hard', 'burst': '" burst "'}]}"
	static const struct config_case cases[] = {
		{BURST("250kB"), ""},
		{BURST("249999B"), "warning: p0.burst: burst_below_tcp: 312.5kB"},
		{LIMITED(", 'meter': 'gcra', 'burst': '249999B'"),
			"warning: p0.burst: burst_below_tcp: 312.5kB"},
		{PHANTOM("350kB"), ""},
		{PHANTOM("349999B"), "warning: p0.burst: burst_below_tcp: 437.5kB"},
		{TINY(", 'match': {'proto': 'tcp'}"),
			"warning: p0.burst: burst_below_tcp: 312.5kB"},
		{TINY(", 'match': {'dst-port': 443, 'proto': 'tcp'}, 'per': 'src'"),
			"warning: p0.burst: burst_below_tcp: 312.5kB"},
		{TINY(", 'action': 'mark'"), "warning: p0.burst: burst_below_tcp: 312.5kB"},
		{TINY(", 'match': {'proto': 'udp'}"), ""},
		{TINY(", 'action': 'mark', 'mark': 8"), ""},
		{TINY(", 'action': 'count'"), ""},
		{TINY(", 'action': 'shape'"), ""},
		{LIMITED(", 'burst': '1kB', 'action': 'shape'"), ""},
		{POLICY(", 'limit': '1k/s', 'count': 'packets', 'burst': 1"), ""},
		/* Three frames of a slow limit take longer than that time. */
		{FAST("100kbit/s", "4554B"), ""},
		{FAST("100kbit/s", "4553B"), "warning: p0.burst: burst_below_tcp: 4.554kB"},
		/* Above 240 Mbit/s the smallest window fits into a round trip. */
		{FAST("240Mbit/s", "6MB"), ""},
		{FAST("240Mbit/s", "5999999B"), "warning: p0.burst: burst_below_tcp: 7.5MB"},
		{FAST("400Gbit/s", "6MB"), ""},
		{FAST("400Gbit/s", "5999999B"), "warning: p0.burst: burst_below_tcp: 7.5MB"},
		/* Two limiters have twice the burst; a hard limit divides its burst. */
		{HARD("480Mbit/s", "12MB"), ""},
		{HARD("480Mbit/s", "11999999B"), "warning: p0.burst: burst_below_tcp: 15MB"},
		{HARD("10Mbit/s", "250kB"), ""},
		{HARD("10Mbit/s", "249999B"), "warning: p0.burst: burst_below_tcp: 312.5kB"},
		{HARD("100kbit/s", "18216B"), ""},
		{HARD("100kbit/s", "18215B"),
			"warning: p0.burst: burst_part_below_tcp: 2, 6, 18.216kB"},
		{0},
	};

	run_cases(cases);
}
