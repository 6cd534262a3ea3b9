/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Names of policies and peers: all of them, and the one that was meant by another word.
 */
#ifndef WEIR_WEIRCTL_KNOWN_NAMES_H
#define WEIR_WEIRCTL_KNOWN_NAMES_H

#include "command.h"

/* An array of the names. 0, or what source.h says. */
int names_of(struct source *source, enum names kind, json_t **names);

/*
 * The name that is near to the text, or the only one that begins so: for free(). NULL: there is
 * none, or the limiter does not tell.
 */
char *names_meant(struct source *source, enum names kind, const char *text);

#endif
