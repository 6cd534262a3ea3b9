/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "import" of earlier releases, which the program weir-import has replaced.
 */
#ifndef WEIR_WEIRCTL_MOVED_H
#define WEIR_WEIRCTL_MOVED_H

#include <stdbool.h>

/* Returns true if the first word that is no option is "import"; *at is its index. */
bool import_is_called(int argc, char **argv, int *at);

/*
 * Names the new program and runs it with the other words. Returns the exit status of wrong usage if
 * the program is not installed, and otherwise does not return.
 */
int import_moved(int argc, char **argv, int at);

#endif
