/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quantities as people write them: "1.5Gbit/s", "64KiB", "50 ms". A decimal number, at most one
 * space, a unit. Exact: there is no floating point, so the written value is the enforced one. Pure;
 * any thread.
 */
#ifndef WEIR_POLICY_UNITS_H
#define WEIR_POLICY_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 32 /* bytes of any formatted quantity, with the terminator */

/*
 * Parses bit/s kbit/s Mbit/s Gbit/s Tbit/s (steps of 1000) into bit/s.
 *
 * All parsers return 0, -EINVAL (no number, or an unsupported unit), -EDOM (not a whole number of
 * base units) or -ERANGE (negative, or above 64 bits). They write the result only if they return 0.
 */
int units_parse_rate(const char *text, uint64_t *bits_per_s);

/* Parses B kB MB GB TB PB (steps of 1000), KiB MiB GiB TiB (steps of 1024) into bytes. */
int units_parse_size(const char *text, uint64_t *bytes);

/* Parses ns us ms s min h into ns. */
int units_parse_time(const char *text, uint64_t *ns);

/* Parses the same, and m (a minute) and d, which people type in commands. */
int units_parse_duration(const char *text, uint64_t *ns);

/* Parses a number alone, or with k M G (steps of 1000). */
int units_parse_count(const char *text, uint64_t *count);

/*
 * Parses numbers per time: /s k/s M/s G/s, and the same with /min, /h and /d. The result is the
 * eighths per `seconds`, which is 1, 60, 3600 or 86400, as written. An eighth corresponds to a bit
 * if the unit is a byte. The result is exact because it is not divided by the time: 100/min is 800
 * in 60 s.
 */
int units_parse_count_rate(const char *text, uint64_t *eighths, uint32_t *seconds);

/* Write the exact text of a quantity, in the form that the parsers read, into buf; return buf. */
char *units_format_rate(uint64_t bits_per_s, char *buf, size_t size);
char *units_format_size(uint64_t bytes, char *buf, size_t size);
char *units_format_time(uint64_t ns, char *buf, size_t size);
char *units_format_count(uint64_t count, char *buf, size_t size);
char *units_format_count_rate(uint64_t eighths, uint32_t seconds, char *buf, size_t size);

/* Writes a rate divided by `parts`, to a thousandth. `eighths` is less than 2^57. */
char *units_format_count_part(
	uint64_t eighths, uint32_t seconds, unsigned parts, char *buf, size_t size);

/*
 * For a text that units_parse_count_rate() rejected with -EDOM: writes the nearest exact rate, in
 * the same time unit, into buf ("10.25/min"); returns buf.
 */
char *units_nearest_count_rate(const char *text, char *buf, size_t size);

#endif
