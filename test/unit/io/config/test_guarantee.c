/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with hard limits: keys that exclude "guarantee", the keys of GDRL and of quotas, their
 * defaults and warnings.
 */
#include "check.h"

#include "config_cases.h"

#include "allocate/allocate.h"

#include "allocate/gdrl.h"
#include "config/group.h"
#include "config/load.h"
#include "policy/kind.h"

#define GROUP(gossip, policies)                                                             \
	"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2 \
	"]" gossip "}, 'policies': [" policies "]}"
#define LIMITED2(members) GROUP("", "{'name': 'p', 'limit': '10Mbit/s'" members "}")
#define HARD2(members)    LIMITED2(", 'guarantee': 'hard'" members)
#define GDRL2(members)    LIMITED2(", 'allocator': 'gdrl'" members)
#define QUOTA2(members)   GROUP("", "{'name': 'p', 'allocator': 'quota'" members "}")

TEST(test_hard)
{
	static const struct config_case cases[] = {
		{HARD2(""), ""},
		{LIMITED2(", 'guarantee': 'soft'"), ""},
		{LIMITED2(", 'guarantee': 'conserved'"),
			"warning: p0.guarantee: word_renamed: hard"},
		{LIMITED2(", 'guarantee': 'strict'"),
			"p0.guarantee: wrong_choice: *did you mean 'hard'?"},
		{LIMITED2(", 'guarantee': true"), "p0.guarantee: wrong_choice"},
		{HARD2(", 'allocator': 'static'"), ""},
		{HARD2(", 'allocator': 'fps', 'weigh': 'tcp'"), ""},
		{HARD2(", 'allocator': 'gdrl'"), ""},
		{HARD2(", 'allocator': 'adaptor'"), ""},
		{HARD2(", 'allocator': 'adaptor', 'meter': 'random-drop'"),
			"p0.meter: meter_of_allocator: 'token-bucket' or 'gcra', adaptor\n"
			"p0.guarantee: hard_excludes_meter: random-drop"},
		{LIMITED(", 'guarantee': 'hard'"), ""},
		{LIMITED(", 'guarantee': 'hard', 'allocator': 'central'"), ""},
		{HARD2(", 'allocator': 'gtb'"), "p0.guarantee: hard_excludes_allocator: gtb"},
		{HARD2(", 'allocator': 'grd'"), "p0.guarantee: hard_excludes_allocator: grd"},
		{HARD2(", 'meter': 'gcra'"), ""},
		{HARD2(", 'meter': 'random-drop'"),
			"p0.guarantee: hard_excludes_meter: random-drop"},
		{HARD2(", 'meter': 'fixed-window', 'window': '1s'"),
			"p0.guarantee: hard_excludes_meter: fixed-window"},
		{HARD2(", 'meter': 'hybrid', 'window': '1s'"),
			"p0.guarantee: hard_excludes_meter: hybrid"},
		{HARD2(", 'per': 'src', 'allocator': 'static'"), "p0.guarantee: hard_excludes_per"},
		/* A value with an error has one message. */
		{HARD2(", 'meter': 'leaky'"),
			"p0.meter: wrong_choice: *did you mean 'token-bucket'?"},
		{LIMITED2(", 'guarantee': 'strict', 'meter': 'random-drop'"),
			"p0.guarantee: wrong_choice: *did you mean 'hard'?"},
		{0},
	};

	run_cases(cases);
}

/* Parts are whole numbers a second, and none may be 0. */
TEST(test_parts)
{
#define RATE(limit) \
	GROUP("", "{'name': 'p', 'guarantee': 'hard', 'limit': '" limit "', " COUNTED "}")
#define COUNTED "'count': 'flows'"
	static const struct config_case cases[] = {
		{RATE("2/s"), ""},
		{RATE("1.875/s"), "p0.limit: hard_limit_too_low: 2/s, numbers in its time"},
		{RATE("2/min"), ""},
		{RATE("1.875/d"), "p0.limit: hard_limit_too_low: 2/d, numbers in its time"},
		{GROUP("", "{'name': 'p', 'limit': '0.125/s', 'count': 'flows'}"), ""},
		{POLICY(", 'guarantee': 'hard', 'limit': '1/s', 'count': 'flows'"), ""},
		{POLICY(", 'guarantee': 'hard', 'limit': '0.875/s', 'count': 'flows'"),
			"p0.limit: hard_limit_too_low: 1/s, numbers in its time"},
		{0},
	};

	run_cases(cases);
}

