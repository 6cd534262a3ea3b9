/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Captures are built in memory, in both byte orders, read whole, and cut at every byte: the packets
 * before the cut must be read, and nothing else. A capture that libpcap rejects gets a message.
 */
#include "check.h"
#include "scope.h"

#include <pcap/dlt.h>

#include "capture/capture.h"

#define PACKETS_MAX 8
#define FILE_MAX    4096

#define US       0xa1b2c3d4
#define NS       0xa1b23c4d
#define SHB      0x0a0d0d0a
#define BOM      0x1a2b3c4d
#define TSRESOL  9
#define TSOFFSET 14

enum { IDB = 1, PACKET = 2, SIMPLE = 3, NAMES = 4, EPB = 6, CUSTOM = 0xbad };

/* A capture under construction, and the ends of its packets' records. */
struct made {
	bool big;
	uint8_t bytes[FILE_MAX];
	size_t len;
	size_t begin; /* start of the open block */
	size_t ends[PACKETS_MAX];
	unsigned n;
};

static void put_capture_bytes(struct made *c, uint64_t value, unsigned size)
{
	assert_true(c->len + size <= sizeof(c->bytes));
	for (unsigned i = 0; i < size; i++)
		c->bytes[c->len++] = (uint8_t)(value >> 8 * (c->big ? size - 1 - i : i));
}

static void put_capture_u16(struct made *c, uint16_t value)
{
	put_capture_bytes(c, value, 2);
}

static void put_capture_u32(struct made *c, uint32_t value)
{
	put_capture_bytes(c, value, 4);
}

/* The data of packet k: n bytes that differ from all other packets. */
static uint8_t data_byte(unsigned k, uint32_t i)
{
	return (uint8_t)(k * 31 + i + 1);
}

static void put_data(struct made *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put_capture_bytes(c, data_byte(c->n, i), 1);
}

static void pad_to_word(struct made *c)
{
	while (c->len % 4 != 0)
		put_capture_bytes(c, 0, 1);
}

static void put_classic_header(struct made *c, uint32_t magic, uint32_t link)
{
	put_capture_u32(c, magic);
	put_capture_u16(c, 2);
	put_capture_u16(c, 4);
	put_capture_u32(c, 0);
	put_capture_u32(c, 0);
	put_capture_u32(c, 65535);
	put_capture_u32(c, link);
}

static void classic_packet(
	struct made *c, uint32_t seconds, uint32_t fraction, uint32_t captured, uint32_t bytes)
{
	put_capture_u32(c, seconds);
	put_capture_u32(c, fraction);
	put_capture_u32(c, captured);
	put_capture_u32(c, bytes);
	put_data(c, captured);
	c->ends[c->n++] = c->len;
}

static void begin_block(struct made *c, uint32_t type)
{
	c->begin = c->len;
	put_capture_u32(c, type);
	put_capture_u32(c, 0);
}

static void patch_capture_u32(struct made *c, size_t at, uint32_t value)
{
	size_t len = c->len;

	c->len = at;
	put_capture_u32(c, value);
	c->len = len;
}

static void block_end(struct made *c)
{
	uint32_t total;

	pad_to_word(c);
	total = (uint32_t)(c->len - c->begin) + 4;
	put_capture_u32(c, total);
	patch_capture_u32(c, c->begin + 4, total);
}

static void put_section_block(struct made *c)
{
	begin_block(c, SHB);
	put_capture_u32(c, BOM);
	put_capture_u16(c, 1);
	put_capture_u16(c, 0);
	put_capture_bytes(c, UINT64_MAX, 8);
	block_end(c);
}

static void put_block_option(struct made *c, uint16_t code, uint64_t value, uint16_t len)
{
	put_capture_u16(c, code);
	put_capture_u16(c, len);
	put_capture_bytes(c, value, len);
	pad_to_word(c);
}

/* An interface with at most one option; code 0 for none. */
static void put_interface_block(
	struct made *c, uint16_t link, uint32_t snaplen, uint16_t code, uint64_t value)
{
	begin_block(c, IDB);
	put_capture_u16(c, link);
	put_capture_u16(c, 0);
	put_capture_u32(c, snaplen);
	if (code != 0) {
		put_block_option(c, 2, 0x6c6f, 2); /* a name */
		put_block_option(c, code, value, code == TSOFFSET ? 8 : 1);
		put_block_option(c, 0, 0, 0);
	}
	block_end(c);
}

