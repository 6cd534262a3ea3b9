/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The default socket, and errors of sockets.
 */
#ifndef WEIR_WEIRCTL_SOCKETS_H
#define WEIR_WEIRCTL_SOCKETS_H

#include <stdio.h>

#define SOCKETS_DIRECTORY "/run/weir"

/*
 * Returns a copy of the path of the only limiter's socket in the directory, for free(). NULL: none,
 * several, or no access; `err` gets the reason.
 */
char *sockets_only(const char *directory, FILE *err);

/* Writes the error of a socket or of its limiter, and a remedy: a text without a newline. */
void sockets_explain(const char *path, int error, FILE *out);

#endif
