/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with the action "shape": their keys, keys that exclude them, buffers, description, and
 * changes at a reload.
 */
#include "check.h"

#include "config_cases.h"

#include "config/buffers.h"
#include "config/describe.h"
#include "config/load.h"
#include "config/compare.h"

#define SHAPED(members) LIMITED(", 'action': 'shape'" members)
#define SHAPE(members)  SHAPED(", 'shape': {" members "}")
#define CODEL(members)  SHAPE("'drop': 'codel'" members)

TEST(test_values)
{
	static const struct config_case cases[] = {
		{SHAPED(""), ""},
		{SHAPE(""), ""},
		{SHAPED(", 'shape': true"), "p0.shape: not_object"},
		{SHAPE("'dealy': '1s'"), "p0.shape.dealy: unknown_key: did you mean 'delay'?"},
		{SHAPE("'delay': '10s', 'queue': '1MB'"), ""},
		{SHAPE("'delay': 100"), "p0.shape.delay: wrong_value"},
		{SHAPE("'queue': 100"), "p0.shape.queue: wrong_value"},
		{SHAPE("'drop': 'tail'"), ""},
		{SHAPE("'drop': 'red'"), "p0.shape.drop: wrong_choice"},
		{CODEL(", 'target': '100us', 'interval': '1ms', 'ecn': true"), ""},
		{CODEL(", 'ecn': 1"), "p0.shape.ecn: not_bool"},
		/* Any bucket size: waiting packets get their tokens in the end. */
		{SHAPED(", 'burst': '1B'"), ""},
		{SHAPED(", 'slo': {'p99': '1us'}"), ""},
		{SHAPED(", 'slo': {}"), "p0.slo.p99: wrong_value"},
		{0},
	};

	run_cases(cases);
}

TEST(test_with_other_keys)
{
	static const struct config_case cases[] = {
		{LIMITED(", 'shape': {}"), "p0.shape: key_required: 'action': 'shape'"},
		{LIMITED(", 'action': 'mark', 'slo': {'p99': '1ms'}"),
			"p0.slo: key_required: 'action': 'shape'"},
		{SHAPED(", 'mark': 8"), "p0.mark: key_required: 'action': 'mark'"},
		{SHAPED(", 'meter': 'token-bucket'"), ""},
		{SHAPED(", 'meter': 'gcra'"), "p0.meter: not_with_shape: 'token-bucket'"},
		{SHAPED(", 'meter': 'random-drop'"), "p0.meter: not_with_shape: 'token-bucket'"},
		{SHAPED(", 'per': 'src'"), "p0.per: key_excluded: 'action': 'shape'*"},
		{SHAPED(", 'allocator': 'fps'"), ""},
		{SHAPED(", 'allocator': 'gtb'"), "p0.allocator: allocator_excludes_shape"},
		{SHAPED(", 'allocator': 'grd'"), "p0.allocator: allocator_excludes_shape"},
		{SHAPED(", 'allocator': 'quota', 'total': '5TB'"),
			"p0.allocator: allocator_excludes_shape"},
		{SHAPED(", 'guarantee': 'hard'"), ""},
		{POLICY(", 'limit': '500/s', 'count': 'packets', 'action': 'shape', "
			"'shape': {'queue': 100}"),
			""},
		{POLICY(", 'limit': '500/s', 'count': 'flows', 'action': 'shape'"),
			"p0.count: not_with_shape: 'bytes' or 'packets'"},
		{SHAPE("'target': '5ms'"), "p0.shape.target: key_required: 'drop': 'codel'"},
		{SHAPE("'drop': 'tail', 'ecn': false"),
			"p0.shape.ecn: key_required: 'drop': 'codel'"},
		{CODEL(", 'target': '99ms'"), ""},
		{CODEL(", 'target': '100ms'"), "p0.shape.target: target_above_interval"},
		{CODEL(", 'target': '5ms', 'delay': '5ms'"), "p0.shape.target: target_above_delay"},
		/* A value with an error has one message. */
		{LIMITED(", 'action': 'shpae', 'shape': {}"),
			"p0.action: wrong_choice: *did you mean 'shape'?"},
		{SHAPE("'drop': 'red', 'target': '5ms'"), "p0.shape.drop: wrong_choice"},
		{0},
	};

	run_cases(cases);
}

