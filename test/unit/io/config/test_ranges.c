/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A value with a range is accepted up to both ends, and refused one unit beyond them.
 */
#include "check.h"

#include "config_cases.h"

#define WIRE(members) \
	NET(PORTS "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'fail': 'open'" members "}]")
#define PORT(members)                                                                 \
	NET("'ports': {'lan': {'device': 'net_null0'" members "}, 'wan': {'device': " \
	    "'net_null1'}}, " WIRES)
#define PACKETS(members) POLICY(", 'count': 'packets', " members)
#define SHAPE(members)   LIMITED(", 'action': 'shape', 'shape': {" members "}")
#define TOTAL(members)   POLICY(", 'allocator': 'quota', " members)

/* 'V' stands for the value. */
static const struct {
	const char *document, *below, *least, *most, *above, *expected;
} rows[] = {
	{WIRE(", 'fail_after': 'V'"), "19999999ns", "20ms", "10s", "10000000001ns", "20ms to 10s"},
	{PORT(", 'buffers': 'V'"), "4095", "4096", "100M", "100000001", "4096 to 100M"},
	{DOC(", 'control': {'watchdog': 'V'}"), "499999999ns", "500ms", "3600s", "3600000000001ns",
		"500ms to 3600s"},
	{GOSSIP("'differs_alarm': 'V'"), "999999999ns", "1s", "24h", "86400000000001ns",
		"1s to 24h"},
	{GOSSIP("'timeout': 'V'"), "99999999ns", "100ms", "3600s", "3600000000001ns",
		"100ms to 3600s"},
	{GOSSIP("'datagram': 'V'"), "255B", "256B", "8972B", "8973B", "256B to 8972B"},
	{DOC(", 'ledger': {'lease': 'V'}"), "199999999ns", "200ms", "24h", "86400000000001ns",
		"200ms to 24h"},
	{POLICY(", 'limit': 'V'"), "7999bit/s", "8kbit/s", "400Gbit/s", "400000000001bit/s",
		"8kbit/s to 400Gbit/s"},
	{LIMITED(", 'burst': 'V'"), "0B", "1B", "4GiB", "4294967297B", "1B to 4GiB"},
	{PACKETS("'limit': '1k/s', 'burst': 'V'"), "0", "1", "1G", "1000000001", "1 to 1G"},
	{LIMITED(", 'meter': 'hybrid', 'window': 'V'"), "9999999ns", "10ms", "24h",
		"86400000000001ns", "10ms to 24h"},
	{LIMITED(", 'interval': 'V'"), "9999999ns", "10ms", "1s", "1000000001ns", "10ms to 1s"},
	{LIMITED(", 'allocator': 'adaptor', 'history': 'V'"), "199999999ns", "200ms", "1h",
		"3600000000001ns", "200ms to 1h"},
	{LIMITED(", 'allocator': 'adaptor', 'step': 'V'"), "99999999ns", "100ms", "600s",
		"600000000001ns", "100ms to 600s"},
	{LIMITED(", 'place': {'round': 'V'}"), "99999999ns", "100ms", "60s", "60000000001ns",
		"100ms to 60s"},
	{SHAPE("'delay': 'V'"), "999999ns", "1ms", "10s", "10000000001ns", "1ms to 10s"},
	{SHAPE("'queue': 'V'"), "0B", "1B", "4GiB", "4294967297B", "1B to 4GiB"},
	{SHAPE("'drop': 'codel', 'target': 'V'"), "99999ns", "100us", "1s", "1000000001ns",
		"100us to 1s"},
	{SHAPE("'drop': 'codel', 'interval': 'V'"), "999999ns", "1ms", "10s", "10000000001ns",
		"1ms to 10s"},
	{LIMITED(", 'slo': {'p99': 'V'}"), "999ns", "1us", "10s", "10000000001ns", "1us to 10s"},
	{TOTAL("'total': 'V'"), "0B", "1B", "1000PB", "1000000000000000001B", "1B to 1000PB"},
	{TOTAL("'total': '1GB', 'period': 'V'"), "59999999999ns", "1min", "8784h",
		"31622400000000001ns", "1min to 8784h"},
};

static bool is_out_of_range(const char *document, const char *value, const char *expected)
{
	const char *at = strstr(document, "'V'");
	char words[64], *whole, *text, *messages;
	struct config *config;
	bool refused;

	assert_non_null(at);
	assert_true(
		asprintf(&whole, "%.*s'%s'%s", (int)(at - document), document, value, at + 3) > 0);
	text = with_quotes(whole);
	parse_config_case(text, strlen(text), &messages, &config);
	snprintf(words, sizeof(words), ": out_of_range: %s\n", expected);
	refused = strstr(messages, words) != NULL;
	/* Other messages are possible, but the value must have been read. */
	if (!refused && strstr(messages, "unknown_key"))
		fail_msg("%s\n%s", text, messages);
	config_free(config);
	free(messages);
	free(whole);
	free(text);
	return refused;
}

TEST(test_ranges)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct {
			const char *value;
			bool refused;
		} values[] = {{rows[i].below, true}, {rows[i].least, false}, {rows[i].most, false},
			{rows[i].above, true}};

		for (size_t k = 0; k < COUNT(values); k++)
			if (is_out_of_range(rows[i].document, values[k].value, rows[i].expected) !=
				values[k].refused)
				fail_msg("%s: \"%s\", of %s", rows[i].document, values[k].value,
					rows[i].expected);
	}
}
