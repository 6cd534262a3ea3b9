/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Which socket is meant when nobody says so.
 */
#ifndef WEIR_WEIRCTL_SOCKETS_H
#define WEIR_WEIRCTL_SOCKETS_H

#include <stdio.h>

#define SOCKETS_DIRECTORY "/run/weir"

/*
 * The only socket of a limiter in the directory: a copy for free(). NULL: there is none, or there
 * are several, or it cannot be read; `err` is told which.
 */
char *sockets_only(const char *directory, FILE *err);

/* What went wrong with a socket, or behind it, and what to do about it: no line, but a text. */
void sockets_explain(const char *path, int error, FILE *out);

#endif
