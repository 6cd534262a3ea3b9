/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Times on a command line: "90s", "10min" or "10m", "2h", "1d", "1.5h". Pure.
 */
#ifndef WEIR_WEIRCTL_TYPED_TIME_H
#define WEIR_WEIRCTL_TYPED_TIME_H

#include <stdbool.h>

/* If a number without a unit is a time, in seconds. */
enum typed_unit { TYPED_UNIT_NEEDED, TYPED_UNIT_OPTIONAL };

/* Returns the seconds, or NaN if the text is no time. */
double typed_time(const char *text, enum typed_unit unit);

/* Returns the seconds, or 0 if the text is no time of whole seconds from 1 to `most`. */
unsigned long typed_seconds(const char *text, enum typed_unit unit, unsigned long most);

#endif
