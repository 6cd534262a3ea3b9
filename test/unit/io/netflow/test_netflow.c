/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Datagrams of both versions, byte by byte as in RFC 3954 and RFC 7011.
 */
#include "check.h"

#include <ctype.h>

#include "netflow/netflow.h"

#define DOMAIN 0x01020304
#define BEGAN  UINT64_C(1700000000500) /* ms */
#define BOOT   UINT64_C(1700000000000) /* 0x18bcfe56800, and 0x6553f100 s */
#define ENDED  (BOOT + 61900)          /* between 61 and 62 s later */

static unsigned hex_of(char digit)
{
	return isdigit((unsigned char)digit) ? (unsigned)(digit - '0')
					     : (unsigned)(digit - 'a' + 10);
}

/* Reads the bytes of an expectation in hex, with blanks anywhere. */
static size_t read_hex(const char *hex, uint8_t *bytes)
{
	size_t digits = 0;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		if (digits % 2 == 0)
			bytes[digits / 2] = 0;
		bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | hex_of(*hex));
		digits++;
	}
	return digits / 2;
}

static void assert_datagram(const struct netflow *netflow, size_t length, const char *hex)
{
	uint8_t want[NETFLOW_MOST];
	size_t n = read_hex(hex, want);

	assert_int_equal(length, n);
	assert_memory_equal(netflow->bytes, want, n);
}

static const struct netflow_record octets = {.packets = 3,
	.units = 4000,
	.unit = NETFLOW_OCTETS,
	.start_ms = BOOT + 50250,
	.end_ms = BOOT + 60251,
	.status = NETFLOW_DROPPED_POLICER,
	.application = 0x0a0b0c};
static const struct netflow_record packets = {.packets = 5,
	.units = 5,
	.unit = NETFLOW_NOTHING,
	.start_ms = BOOT + 1,
	.end_ms = BOOT + 2,
	.status = NETFLOW_FORWARDED,
	.application = 1};
static const struct netflow_record flows = {.packets = 6,
	.units = 2,
	.unit = NETFLOW_FLOWS,
	.start_ms = BOOT + 1,
	.end_ms = BOOT + 2,
	.status = NETFLOW_DROPPED_QUEUE,
	.application = 0xffffff};

TEST(test_v9_templates)
{
	struct netflow netflow;

	netflow_open(&netflow, NETFLOW_V9, DOMAIN, BEGAN);
	netflow_begin(&netflow, NETFLOW_LEAST);
	assert_true(netflow_add_templates(&netflow));
	assert_datagram(&netflow, netflow_end(&netflow, ENDED),
		"0009 0005 0000ee48 6553f13d 00000000 01020304"
		"0000 0054"
		"0100 0006 0001 0008 0002 0008 0016 0004 0015 0004 0059 0001 005f 0004"
		"0101 0005 0002 0008 0016 0004 0015 0004 0059 0001 005f 0004"
		"0102 0006 0003 0008 0002 0008 0016 0004 0015 0004 0059 0001 005f 0004"
		"0001 001c 0103 0004 000c 0001 0004 005f 0004 0060 0040 005e 0020 0000"
		"0001 0014 0104 0004 0004 0001 0004 012c 0040 0000");
}

#define ZEROS_16 "00000000000000000000000000000000"

