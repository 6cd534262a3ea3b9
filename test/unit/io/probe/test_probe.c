/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets from words and from requests. The parser finds the same fields in the frame, a request
 * survives a round trip, and wrong words get a message.
 */
#include "check.h"

#include "packet/parse.h"
#include "probe/probe.h"

#define WORDS_MAX 12

/* Splits a text into words, each a string. */
static unsigned split(char *text, const char **words)
{
	unsigned n = 0;
	char *word;

	while ((word = strsep(&text, " ")) != NULL)
		words[n++] = word;
	return n;
}

static int tuple_of(const char *text, struct probe_packet *probe, char *why)
{
	const char *words[WORDS_MAX];
	char *copy = strdup(text);
	unsigned n = split(copy, words);
	int ret;

	probe_init(probe);
	ret = probe_tuple(probe, words, n, why);
	free(copy);
	return ret;
}

TEST(tuples)
{
	static const struct {
		const char *text;
		struct packet packet;
		uint32_t len;
	} rows[] = {
		{"10.0.0.1 10.0.0.2 udp 53 5353",
			{.family = 4,
				.proto = 17,
				.l2_len = 14,
				.vlan = PARSE_NO_VLAN,
				.src_port = 53,
				.dst_port = 5353},
			1514},
		{"10.0.0.1 10.0.0.2 tcp 1024 80 vlan=7 dscp=ef",
			{.family = 4,
				.proto = 6,
				.l2_len = 18,
				.vlan = 7,
				.dscp = 46,
				.src_port = 1024,
				.dst_port = 80,
				.tcp_flags = 2},
			1518},
		{"10.0.0.1 10.0.0.2 tcp 1024 80 flags=syn,ack length=60",
			{.family = 4,
				.proto = 6,
				.l2_len = 14,
				.vlan = PARSE_NO_VLAN,
				.src_port = 1024,
				.dst_port = 80,
				.tcp_flags = 18},
			60},
		{"2001:db8::1 2001:db8::2 udp 1 2 dscp=10",
			{.family = 6,
				.proto = 17,
				.l2_len = 14,
				.vlan = PARSE_NO_VLAN,
				.dscp = 10,
				.src_port = 1,
				.dst_port = 2},
			1514},
		{"10.0.0.1 10.0.0.2 udp vlan=7",
			{.family = 4, .proto = 17, .l2_len = 18, .vlan = 7}, 1518},
		{"2001:db8::1 2001:db8::2 50",
			{.family = 6, .proto = 50, .l2_len = 14, .vlan = PARSE_NO_VLAN}, 1514},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct packet *want = &rows[i].packet;
		struct probe_packet probe;
		struct packet got;
		char why[PROBE_WHY] = "";

		if (tuple_of(rows[i].text, &probe, why))
			fail_msg("%s: %s", rows[i].text, why);
		packet_parse(probe.frame, probe.bytes, &got);
		assert_int_equal(probe.len, rows[i].len);
		assert_int_equal(packet_ip_end(&got, probe.frame), rows[i].len);
		assert_int_equal(got.family, want->family);
		assert_int_equal(got.proto, want->proto);
		assert_int_equal(got.l2_len, want->l2_len);
		assert_int_equal(got.vlan, want->vlan);
		assert_int_equal(got.dscp, want->dscp);
		assert_int_equal(got.src_port, want->src_port);
		assert_int_equal(got.dst_port, want->dst_port);
		assert_int_equal(got.tcp_flags, want->tcp_flags);
		assert_int_equal(got.unparsed, UNPARSED_NONE);
	}
}

/* A frame as it would be on a wire, with every header whole. */
TEST(whole_frames)
{
	static const struct {
		const char *text, *request;
	} rows[] = {
		{"192.0.2.1 198.51.100.2 tcp 1024 80 vlan=7 dscp=ef flags=syn,ack length=62",
			"length=62 hex=020000000002020000000001"
			"81000007"
			"0800"
			"45b8002c0000000040068dddc0000201c6336402"
			"0400005000000000000000005012000000000000"},
		{"2001:db8::1 2001:db8:0:1::2 udp 53 5353 dscp=10 length=80 worker=2",
			"worker=2 length=80 hex=020000000002020000000001"
			"86dd"
			"62800000001a1140"
			"20010db8000000000000000000000001"
			"20010db8000000010000000000000002"
			"003514e9001a0000"},
		{"192.0.2.1 198.51.100.2 50 length=34", "length=34 hex=0200000000020200000000010800"
							"450000140000000040328e81c0000201c6336402"},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		char request[PROBE_REQUEST], why[PROBE_WHY];
		struct probe_packet probe;

		assert_int_equal(tuple_of(rows[i].text, &probe, why), 0);
		assert_true(probe_format(&probe, request, sizeof(request)));
		assert_string_equal(request, rows[i].request);
	}
}

