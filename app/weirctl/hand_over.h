/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands of weirctl that are programs in Python, each with a package of its own.
 */
#ifndef WEIR_WEIRCTL_HAND_OVER_H
#define WEIR_WEIRCTL_HAND_OVER_H

#include <stdbool.h>

/*
 * Runs the program weir-COMMAND with all words except the command, which is argv[at]. The program
 * is in the directory of weirctl, in the build directory, or on the PATH. Returns the exit status
 * of wrong usage, with the reason on standard error, if it cannot run.
 */
int hand_over(const char *command, int argc, char **argv, int at);

/*
 * Returns true if the first word that is no option is "import", a command of earlier releases; *at is
 * its index.
 */
bool import_is_called(int argc, char **argv, int *at);

/*
 * Names the new program and runs it with the other words. Returns the exit status of wrong usage if
 * the program is not installed, and otherwise does not return.
 */
int import_moved(int argc, char **argv, int at);

#endif
