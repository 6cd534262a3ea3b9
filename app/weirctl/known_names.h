/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Names of policies and peers: all of them, and suggestions for misspelt ones.
 */
#ifndef WEIR_WEIRCTL_KNOWN_NAMES_H
#define WEIR_WEIRCTL_KNOWN_NAMES_H

#include "command.h"

/* Gets an array of the names. Returns 0, or an error of source.h. */
int names_of(struct source *source, enum names kind, json_t **names);

/*
 * Returns a similar name, or the only one that begins with the text: for free(). NULL: none, or no
 * answer.
 */
char *names_meant(struct source *source, enum names kind, const char *text);

#endif
