/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

#define GIGA UINT64_C(1000000000)

struct unit_suffix {
	const char *name;
	uint64_t scale; /* base units in one */
};

/* Ascending, so that the formatters find the largest unit that fits; ends with a NULL name. */
static const struct unit_suffix rates[] = {
	{"bit/s", 1},
	{"kbit/s", 1000},
	{"Mbit/s", 1000 * 1000},
	{"Gbit/s", 1000 * 1000 * 1000},
	{"Tbit/s", 1000ULL * 1000 * 1000 * 1000},
	{NULL, 0},
};

static const struct unit_suffix sizes[] = {
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000 * 1000},
	{"GB", 1000 * 1000 * 1000},
	{"TB", 1000 * GIGA},
	{"PB", 1000 * 1000 * GIGA},
	{NULL, 0},
};

static const struct unit_suffix binary_sizes[] = {
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1ULL << 40},
	{NULL, 0},
};

static const struct unit_suffix times[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000 * 1000},
	{"s", SECOND_NS},
	{NULL, 0},
};

static const struct unit_suffix long_times[] = {
	{"min", 60 * SECOND_NS},
	{"h", 3600 * SECOND_NS},
	{NULL, 0},
};

static const struct unit_suffix typed_times[] = {
	{"m", 60 * SECOND_NS},
	{"d", 86400 * SECOND_NS},
	{NULL, 0},
};

static const struct unit_suffix counts[] = {
	{"", 1},
	{"k", 1000},
	{"M", 1000 * 1000},
	{"G", GIGA},
	{NULL, 0},
};

/*
 * Numbers per time, in eighths (like bits of a byte) and in thousandths. An eighth is a whole
 * number of thousandths, and they have a decimal form.
 */
#define PER(time)                                                                   \
	{                                                                           \
		{"/" time, 8}, {"k/" time, 8 * 1000}, {"M/" time, 8 * 1000 * 1000}, \
			{"G/" time, 8 * GIGA}, {NULL, 0},                           \
	}
#define THOUSANDTHS_PER(time)                                                  \
	{                                                                      \
		{"/" time, 1000}, {"k/" time, 1000 * 1000}, {"M/" time, GIGA}, \
			{"G/" time, 1000 * GIGA}, {NULL, 0},                   \
	}

static const struct period {
	uint32_t seconds;
	struct unit_suffix eighths[5], thousandths[5];
} periods[] = {
	{1, PER("s"), THOUSANDTHS_PER("s")},
	{60, PER("min"), THOUSANDTHS_PER("min")},
	{3600, PER("h"), THOUSANDTHS_PER("h")},
	{86400, PER("d"), THOUSANDTHS_PER("d")},
};

#define N_PERIODS (sizeof(periods) / sizeof(periods[0]))

/* Parts of "12.50 MB", as text. */
struct quantity {
	bool negative;
	const char *whole;
	size_t n_whole;
	const char *fraction;
	size_t n_fraction;
	const char *unit;
};

static size_t span_digits(const char *text)
{
	return strspn(text, "0123456789");
}

static int split_quantity(const char *text, struct quantity *out)
{
	*out = (struct quantity){.negative = *text == '-'};
	out->whole = text + out->negative;
	out->n_whole = span_digits(out->whole);
	text = out->whole + out->n_whole;
	if (*text == '.') {
		out->fraction = text + 1;
		out->n_fraction = span_digits(out->fraction);
		if (out->n_fraction == 0)
			return -EINVAL;
		text = out->fraction + out->n_fraction;
	}
	if (text[0] == ' ' && text[1] != '\0')
		text++;
	out->unit = text;
	return out->n_whole > 0 ? 0 : -EINVAL;
}

static uint64_t find_scale(const struct unit_suffix *units, const char *name)
{
	for (; units->name != NULL; units++) {
		if (strcmp(units->name, name) == 0)
			return units->scale;
	}
	return 0;
}

static int scale_whole(const struct quantity *quantity, uint64_t scale, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < quantity->n_whole; i++) {
		uint64_t digit = (uint64_t)(quantity->whole[i] - '0');

		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	return __builtin_mul_overflow(value, scale, out) ? -ERANGE : 0;
}

/*
 * Computes scale × 0.d1d2…dk by Horner from the last digit. The result is whole only if every
 * division by ten is exact, so the first remainder decides. No step exceeds 10 × scale.
 */
static int scale_fraction(const struct quantity *quantity, uint64_t scale, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = quantity->n_fraction; i > 0; i--) {
		value += scale * (uint64_t)(quantity->fraction[i - 1] - '0');
		if (value % 10 != 0)
			return -EDOM;
		value /= 10;
	}
	*out = value;
	return 0;
}

static int parse_quantity(const struct unit_suffix *units, const char *text, uint64_t *out)
{
	struct quantity quantity;
	uint64_t scale, whole, fraction;
	int rc = split_quantity(text, &quantity);

	scale = rc == 0 ? find_scale(units, quantity.unit) : 0;
	if (scale == 0)
		return -EINVAL;
	if (quantity.negative)
		return -ERANGE;
	rc = scale_whole(&quantity, scale, &whole);
	if (rc == 0)
		rc = scale_fraction(&quantity, scale, &fraction);
	if (rc < 0)
		return rc;
	if (__builtin_add_overflow(whole, fraction, &whole))
		return -ERANGE;
	*out = whole;
	return 0;
}