TEST(test_gdrl)
{
	static const struct config_case cases[] = {
		{GDRL2(""), ""},
		{GDRL2(", 'indicator': 'spare', 'eta': 0.25"), ""},
		{GDRL2(", 'indicator': 'delay', 'eta': 0"), ""},
		{GDRL2(", 'indicator': 'mood'"), "p0.indicator: not_one_of"},
		{GDRL2(", 'indicator': 1"), "p0.indicator: not_one_of"},
		{GDRL2(", 'eta': -1"), "p0.eta: number_range: 0, 1e+12"},
		{GDRL2(", 'eta': 1000000000000"), ""},
		{GDRL2(", 'eta': 1000000000001"), "p0.eta: number_range: 0, 1e+12"},
		{GDRL2(", 'eta': '1'"), "p0.eta: number_range: 0, 1e+12"},
		{GDRL2(", 'guarantee': 'hard'"), ""},
		{GDRL2(", 'guarantee': 'soft'"), "p0.guarantee: guarantee_not_hard: gdrl"},
		{GDRL2(", 'meter': 'gcra'"), ""},
		{GDRL2(", 'meter': 'random-drop'"),
			"p0.meter: meter_of_allocator: 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115', gdrl"},
		{GDRL2(", 'per': 'src'"), "p0.per: per_needs_static:  in a group"},
		{LIMITED2(", 'indicator': 'spare', 'eta': 1"),
			"p0.indicator: key_required: 'allocator': 'gdrl'\n"
			"p0.eta: key_required: 'allocator': 'gdrl'"},
		{0},
	};

	run_cases(cases);
}

TEST(test_quota)
{
#define TOTAL(total)   QUOTA2(", 'total': " total)
#define PERIOD(period) QUOTA2(", 'total': '5TB', 'period': " period)
#define PACKETS(total) QUOTA2(", 'count': 'packets', 'total': " total)
	static const struct config_case cases[] = {
		{TOTAL("'500GB'"), ""},
		{TOTAL("'1000PB'"), ""},
		{TOTAL("'1000000.000000000000001TB'"), "p0.total: not_multiple: B"},
		{TOTAL("500"), "p0.total: wrong_value"},
		{QUOTA2(""), "p0.total: wrong_value"},
		{QUOTA2(", 'count': 'flows'"), "p0.total: wrong_value"},
		{QUOTA2(", 'count': 'shoes'"), "p0.count: wrong_choice"},
		{PACKETS("50000"), ""},
		{PACKETS("'50M'"), ""},
		{PACKETS("1000000000000000001"), "p0.total: out_of_range: 1 to 1000000000G"},
		{PERIOD("'none'"), ""},
		{PERIOD("'month'"), ""},
		{PERIOD("'1min'"), ""},
		{PERIOD("'8784h'"), ""},
		{PERIOD("'90.5s'"), "p0.period: not_whole_seconds"},
		{PERIOD("'week'"), "p0.period: wrong_value"},
		{PERIOD("86400"), "p0.period: wrong_value"},
		{LIMITED2(", 'total': '5GB', 'period': 'month'"),
			"p0.total: key_required: 'allocator': 'quota'\n"
			"p0.period: key_required: 'allocator': 'quota'"},
		{0},
	};

	run_cases(cases);
}

TEST(test_quota_and)
{
#define AND(members) QUOTA2(", 'total': '5TB'" members)
	static const struct config_case cases[] = {
		{AND(", 'limit': '1Mbit/s'"), ""},
		{AND(", 'limit': '1Mbit/s', 'burst': '64KiB', 'action': 'mark', 'mark': 8"), ""},
		{AND(", 'action': 'count', 'accounting': 'wire', 'interval': '100ms'"), ""},
		{AND(", 'burst': '64KiB'"), "p0.burst: burst_needs_limit"},
		{AND(", 'limit': '1MB', 'burst': '64KiB'"), "p0.limit: wrong_value"},
		{AND(", 'guarantee': 'hard'"), "p0.guarantee: key_excluded: 'allocator': 'quota'*"},
		{AND(", 'guarantee': 'soft'"), "p0.guarantee: key_excluded: 'allocator': 'quota'*"},
		{AND(", 'meter': 'token-bucket'"), "p0.meter: key_excluded: 'allocator': 'quota'*"},
		{AND(", 'per': 'src'"), "p0.per: per_needs_static:  in a group"},
		{AND(", 'weigh': 'tcp'"), "p0.weigh: key_required: 'allocator': 'fps'"},
		{AND(", 'indicator': 'loss'"), "p0.indicator: key_required: 'allocator': 'gdrl'"},
		/* Only a quota may have no limit. */
		{GROUP("", "{'name': 'p', 'allocator': 'gdrl'}"), "p0.limit: wrong_value"},
		{GROUP(", 'datagram': '582B'",
			 "{'name': 'p', 'allocator': 'quota', 'total': '5TB'}"),
			""},
		{GROUP(", 'datagram': '581B'",
			 "{'name': 'p', 'allocator': 'quota', 'total': '5TB'}"),
			"gossip.datagram: total_too_small: 582"},
		{GROUP(", 'datagram': '581B'", "{'name': 'p', 'limit': '1Mbit/s'}"), ""},
		{0},
	};

	run_cases(cases);
}

