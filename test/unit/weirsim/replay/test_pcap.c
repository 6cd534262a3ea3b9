/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Captures are put together in memory, in both byte orders, read whole, and cut at every byte: what
 * is before the cut must still come out, and nothing else.
 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pcap.h"

#define COUNT(a)    (sizeof(a) / sizeof((a)[0]))
#define PACKETS_MAX 8
#define FILE_MAX    4096

#define SECOND   UINT64_C(1000000000)
#define US       0xa1b2c3d4
#define NS       0xa1b23c4d
#define SHB      0x0a0d0d0a
#define BOM      0x1a2b3c4d
#define TSRESOL  9
#define FCSLEN   13
#define TSOFFSET 14

enum { IDB = 1, PACKET = 2, SIMPLE = 3, NAMES = 4, EPB = 6, CUSTOM = 0xbad };

/* A capture under construction, and where its packets' records end. */
struct capture {
	bool big;
	uint8_t bytes[FILE_MAX];
	size_t len;
	size_t begin; /* of the block that is open */
	size_t ends[PACKETS_MAX];
	unsigned n;
};

static void put(struct capture *c, uint64_t value, unsigned size)
{
	assert_true(c->len + size <= sizeof(c->bytes));
	for (unsigned i = 0; i < size; i++)
		c->bytes[c->len++] = (uint8_t)(value >> 8 * (c->big ? size - 1 - i : i));
}

static void put16(struct capture *c, uint16_t value)
{
	put(c, value, 2);
}

static void put32(struct capture *c, uint32_t value)
{
	put(c, value, 4);
}

/* The data of packet k: n bytes that no other packet has. */
static uint8_t data_byte(unsigned k, uint32_t i)
{
	return (uint8_t)(k * 31 + i + 1);
}

static void put_data(struct capture *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put(c, data_byte(c->n, i), 1);
}

static void pad(struct capture *c)
{
	while (c->len % 4 != 0)
		put(c, 0, 1);
}

static void classic(struct capture *c, uint32_t magic, uint32_t link)
{
	put32(c, magic);
	put16(c, 2);
	put16(c, 4);
	put32(c, 0);
	put32(c, 0);
	put32(c, 65535);
	put32(c, link);
}

static void classic_packet(
	struct capture *c, uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t bytes)
{
	put32(c, seconds);
	put32(c, fraction);
	put32(c, captured);
	put32(c, bytes);
	put_data(c, captured);
	c->ends[c->n++] = c->len;
}

static void block(struct capture *c, uint32_t type)
{
	c->begin = c->len;
	put32(c, type);
	put32(c, 0);
}

static void patch32(struct capture *c, size_t at, uint32_t value)
{
	size_t len = c->len;

	c->len = at;
	put32(c, value);
	c->len = len;
}

static void block_end(struct capture *c)
{
	uint32_t total;

	pad(c);
	total = (uint32_t)(c->len - c->begin) + 4;
	put32(c, total);
	patch32(c, c->begin + 4, total);
}

static void section(struct capture *c)
{
	block(c, SHB);
	put32(c, BOM);
	put16(c, 1);
	put16(c, 0);
	put(c, UINT64_MAX, 8);
	block_end(c);
}

static void option(struct capture *c, uint16_t code, uint64_t value, uint16_t len)
{
	put16(c, code);
	put16(c, len);
	put(c, value, len);
	pad(c);
}

/* An interface with at most one option; code 0 for none. */
static void interface(
	struct capture *c, uint16_t link, uint32_t snaplen, uint16_t code, uint64_t value)
{
	block(c, IDB);
	put16(c, link);
	put16(c, 0);
	put32(c, snaplen);
	if (code != 0) {
		option(c, 2, 0x6c6f, 2); /* a name */
		option(c, code, value, code == TSOFFSET ? 8 : 1);
		option(c, 0, 0, 0);
	}
	block_end(c);
}