int units_parse_rate(const char *text, uint64_t *bits_per_s)
{
	return parse_quantity(rates, text, bits_per_s);
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	int rc = parse_quantity(sizes, text, bytes);

	return rc == -EINVAL ? parse_quantity(binary_sizes, text, bytes) : rc;
}

int units_parse_time(const char *text, uint64_t *ns)
{
	int rc = parse_quantity(times, text, ns);

	return rc == -EINVAL ? parse_quantity(long_times, text, ns) : rc;
}

int units_parse_duration(const char *text, uint64_t *ns)
{
	int rc = units_parse_time(text, ns);

	return rc == -EINVAL ? parse_quantity(typed_times, text, ns) : rc;
}

int units_parse_count(const char *text, uint64_t *count)
{
	return parse_quantity(counts, text, count);
}

int units_parse_count_rate(const char *text, uint64_t *eighths, uint32_t *seconds)
{
	int rc = -EINVAL;

	for (size_t i = 0; i < N_PERIODS && rc == -EINVAL; i++) {
		rc = parse_quantity(periods[i].eighths, text, eighths);
		if (rc == 0)
			*seconds = periods[i].seconds;
	}
	return rc;
}

static const struct unit_suffix *largest_fitting(const struct unit_suffix *units, uint64_t value)
{
	while (units[1].name != NULL && units[1].scale <= value)
		units++;
	return units;
}

static char *format_decimal(const struct unit_suffix *units, uint64_t value, char *buf, size_t size)
{
	const struct unit_suffix *unit = largest_fitting(units, value);
	uint64_t scale = unit->scale, fraction = value % scale;
	char digits[UNITS_TEXT_MAX];
	unsigned n = 0;

	while (fraction > 0) {
		scale /= 10; /* stays above 0: a decimal scale of n zeroes has n fraction digits */
		digits[n++] = (char)('0' + fraction / scale);
		fraction %= scale;
	}
	digits[n] = '\0';
	snprintf(buf, size, "%" PRIu64 "%s%s%s", value / unit->scale, n > 0 ? "." : "", digits,
		unit->name);
	return buf;
}

char *units_format_rate(uint64_t bits_per_s, char *buf, size_t size)
{
	return format_decimal(rates, bits_per_s, buf, size);
}

/* Prints a multiple of 1024 in KiB, unless it is also one of 1000: people write it so. */
char *units_format_size(uint64_t bytes, char *buf, size_t size)
{
	const struct unit_suffix *unit = largest_fitting(binary_sizes, bytes);

	if (bytes % 1024 != 0 || bytes % 1000 == 0)
		return format_decimal(sizes, bytes, buf, size);
	while (bytes % unit->scale != 0)
		unit--;
	snprintf(buf, size, "%" PRIu64 "%s", bytes / unit->scale, unit->name);
	return buf;
}

/* Prints no decimals of hours, because they are hard to read. */
char *units_format_time(uint64_t ns, char *buf, size_t size)
{
	const struct unit_suffix *unit = largest_fitting(long_times, ns);

	while (unit > long_times && ns % unit->scale != 0)
		unit--;
	if (ns == 0 || ns % unit->scale != 0)
		return format_decimal(times, ns, buf, size);
	snprintf(buf, size, "%" PRIu64 "%s", ns / unit->scale, unit->name);
	return buf;
}

char *units_format_count(uint64_t count, char *buf, size_t size)
{
	return format_decimal(counts, count, buf, size);
}

char *units_format_count_rate(uint64_t eighths, uint32_t seconds, char *buf, size_t size)
{
	return units_format_count_part(eighths, seconds, 1, buf, size);
}

char *units_format_count_part(
	uint64_t eighths, uint32_t seconds, unsigned parts, char *buf, size_t size)
{
	size_t i = 0;

	while (i + 1 < N_PERIODS && periods[i].seconds < seconds)
		i++;
	return format_decimal(periods[i].thousandths, eighths * 125 / parts, buf, size);
}

/*
 * Returns the quantity times scale, rounded: six digits of the fraction count. UINT64_MAX:
 * overflow.
 */
static uint64_t approximate_quantity(const struct quantity *quantity, uint64_t scale)
{
	uint64_t whole, fraction = 0, parts = 1;

	for (size_t i = 0; i < quantity->n_fraction && i < 6; i++, parts *= 10)
		fraction = 10 * fraction + (uint64_t)(quantity->fraction[i] - '0');
	if (scale_whole(quantity, scale, &whole) < 0 ||
		__builtin_add_overflow(whole, fraction * scale / parts, &whole))
		return UINT64_MAX;
	return whole;
}

/* Returns the number of eighths, at least 1, nearest to a number of thousandths, up to 1G. */
static uint64_t nearest_eighths(uint64_t thousandths)
{
	uint64_t most = 8000 * GIGA, n = thousandths < most ? thousandths : most;
	uint64_t eighths = (n + 500) / 1000;

	return eighths > 0 ? eighths : 1;
}

char *units_nearest_count_rate(const char *text, char *buf, size_t size)
{
	struct quantity quantity;

	for (size_t i = 0; i < N_PERIODS && split_quantity(text, &quantity) == 0; i++) {
		uint64_t scale = find_scale(periods[i].eighths, quantity.unit);

		if (scale > 0)
			return units_format_count_rate(
				nearest_eighths(approximate_quantity(&quantity, 1000 * scale)),
				periods[i].seconds, buf, size);
	}
	snprintf(buf, size, "1/s");
	return buf;
}
