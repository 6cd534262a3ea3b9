/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The two kinds of the command "import".
 */
#ifndef WEIR_WEIRCTL_IMPORT_H
#define WEIR_WEIRCTL_IMPORT_H

#include <stddef.h>

#include <jansson.h>

struct options;

/* A file as it was read. */
struct import_text {
	const char *name;
	char *text;
	size_t len;
	json_t *network; /* and what it is to be read with; NULL */
};

#define FLOWSPEC_PREFIX "flowspec-"

/* Follows a speaker on standard input until that ends, or a signal comes: the exit status. */
int flowspec_follow(const struct options *options);

#endif
