/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests of commands to a limiter whose workers the test runs, and comparisons of the replies
 * with texts.
 */
#ifndef WEIR_TEST_SHOW_WORLD_H
#define WEIR_TEST_SHOW_WORLD_H

#include <jansson.h>

#include "instance_world.h"

/* Returns the reply of a command of the table, or NULL. params: as a client sends them, or NULL. */
json_t *show_ask(struct instance_world *w, const char *path, const char *params);

/*
 * Expects these members with these values, and no others unless '...' is one of them. In
 * `expected`, ' means ", and the string "*" matches any value. Frees the reply.
 */
void show_expect(json_t *reply, const char *expected);

/* Runs a tick of the limiter, if one is due. It measures no traffic. */
void show_tick(struct instance_world *w, uint64_t now_ns);

/* A request and its expected reply. */
struct show_row {
	const char *path, *params, *expected; /* NULL: no reply */
};
void show_expect_rows(struct instance_world *w, const struct show_row *rows, size_t n);

#endif
