/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Programs of the machine, of which each may be missing, or hang.
 */
#ifndef WEIR_WEIRCTL_CHILD_H
#define WEIR_WEIRCTL_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a program writes to both of its outputs, for free(), up to `most` bytes; a zero byte is a
 * blank. NULL: it does not exist, or does not end in time. `status`: its exit status.
 */
char *child_output(const char *const *argv, unsigned ms, size_t most, int *status);

/* Runs it with a file as its standard output: its exit status, or a negative errno. */
int child_run(const char *const *argv, int out);

#endif