/* Enhanced and obsolete packets. */
static void packet(struct capture *c, uint32_t type, uint32_t number, uint64_t ticks,
	uint32_t captured, uint32_t bytes)
{
	block(c, type);
	if (type == EPB) {
		put32(c, number);
	} else {
		put16(c, (uint16_t)number);
		put16(c, 0xffff);
	}
	put32(c, (uint32_t)(ticks >> 32));
	put32(c, (uint32_t)ticks);
	put32(c, captured);
	put32(c, bytes);
	put_data(c, captured);
	block_end(c);
	c->ends[c->n++] = c->len;
}

static void simple(struct capture *c, uint32_t captured, uint32_t bytes)
{
	block(c, SIMPLE);
	put32(c, bytes);
	put_data(c, captured);
	block_end(c);
	c->ends[c->n++] = c->len;
}

static void other(struct capture *c, uint32_t type, unsigned words)
{
	block(c, type);
	for (unsigned i = 0; i < words; i++)
		put32(c, 0xffffffff);
	block_end(c);
}

/* What a capture must be read as. */
struct expected {
	uint64_t time_ns;
	bool untimed;
	uint32_t interface;
	uint16_t link;
	uint32_t captured, bytes;
};

struct sample {
	const char *name;
	void (*build)(struct capture *c);
	struct expected packets[PACKETS_MAX];
};

static void build_us(struct capture *c)
{
	classic(c, US, 1);
	classic_packet(c, 1700000000, 123456, 5, 1514);
	classic_packet(c, 1700000000, 999999, 0, 60);
	classic_packet(c, UINT32_MAX, 0, 60, 60);
}

static void build_ns(struct capture *c)
{
	classic(c, NS, 101);
	classic_packet(c, 1, 999999999, 7, 7);
	classic_packet(c, 0, 0, 1, 2);
}

/* FCS of 4 bytes: two units of 16 bits in the uppermost four bits, and the bit that says so. */
static void build_fcs(struct capture *c)
{
	classic(c, US, 0x24000001);
	classic_packet(c, 1, 0, 68, 68);
	classic_packet(c, 1, 0, 20, 68);
	classic_packet(c, 1, 0, 3, 3);
}

/* The same four bits without the bit say nothing. */
static void build_no_fcs(struct capture *c)
{
	classic(c, US, 0x20000001);
	classic_packet(c, 1, 0, 68, 68);
}

static void build_enhanced(struct capture *c)
{
	section(c);
	interface(c, 1, 0, 0, 0);
	packet(c, EPB, 0, 1700000000123456, 5, 1514);
	packet(c, EPB, 0, 1700000000123457, 8, 8);
}

static void build_others(struct capture *c)
{
	section(c);
	other(c, NAMES, 3);
	interface(c, 1, 0, 0, 0);
	other(c, CUSTOM, 0);
	packet(c, PACKET, 0, 5000000, 9, 10);
	other(c, 0x80000001, 40);
	packet(c, EPB, 0, 6000000, 3, 3);
	other(c, 5, 2);
}

static void build_simple(struct capture *c)
{
	section(c);
	interface(c, 1, 10, 0, 0);
	interface(c, 113, 0, 0, 0);
	simple(c, 9, 9);
	simple(c, 10, 10);
	simple(c, 10, 1514);
}

static void build_simple_whole(struct capture *c)
{
	section(c);
	interface(c, 1, 0, 0, 0);
	simple(c, 100, 100);
}

static void build_interfaces(struct capture *c)
{
	section(c);
	interface(c, 1, 0, TSRESOL, 9);
	interface(c, 101, 0, TSRESOL, 0x80 | 10);
	interface(c, 113, 0, TSRESOL, 3);
	packet(c, EPB, 2, 1500, 1, 1);
	packet(c, EPB, 0, 1500, 2, 2);
	packet(c, EPB, 1, 1536, 3, 3);
}

static void build_sections(struct capture *c)
{
	section(c);
	interface(c, 113, 0, 0, 0);
	interface(c, 1, 0, 0, 0);
	packet(c, EPB, 1, 1, 4, 4);
	c->big = !c->big;
	section(c);
	interface(c, 1, 0, TSRESOL, 9);
	packet(c, EPB, 0, 2, 5, 5);
	c->big = !c->big;
}