/* Names with the same 32-bit hash, and one name twice. */
TEST(test_clashes)
{
#define NAMED(name, vlan, members) "{'name': '" name "', 'match': {'vlan': " vlan "}" members "}"
#define MONTHLY                    ", 'allocator': 'quota', 'total': '5TB', 'period': 'month'"
#define PREPAID                    ", 'allocator': 'quota', 'total': '5TB'"
#define RATE_OF                    ", 'limit': '1Mbit/s'"
	static const struct config_case cases[] = {
		{POLICIES(NAMED("m176744", "1", MONTHLY) "," NAMED("r12050", "2", RATE_OF)), ""},
		{POLICIES(NAMED("m176744", "1", PREPAID) "," NAMED("r12050", "2", RATE_OF)), ""},
		{POLICIES(NAMED("m176744", "1", MONTHLY) "," NAMED("r12050", "2", MONTHLY)), ""},
		{POLICIES(NAMED("m", "1", MONTHLY) "," NAMED("m", "2", MONTHLY)),
			"p1.name: not_unique: name, *policies[0] 'm' (w.json:1)"},
		{0},
	};

	run_cases(cases);
}

TEST(test_warnings)
{
#define BURST(burst) HARD2(", 'burst': '" burst "'")
#define KERNEL2(limit, members)                                                         \
	"{'limiter': 'me', 'ports': {'lan': {'device': 'xdp:eth0'}, 'wan': {'device': " \
	"'xdp:eth1'}}, " WIRES ", 'workers': [1, 2], 'policies': [{'name': 'p', "       \
	"'guarantee': 'hard', 'limit': '" limit "', " members "}]}"
#define WORKERS2(members)                                                      \
	"{'limiter': 'me', " PORTS WIRES ", 'workers': [1, 2], 'policies': [{" \
	"'name': 'p', 'limit': '10Mbit/s', " members "}]}"
	static const struct config_case cases[] = {
		{HARD2(", 'burst': '3036B', 'match': {'proto': 'udp'}"), ""},
		{BURST("3035B"), "warning: p0.burst: burst_part_below_frame: 2, 1518"},
		{LIMITED2(", 'burst': '3035B', 'match': {'proto': 'udp'}"), ""},
		/* Packets larger than a bucket wait for tokens. */
		{LIMITED2(", 'burst': '3035B', 'action': 'shape'"), ""},
		{BURST("3035B', 'action': 'shape"), ""},
		{GROUP("", "{'name': 'p', 'count': 'flows', 'limit': '5/s', 'burst': 2, "
			   "'guarantee': 'hard'}"),
			""},
		{GROUP("", "{'name': 'p', 'count': 'flows', 'limit': '5/s', 'burst': 1, "
			   "'guarantee': 'hard'}"),
			"warning: p0.burst: burst_part_below_one: 2"},
		{WORKERS2("'guarantee': 'hard'"), ""},
		{WORKERS2("'action': 'count'"), ""},
		{WORKERS2("'guarantee': 'hard', 'action': 'count'"),
			"warning: p0.guarantee: hard_of_workers: 2"},
		/*
		 * CPUs of the kernel and workers share one bucket, if the policy has a shared one.
		 */
		{KERNEL2("10Mbit/s", "'action': 'count'"), ""},
		{KERNEL2("5/s", "'count': 'flows', 'burst': 2"),
			"warning: p0.guarantee: hard_of_workers: 2"},
		{TOTAL("'1280KiB'"), ""},
		{TOTAL("'1310719B'"), "warning: p0.total: total_few_chunks: 10, 64KiB, 2"},
		{QUOTA2(", 'total': '5TB', 'limit': '1Mbit/s', 'burst': '25kB'"), ""},
		{QUOTA2(", 'total': '5TB', 'limit': '1Mbit/s', 'burst': '1517B'"),
			"warning: p0.burst: burst_below_frame: 1518"},
		{PACKETS("1280"), ""},
		{PACKETS("1279"), "warning: p0.total: total_few_chunks: 10, 64, 2"},
		{0},
	};

	run_cases(cases);
}