TEST(test_v9_records)
{
	struct netflow netflow;

	netflow_open(&netflow, NETFLOW_V9, DOMAIN, BEGAN);
	netflow_begin(&netflow, NETFLOW_MOST);
	assert_true(netflow_add_domain(&netflow, "b1"));
	assert_true(netflow_add_name(&netflow, 0x0a0b0c, "p", "8kbit/s"));
	assert_true(netflow_add_record(&netflow, &octets));
	assert_true(netflow_add_record(&netflow, &octets));
	assert_true(netflow_add_record(&netflow, &packets));
	assert_true(netflow_add_record(&netflow, &flows));
	assert_datagram(&netflow, netflow_end(&netflow, ENDED),
		"0009 0006 0000ee48 6553f13d 00000000 01020304"
		"0104 0048 01020304"
		"6231" ZEROS_16 ZEROS_16 ZEROS_16 "0000000000000000000000000000"
		"0103 006c 01020304 060a0b0c"
		"70" ZEROS_16 ZEROS_16 ZEROS_16 "000000000000000000000000000000"
		"386b6269742f73 00" ZEROS_16 "0000000000000000"
		"0100 0040"
		"0000000000000fa0 0000000000000003 0000c44a 0000eb5b 8a 060a0b0c"
		"0000000000000fa0 0000000000000003 0000c44a 0000eb5b 8a 060a0b0c 0000"
		"0101 001c 0000000000000005 00000001 00000002 40 06000001 000000"
		"0102 0024 0000000000000002 0000000000000006 00000001 00000002 8b 06ffffff"
		"000000");
}

TEST(test_ipfix_templates)
{
	struct netflow netflow;

	netflow_open(&netflow, NETFLOW_IPFIX, DOMAIN, BEGAN);
	netflow_begin(&netflow, NETFLOW_LEAST);
	assert_true(netflow_add_templates(&netflow));
	assert_datagram(&netflow, netflow_end(&netflow, ENDED),
		"000a 0090 6553f13d 00000000 01020304"
		"0002 0054"
		"0100 0006 0001 0008 0002 0008 0098 0008 0099 0008 0059 0001 005f 0004"
		"0101 0005 0002 0008 0098 0008 0099 0008 0059 0001 005f 0004"
		"0102 0006 0003 0008 0002 0008 0098 0008 0099 0008 0059 0001 005f 0004"
		"0003 0018 0103 0003 0001 005f 0004 0060 ffff 005e ffff 0000"
		"0003 0014 0104 0002 0001 0095 0004 012c ffff 0000");
}

TEST(test_ipfix_records)
{
	struct netflow netflow;

	netflow_open(&netflow, NETFLOW_IPFIX, DOMAIN, BEGAN);
	netflow_begin(&netflow, NETFLOW_MOST);
	assert_true(netflow_add_domain(&netflow, "b1"));
	assert_true(netflow_add_name(&netflow, 0x0a0b0c, "p", "8kbit/s"));
	assert_true(netflow_add_name(&netflow, 1, "q", ""));
	assert_true(netflow_add_record(&netflow, &octets));
	assert_true(netflow_add_record(&netflow, &packets));
	assert_datagram(&netflow, netflow_end(&netflow, ENDED),
		"000a 0088 6553f13d 00000000 01020304"
		"0104 000c 01020304 02 6231 00"
		"0103 001c 060a0b0c 01 70 07 386b6269742f73"
		"06000001 01 71 00 000000"
		"0100 002c 0000000000000fa0 0000000000000003"
		"0000018bcfe62c4a 0000018bcfe6535b 8a 060a0b0c 000000"
		"0101 0024 0000000000000005 0000018bcfe56801 0000018bcfe56802 40 06000001 000000");
}