static void build_ng_fcs(struct capture *c)
{
	section(c);
	interface(c, 1, 0, FCSLEN, 4);
	packet(c, EPB, 0, 0, 64, 64);
}

static const struct sample samples[] = {
	{"microseconds", build_us,
		{{1700000000 * SECOND + 123456000, .link = 1, .captured = 5, .bytes = 1514},
			{1700000000 * SECOND + 999999000, .link = 1, .captured = 0, .bytes = 60},
			{UINT32_MAX * SECOND, .link = 1, .captured = 60, .bytes = 60}}},
	{"nanoseconds", build_ns,
		{{SECOND + 999999999, .link = 101, .captured = 7, .bytes = 7},
			{0, .link = 101, .captured = 1, .bytes = 2}}},
	{"with FCS", build_fcs,
		{{SECOND, .link = 1, .captured = 64, .bytes = 64},
			{SECOND, .link = 1, .captured = 20, .bytes = 64},
			{SECOND, .link = 1, .captured = 0, .bytes = 0}}},
	{"without FCS", build_no_fcs, {{SECOND, .link = 1, .captured = 68, .bytes = 68}}},
	{"enhanced packets", build_enhanced,
		{{1700000000 * SECOND + 123456000, .link = 1, .captured = 5, .bytes = 1514},
			{1700000000 * SECOND + 123457000, .link = 1, .captured = 8, .bytes = 8}}},
	{"blocks of other kinds", build_others,
		{{5 * SECOND, .link = 1, .captured = 9, .bytes = 10},
			{6 * SECOND, .link = 1, .captured = 3, .bytes = 3}}},
	{"simple packets", build_simple,
		{{0, true, .link = 1, .captured = 9, .bytes = 9},
			{0, true, .link = 1, .captured = 10, .bytes = 10},
			{0, true, .link = 1, .captured = 10, .bytes = 1514}}},
	{"simple packets without a snaplen", build_simple_whole,
		{{0, true, .link = 1, .captured = 100, .bytes = 100}}},
	{"interfaces", build_interfaces,
		{{1500000000, .interface = 2, .link = 113, .captured = 1, .bytes = 1},
			{1500, .interface = 0, .link = 1, .captured = 2, .bytes = 2},
			{1500000000, .interface = 1, .link = 101, .captured = 3, .bytes = 3}}},
	{"sections", build_sections,
		{{1000, .interface = 1, .link = 1, .captured = 4, .bytes = 4},
			{2, .interface = 0, .link = 1, .captured = 5, .bytes = 5}}},
	{"pcapng with FCS", build_ng_fcs, {{0, .link = 1, .captured = 60, .bytes = 60}}},
};

static unsigned count_expected(const struct sample *sample)
{
	unsigned n = 0;

	while (n < PACKETS_MAX && sample->packets[n].link != 0)
		n++;
	return n;
}

/* A heap copy of exactly these bytes as a file, so that AddressSanitizer sees who reads beyond. */
struct opened {
	struct pcap pcap;
	FILE *file;
	uint8_t *copy;
};

static void open_bytes(struct opened *o, const uint8_t *bytes, size_t len)
{
	o->copy = malloc(len + 1);
	assert_non_null(o->copy);
	memcpy(o->copy, bytes, len);
	o->file = fmemopen(o->copy, len, "rb");
	assert_non_null(o->file);
	pcap_init(&o->pcap, o->file);
}

static void close_bytes(struct opened *o)
{
	pcap_free(&o->pcap);
	fclose(o->file);
	free(o->copy);
}