/* The smallest and the largest of each number; one more is refused below. */
TEST(ends_of_numbers)
{
	static const struct {
		const char *text;
		struct packet packet;
		uint32_t len;
	} rows[] = {
		{"10.0.0.1 10.0.0.2 udp 0 0 vlan=0 dscp=0",
			{.proto = 17, .vlan = 0, .dscp = 0, .src_port = 0, .dst_port = 0}, 1518},
		{"10.0.0.1 10.0.0.2 udp 65535 65535 vlan=4094 dscp=63",
			{.proto = 17,
				.vlan = 4094,
				.dscp = 63,
				.src_port = 65535,
				.dst_port = 65535},
			1518},
		{"10.0.0.1 10.0.0.2 0", {.proto = 0, .vlan = PARSE_NO_VLAN}, 1514},
		{"10.0.0.1 10.0.0.2 255", {.proto = 255, .vlan = PARSE_NO_VLAN}, 1514},
		{"10.0.0.1 10.0.0.2 tcp 1 2 flags=fin+urg length=54",
			{.proto = 6,
				.vlan = PARSE_NO_VLAN,
				.src_port = 1,
				.dst_port = 2,
				.tcp_flags = 33},
			54},
		{"10.0.0.1 10.0.0.2 udp 1 2 length=65535",
			{.proto = 17, .vlan = PARSE_NO_VLAN, .src_port = 1, .dst_port = 2}, 65535},
	};
	struct probe_packet probe;
	char why[PROBE_WHY] = "";

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct packet *want = &rows[i].packet;
		struct packet got;

		if (tuple_of(rows[i].text, &probe, why))
			fail_msg("%s: %s", rows[i].text, why);
		packet_parse(probe.frame, probe.bytes, &got);
		assert_int_equal(probe.len, rows[i].len);
		assert_int_equal(got.proto, want->proto);
		assert_int_equal(got.vlan, want->vlan);
		assert_int_equal(got.dscp, want->dscp);
		assert_int_equal(got.src_port, want->src_port);
		assert_int_equal(got.dst_port, want->dst_port);
		assert_int_equal(got.tcp_flags, want->tcp_flags);
	}
	assert_int_equal(
		tuple_of("::1 ::2 udp 1 2 worker=63 direction=b-to-a length=62", &probe, why), 0);
	assert_int_equal(probe.worker, 63);
	assert_int_equal(probe.direction, DIRECTION_B_TO_A);
	assert_int_equal(probe.len, 62);
	assert_string_equal(probe.wire, "");
	assert_int_equal(tuple_of("::1 ::2 udp wire=w direction=a-to-b", &probe, why), 0);
	assert_int_equal(probe.worker, PROBE_ANY);
	assert_int_equal(probe.direction, DIRECTION_A_TO_B);
	assert_string_equal(probe.wire, "w");
}

TEST(refused_tuples)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"vlan=7 10.0.0.1 10.0.0.2 udp", "missing SRC: expected SRC DST PROTO"},
		{"10.0.0.1 10.0.0.2",
			"missing PROTO after DST \"10.0.0.2\": expected SRC DST PROTO"},
		{"::1", "missing DST after SRC \"::1\": expected SRC DST PROTO"},
		{"10.0.0", "src: \"10.0.0\": expected an address"},
		{"10.0.0 10.0.0.2 udp", "src: \"10.0.0\": expected an address"},
		{"10.0.0.1 2001:db8::1 udp", "dst: \"2001:db8::1\": expected an address of the"},
		{"10.0.0.1 10.0.0.2 utp", "proto: \"utp\": expected a name"},
		{"10.0.0.1 10.0.0.2 icmp 1", "sport: \"1\": expected no ports"},
		{"10.0.0.1 10.0.0.2 udp 65536", "sport: \"65536\": expected 0 to 65535"},
		{"10.0.0.1 10.0.0.2 udp 1 -1", "dport: \"-1\": expected 0 to 65535"},
		{"10.0.0.1 10.0.0.2 udp 1 2 vlan=4095", "vlan: \"4095\": expected 0 to 4094"},
		{"10.0.0.1 10.0.0.2 256", "proto: \"256\": expected a name"},
		{"10.0.0.1 10.0.0.2 udp 1 65536", "dport: \"65536\": expected 0 to 65535"},
		{"10.0.0.1 10.0.0.2 udp 1 2 3", "word: \"3\": expected SRC DST PROTO"},
		{"::1 ::2 udp 1 2 length=61", "length: \"61\": expected room"},
		{"10.0.0.1 10.0.0.2 udp 1 2 dscp=64", "dscp: \"64\": expected 0 to 63"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 flags=sin", "flags: \"sin\": expected flags"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 flags=syn,ack,syn,ack,syn,ack,syn,ack,syn,ack,fin",
			"flags: \"syn,ack,syn,ack,syn,ack,syn,ack,syn,ack,\": expected flags"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 length=53", "length: \"53\": expected room"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 length=65536",
			"length: \"65536\": expected 0 to 65535"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 direction=up", "direction: \"up\": expected a-to-b"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 worker=64", "worker: \"64\": expected 0 to 63"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 wire=", "wire: \"\": expected a wire's name"},
		{"10.0.0.1 10.0.0.2 tcp 1 2 colour=red", "word: \"colour=red\": expected vlan="},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct probe_packet probe;
		char why[PROBE_WHY] = "";

		assert_int_not_equal(tuple_of(rows[i].text, &probe, why), 0);
		if (strncmp(why, rows[i].why, strlen(rows[i].why)) != 0)
			fail_msg("%s: \"%s\", expected \"%s\"", rows[i].text, why, rows[i].why);
	}
}

