/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes numbers for operators: three digits and a unit. Pure.
 */
#ifndef WEIR_WEIRCTL_HUMAN_H
#define WEIR_WEIRCTL_HUMAN_H

#include <stddef.h>

/* Bytes of room for any of these texts; each function returns `text`. */
#define HUMAN_MAX 48

/* "12.4 Mbit/s": a prefix for each factor of 1000, with any unit. */
char *human_amount(double value, const char *unit, char text[HUMAN_MAX]);

/* "216 MiB", "12.4 KiB", "512 B": a prefix for each factor of 1024. */
char *human_memory(double bytes, char text[HUMAN_MAX]);

/* "12.4 ms", "8.00 s", "3 h 20 min", "12 d 3 h"; a negative time is "0 s". */
char *human_seconds(double seconds, char text[HUMAN_MAX]);

#endif
