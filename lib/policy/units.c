/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ULL /* ns; also the giga of whatever else is counted */

struct unit {
	const char *name;
	uint64_t scale; /* base units in one */
};

/* Ascending, so that the formatters find the largest that fits; ended by a NULL name. */
static const struct unit rates[] = {
	{"bit/s", 1},
	{"kbit/s", 1000},
	{"Mbit/s", 1000 * 1000},
	{"Gbit/s", 1000 * 1000 * 1000},
	{"Tbit/s", 1000ULL * 1000 * 1000 * 1000},
	{NULL, 0},
};

static const struct unit sizes[] = {
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000 * 1000},
	{"GB", 1000 * 1000 * 1000},
	{"TB", 1000 * SECOND},
	{"PB", 1000 * 1000 * SECOND},
	{NULL, 0},
};

static const struct unit binary_sizes[] = {
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1ULL << 40},
	{NULL, 0},
};

static const struct unit times[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000 * 1000},
	{"s", SECOND},
	{NULL, 0},
};

static const struct unit long_times[] = {
	{"min", 60 * SECOND},
	{"h", 3600 * SECOND},
	{NULL, 0},
};

static const struct unit counts[] = {
	{"", 1},
	{"k", 1000},
	{"M", 1000 * 1000},
	{"G", SECOND},
	{NULL, 0},
};

/* Numbers per time, in eighths: what bits are to bytes. */
static const struct unit per_second[] = {
	{"/s", 8},
	{"k/s", 8 * 1000},
	{"M/s", 8 * 1000 * 1000},
	{"G/s", 8 * SECOND},
	{NULL, 0},
};

static const struct unit per_minute[] = {
	{"/min", 8},
	{"k/min", 8 * 1000},
	{"M/min", 8 * 1000 * 1000},
	{NULL, 0},
};

static const struct unit per_hour[] = {
	{"/h", 8},
	{"k/h", 8 * 1000},
	{"M/h", 8 * 1000 * 1000},
	{NULL, 0},
};

static const struct period {
	const struct unit *units;
	uint64_t seconds;
	const char *step; /* an eighth a second, in this period */
} periods[] = {
	{per_second, 1, "0.125/s"},
	{per_minute, 60, "7.5/min"},
	{per_hour, 3600, "450/h"},
};

#define N_PERIODS (sizeof(periods) / sizeof(periods[0]))

/* In thousandths, in which an eighth is a whole number and decimals can be written. */
static const struct unit thousandths[] = {
	{"/s", 1000},
	{"k/s", 1000 * 1000},
	{"M/s", SECOND},
	{"G/s", 1000 * SECOND},
	{NULL, 0},
};

/* The parts of "12.50 MB", still text. */
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

static int split(const char *text, struct quantity *out)
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

static uint64_t find_scale(const struct unit *units, const char *name)
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
 * scale × 0.d1d2…dk by Horner from the last digit. The result is whole only if every division by
 * ten on the way is, so the first remainder decides; and no step is above 10 × scale.
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

static int parse(const struct unit *units, const char *text, uint64_t *out)
{
	struct quantity quantity;
	uint64_t scale, whole, fraction;
	int rc = split(text, &quantity);

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
	return parse(rates, text, bits_per_s);
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	int rc = parse(sizes, text, bytes);

	return rc == -EINVAL ? parse(binary_sizes, text, bytes) : rc;
}

int units_parse_time(const char *text, uint64_t *ns)
{
	int rc = parse(times, text, ns);

	return rc == -EINVAL ? parse(long_times, text, ns) : rc;
}

int units_parse_count(const char *text, uint64_t *count)
{
	return parse(counts, text, count);
}

int units_parse_count_rate(const char *text, uint64_t *eighths)
{
	uint64_t value;
	int rc = -EINVAL;

	for (size_t i = 0; i < N_PERIODS && rc == -EINVAL; i++) {
		rc = parse(periods[i].units, text, &value);
		if (rc == 0 && value % periods[i].seconds != 0)
			rc = -EDOM;
		else if (rc == 0)
			*eighths = value / periods[i].seconds;
	}
	return rc;
}

static const struct unit *largest_fitting(const struct unit *units, uint64_t value)
{
	while (units[1].name != NULL && units[1].scale <= value)
		units++;
	return units;
}

static char *format_decimal(const struct unit *units, uint64_t value, char *buf, size_t size)
{
	const struct unit *unit = largest_fitting(units, value);
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

/* Whoever wrote a multiple of 1024 that is none of 1000 was thinking in KiB. */
char *units_format_size(uint64_t bytes, char *buf, size_t size)
{
	const struct unit *unit = largest_fitting(binary_sizes, bytes);

	if (bytes % 1024 != 0 || bytes % 1000 == 0)
		return format_decimal(sizes, bytes, buf, size);
	while (bytes % unit->scale != 0)
		unit--;
	snprintf(buf, size, "%" PRIu64 "%s", bytes / unit->scale, unit->name);
	return buf;
}

/* Not in decimals of hours: nobody reads those. */
char *units_format_time(uint64_t ns, char *buf, size_t size)
{
	const struct unit *unit = largest_fitting(long_times, ns);

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

char *units_format_count_rate(uint64_t eighths, char *buf, size_t size)
{
	return format_decimal(thousandths, eighths * 125, buf, size);
}

/* Times scale, about: six digits of the fraction; UINT64_MAX is too much to say. */
static uint64_t roughly(const struct quantity *quantity, uint64_t scale)
{
	uint64_t whole, fraction = 0, parts = 1;

	for (size_t i = 0; i < quantity->n_fraction && i < 6; i++, parts *= 10)
		fraction = 10 * fraction + (uint64_t)(quantity->fraction[i] - '0');
	if (scale_whole(quantity, scale, &whole) < 0 ||
		__builtin_add_overflow(whole, fraction * scale / parts, &whole))
		return UINT64_MAX;
	return whole;
}

/* The eighths a second nearest to so many thousandths of an eighth a period, up to 1G/s. */
static uint64_t nearest_eighths(const struct period *period, uint64_t thousandth_eighths)
{
	uint64_t eighth = 1000 * period->seconds, most = 8 * SECOND * eighth;
	uint64_t n = thousandth_eighths < most ? thousandth_eighths : most;
	/* A minute's rates are whole numbers at every other eighth. */
	uint64_t step = period->seconds == 60 && n >= 2 * eighth ? 2 : 1;
	uint64_t steps = (n + step * eighth / 2) / (step * eighth);

	return step * (steps > 0 ? steps : 1);
}

const char *units_nearest_count_rate(const char *text, char *buf, size_t size)
{
	struct quantity quantity;

	for (size_t i = 0; i < N_PERIODS && split(text, &quantity) == 0; i++) {
		const struct period *period = &periods[i];
		const struct unit unit[] = {{period->units->name, 1000}, {NULL, 0}};
		uint64_t scale = find_scale(period->units, quantity.unit), nearest;

		if (scale == 0)
			continue;
		nearest = nearest_eighths(period, roughly(&quantity, 1000 * scale));
		format_decimal(unit, nearest * period->seconds * 125, buf, size);
		return period->step;
	}
	snprintf(buf, size, "1/s");
	return periods->step;
}
