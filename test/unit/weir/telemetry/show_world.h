/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands asked of a box whose workers the test turns, and what they say compared with a text.
 */
#ifndef WEIR_TEST_SHOW_WORLD_H
#define WEIR_TEST_SHOW_WORLD_H

#include <jansson.h>

#include "instance_world.h"

/* The reply of a command of the table, or NULL; params as a client sends them, or NULL. */
json_t *show_ask(struct instance_world *w, const char *path, const char *params);

/*
 * These members with these values, and no others unless '...' is one of them; ' stands for " in
 * `expected`, and the string "*" there for any value. Frees the reply.
 */
void show_expect(json_t *reply, const char *expected);

/* Asks, expects. */
struct show_row {
	const char *path, *params, *expected; /* NULL: nothing is said */
};
void show_expect_rows(struct instance_world *w, const struct show_row *rows, size_t n);

#endif