TEST(test_box)
{
#define POOL(share) DOC(", 'shape': {'pool': " share "}")
#define BUFFERS(n)                                                                           \
	NET("'ports': {'lan': {'device': 'net_null0', 'buffers': " n "}, 'wan': {'device': " \
	    "'net_null1'}}, " WIRES)
	static const struct config_case cases[] = {
		{POOL("'1%'"), ""},
		{POOL("'99%'"), ""},
		{POOL("'0%'"), "shape.pool: pool_range"},
		{POOL("'100%'"), "shape.pool: pool_range"},
		{POOL("' 50%'"), "shape.pool: pool_range"},
		{POOL("'50'"), "shape.pool: pool_range"},
		{POOL("0.5"), "shape.pool: pool_range"},
		{BUFFERS("4096"), ""},
		{BUFFERS("'2.4M'"), ""},
		{0},
	};

	run_cases(cases);
}

TEST(test_parsed)
{
	struct config *config = must_parse(SHAPED(""));
	const struct policy *policy = config->policies;

	assert_int_equal(policy->action, ACTION_SHAPE);
	assert_int_equal(policy->shape.delay_ns, 100000000);
	assert_int_equal(policy->shape.bytes, 0);
	assert_int_equal(policy->shape.target_ns, 5000000);
	assert_int_equal(policy->shape.interval_ns, 100000000);
	assert_false(policy->shape.ecn);
	assert_int_equal(policy->slo_p99_ns, 0);
	assert_true(fabs(config->shape_pool - 0.5) < 1e-9);
	config_free(config);
	config = must_parse(CODEL(", 'delay': '2s', 'queue': '1MB', 'target': '1ms', 'interval': "
				  "'20ms', 'ecn': true}, 'slo': {'p99': '3ms'"));
	policy = config->policies;
	assert_int_equal(policy->shape.delay_ns, 2000000000);
	assert_int_equal(policy->shape.bytes, 1000000);
	assert_int_equal(policy->shape.drop, SHAPE_DROP_CODEL);
	assert_int_equal(policy->shape.target_ns, 1000000);
	assert_int_equal(policy->shape.interval_ns, 20000000);
	assert_true(policy->shape.ecn);
	assert_int_equal(policy->slo_p99_ns, 3000000);
	config_free(config);
}

/*
 * The default number of buffers is enough for the queues of all workers, within bounds; otherwise a
 * warning.
 */
