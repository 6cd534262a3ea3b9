/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Texts for names, devices, addresses, prefixes and ports: a table of each, in pairs that are just
 * valid and just invalid.
 */
#include "check.h"

#include <arpa/inet.h>

#include "policy/config.h"
#include "policy/value.h"

#define X63 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

TEST(test_names)
{
	static const char *const good[] = {"a", "Z", "0", "_", ".", "-", "a-B_c.9", X63};
	static const char *const bad[] = {"", X63 "x", "a b", "a/b", "a,b", "\xc3\xa9", "a\n"};

	for (size_t i = 0; i < COUNT(good); i++)
		if (!name_valid(good[i]))
			fail_msg("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (name_valid(bad[i]))
			fail_msg("\"%s\" is taken", bad[i]);
}

TEST(test_devices)
{
	static const char *const good[] = {"0000:03:00.0", "abcd:EF:1f.7", "10000:01:00.0",
		"00000001:01:00.0", "0000:03:00.0,a=1,b=2", "0000:03:00.0,", "net_null0",
		"net_af_packet0,iface=eth1", "net_X", "net_af_xdp9,iface=e:th/0.1"};
	static const char *const bad[] = {"", "03:00.0", "000:03:00.0", "000000001:01:00.0",
		"0000:3:00.0", "0000:003:00.0", "0000:03:0.0", "0000:03:000.0", "0000::03:00.0",
		"0000:03::00.0", "0000:03:00..0", "0000:03:00.8", "0000:03:00.", "0000:03:00",
		"0000:03:00.00", "0000.03:00.0", "000g:03:00.0", "0000:03:00.0 ", "0000:03:00.0;a",
		" 0000:03:00.0", "net_", "net_,iface=x", "eth0", "net-null0", "net_nu ll",
		"net_null0,iface=\x7f", "net_null0,iface=\t", "net_null.0"};
	char text[CONFIG_DEVICE_MAX + 2];

	for (size_t i = 0; i < COUNT(good); i++)
		if (!device_valid(good[i]))
			fail_msg("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (device_valid(bad[i]))
			fail_msg("\"%s\" is taken", bad[i]);
	/* Shorter than its field by one. */
	snprintf(text, sizeof(text), "%-*s", CONFIG_DEVICE_MAX - 1, "net_null0,");
	for (char *at = text; *at; at++)
		*at = *at == ' ' ? 'x' : *at;
	assert_true(device_valid(text));
	strcat(text, "x");
	assert_false(device_valid(text));
	assert_int_equal(device_id_length("net_null0,a=1,b"), 9);
	assert_int_equal(device_id_length("net_null0"), 9);
}

TEST(test_addresses)
{
	static const struct {
		const char *text;
		bool any, one;
		const char *format; /* NULL: unchanged; "": refused */
	} rows[] = {
		{"10.0.0.1:7946", false, true, NULL},
		{"0.0.0.0:1", true, true, NULL},
		{"255.255.255.255:65535", false, false, NULL},
		{"255.255.255.254:65535", false, true, NULL},
		{"223.255.255.255:1", false, true, NULL},
		{"224.0.0.0:1", false, false, NULL},
		{"239.255.255.255:1", false, false, NULL},
		{"240.0.0.0:1", false, true, NULL},
		{"[::]:1", true, true, NULL},
		{"[::1]:1", false, true, NULL},
		{"[2001:db8::1]:7946", false, true, NULL},
		{"[2001:DB8:0::1]:07946", false, true, "[2001:db8::1]:7946"},
		{"[ff02::1]:1", false, false, NULL},
		{"[feff::1]:1", false, true, NULL},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535", false, false,
			"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
		{"10.0.0.1:0", .format = ""},
		{"10.0.0.1:65536", .format = ""},
		{"10.0.0.1:123456", .format = ""},
		{"10.0.0.1:", .format = ""},
		{"10.0.0.1:1x", .format = ""},
		{"10.0.0.1:+1", .format = ""},
		{"10.0.0.1: 1", .format = ""},
		{"10.0.0.1", .format = ""},
		{"10.0.0:1", .format = ""},
		{"10.0.0.256:1", .format = ""},
		{":1", .format = ""},
		{"[::1]", .format = ""},
		{"[::1:1", .format = ""},
		{"[::1]1", .format = ""},
		{"[::1]x:1", .format = ""},
		{"::1:1", .format = ""},
		{"[10.0.0.1]:1", .format = ""},
		{"[::g]:1", .format = ""},
		{"[]:1", .format = ""},
		{"[1111111111111111111111111111111111111111111111]:1", .format = ""},
		{"localhost:1", .format = ""},
		{"", .format = ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *expected = rows[i].format ? rows[i].format : rows[i].text;
		struct sockaddr_storage address, zeroed = {0};
		char text[ADDRESS_TEXT_MAX];
		socklen_t len = 99;
		int ret;

		memset(&address, 0xee, sizeof(address));
		ret = address_parse(rows[i].text, &address, &len);
		if (ret != (*expected ? 0 : -EINVAL))
			fail_msg("\"%s\": %d", rows[i].text, ret);
		if (ret) {
			assert_int_equal(len, 99);
			continue;
		}
		assert_int_equal(len, *rows[i].text == '[' ? sizeof(struct sockaddr_in6)
							   : sizeof(struct sockaddr_in));
		assert_memory_equal(
			(char *)&address + len, (char *)&zeroed + len, sizeof(address) - len);
		assert_string_equal(address_format(&address, text, sizeof(text)), expected);
		assert_int_equal(address_is_any(&address), rows[i].any);
		assert_int_equal(address_is_one_host(&address), rows[i].one);
	}
}

TEST(test_prefixes)
{
	static const struct {
		const char *text;
		int ret;
		const char *format; /* NULL: unchanged */
	} rows[] = {
		{"192.0.2.0/24", 0, NULL},
		{"0.0.0.0/0", 0, NULL},
		{"192.0.2.1/32", 0, NULL},
		{"192.0.2.254/31", 0, NULL},
		{"192.0.2.255/31", -EDOM, "192.0.2.254/31"},
		{"192.0.2.128/25", 0, NULL},
		{"192.0.2.128/24", -EDOM, "192.0.2.0/24"},
		{"192.0.3.0/23", -EDOM, "192.0.2.0/23"},
		{"128.0.0.0/1", 0, NULL},
		{"64.0.0.0/1", -EDOM, "0.0.0.0/1"},
		{"0.0.0.1/0", -EDOM, "0.0.0.0/0"},
		{"::/0", 0, NULL},
		{"2001:db8::/32", 0, NULL},
		{"2001:db8::1/128", 0, NULL},
		{"2001:db8::1/127", -EDOM, "2001:db8::/127"},
		{"2001:db9::/31", -EDOM, "2001:db8::/31"},
		{"2001:DB8::/032", 0, "2001:db8::/32"},
		{"192.0.2.0/33", -EINVAL, ""},
		{"2001:db8::/129", -EINVAL, ""},
		{"192.0.2.0/", -EINVAL, ""},
		{"192.0.2.0", -EINVAL, ""},
		{"192.0.2.0/24x", -EINVAL, ""},
		{"192.0.2.0/0024", -EINVAL, ""},
		{"192.0.2.0/-1", -EINVAL, ""},
		{"192.0.2/24", -EINVAL, ""},
		{"/24", -EINVAL, ""},
		{"1111111111111111111111111111111111111111111111/1", -EINVAL, ""},
		{"any", -EINVAL, ""},
		{"", -EINVAL, ""},
	};
	const struct prefix any = {0};
	char text[PREFIX_TEXT_MAX];

	assert_string_equal(prefix_format(&any, text, sizeof(text)), "any");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct prefix prefix = {.family = 99};
		int ret = prefix_parse(rows[i].text, &prefix);

		if (ret != rows[i].ret)
			fail_msg("\"%s\": %d", rows[i].text, ret);
		if (ret == -EINVAL)
			assert_int_equal(prefix.family, 99);
		else
			assert_string_equal(prefix_format(&prefix, text, sizeof(text)),
				rows[i].format ? rows[i].format : rows[i].text);
	}
}

TEST(test_ports)
{
	static const struct {
		const char *text;
		uint16_t first, last; /* 0: refused */
	} rows[] = {
		{"1", 1, 1},
		{"443", 443, 443},
		{"65535", 65535, 65535},
		{"1-65535", 1, 65535},
		{"1024-2047", 1024, 2047},
		{"7-7", 7, 7},
		{"7-6", 0, 0},
		{"0", 0, 0},
		{"0-7", 0, 0},
		{"7-0", 0, 0},
		{"65536", 0, 0},
		{"1-65536", 0, 0},
		{"01", 0, 0},
		{"1-02", 0, 0},
		{"1-", 0, 0},
		{"-1", 0, 0},
		{"1-2-3", 0, 0},
		{"1,2", 0, 0},
		{"1-2 ", 0, 0},
		{"100000", 0, 0},
		{"", 0, 0},
		{"http", 0, 0},
	};
	const struct port_range any = {0};
	char text[PORTS_TEXT_MAX];

	assert_string_equal(port_range_format(&any, text, sizeof(text)), "any");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct port_range range = {99, 98};
		int ret = port_range_parse(rows[i].text, &range);

		if (ret != (rows[i].first ? 0 : -EINVAL))
			fail_msg("\"%s\": %d", rows[i].text, ret);
		assert_int_equal(range.first, ret ? 99 : rows[i].first);
		assert_int_equal(range.last, ret ? 98 : rows[i].last);
		if (ret == 0 && range.first != range.last)
			assert_string_equal(
				port_range_format(&range, text, sizeof(text)), rows[i].text);
	}
}

TEST(test_cpu_lists)
{
	static const struct {
		const char *text;
		int n;
		unsigned cpus[4];
	} rows[] = {
		{"0", 1, {0}},
		{"2-5", 4, {2, 3, 4, 5}},
		{"2-4,8", 4, {2, 3, 4, 8}},
		{"1,3,5,9", 4, {1, 3, 5, 9}},
		{"3-3", 1, {3}},
		{"9", 1, {9}},
		{"8-9", 2, {8, 9}},
		{"10", -EINVAL, {0}},
		{"8-10", -EINVAL, {0}},
		{"1,2,3,4,5", -EINVAL, {0}},
		{"2-6", -EINVAL, {0}},
		{"1-3,4", 4, {1, 2, 3, 4}},
		{"1-3,4-5", -EINVAL, {0}},

		{"4-3", -EINVAL, {0}},
		{"", -EINVAL, {0}},
		{",", -EINVAL, {0}},
		{"1,", -EINVAL, {0}},
		{",1", -EINVAL, {0}},
		{"1-", -EINVAL, {0}},
		{"-1", -EINVAL, {0}},
		{"1 ", -EINVAL, {0}},
		{"1-2-3", -EINVAL, {0}},
		{"x", -EINVAL, {0}},
		{"99999999999999999999", -EINVAL, {0}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned cpus[4] = {0};
		int n = cpu_list_parse(rows[i].text, 9, cpus, 4);

		if (n != rows[i].n)
			fail_msg("\"%s\": %d", rows[i].text, n);
		if (n > 0)
			assert_memory_equal(cpus, rows[i].cpus, (unsigned)n * sizeof(cpus[0]));
	}
}

/* Names are from RFC 2474, 2597, 3246, 5865 and 8622. */
TEST(test_dscps)
{
	static const struct {
		const char *text;
		int dscp;
	} rows[] = {
		{"be", 0},
		{"df", 0},
		{"le", 1},
		{"ef", 46},
		{"va", 44},
		{"EF", 46},
		{"eF", 46},
		{"cs0", 0},
		{"cs1", 8},
		{"cs5", 40},
		{"cs7", 56},
		{"CS6", 48},
		{"af11", 10},
		{"af12", 12},
		{"af13", 14},
		{"af21", 18},
		{"af41", 34},
		{"AF43", 38},
		{"cs8", -EINVAL},
		{"cs", -EINVAL},
		{"cs-1", -EINVAL},
		{"cs11", -EINVAL},
		{"af", -EINVAL},
		{"af1", -EINVAL},
		{"af01", -EINVAL},
		{"af10", -EINVAL},
		{"af14", -EINVAL},
		{"af51", -EINVAL},
		{"af411", -EINVAL},
		{"ef1", -EINVAL},
		{"e", -EINVAL},
		{"", -EINVAL},
		{"46", -EINVAL},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (dscp_parse(rows[i].text) != rows[i].dscp)
			fail_msg("\"%s\": %d", rows[i].text, dscp_parse(rows[i].text));
}

TEST(test_sources)
{
	static const struct {
		const char *text;
		int bits; /* or -EINVAL */
	} rows[] = {
		{"src", 0},
		{"src/1", 1},
		{"src/32", 32},
		{"src/64", 64},
		{"src/128", 128},
		{"src/129", -EINVAL},
		{"src/0", -EINVAL},
		{"src/01", -EINVAL},
		{"src/", -EINVAL},
		{"src/x", -EINVAL},
		{"src/1x", -EINVAL},
		{"src,1", -EINVAL},
		{"srcs", -EINVAL},
		{"sr", -EINVAL},
		{"", -EINVAL},
		{"dst", -EINVAL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned bits = 999;
		int ret = source_parse(rows[i].text, &bits);

		if (ret != (rows[i].bits < 0 ? rows[i].bits : 0))
			fail_msg("\"%s\": %d", rows[i].text, ret);
		assert_int_equal(bits, ret ? 999 : (unsigned)rows[i].bits);
	}
}

/* Protocol numbers of IANA, and their names. */
TEST(test_protocols)
{
	static const struct {
		const char *name;
		uint8_t number;
	} rows[] = {
		{"icmp", 1},
		{"tcp", 6},
		{"udp", 17},
		{"dccp", 33},
		{"gre", 47},
		{"esp", 50},
		{"icmpv6", 58},
		{"sctp", 132},
		{"udplite", 136},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(proto_number(rows[i].name), rows[i].number);
		assert_string_equal(proto_name(rows[i].number), rows[i].name);
	}
	assert_int_equal(proto_number("any"), 0);
	assert_int_equal(proto_number(""), 0);
	assert_null(proto_name(0));
	assert_null(proto_name(255));
	assert_string_equal(direction_name(DIRECTION_ANY), "any");
	assert_string_equal(direction_name(DIRECTION_A_TO_B), "a-to-b");
	assert_string_equal(direction_name(DIRECTION_B_TO_A), "b-to-a");
	assert_string_equal(accounting_name(ACCOUNTING_L2), "l2");
	assert_string_equal(accounting_name(ACCOUNTING_L3), "l3");
	assert_string_equal(accounting_name(ACCOUNTING_WIRE), "wire");
}