static void expect_packet(const struct sample *sample, unsigned k, const struct pcap_packet *got)
{
	const struct expected *want = &sample->packets[k];

	if (got->time_ns != want->time_ns || got->timed == want->untimed ||
		got->interface != want->interface || got->link != want->link ||
		got->captured != want->captured || got->bytes != want->bytes)
		fail_msg("%s: packet %u: time %" PRIu64 " interface %u link %u captured %u of %u",
			sample->name, k, got->time_ns, got->interface, got->link, got->captured,
			got->bytes);
	for (uint32_t i = 0; i < got->captured; i++)
		if (got->data[i] != data_byte(k, i))
			fail_msg("%s: packet %u: byte %u differs", sample->name, k, i);
}

/* Reads to the end, expecting the first n packets, and returns what ended it. */
static int read_all(const struct sample *sample, const uint8_t *bytes, size_t len, unsigned n)
{
	struct pcap_packet got;
	struct opened o;
	unsigned k = 0;
	int ret;

	open_bytes(&o, bytes, len);
	while ((ret = pcap_next(&o.pcap, &got)) == 1) {
		assert_true(k < n);
		expect_packet(sample, k++, &got);
	}
	if (k != n)
		fail_msg("%s: %zu bytes: %u packets, not %u", sample->name, len, k, n);
	assert_int_equal(pcap_next(&o.pcap, &got), ret);
	if (ret < 0)
		assert_int_equal(strncmp(pcap_error(&o.pcap), "byte ", 5), 0);
	close_bytes(&o);
	return ret;
}

static void build(const struct sample *sample, bool big, struct capture *c)
{
	memset(c, 0, sizeof(*c));
	c->big = big;
	sample->build(c);
	assert_int_equal(c->n, count_expected(sample));
}

static void test_samples(void **state)
{
	struct capture c;

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(samples); i++) {
		build(&samples[i / 2], i % 2, &c);
		if (read_all(&samples[i / 2], c.bytes, c.len, c.n) != 0)
			fail_msg("%s: does not end well", samples[i / 2].name);
	}
}

/* Whether a capture may end here: after its header, between two records. */
static bool boundary(const struct capture *c, size_t at)
{
	bool big = c->big;
	size_t next;

	if (c->bytes[0] != 0x0a) {
		for (unsigned k = 0; k < c->n; k++)
			if (c->ends[k] == at)
				return true;
		return at == 24;
	}
	for (next = 0; next < at;) {
		const uint8_t *len = c->bytes + next + 4;

		if (memcmp(c->bytes + next, "\x0a\x0d\x0d\x0a", 4) == 0)
			big = c->bytes[next + 8] == 0x1a;
		next += big ? (size_t)(len[2] << 8 | len[3]) : (size_t)(len[1] << 8 | len[0]);
	}
	return next == at && at > 0;
}

static void test_cut_at_every_byte(void **state)
{
	struct capture c;

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(samples); i++) {
		const struct sample *sample = &samples[i / 2];

		build(sample, i % 2, &c);
		for (size_t len = 0; len < c.len; len++) {
			int want = boundary(&c, len) ? 0 : -ENODATA;
			unsigned n = 0;

			while (n < c.n && c.ends[n] <= len)
				n++;
			if (read_all(sample, c.bytes, len, n) != want)
				fail_msg("%s: cut at %zu ends unexpectedly", sample->name, len);
		}
	}
}

/* Every byte at three other values: whatever comes out, it is within the bounds. */
static void test_any_byte_damaged(void **state)
{
	static const uint8_t flips[] = {0xff, 0x01, 0x80};
	struct pcap_packet got;
	struct capture c;
	struct opened o;

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(samples); i++) {
		build(&samples[i / 2], i % 2, &c);
		for (size_t at = 0; at < 3 * c.len; at++) {
			unsigned sum = 0;

			c.bytes[at / 3] ^= flips[at % 3];
			open_bytes(&o, c.bytes, c.len);
			while (pcap_next(&o.pcap, &got) == 1) {
				assert_true(got.captured <= got.bytes);
				assert_true(got.captured <= c.len && got.time_ns <= INT64_MAX);
				for (uint32_t b = 0; b < got.captured; b++)
					sum += got.data[b];
			}
			assert_true(sum < 256 * FILE_MAX);
			close_bytes(&o);
			c.bytes[at / 3] ^= flips[at % 3];
		}
	}
}