static uint32_t sequence_of(const struct netflow *netflow)
{
	const uint8_t *at = netflow->bytes + (netflow->version == NETFLOW_V9 ? 12 : 8);

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Version 9 counts datagrams; IPFIX counts the records before a datagram, without templates. */
TEST(test_sequences)
{
	static const struct {
		enum netflow_version version;
		uint32_t want[3];
	} cases[] = {{NETFLOW_V9, {0, 1, 2}}, {NETFLOW_IPFIX, {0, 1, 3}}};
	struct netflow netflow;

	for (size_t i = 0; i < 2; i++) {
		netflow_open(&netflow, cases[i].version, DOMAIN, BEGAN);
		for (unsigned k = 0; k < 3; k++) {
			netflow_begin(&netflow, NETFLOW_MOST);
			assert_true(netflow_add_templates(&netflow));
			for (unsigned n = 0; n <= k; n++)
				assert_true(netflow_add_record(&netflow, &octets));
			assert_true(netflow_end(&netflow, ENDED) > 0);
			assert_int_equal(sequence_of(&netflow), cases[i].want[k]);
		}
		netflow_begin(&netflow, NETFLOW_MOST);
		assert_int_equal(netflow_end(&netflow, ENDED), 0);
		assert_int_equal(netflow.sequence, i ? 6 : 3);
		netflow.sequence = UINT32_MAX; /* wraps around */
		assert_true(netflow_add_record(&netflow, &octets));
		assert_true(netflow_end(&netflow, ENDED) > 0);
		assert_int_equal(netflow.sequence, 0);
	}
}

/* With any contents a datagram is at most as long as allowed, and takes as many records as fit. */
TEST(test_room)
{
	struct netflow netflow;

	for (unsigned version = NETFLOW_V9; version <= NETFLOW_IPFIX; version++)
		for (size_t most = NETFLOW_LEAST; most <= NETFLOW_MOST; most++) {
			unsigned n = 0;
			size_t length;

			netflow_open(&netflow, version, DOMAIN, BEGAN);
			netflow_begin(&netflow, most);
			assert_true(netflow_add_templates(&netflow));
			assert_true(netflow_add_name(&netflow, 1, "name", "description"));
			while (netflow_add_record(&netflow, n % 3 ? &octets : &flows))
				n++;
			length = netflow_end(&netflow, ENDED);
			assert_true(length <= most && length > most - 56);
			assert_true(n > 2);
		}
}

static void assert_text(const char *text, size_t most, const char *want)
{
	uint8_t out[64];
	size_t n = netflow_text(out, most, text);

	assert_int_equal(n, strlen(want));
	assert_memory_equal(out, want, n);
}

/* Exported text is printable UTF-8, and not cut inside a character. */
TEST(test_texts)
{
	char longest[200];

	assert_text("", 8, "");
	assert_text("caf\xc3\xa9", 8, "caf\xc3\xa9");
	assert_text("caf\xc3\xa9", 5, "caf\xc3\xa9");
	assert_text("caf\xc3\xa9", 4, "caf");
	assert_text("\xe2\x82\xac \xf0\x9f\x98\x80", 8, "\xe2\x82\xac \xf0\x9f\x98\x80");
	assert_text("\xe2\x82\xac \xf0\x9f\x98\x80", 7, "\xe2\x82\xac ");
	assert_text("a\nb\x7f", 8, "a?b?");
	assert_text("\xc3", 8, "?");                     /* ends inside a character */
	assert_text("\xc0\xaf\xe0\x80\xaf", 8, "?????"); /* overlong forms */
	assert_text("\xed\xa0\x80", 8, "???");           /* a surrogate of UTF-16 */
	assert_text("\xf4\x90\x80\x80\xff", 8, "?????"); /* beyond U+10FFFF */
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_text(longest, 5, "xxxxx");
}

/* The field of a name of any length ends with a zero, or is full. */
TEST(test_long_names)
{
	struct netflow netflow;
	char longest[200];

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	netflow_open(&netflow, NETFLOW_V9, DOMAIN, BEGAN);
	assert_true(netflow_add_name(&netflow, 1, longest, longest));
	assert_int_equal(netflow_end(&netflow, ENDED), 20 + 4 + 8 + 64 + 32);
	assert_int_equal(netflow.bytes[20 + 4 + 8 + 62], 'x');
	assert_int_equal(netflow.bytes[20 + 4 + 8 + 63], 0);
	assert_int_equal(netflow.bytes[20 + 4 + 8 + 64 + 31], 0);
	netflow_open(&netflow, NETFLOW_IPFIX, DOMAIN, BEGAN);
	assert_true(netflow_add_name(&netflow, 1, longest, longest));
	assert_int_equal(netflow_end(&netflow, ENDED), 16 + 4 + 4 + 64 + 32);
	assert_int_equal(netflow.bytes[16 + 4 + 4], 63);
	assert_int_equal(netflow.bytes[16 + 4 + 4 + 64], 31);
}