/* Enhanced and obsolete packets. */
static void put_packet_block(struct made *c, uint32_t type, uint32_t number, uint64_t ticks,
	uint32_t captured, uint32_t bytes)
{
	begin_block(c, type);
	if (type == EPB) {
		put_capture_u32(c, number);
	} else {
		put_capture_u16(c, (uint16_t)number);
		put_capture_u16(c, 0xffff);
	}
	put_capture_u32(c, (uint32_t)(ticks >> 32));
	put_capture_u32(c, (uint32_t)ticks);
	put_capture_u32(c, captured);
	put_capture_u32(c, bytes);
	put_data(c, captured);
	block_end(c);
	c->ends[c->n++] = c->len;
}

static void put_simple_block(struct made *c, uint32_t captured, uint32_t bytes)
{
	begin_block(c, SIMPLE);
	put_capture_u32(c, bytes);
	put_data(c, captured);
	block_end(c);
	c->ends[c->n++] = c->len;
}

static void put_other_block(struct made *c, uint32_t type, unsigned words)
{
	begin_block(c, type);
	for (unsigned i = 0; i < words; i++)
		put_capture_u32(c, 0xffffffff);
	block_end(c);
}

/* The expected packet. */
struct expected {
	uint64_t time_ns;
	bool untimed;
	int link; /* DLT_, which differs for raw IP */
	uint32_t captured, bytes;
};

struct sample {
	const char *name;
	void (*build)(struct made *c);
	struct expected packets[PACKETS_MAX];
};

static void build_us(struct made *c)
{
	put_classic_header(c, US, 1);
	classic_packet(c, 1700000000, 123456, 5, 1514);
	classic_packet(c, 1700000000, 999999, 0, 60);
	classic_packet(c, UINT32_MAX, 0, 60, 60);
}

static void build_ns(struct made *c)
{
	put_classic_header(c, NS, 101);
	classic_packet(c, 1, 999999999, 7, 7);
	classic_packet(c, 0, 0, 1, 2);
}

/*
 * FCS of 4 bytes: two units of 16 bits in the uppermost four bits, and the bit that marks them as
 * valid.
 */
static void build_fcs(struct made *c)
{
	put_classic_header(c, US, 0x24000001);
	classic_packet(c, 1, 0, 68, 68);
	classic_packet(c, 1, 0, 20, 68);
	classic_packet(c, 1, 0, 3, 3);
}

/* Without that bit the four bits have no meaning. */
static void build_no_fcs(struct made *c)
{
	put_classic_header(c, US, 0x20000001);
	classic_packet(c, 1, 0, 68, 68);
}

static void build_enhanced(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 0, 0, 0);
	put_packet_block(c, EPB, 0, 1700000000123456, 5, 1514);
	put_packet_block(c, EPB, 0, 1700000000123457, 8, 8);
}

static void build_others(struct made *c)
{
	put_section_block(c);
	put_other_block(c, NAMES, 3);
	put_interface_block(c, 1, 0, 0, 0);
	put_other_block(c, CUSTOM, 0);
	put_packet_block(c, PACKET, 0, 5000000, 9, 10);
	put_other_block(c, 0x80000001, 40);
	put_packet_block(c, EPB, 0, 6000000, 3, 3);
	put_other_block(c, 5, 2);
}

static void build_simple(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 10, 0, 0);
	put_interface_block(c, 1, 10, 0, 0);
	put_simple_block(c, 9, 9);
	put_simple_block(c, 10, 10);
	put_simple_block(c, 10, 1514);
}

static void build_simple_whole(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 0, 0, 0);
	put_simple_block(c, 100, 100);
}

static void build_interfaces(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 0, TSRESOL, 9);
	put_interface_block(c, 1, 0, TSRESOL, 0x80 | 10);
	put_interface_block(c, 1, 0, TSRESOL, 3);
	put_packet_block(c, EPB, 2, 1500, 1, 1);
	put_packet_block(c, EPB, 0, 1500, 2, 2);
	put_packet_block(c, EPB, 1, 1536, 3, 3);
}

static void build_sections(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 0, 0, 0);
	put_interface_block(c, 1, 0, 0, 0);
	put_packet_block(c, EPB, 1, 1, 4, 4);
	put_section_block(c);
	put_interface_block(c, 1, 0, TSRESOL, 9);
	put_packet_block(c, EPB, 0, 2, 5, 5);
}