/* One packet of `ticks` on an interface with one option. */
struct time_case {
	uint16_t code;
	uint64_t value, ticks;
	int want;
	uint64_t time_ns;
};

static void test_resolutions(void **state)
{
	static const struct time_case cases[] = {
		{0, 0, 7, 1, 7000},
		{TSRESOL, 0, 7, 1, 7 * SECOND},
		{TSRESOL, 6, 7, 1, 7000},
		{TSRESOL, 9, UINT64_C(1) << 62, 1, UINT64_C(1) << 62},
		{TSRESOL, 10, 19, 1, 1}, /* rounded down */
		{TSRESOL, 12, 1999, 1, 1},
		{TSRESOL, 28, UINT64_MAX, 1, 1},
		{TSRESOL, 29, UINT64_MAX, 1, 0},
		{TSRESOL, 127, UINT64_MAX, 1, 0},
		{TSRESOL, 0x80, 7, 1, 7 * SECOND},
		{TSRESOL, 0x80 | 1, 7, 1, 3500000000},
		{TSRESOL, 0x80 | 20, (1 << 20) + 1, 1, SECOND + 953},
		{TSRESOL, 0x80 | 63, UINT64_MAX, 1, 2 * SECOND - 1},
		{TSRESOL, 0x80 | 127, UINT64_MAX, 1, 0},
		{TSOFFSET, 1700000000, 1, 1, 1700000000 * SECOND + 1000},
		{TSOFFSET, (uint64_t)-1, 1000000, 1, 0},
		{TSOFFSET, (uint64_t)-1, 999999, -EBADMSG, 0},
		{TSOFFSET, UINT64_C(1) << 63, UINT64_MAX, -EBADMSG, 0},
		{TSOFFSET, INT64_MAX, 0, -EBADMSG, 0},
		{TSRESOL, 9, INT64_MAX, 1, INT64_MAX},
		{TSRESOL, 9, UINT64_C(1) << 63, -EBADMSG, 0},
		{TSRESOL, 0, UINT64_MAX, -EBADMSG, 0},
	};
	struct pcap_packet got;
	struct opened o;

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(cases); i++) {
		const struct time_case *t = &cases[i / 2];
		struct capture c = {.big = i % 2};
		int ret;

		section(&c);
		interface(&c, 1, 0, t->code, t->value);
		packet(&c, EPB, 0, t->ticks, 1, 1);
		open_bytes(&o, c.bytes, c.len);
		ret = pcap_next(&o.pcap, &got);
		if (ret != t->want || (ret == 1 && got.time_ns != t->time_ns))
			fail_msg("case %u: %d, time %" PRIu64, i / 2, ret, got.time_ns);
		close_bytes(&o);
	}
}

/* A word or two overwritten in a sample, and what is said about it. */
struct damage {
	const char *name;
	void (*build)(struct capture *c);
	size_t at;
	uint32_t value;
	unsigned n; /* packets before */
	const char *says;
};