TEST(test_defaults)
{
	struct config *config = must_parse(GROUP("",
		"{'name': 'c', 'limit': '80kbit/s', 'guarantee': 'hard', 'match': {'vlan': 1}},"
		"{'name': 'g', 'limit': '1Gbit/s', 'allocator': 'gdrl', 'match': {'vlan': 2}},"
		"{'name': 'q', 'allocator': 'quota', 'total': '5GB', 'match': {'vlan': 3}},"
		"{'name': 'r', 'limit': '1Gbit/s', 'match': {'vlan': 4}}"));
	const struct policy *p = config->policies;

	assert_int_equal(p[0].guarantee, GUARANTEE_HARD);
	assert_ptr_equal(p[0].allocator, &allocator_fps);
	assert_null(p[0].indicator);
	assert_int_equal(p[0].burst_bytes, 2 * 15000); /* ten packets at each limiter */
	assert_int_equal(p[1].guarantee, GUARANTEE_HARD);
	assert_ptr_equal(p[1].indicator, &gdrl_spare);
	assert_true(p[1].eta == 0);
	assert_int_equal(p[1].burst_bytes, 31250000);
	assert_int_equal(p[2].guarantee, GUARANTEE_SOFT);
	assert_int_equal(p[2].meter, METER_CREDIT);
	assert_int_equal(p[2].limit_bps, 0);
	assert_int_equal(p[2].burst_bytes, 0);
	assert_int_equal(p[2].period, PERIOD_NONE);
	assert_int_equal(p[2].total, 5000000000);
	assert_int_equal(p[2].chunk, 2 << 20); /* 2.5 MB: a thousandth of a half */
	assert_false(p[2].drawn);
	assert_int_equal(p[3].guarantee, GUARANTEE_SOFT);
	assert_null(p[3].indicator);
	assert_int_equal(p[3].chunk, 0);
	assert_true(config_needs_ledger(config));
	assert_true(policy_is_quota(&p[2]));
	assert_false(policy_is_quota(&p[1]));
	config->n_policies = 1;
	assert_true(config_needs_ledger(config));
	config->policies[0].guarantee = GUARANTEE_SOFT;
	assert_false(config_needs_ledger(config));
	config->policies[0].allocator = &allocator_quota;
	assert_true(config_needs_ledger(config));
	config_free(config);
}

TEST(test_values)
{
	struct config *config = must_parse(GROUP("",
		"{'name': 'g', 'limit': '1Gbit/s', 'allocator': 'gdrl', 'indicator': 'loss', "
		"'eta': 0.5, 'match': {'vlan': 2}},"
		"{'name': 'q', 'allocator': 'quota', 'total': '1000PB', 'period': '90min', "
		"'limit': '8Mbit/s', 'match': {'vlan': 3}},"
		"{'name': 'm', 'allocator': 'quota', 'count': 'packets', 'total': 500000, "
		"'period': 'month', 'match': {'vlan': 4}}"));
	const struct policy *p = config->policies;

	assert_ptr_equal(p[0].indicator, &gdrl_loss);
	assert_true(p[0].eta == 0.5);
	assert_int_equal(p[1].total, CONFIG_TOTAL_MAX);
	assert_int_equal(p[1].period, PERIOD_FIXED);
	assert_int_equal(p[1].period_ns, 5400000000000);
	assert_int_equal(p[1].limit_bps, 8000000);
	assert_int_equal(p[1].burst_bytes, 250000);
	assert_int_equal(p[1].chunk, 64 << 20);
	assert_int_equal(p[2].period, PERIOD_MONTH);
	assert_int_equal(p[2].period_ns, 0);
	assert_int_equal(p[2].chunk, 128); /* 250: a thousandth of a half */
	config_free(config);
}

static const struct key group_keys[] = {
	{"policies", read_group_policies, .required = true},
	{0},
};

/* A simulated group takes the same keys. */
TEST(test_group)
{
	char *text = with_quotes(
		"{'policies': [{'name': 'q', 'allocator': 'quota', 'total': "
		"'8GB'}, {'name': 'g', 'allocator': 'gdrl', 'limit': '1Mbit/s'}]}");
	struct reader reader;
	struct group group;

	assert_int_equal(reader_parse(&reader, text, strlen(text), "s.json", stderr), 0);
	group_init(&reader, &group);
	read_keys(&reader, NULL, reader.root, group_keys, &group);
	group_check(&reader, &group, 4);
	assert_int_equal(reader_finish(&reader), 0);
	assert_int_equal(group.policies[0].chunk, 1 << 20);
	assert_int_equal(group.policies[1].guarantee, GUARANTEE_HARD);
	group_free(&group);
	free(text);
}
