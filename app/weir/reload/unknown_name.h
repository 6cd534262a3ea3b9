/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about names in requests that do not exist, with the nearest name that does. Pure.
 */
#ifndef WEIR_APP_UNKNOWN_NAME_H
#define WEIR_APP_UNKNOWN_NAME_H

#include "policy/config.h"

#define UNKNOWN_NAME_MAX 256 /* bytes of a message */

/*
 * Writes `policy "vidoe": no such policy: did you mean "video"?`, or with a command that lists the
 * policies. Returns `why`.
 */
const char *unknown_policy(
	const struct policy *policies, unsigned n, const char *name, char why[UNKNOWN_NAME_MAX]);

/* Writes `wire "wset": no such wire: did you mean "west"?`, or with names that exist. */
const char *unknown_wire(const struct config *config, const char *name, char why[UNKNOWN_NAME_MAX]);

#endif
