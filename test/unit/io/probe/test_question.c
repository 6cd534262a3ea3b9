/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of which only a part is given: values of valid words, and messages about wrong ones.
 */
#include "check.h"

#include "probe/probe.h"

static struct probe_question question;
static char why[PROBE_WHY];

static int ask_words(const char *where, const char *first, const char *second)
{
	const char *const words[] = {where, first, second};

	memset(why, 0, sizeof(why));
	memset(&question, 0xee, sizeof(question));
	return probe_question(&question, words, second ? 3 : first ? 2 : 1, why);
}

static void check_where(const char *text, unsigned family, unsigned length, unsigned first)
{
	assert_int_equal(ask_words(text, NULL, NULL), 0);
	assert_int_equal(question.where.family, family);
	assert_int_equal(question.where.length, length);
	assert_int_equal(question.where.addr[0], first);
}

/* A field without a word matches anything. */
TEST(test_where)
{
	check_where("192.0.2.1", 4, 32, 192);
	check_where("192.0.2.0/24", 4, 24, 192);
	check_where("2001:db8::1", 6, 128, 0x20);
	check_where("2001:db8::/32", 6, 32, 0x20);
	assert_int_equal(question.match.wire, CONFIG_ANY);
	assert_int_equal(question.match.direction, DIRECTION_ANY);
	assert_int_equal(question.match.vlan, CONFIG_ANY);
	assert_int_equal(question.match.dscp, CONFIG_ANY);
	assert_int_equal(question.match.proto, 0);
	assert_int_equal(question.match.src_port.first | question.match.src_port.last, 0);
	assert_int_equal(question.match.dst_port.first | question.match.dst_port.last, 0);
	assert_string_equal(question.wire, "");
}

TEST(test_numbers)
{
	assert_int_equal(ask_words("::1", "proto=udp", NULL), 0);
	assert_int_equal(question.match.proto, 17);
	assert_int_equal(ask_words("::1", "proto=1", NULL), 0);
	assert_int_equal(question.match.proto, 1);
	assert_int_equal(ask_words("::1", "proto=255", NULL), 0);
	assert_int_equal(question.match.proto, 255);
	assert_int_equal(ask_words("::1", "sport=1", "dport=65535"), 0);
	assert_int_equal(question.match.src_port.first, 1);
	assert_int_equal(question.match.src_port.last, 1);
	assert_int_equal(question.match.dst_port.first, 65535);
	assert_int_equal(question.match.dst_port.last, 65535);
	assert_int_equal(ask_words("::1", "vlan=0", "dscp=0"), 0);
	assert_int_equal(question.match.vlan, 0);
	assert_int_equal(question.match.dscp, 0);
	assert_int_equal(ask_words("::1", "vlan=4094", "dscp=63"), 0);
	assert_int_equal(question.match.vlan, 4094);
	assert_int_equal(question.match.dscp, 63);
	assert_int_equal(ask_words("::1", "vlan=9", NULL), 0);
	assert_int_equal(question.match.vlan, 9);
	assert_int_equal(ask_words("::1", "dscp=ef", NULL), 0);
	assert_int_equal(question.match.dscp, 46);
	assert_int_equal(ask_words("::1", "dscp=cs0", NULL), 0);
	assert_int_equal(question.match.dscp, 0);
}

TEST(test_words)
{
	assert_int_equal(ask_words("::1", "wire=north", "direction=a-to-b"), 0);
	assert_string_equal(question.wire, "north");
	assert_int_equal(question.match.direction, DIRECTION_A_TO_B);
	assert_int_equal(ask_words("::1", "direction=b-to-a", NULL), 0);
	assert_int_equal(question.match.direction, DIRECTION_B_TO_A);
	assert_string_equal(question.wire, "");
}

#define PROTO     "a name such as \"udp\", or 1 to 255"
#define PORT      "1 to 65535"
#define DSCP      "0 to 63, or a name such as \"ef\""
#define ADDRESS   "an address, or a prefix without host bits"
#define DIRECTION "a-to-b or b-to-a"

TEST(test_refused)
{
	static const struct {
		const char *where, *word, *why;
	} rows[] = {
		{"192.0.2.1/24", NULL, "address: \"192.0.2.1/24\": expected " ADDRESS},
		{"", NULL, "address: \"\": expected " ADDRESS},
		{"192.0.2", NULL, "address: \"192.0.2\": expected " ADDRESS},
		{"2001:db8::1/129", NULL, "address: \"2001:db8::1/129\": expected " ADDRESS},
		{"1234567890123456789012345678901234567890123456789012345678901234567890", NULL,
			"address: \"1234567890123456789012345678901234567890\": expected " ADDRESS},
		{"::1", "proto=0", "proto: \"0\": expected " PROTO},
		{"::1", "proto=256", "proto: \"256\": expected " PROTO},
		{"::1", "proto=", "proto: \"\": expected " PROTO},
		{"::1", "proto=1x", "proto: \"1x\": expected " PROTO},
		{"::1", "proto=-1", "proto: \"-1\": expected " PROTO},
		{"::1", "proto= 1", "proto: \" 1\": expected " PROTO},
		{"::1", "sport=0", "sport: \"0\": expected " PORT},
		{"::1", "sport=65536", "sport: \"65536\": expected " PORT},
		{"::1", "dport=0", "dport: \"0\": expected " PORT},
		{"::1", "dport=99999999999999999999",
			"dport: \"99999999999999999999\": expected " PORT},
		{"::1", "vlan=4095", "vlan: \"4095\": expected 0 to 4094"},
		{"::1", "vlan=x", "vlan: \"x\": expected 0 to 4094"},
		{"::1", "dscp=64", "dscp: \"64\": expected " DSCP},
		{"::1", "dscp=af44", "dscp: \"af44\": expected " DSCP},
		{"::1", "wire=", "wire: \"\": expected a wire's name"},
		{"::1", "wire=a b", "wire: \"a b\": expected a wire's name"},
		{"::1", "direction=any", "direction: \"any\": expected " DIRECTION},
		{"::1", "direction=", "direction: \"\": expected " DIRECTION},
		{"::1", "port=1",
			"word: \"port=1\": expected proto=, sport=, dport=, vlan=, dscp=, wire= or "
			"direction="},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(ask_words(rows[i].where, rows[i].word, NULL), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
	/* The message is about the first mistake. */
	assert_int_equal(ask_words("::1", "vlan=x", "dscp=64"), -EINVAL);
	assert_string_equal(why, "vlan: \"x\": expected 0 to 4094");
	assert_int_equal(ask_words("x", "vlan=x", NULL), -EINVAL);
	assert_string_equal(why, "address: \"x\": expected " ADDRESS);
	assert_int_equal(probe_question(&question, NULL, 0, why), -EINVAL);
	assert_string_equal(why, "missing ADDRESS: expected an address or a prefix");
}