TEST(requests_come_back)
{
	struct probe_packet probe, again;
	char text[PROBE_REQUEST], why[PROBE_WHY];

	probe_init(&probe);
	strcpy(probe.wire, "inside");
	probe.direction = DIRECTION_B_TO_A;
	probe.worker = 12;
	probe.len = 9018;
	probe.bytes = PROBE_FRAME;
	for (unsigned i = 0; i < PROBE_FRAME; i++)
		probe.frame[i] = (uint8_t)(i * 7);
	assert_true(probe_format(&probe, text, sizeof(text)));
	assert_int_equal(probe_parse(text, &again, why), 0);
	assert_memory_equal(&probe, &again, sizeof(probe));
	assert_int_equal(probe_parse("hex=0x00:11-22", &again, why), 0);
	assert_int_equal(again.bytes, 3);
	assert_int_equal(again.len, 3);
	assert_int_equal(again.worker, PROBE_ANY);
	assert_int_equal(probe_parse("hex=aFFaB9", &again, why), 0);
	assert_memory_equal(again.frame, "\xaf\xfa\xb9", 3);
}

/* There is room for any packet in a request; otherwise it is not written at all. */
TEST(requests_have_room)
{
	struct probe_packet probe;
	char text[PROBE_REQUEST] = "";

	probe_init(&probe);
	assert_false(probe_format(&probe, text, sizeof(text) - 1));
	probe.bytes = PROBE_FRAME + 1;
	assert_false(probe_format(&probe, text, sizeof(text)));
	assert_string_equal(text, "");
	probe.bytes = 0;
	strcpy(probe.wire, "w");
	assert_true(probe_format(&probe, text, sizeof(text)));
	assert_string_equal(text, "wire=w length=0 hex=");
}

TEST(refused_requests)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "hex: \"\": expected a frame"},
		{"length=4", "hex: \"\": expected a frame"},
		{"hex=", "hex: \"\": expected a frame"},
		{"hex=1", "hex: \"1\": expected two hexadecimal digits for each byte"},
		{"hex=00g0", "hex: \"g0\": expected two hexadecimal digits for each byte"},
		{"hex=000g", "hex: \"0g\": expected two hexadecimal digits for each byte"},
		{"hex=00/0", "hex: \"/0\": expected two hexadecimal digits for each byte"},
		{"hex=0011 length=1",
			"length: \"1\": expected no less than the bytes that are there"},
		{"hex=00 length=65536", "length: \"65536\": expected 0 to 65535"},
		{"hex=00 length=1x", "length: \"1x\": expected 0 to 65535"},
		{"hex=00 hue=1",
			"word: \"hue=1\": expected wire=, direction=, worker=, length= or hex="},
		{"hue=1 hex=0", "word: \"hue=1\": expected wire=, direction=, worker=, length= or "
				"hex="},
		{"hex=00 worker=x", "worker: \"x\": expected 0 to 63"},
		{"hex=00 wire=a/b", "wire: \"a/b\": expected a wire's name"},
	};
	struct probe_packet probe;
	char why[PROBE_WHY], text[2 * PROBE_FRAME + 16];

	for (unsigned i = 0; i < COUNT(rows); i++) {
		why[0] = '\0';
		assert_int_equal(probe_parse(rows[i].text, &probe, why), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
	memset(text, '0', sizeof(text));
	memcpy(text, "hex=", 4);
	text[4 + 2 * PROBE_FRAME] = '\0';
	assert_int_equal(probe_parse(text, &probe, why), 0);
	text[4 + 2 * PROBE_FRAME] = '0';
	text[4 + 2 * PROBE_FRAME + 2] = '\0';
	assert_int_equal(probe_parse(text, &probe, why), -EINVAL);
	assert_string_equal(why, "hex: \"00\": expected at most 1900 bytes; use length= for more");
}
