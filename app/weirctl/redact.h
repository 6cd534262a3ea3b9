/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Text that leaves the machine without what is secret in it. Configurations name files of secrets
 * and have none themselves; but an operator may have written one where none belongs. Pure.
 */
#ifndef WEIR_WEIRCTL_REDACT_H
#define WEIR_WEIRCTL_REDACT_H

#include <jansson.h>

#define REDACTED "REDACTED"

/*
 * A copy of the text, for free(), in which these are replaced: words of `secrets` (an array of
 * strings), values of members that are called password, secret, token or so, what is before the @
 * of a URL, and 40 hexadecimal digits or more, as keys are written. The text need be no valid
 * JSON. NULL: there is no memory.
 */
char *redact_text(const char *text, const json_t *secrets);

/* Values of the members of that name, strings and lists of these, wherever they stand: an array. */
json_t *redact_values(const char *text, const char *name);

/* Files of secrets that a configuration names. */
json_t *redact_files(const char *text);

/* Adds each word of a file of secrets that is long enough to be one. */
void redact_learn(json_t *secrets, const char *text);

#endif
