/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quantities: pairs of texts that are just accepted and just refused; every formatted text can be
 * parsed again.
 */
#include "check.h"

#include "base/hash.h"
#include "policy/units.h"

#define UNTOUCHED 4242 /* a refused text does not change the result */

typedef int (*units_parser)(const char *text, uint64_t *out);
typedef char *(*units_formatter)(uint64_t value, char *buf, size_t size);

struct parse_case {
	const char *text;
	int rc;
	uint64_t value;
};

static void run_cases(units_parser parse, const struct parse_case *cases)
{
	for (; cases->text != NULL; cases++) {
		uint64_t value = UNTOUCHED;
		int rc = parse(cases->text, &value);

		if (rc != cases->rc || value != (rc == 0 ? cases->value : UNTOUCHED))
			fail_msg("\"%s\": rc %d, value %" PRIu64, cases->text, rc, value);
	}
}

TEST(test_rate)
{
	static const struct parse_case cases[] = {
		{"1bit/s", 0, 1},
		{"0bit/s", 0, 0},
		{"8kbit/s", 0, 8000},
		{"10Mbit/s", 0, 10000000},
		{"10 Mbit/s", 0, 10000000},
		{"010Mbit/s", 0, 10000000},
		{"10  Mbit/s", -EINVAL, 0},
		{" 10Mbit/s", -EINVAL, 0},
		{"10Mbit/s ", -EINVAL, 0},
		{"10\tMbit/s", -EINVAL, 0},
		{"1.5Gbit/s", 0, 1500000000},
		{"1.50Gbit/s", 0, 1500000000},
		{"0.1Gbit/s", 0, 100000000},
		{"2Tbit/s", 0, 2000000000000},
		{"10Mbit", -EINVAL, 0},
		{"10mbit/s", -EINVAL, 0},
		{"10MBit/s", -EINVAL, 0},
		{"10MB/s", -EINVAL, 0},
		{"10", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"Mbit/s", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{".5Mbit/s", -EINVAL, 0},
		{"5.Mbit/s", -EINVAL, 0},
		{"1.2.3Mbit/s", -EINVAL, 0},
		{"1,5Mbit/s", -EINVAL, 0},
		{"1e6bit/s", -EINVAL, 0},
		{"0x10bit/s", -EINVAL, 0},
		{"+1bit/s", -EINVAL, 0},
		{"infbit/s", -EINVAL, 0},
		{"-1bit/s", -ERANGE, 0},
		{"-1.5Mbit/s", -ERANGE, 0},
		{"--1bit/s", -EINVAL, 0},
		/* The last digit that is a whole number of bits, and one more. */
		{"0.001kbit/s", 0, 1},
		{"0.0001kbit/s", -EDOM, 0},
		{"1.000000001Gbit/s", 0, 1000000001},
		{"1.0000000001Gbit/s", -EDOM, 0},
		{"1.00000000000000000000000000000000Gbit/s", 0, 1000000000},
		{"1.00000000000000000000000000000001Gbit/s", -EDOM, 0},
		{"0.5bit/s", -EDOM, 0},
		/* 2^64 - 1, and one more, written in three ways. */
		{"18446744073709551615bit/s", 0, UINT64_MAX},
		{"18446744073709551616bit/s", -ERANGE, 0},
		{"18446744.073709551615Tbit/s", 0, UINT64_MAX},
		{"18446744.073709551616Tbit/s", -ERANGE, 0},
		{"18446745Tbit/s", -ERANGE, 0},
		{"99999999999999999999999999999999bit/s", -ERANGE, 0},
		{0},
	};

	run_cases(units_parse_rate, cases);
}

TEST(test_size)
{
	static const struct parse_case cases[] = {
		{"1500B", 0, 1500},
		{"75kB", 0, 75000},
		{"1.5MB", 0, 1500000},
		{"1GB", 0, 1000000000},
		{"64KiB", 0, 65536},
		{"64kiB", -EINVAL, 0},
		{"64KB", -EINVAL, 0},
		{"4GiB", 0, 4294967296},
		{"1TB", 0, 1000000000000},
		{"1.5TiB", 0, 3ULL << 39},
		{"18446PB", 0, 18446000000000000000ULL},
		{"18447PB", -ERANGE, 0},
		{"1EB", -EINVAL, 0},
		{"0.5KiB", 0, 512},
		{"0.0009765625KiB", 0, 1},
		{"0.00048828125KiB", -EDOM, 0},
		{"0.000000000931322574615478515625GiB", 0, 1},
		{"0.0000000004656612873077392578125GiB", -EDOM, 0},
		{"0.1KiB", -EDOM, 0},
		{"17179869183GiB", 0, 17179869183ULL << 30},
		{"17179869184GiB", -ERANGE, 0},
		{"-64KiB", -ERANGE, 0},
		{"10bit", -EINVAL, 0},
		{0},
	};

	run_cases(units_parse_size, cases);
}

TEST(test_time)
{
	static const struct parse_case cases[] = {
		{"1ns", 0, 1},
		{"50ms", 0, 50000000},
		{"0.25us", 0, 250},
		{"0.2505us", -EDOM, 0},
		{"1.5 s", 0, 1500000000},
		{"1m", -EINVAL, 0},
		{"1min", 0, 60000000000},
		{"1.5 min", 0, 90000000000},
		{"24h", 0, 86400000000000},
		{"0.00000000000027777777777h", -EDOM, 0},
		{"5124095h", 0, 18446742000000000000ULL},
		{"5124096h", -ERANGE, 0},
		{"1hour", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"18446744073s", 0, 18446744073000000000ULL},
		{"18446744074s", -ERANGE, 0},
		{0},
	};

	run_cases(units_parse_time, cases);
}

TEST(test_count)
{
	static const struct parse_case cases[] = {
		{"100", 0, 100},
		{"0", 0, 0},
		{"10k", 0, 10000},
		{"1.5 M", 0, 1500000},
		{"1G", 0, 1000000000},
		{"0.001k", 0, 1},
		{"0.0001k", -EDOM, 0},
		{"1.5", -EDOM, 0},
		{"100 ", -EINVAL, 0},
		{" 100", -EINVAL, 0},
		{"10K", -EINVAL, 0},
		{"10kB", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-1", -ERANGE, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{0},
	};

	run_cases(units_parse_count, cases);
}

/* In eighths, per the time as written. */
TEST(test_count_rate)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t eighths;
		uint32_t seconds;
		const char *again; /* NULL: the text itself */
	} cases[] = {
		{"1/s", 0, 8, 1, NULL},
		{"500/s", 0, 4000, 1, NULL},
		{"500 /s", 0, 4000, 1, "500/s"},
		{"10k/s", 0, 80000, 1, NULL},
		{"1.5M/s", 0, 12000000, 1, NULL},
		{"1G/s", 0, 8000000000, 1, NULL},
		{"0.125/s", 0, 1, 1, NULL},
		{"0.0625/s", -EDOM, 0, 0, NULL},
		{"0.1/s", -EDOM, 0, 0, NULL},
		{"0.000125k/s", 0, 1, 1, "0.125/s"},
		{"1.000125k/s", 0, 8001, 1, NULL},
		{"100/min", 0, 800, 60, NULL},
		{"600/min", 0, 4800, 60, NULL},
		{"5/min", 0, 40, 60, NULL},
		{"7.5/min", 0, 60, 60, NULL},
		{"10.3/min", -EDOM, 0, 0, NULL},
		{"90k/min", 0, 720000, 60, NULL},
		{"1M/min", 0, 8000000, 60, NULL},
		{"100/h", 0, 800, 3600, NULL},
		{"7/h", 0, 56, 3600, NULL},
		{"1000/h", 0, 8000, 3600, "1k/h"},
		{"10k/h", 0, 80000, 3600, NULL},
		{"1/d", 0, 8, 86400, NULL},
		{"0.5/d", 0, 4, 86400, NULL},
		{"2M/d", 0, 16000000, 86400, NULL},
		{"2305843009213693951/h", 0, UINT64_MAX - 7, 3600, ""},
		{"2305843009213693952/h", -ERANGE, 0, 0, NULL},
		{"-1/min", -ERANGE, 0, 0, NULL},
		{"500", -EINVAL, 0, 0, NULL},
		{"500/", -EINVAL, 0, 0, NULL},
		{"500/sec", -EINVAL, 0, 0, NULL},
		{"500/m", -EINVAL, 0, 0, NULL},
		{"500K/s", -EINVAL, 0, 0, NULL},
		{"500bit/s", -EINVAL, 0, 0, NULL},
		{"500/day", -EINVAL, 0, 0, NULL},
		{"500/w", -EINVAL, 0, 0, NULL},
		{"/s", -EINVAL, 0, 0, NULL},
		{"/d", -EINVAL, 0, 0, NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *again = cases[i].again ? cases[i].again : cases[i].text;
		char text[UNITS_TEXT_MAX];
		uint64_t eighths = 77;
		uint32_t seconds = 77;
		int rc = units_parse_count_rate(cases[i].text, &eighths, &seconds);

		if (rc != cases[i].rc)
			fail_msg("%s: %d", cases[i].text, rc);
		assert_int_equal(eighths, rc ? 77 : cases[i].eighths);
		assert_int_equal(seconds, rc ? 77 : cases[i].seconds);
		if (rc == 0 && *again)
			assert_string_equal(
				units_format_count_rate(eighths, seconds, text, sizeof(text)),
				again);
	}
}

/* An even part is exact to a thousandth, and no part is rounded up. */
TEST(test_count_part)
{
	char text[UNITS_TEXT_MAX];

	assert_string_equal(units_format_count_part(40, 60, 10, text, sizeof(text)), "0.5/min");
	assert_string_equal(units_format_count_part(800, 60, 3, text, sizeof(text)), "33.333/min");
	assert_string_equal(units_format_count_part(8, 86400, 10, text, sizeof(text)), "0.1/d");
	assert_string_equal(units_format_count_part(4000, 1, 1, text, sizeof(text)), "500/s");
}

/* The suggestion for an inexact rate is exact, and per the same time. */
TEST(test_nearest)
{
	static const struct {
		const char *text, *nearest;
	} cases[] = {
		{"0.1/s", "0.125/s"},
		{"0.01/s", "0.125/s"},
		{"0.3/s", "0.25/s"},
		{"33.3/s", "33.25/s"},
		{"10.3/min", "10.25/min"},
		{"0.01/min", "0.125/min"},
		{"99.99/h", "100/h"},
		{"0.33/d", "0.375/d"},
		{"9007199254740993.1/s", "1G/s"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char nearest[UNITS_TEXT_MAX];
		uint64_t eighths;
		uint32_t seconds;

		assert_int_equal(units_parse_count_rate(cases[i].text, &eighths, &seconds), -EDOM);
		assert_string_equal(
			units_nearest_count_rate(cases[i].text, nearest, sizeof(nearest)),
			cases[i].nearest);
		assert_int_equal(units_parse_count_rate(nearest, &eighths, &seconds), 0);
	}
}

static const struct {
	units_formatter format;
	units_parser parse;
	uint64_t value;
	const char *text;
} formats[] = {
	{units_format_rate, units_parse_rate, 0, "0bit/s"},
	{units_format_rate, units_parse_rate, 999, "999bit/s"},
	{units_format_rate, units_parse_rate, 1000, "1kbit/s"},
	{units_format_rate, units_parse_rate, 1001, "1.001kbit/s"},
	{units_format_rate, units_parse_rate, 1500000000, "1.5Gbit/s"},
	{units_format_rate, units_parse_rate, 1000000001, "1.000000001Gbit/s"},
	{units_format_rate, units_parse_rate, 400000000000, "400Gbit/s"},
	{units_format_rate, units_parse_rate, UINT64_MAX, "18446744.073709551615Tbit/s"},
	{units_format_size, units_parse_size, 0, "0B"},
	{units_format_size, units_parse_size, 15000, "15kB"},
	{units_format_size, units_parse_size, 1024, "1KiB"},
	{units_format_size, units_parse_size, 1025, "1.025kB"},
	{units_format_size, units_parse_size, 1280, "1.28kB"},
	{units_format_size, units_parse_size, 65536, "64KiB"},
	{units_format_size, units_parse_size, 1536 * 1024, "1536KiB"},
	{units_format_size, units_parse_size, 4ULL << 30, "4GiB"},
	{units_format_size, units_parse_size, 3ULL << 40, "3TiB"},
	{units_format_size, units_parse_size, 1500ULL * 1000 * 1000 * 1000, "1.5TB"},
	{units_format_size, units_parse_size, 1000000ULL * 1000 * 1000 * 1000, "1PB"},
	{units_format_size, units_parse_size, 1024000, "1.024MB"},
	{units_format_time, units_parse_time, 50000000, "50ms"},
	{units_format_time, units_parse_time, 1500000000, "1.5s"},
	{units_format_time, units_parse_time, 1, "1ns"},
	{units_format_time, units_parse_time, 0, "0ns"},
	{units_format_time, units_parse_time, 59000000000, "59s"},
	{units_format_time, units_parse_time, 60000000000, "1min"},
	{units_format_time, units_parse_time, 61000000000, "61s"},
	{units_format_time, units_parse_time, 5400000000000, "90min"},
	{units_format_time, units_parse_time, 86400000000000, "24h"},
	{units_format_time, units_parse_time, 86400500000000, "86400.5s"},
	{units_format_count, units_parse_count, 0, "0"},
	{units_format_count, units_parse_count, 999, "999"},
	{units_format_count, units_parse_count, 1500, "1.5k"},
	{units_format_count, units_parse_count, 2000000, "2M"},
};

TEST(test_format)
{
	for (size_t i = 0; i < COUNT(formats); i++) {
		char text[UNITS_TEXT_MAX];
		uint64_t back;

		assert_string_equal(
			formats[i].format(formats[i].value, text, sizeof(text)), formats[i].text);
		assert_int_equal(formats[i].parse(text, &back), 0);
		assert_int_equal(back, formats[i].value);
	}
}

/* The published test vectors of 32-bit FNV-1a, and two names that collide. */
TEST(test_name_hash)
{
	assert_int_equal(name_hash(""), 0x811c9dc5);
	assert_int_equal(name_hash("a"), 0xe40c292c);
	assert_int_equal(name_hash("foobar"), 0xbf9cf968);
	assert_int_equal(name_hash("costarring"), name_hash("liquid"));
	assert_int_not_equal(name_hash("costarring"), name_hash("liquic"));
}
