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
 * All three return 0, -EINVAL (not a number and a known unit), -EDOM (not a whole number of base
 * units) or -ERANGE (negative, or above 64 bits), and leave the result alone unless 0.
 */
int units_parse_rate(const char *text, uint64_t *bits_per_s);

/* B kB MB GB (steps of 1000), KiB MiB GiB (steps of 1024) → bytes. */
int units_parse_size(const char *text, uint64_t *bytes);

/* ns us ms s → ns. */
int units_parse_time(const char *text, uint64_t *ns);

/* The exact text of a quantity, in the form that the parsers read, into buf; return buf. */
char *units_format_rate(uint64_t bits_per_s, char *buf, size_t size);
char *units_format_size(uint64_t bytes, char *buf, size_t size);
char *units_format_time(uint64_t ns, char *buf, size_t size);

#endif