TEST(test_buffers)
{
#define LIMIT(limit, members)  LIMIT_OF("", limit, members)
#define LIMIT2(limit, members) LIMIT_OF("'workers': [1, 2], ", limit, members)
#define LIMIT_OF(more, limit, members)                                                     \
	"{'limiter': 'me', " more "'ports': {'lan': {'device': 'net_null0'" members "}}, " \
	"'wires': [], 'policies': [{'name': 'p', 'limit': '" limit "', 'action': 'shape'}]}"
#define WAITING(policies)                                                            \
	"{'limiter': 'me', 'ports': {'lan': {'device': 'net_null0'}}, 'wires': [], " \
	"'policies': [" policies "]}"
#define POOL30 "'shape': {'pool': '30%'}, "
#define POOL70 "'shape': {'pool': '70%'}, "
	static const struct {
		const char *document;
		uint32_t buffers, waiting;
		bool warns;
	} cases[] = {
		{DOC(""), 4096, 2048, false},
		{LIMIT("10Mbit/s", ""), 16384, 8192, false},
		/* 125 kB wait, 84 packets, on each of two workers. */
		{LIMIT2("10Mbit/s", ""), 16384, 4096, false},
		/* 12500 kB wait: 8334 packets of 1500 bytes. */
		{LIMIT("1Gbit/s", ""), 16668, 8334, false},
		{LIMIT("1Gbit/s", ", 'buffers': 16668"), 16668, 8334, false},
		{LIMIT("1Gbit/s", ", 'buffers': 16666"), 16666, 8333, true},
		{LIMIT2("1Gbit/s", ""), 33336, 8334, false},
		{LIMIT2("1Gbit/s", ", 'buffers': 33334"), 33334, 8333, true},
		/* A fraction of a packet is no shortage. */
		{LIMIT_OF(POOL30, "1Gbit/s", ""), 27780, 8334, false},
		{LIMIT_OF(POOL70, "999.96Mbit/s", ""), 16384, 11468, false},
		{LIMIT_OF(POOL70, "1500Mbit/s", ""), 17859, 12501, false},
		{LIMIT("10Gbit/s", ""), 65536, 32768, true},
		/* Queues of several policies, at the time of day with the longest queues. */
		{WAITING("{'name': 'p', 'match': {'vlan': 1}, 'limit': '500Mbit/s', 'action': "
			 "'shape'}, {'name': 'q', 'match': {'vlan': 2}, 'limit': '500Mbit/s', "
			 "'action': 'shape'}, {'name': 'r', 'limit': '500Mbit/s'}"),
			16668, 8334, false},
		{WAITING("{'name': 'p', 'limit': '10Mbit/s', 'action': 'shape', 'schedule': "
			 "{'zone': 'UTC', 'entries': [{'from': '01:00', 'to': '02:00', 'limit': "
			 "'1Gbit/s'}, {'from': '02:00', 'to': '03:00', 'limit': '20Mbit/s'}]}}"),
			16668, 8334, false},
		{WAITING("{'name': 'p', 'limit': '10Mbit/s', 'action': 'shape', 'schedule': "
			 "{'zone': 'UTC', 'entries': [{'from': '01:00', 'to': '02:00', 'limit': "
			 "'20Mbit/s'}, {'from': '02:00', 'to': '03:00', 'limit': '1Gbit/s'}]}}"),
			16668, 8334, false},
		/* At most the size of the queue. */
		{WAITING("{'name': 'p', 'limit': '10Gbit/s', 'action': 'shape', 'shape': {'queue': "
			 "'15MB'}}"),
			20002, 10001, false},
		{WAITING("{'name': 'p', 'limit': '600k/min', 'count': 'packets', 'action': 'shape', "
			 "'shape': {'delay': '1s'}}"),
			20002, 10001, false},
		{LIMIT("10Gbit/s", ", 'buffers': '2M'"), 2000000, 1000000, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = with_quotes(cases[i].document), *messages;
		struct config *config;

		assert_int_equal(parse_config_case(text, strlen(text), &messages, &config), 0);
		assert_int_equal(config_buffers(config, 0), cases[i].buffers);
		assert_int_equal(config_waiting(config), cases[i].waiting);
		assert_int_equal(strstr(messages, "shape_queues_larger") != NULL, cases[i].warns);
		config_free(config);
		free(messages);
		free(text);
	}
}

/* The minimum: each worker lets one packet wait. */
TEST(test_least)
{
#define TEN_CPUS(n) n "0, " n "1, " n "2, " n "3, " n "4, " n "5, " n "6, " n "7, " n "8, " n "9"
#define WORKERS41                                                                         \
	"'workers': [" TEN_CPUS("1") ", " TEN_CPUS("2") ", " TEN_CPUS("3") ", " TEN_CPUS( \
		"4") ", "                                                                 \
		     "50], 'shape': {'pool': '1%'}, "
	char *text = with_quotes(LIMIT_OF(WORKERS41, "10Mbit/s", ", 'buffers': 4096"));
	struct config *config;
	char *messages;

	assert_int_equal(parse_config_case(text, strlen(text), &messages, &config), 0);
	assert_int_equal(config_waiting(config), 1);
	assert_non_null(strstr(messages, "shape_few_buffers: 40, as set by 'buffers', 41\n"));
	config_free(config);
	free(messages);
	free(text);
}

/* Without ports no memory is needed for four thousand million packets. */
TEST(test_no_port)
{
	char *messages, *text = with_quotes(NET("'workers': [1, 2]"));
	struct config *config;

	assert_int_equal(parse_config_case(text, strlen(text), &messages, &config), 0);
	assert_lines(messages, "warning: wires: no_wires");
	assert_int_equal(config_waiting(config), 1);
	config_free(config);
	free(messages);
	free(text);
}

#define TIMED "; a new limit*later packets\n"
TEST(test_described)
{
	static const struct {
		const char *document, *lines;
	} cases[] = {
		{SHAPED(""), "  burst 125kB*waits (token bucket)\n"
			     "  waits at most 100ms; *full queue drops" TIMED},
		{SHAPE("'delay': '125ms'"), TIMED},
		{SHAPE("'delay': '126ms'"), "queue drops\n"},
		{SHAPE("'queue': '1MB'"), "  waits at most 100ms, 1MB in all; "},
		{SHAPE("'queue': '1MB', 'delay': '1s'"), "at most 1s, 1MB a worker; "},
		{CODEL(""), "; above 5ms for 100ms CoDel drops\n"},
		{CODEL(", 'ecn': true"), "CoDel marks, or drops*unmarkable packets\n"},
		{SHAPED(", 'slo': {'p99': '1ms'}"),
			"  target: 99 % of the packets wait at most 1ms\n"},
		{POLICY(", 'limit': '500/s', 'count': 'packets', 'action': 'shape', "
			"'shape': {'queue': 100}"),
			"at most 100ms, 100 a worker; *full queue drops\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config = must_parse(cases[i].document);
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		config_describe(config, out);
		fclose(out);
		if (!has_parts(text, cases[i].lines))
			fail_msg("not in\n%s\n: %s", text, cases[i].lines);
		free(text);
		config_free(config);
	}
}

static unsigned changes_between(const char *a, const char *b)
{
	struct config *old = must_parse(a), *config = must_parse(b);
	struct config_diff *diff;
	unsigned changes;

	assert_int_equal(config_diff(old, config, "w.json", stderr, &diff), 0);
	changes = diff->changes[0];
	config_diff_free(diff);
	config_free(old);
	config_free(config);
	return changes;
}

TEST(test_changes)
{
	assert_int_equal(changes_between(SHAPED(""), SHAPE("'delay': '100ms'")), 0);
	assert_int_equal(changes_between(LIMITED(""), SHAPED("")), POLICY_TERMS);
	assert_int_equal(changes_between(SHAPED(""), SHAPE("'delay': '99ms'")), POLICY_TERMS);
	assert_int_equal(changes_between(SHAPED(""), SHAPE("'queue': '1MB'")), POLICY_TERMS);
	assert_int_equal(changes_between(SHAPED(""), CODEL("")), POLICY_TERMS);
	assert_int_equal(changes_between(CODEL(""), CODEL(", 'target': '4ms'")), POLICY_TERMS);
	assert_int_equal(changes_between(CODEL(""), CODEL(", 'interval': '90ms'")), POLICY_TERMS);
	assert_int_equal(changes_between(CODEL(""), CODEL(", 'ecn': true")), POLICY_TERMS);
	assert_int_equal(
		changes_between(SHAPED(""), SHAPED(", 'slo': {'p99': '1ms'}")), POLICY_TERMS);
}

/* The sizes of pools cannot change. */
TEST(test_fixed)
{
	static const struct {
		const char *a, *b, *place;
	} cases[] = {
		{DOC(""), POOL("'51%'"), "shape.pool"},
		{NET(PORTS WIRES), BUFFERS("4096"), "ports.lan"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *a = must_parse(cases[i].a), *b = must_parse(cases[i].b);
		struct config_diff *diff;
		char *messages = NULL;
		size_t size;
		FILE *err = open_memstream(&messages, &size);

		assert_int_equal(config_diff(a, b, "w.json", err, &diff), -EINVAL);
		fclose(err);
		assert_non_null(strstr(messages, cases[i].place));
		free(messages);
		config_free(a);
		config_free(b);
	}
}
