/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What weirctl says of itself, of which manuals and completion are made (tools/manual).
 */
#ifndef WEIR_WEIRCTL_HELP_H
#define WEIR_WEIRCTL_HELP_H

#include "ctl_options.h"

void help_all(const struct command *all, FILE *out);

/* How one is called, what it does, its options and an example. */
void help_of(const struct command *command, FILE *out);

/* The line that shows how something is called: a command, or any (NULL). */
void help_usage(const struct command *command, FILE *out);

#endif
