/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Numbers as operators read them: three digits and a unit. Pure.
 */
#ifndef WEIR_WEIRCTL_HUMAN_H
#define WEIR_WEIRCTL_HUMAN_H

#include <stddef.h>

/* Room that any of these needs; each returns `text`. */
#define HUMAN_MAX 48

/* "12.4 Mbit/s": thousands have a prefix, whatever the unit. */
char *human_amount(double value, const char *unit, char text[HUMAN_MAX]);

/* "12.4 ms", "8.00 s", "3 h 20 min", "12 d 3 h"; what is below 0 is 0. */
char *human_seconds(double seconds, char text[HUMAN_MAX]);

#endif