static const struct damage damages[] = {
	{"captured just too large", build_us, 32, PCAP_CAPTURED_MAX + 1, 0,
		"byte 24: a packet with 262145 bytes captured: the most is 262144"},
	{"captured as large as may be", build_us, 32, PCAP_CAPTURED_MAX, 0,
		"byte 24: 262144 bytes captured of a packet of 1514"},
	{"absurd length on the wire", build_us, 36, PCAP_BLOCK_MAX + 1, 0,
		"byte 24: a packet of 16777217 bytes: the most is 16777216"},
	{"the second packet", build_us, 24 + 21 + 12, 0xffffffff, 1,
		"byte 45: a packet of 4294967295 bytes: the most is 16777216"},
	{"more captured than there was", build_us, 36, 4, 0,
		"byte 24: 5 bytes captured of a packet of 4"},
	{"version", build_us, 4, 0x00030003, 0, "byte 4: version 3.3 of pcap: only 2.4 is known"},
	{"modified", build_us, 0, 0xa1b2cd34, 0,
		"byte 0: the \"modified\" variant of pcap is not supported: convert it with editcap"},
	{"block shorter than a block", build_enhanced, 28 + 4, 8, 0,
		"byte 28: a block of 8 bytes: from 12 to 16777216 in steps of 4 are possible"},
	{"block of odd length", build_enhanced, 28 + 4, 22, 0,
		"byte 28: a block of 22 bytes: from 12 to 16777216 in steps of 4 are possible"},
	{"block of absurd length", build_enhanced, 28 + 4, PCAP_BLOCK_MAX + 4, 0,
		"byte 28: a block of 16777220 bytes: from 12 to 16777216 in steps of 4 are possible"},
	{"ends that differ", build_enhanced, 28 + 16, 24, 0,
		"byte 44: a block that has 24 bytes by its end and 20 by its beginning"},
	{"an interface that is not there", build_enhanced, 48 + 8, 1, 0,
		"byte 48: a packet of interface 1, and the section has 1 so far"},
	{"captured past the block", build_enhanced, 48 + 20, 9, 0,
		"byte 48: a packet with 9 bytes captured in a block that has 8"},
	{"simple packet past the block", build_simple, 28 + 12, 13, 2,
		"byte 124: a packet with 13 bytes captured in a block that has 12"},
	{"option past the block", build_ng_fcs, 28 + 16, 0x00280028, 0,
		"byte 44: an option of 40 bytes in a block that has 16 left"},
	{"byte order of a section", build_enhanced, 8, 0x1a2b3c4e, 0,
		"byte 8: no byte order of a section"},
	{"version of a section", build_enhanced, 12, 0x00020002, 0,
		"byte 0: version 2.2 of pcapng: only 1 is known"},
};

static void test_damage(void **state)
{
	struct pcap_packet got;
	struct opened o;

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(damages); i++) {
		const struct damage *d = &damages[i / 2];
		struct capture c = {.big = i % 2};

		d->build(&c);
		patch32(&c, d->at, d->value);
		open_bytes(&o, c.bytes, c.len);
		for (unsigned k = 0; k < d->n; k++)
			assert_int_equal(pcap_next(&o.pcap, &got), 1);
		if (pcap_next(&o.pcap, &got) != -EBADMSG ||
			strncmp(pcap_error(&o.pcap), d->says, strlen(d->says)) != 0)
			fail_msg("%s: said \"%s\"", d->name, pcap_error(&o.pcap));
		close_bytes(&o);
	}
}

static void test_not_a_capture(void **state)
{
	static const struct {
		const char *bytes, *says;
	} cases[] = {
		{"", "byte 0: the file is empty"},
		{"\x1f\x8b\x08\x08", "byte 0: compressed: "},
		{"\x28\xb5\x2f\xfd", "byte 0: compressed: "},
		{"\xfd"
		 "7zX",
			"byte 0: compressed: "},
		{"{\"a\"", "byte 0: neither pcap nor pcapng: it begins with 7b226122"},
	};
	struct pcap_packet got;
	struct opened o;

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		open_bytes(&o, (const uint8_t *)cases[i].bytes, strlen(cases[i].bytes));
		assert_int_equal(pcap_next(&o.pcap, &got), *cases[i].bytes ? -EBADMSG : -ENODATA);
		assert_int_equal(
			strncmp(pcap_error(&o.pcap), cases[i].says, strlen(cases[i].says)), 0);
		close_bytes(&o);
	}
}

/* A directory can be opened but not read. */
static void test_read_error(void **state)
{
	FILE *file = fopen("/", "rb");
	struct pcap_packet got;
	struct pcap pcap;

	(void)state;
	assert_non_null(file);
	pcap_init(&pcap, file);
	assert_int_equal(pcap_next(&pcap, &got), -EISDIR);
	pcap_free(&pcap);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_any_byte_damaged),
		cmocka_unit_test(test_resolutions),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_not_a_capture),
		cmocka_unit_test(test_read_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