static const struct sample samples[] = {
	{"microseconds", build_us,
		{{1700000000 * SECOND + 123456000, .link = 1, .captured = 5, .bytes = 1514},
			{1700000000 * SECOND + 999999000, .link = 1, .captured = 0, .bytes = 60},
			{UINT32_MAX * SECOND, .link = 1, .captured = 60, .bytes = 60}}},
	{"nanoseconds", build_ns,
		{{SECOND + 999999999, .link = DLT_RAW, .captured = 7, .bytes = 7},
			{0, true, .link = DLT_RAW, .captured = 1, .bytes = 2}}},
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
		{{1500000000, .link = 1, .captured = 1, .bytes = 1},
			{1500, .link = 1, .captured = 2, .bytes = 2},
			{1500000000, .link = 1, .captured = 3, .bytes = 3}}},
	{"sections", build_sections,
		{{1000, .link = 1, .captured = 4, .bytes = 4},
			{2, .link = 1, .captured = 5, .bytes = 5}}},
};

static unsigned count_expected(const struct sample *sample)
{
	unsigned n = 0;

	while (n < PACKETS_MAX && sample->packets[n].link != 0)
		n++;
	return n;
}

/* A heap copy of exactly these bytes as a file, so that AddressSanitizer finds reads beyond it. */
struct opened {
	struct capture capture;
	uint8_t *copy;
};

static void open_bytes(struct opened *o, const uint8_t *bytes, size_t len)
{
	FILE *file;

	o->copy = malloc(len + 1);
	assert_non_null(o->copy);
	memcpy(o->copy, bytes, len);
	file = fmemopen(o->copy, len, "rb");
	assert_non_null(file);
	capture_init(&o->capture, file);
}

static void close_bytes(struct opened *o)
{
	capture_free(&o->capture);
	free(o->copy);
}

static void expect_packet(const struct sample *sample, unsigned k, const struct capture_packet *got)
{
	const struct expected *want = &sample->packets[k];

	if (got->time_ns != want->time_ns || got->timed == want->untimed || got->number != k + 1 ||
		got->link != want->link || got->captured != want->captured ||
		got->bytes != want->bytes)
		fail_msg("%s: packet %u: number %" PRIu64 " time %" PRIu64
			 " link %d captured %u of %u",
			sample->name, k, got->number, got->time_ns, got->link, got->captured,
			got->bytes);
	for (uint32_t i = 0; i < got->captured; i++)
		if (got->data[i] != data_byte(k, i))
			fail_msg("%s: packet %u: byte %u differs", sample->name, k, i);
}

/* Reads to the end, expects the first n packets, and returns the result of the last read. */
static int read_all(const struct sample *sample, const uint8_t *bytes, size_t len, unsigned n)
{
	struct capture_packet got;
	struct opened o;
	unsigned k = 0;
	int ret;

	open_bytes(&o, bytes, len);
	while ((ret = capture_next(&o.capture, &got)) == 1) {
		assert_true(k < n);
		expect_packet(sample, k++, &got);
	}
	if (k != n)
		fail_msg("%s: %zu bytes: %u packets, not %u", sample->name, len, k, n);
	assert_int_equal(capture_next(&o.capture, &got), ret);
	if (ret < 0)
		assert_true(strlen(capture_error(&o.capture)) > 5);
	close_bytes(&o);
	return ret;
}

static void build_sample_capture(const struct sample *sample, bool big, struct made *c)
{
	memset(c, 0, sizeof(*c));
	c->big = big;
	sample->build(c);
	assert_int_equal(c->n, count_expected(sample));
}

TEST(test_samples)
{
	struct made c;

	for (unsigned i = 0; i < 2 * COUNT(samples); i++) {
		build_sample_capture(&samples[i / 2], i % 2, &c);
		if (read_all(&samples[i / 2], c.bytes, c.len, c.n) != 0)
			fail_msg("%s: does not end well", samples[i / 2].name);
	}
}

/*
 * Returns whether a capture may end here: after its header, or between two records. A pcapng file
 * must have its first interface, which libpcap reads before it reports the type.
 */
static bool is_capture_boundary(const struct made *c, size_t at)
{
	bool described = false;
	size_t next;

	if (c->bytes[0] != 0x0a) {
		for (unsigned k = 0; k < c->n; k++)
			if (c->ends[k] == at)
				return true;
		return at == 24;
	}
	for (next = 0; next < at;) {
		const uint8_t *len = c->bytes + next + 4;

		described |= c->bytes[next + (c->big ? 3 : 0)] == IDB;
		next += c->big ? (size_t)(len[2] << 8 | len[3]) : (size_t)(len[1] << 8 | len[0]);
	}
	return next == at && described;
}

