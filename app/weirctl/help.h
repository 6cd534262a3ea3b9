/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Help texts of weirctl, also the source of completion (tools/manual).
 */
#ifndef WEIR_WEIRCTL_HELP_H
#define WEIR_WEIRCTL_HELP_H

#include "ctl_options.h"

void help_all(const struct command *all, FILE *out);

/* Prints usage, description, options and an example of a command. */
void help_of(const struct command *command, FILE *out);

/* Prints the usage line of a command, or of weirctl (NULL). */
void help_usage(const struct command *command, FILE *out);

#endif
