/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quantities as people write them: "1.5Gbit/s", "64KiB", "50 ms". A decimal number, at most one
 * space, a unit. Exact: no floating point, so what is written is what is enforced. Pure; any
 * thread.
 */
#ifndef WEIR_POLICY_UNITS_H
#define WEIR_POLICY_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 32 /* bytes of any formatted quantity, with the terminator */

/*
 * bit/s kbit/s Mbit/s Gbit/s Tbit/s (steps of 1000) → bit/s.
 * All parsers return 0, -EINVAL (not a number and a known unit), -EDOM (not a whole number of base
 * units) or -ERANGE (negative, or above 64 bits), and leave the result alone unless 0.
 */
int units_parse_rate(const char *text, uint64_t *bits_per_s);

/* B kB MB GB TB PB (steps of 1000), KiB MiB GiB TiB (steps of 1024) → bytes. */
int units_parse_size(const char *text, uint64_t *bytes);

/* ns us ms s min h → ns. */
int units_parse_time(const char *text, uint64_t *ns);

/* A number alone, or k M G (steps of 1000). */
int units_parse_count(const char *text, uint64_t *count);

/*
 * Numbers per time: /s k/s M/s G/s, and likewise /min, /h and /d → eighths in so many seconds (1,
 * 60, 3600 or 86400, as written), as a bit/s is an eighth of a byte a second. The result is exact
 * because the time is not divided by: 100/min is 800 in 60 s.
 */
int units_parse_count_rate(const char *text, uint64_t *eighths, uint32_t *seconds);

/* The exact text of a quantity, in the form that the parsers read, into buf; return buf. */
char *units_format_rate(uint64_t bits_per_s, char *buf, size_t size);
char *units_format_size(uint64_t bytes, char *buf, size_t size);
char *units_format_time(uint64_t ns, char *buf, size_t size);
char *units_format_count(uint64_t count, char *buf, size_t size);
char *units_format_count_rate(uint64_t eighths, uint32_t seconds, char *buf, size_t size);

/* One of so many equal parts of such a rate (less than 2^57), down to a thousandth. */
char *units_format_count_part(
	uint64_t eighths, uint32_t seconds, unsigned parts, char *buf, size_t size);

/*
 * For a text that units_parse_count_rate() refused with -EDOM: the exact rate nearest to it, in its
 * own time, into buf ("10.25/min"); returns buf.
 */
char *units_nearest_count_rate(const char *text, char *buf, size_t size);

#endif