TEST(test_cut_at_every_byte)
{
	struct made c;

	for (unsigned i = 0; i < 2 * COUNT(samples); i++) {
		const struct sample *sample = &samples[i / 2];

		build_sample_capture(sample, i % 2, &c);
		for (size_t len = 0; len < c.len; len++) {
			int want = is_capture_boundary(&c, len) ? 0 : -ENODATA;
			unsigned n = 0;

			while (n < c.n && c.ends[n] <= len)
				n++;
			if (read_all(sample, c.bytes, len, n) != want)
				fail_msg("%s: cut at %zu ends unexpectedly", sample->name, len);
		}
	}
}

/* Every byte gets three other values: any result is within the bounds. */
TEST(test_any_byte_damaged)
{
	static const uint8_t flips[] = {0xff, 0x01, 0x80};
	struct capture_packet got;
	struct made c;
	struct opened o;

	for (unsigned i = 0; i < 2 * COUNT(samples); i++) {
		build_sample_capture(&samples[i / 2], i % 2, &c);
		for (size_t at = 0; at < 3 * c.len; at++) {
			unsigned sum = 0;

			c.bytes[at / 3] ^= flips[at % 3];
			open_bytes(&o, c.bytes, c.len);
			while (capture_next(&o.capture, &got) == 1) {
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

TEST(test_resolutions)
{
	static const struct time_case cases[] = {
		{0, 0, 7, 1, 7000},
		{TSRESOL, 0, 7, 1, 7 * SECOND},
		{TSRESOL, 6, 7, 1, 7000},
		{TSRESOL, 9, UINT64_C(1) << 62, 1, UINT64_C(1) << 62},
		{TSRESOL, 10, 19, 1, 1}, /* rounded down */
		{TSRESOL, 12, 1999, 1, 1},
		{TSRESOL, 28, UINT64_MAX, -EBADMSG, 0},
		{TSRESOL, 127, UINT64_MAX, -EBADMSG, 0},
		{TSRESOL, 0x80, 7, 1, 7 * SECOND},
		{TSRESOL, 0x80 | 1, 7, 1, 3500000000},
		{TSRESOL, 0x80 | 20, (1 << 20) + 1, 1, SECOND + 953},
		{TSRESOL, 0x80 | 34, UINT64_C(3) << 33, 1, 3 * SECOND / 2},
		{TSRESOL, 0x80 | 127, UINT64_MAX, -EBADMSG, 0},
		{TSOFFSET, 1700000000, 1, 1, 1700000000 * SECOND + 1000},
		{TSOFFSET, (uint64_t)-1, 1000000, 1, 0},
		{TSOFFSET, (uint64_t)-1, 999999, -EBADMSG, 0},
		{TSOFFSET, UINT64_C(1) << 63, UINT64_MAX, -EBADMSG, 0},
		{TSOFFSET, INT64_MAX, 0, -EBADMSG, 0},
		{TSRESOL, 9, INT64_MAX, 1, INT64_MAX},
		{TSRESOL, 9, UINT64_C(1) << 63, -EBADMSG, 0},
		{TSRESOL, 0, UINT64_MAX, -EBADMSG, 0},
	};
	struct capture_packet got;
	struct opened o;

	for (unsigned i = 0; i < 2 * COUNT(cases); i++) {
		const struct time_case *t = &cases[i / 2];
		struct made c = {.big = i % 2};
		int ret;

		put_section_block(&c);
		put_interface_block(&c, 1, 0, t->code, t->value);
		put_packet_block(&c, EPB, 0, t->ticks, 1, 1);
		open_bytes(&o, c.bytes, c.len);
		ret = capture_next(&o.capture, &got);
		if (ret != t->want || (ret == 1 && got.time_ns != t->time_ns))
			fail_msg("case %u: %d, time %" PRIu64, i / 2, ret, got.time_ns);
		close_bytes(&o);
	}
}

/* A word overwritten in a sample, and the message about it. */
struct damage {
	const char *name;
	void (*build)(struct made *c);
	size_t at;
	uint32_t value;
	unsigned n; /* packets before */
	const char *says;
};

static void build_mixed_links(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 0, 0, 0);
	put_interface_block(c, 113, 0, 0, 0);
	put_packet_block(c, EPB, 0, 1, 1, 1);
}

static void build_mixed_snaplens(struct made *c)
{
	put_section_block(c);
	put_interface_block(c, 1, 96, 0, 0);
	put_packet_block(c, EPB, 0, 1, 1, 1);
	put_interface_block(c, 1, 128, 0, 0);
	put_packet_block(c, EPB, 1, 1, 1, 1);
}

static void build_mixed_orders(struct made *c)
{
	build_enhanced(c);
	c->big = !c->big;
	put_section_block(c);
	c->big = !c->big;
}

static const struct damage damages[] = {
	{"captured too large", build_us, 32, (256 << 10) + 1, 0,
		"packet 1: invalid packet capture length 262145"},
	{"absurd length on the wire", build_us, 36, CAPTURE_BYTES_MAX + 1, 0,
		"packet 1: has 16777217 bytes: the most is 16777216"},
	{"the second packet", build_us, 24 + 21 + 12, 0xffffffff, 1,
		"packet 2: has 4294967295 bytes: the most is 16777216"},
	{"more captured than there was", build_us, 36, 4, 0, "packet 1: 5 bytes captured of 4"},
	{"version", build_us, 4, 0x00030003, 0, "unsupported pcap savefile version 3.3"},
	{"block shorter than a block", build_enhanced, 28 + 4, 8, 0, "block in pcapng dump file"},
	{"block of absurd length", build_enhanced, 28 + 4, (16 << 20) + 4, 0, "pcapng block size"},
	{"ends that differ", build_enhanced, 28 + 16, 24, 0, "block total length in header and"},
	{"an interface that is not there", build_enhanced, 48 + 8, 1, 0,
		"packet 1: a packet arrived on interface 1"},
	{"captured past the block", build_enhanced, 48 + 20, 9, 0, "packet 1: "},
	{"version of a section", build_enhanced, 12, 0x00020002, 0, "unsupported pcapng"},
	{"interfaces of other links", build_mixed_links, 0, SHB, 0,
		"packet 1: an interface has a type 113 different from the type of the first"},
	{"interfaces of other snaplens", build_mixed_snaplens, 0, SHB, 1,
		"packet 2: an interface has a snapshot length 128 different from"},
	{"sections of other byte orders", build_mixed_orders, 0, SHB, 2, "packet 3: "},
};

TEST(test_damage)
{
	struct capture_packet got;
	struct opened o;

	for (unsigned i = 0; i < 2 * COUNT(damages); i++) {
		const struct damage *d = &damages[i / 2];
		struct made c = {.big = i % 2};

		d->build(&c);
		patch_capture_u32(&c, d->at, d->value);
		open_bytes(&o, c.bytes, c.len);
		for (unsigned k = 0; k < d->n; k++)
			assert_int_equal(capture_next(&o.capture, &got), 1);
		if (capture_next(&o.capture, &got) != -EBADMSG ||
			strncmp(capture_error(&o.capture), d->says, strlen(d->says)) != 0)
			fail_msg("%s: said \"%s\"", d->name, capture_error(&o.capture));
		close_bytes(&o);
	}
}

TEST(test_not_a_capture)
{
	static const struct {
		const char *bytes;
		int want;
	} cases[] = {
		{"", -ENODATA},
		{"\x1f\x8b\x08\x08", -EBADMSG},
		{"\x28\xb5\x2f\xfd", -EBADMSG},
		{"{\"a\"", -EBADMSG},
	};
	struct capture_packet got;
	struct opened o;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		open_bytes(&o, (const uint8_t *)cases[i].bytes, strlen(cases[i].bytes));
		assert_int_equal(capture_next(&o.capture, &got), cases[i].want);
		assert_string_equal(capture_error(&o.capture),
			i == 0 ? "truncated dump file; tried to read 4 file header bytes, only got 0"
			       : "unknown file format");
		close_bytes(&o);
	}
}

/* A directory can be opened but not read. */
TEST(test_read_error)
{
	FILE *file = fopen("/", "rb");
	struct capture_packet got;
	ENDED_BY(capture_free) struct capture capture;

	assert_non_null(file);
	capture_init(&capture, file);
	assert_int_equal(capture_next(&capture, &got), -EIO);
	assert_non_null(strstr(capture_error(&capture), "Is a directory"));
}
