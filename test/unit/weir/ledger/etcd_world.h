/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An etcd that the test plays: it takes the place of the client of lib/io/etcd.
 */
#ifndef WEIR_TEST_ETCD_WORLD_H
#define WEIR_TEST_ETCD_WORLD_H

#include "check.h"

#include "etcd/etcd.h"

#define ETCD_WORLD_FD 42

struct etcd_world {
	struct etcd_draw draws[100]; /* requests */
	unsigned n_draws, opened, closed;
	int open_error, draw_error, password_error; /* results of the next calls */
	struct etcd_answer answers[16];             /* pending; the last one is read first */
	unsigned n_answers;
	char params[128]; /* texts and numbers of the last etcd_open(), with a space between them */
};

extern struct etcd_world etcd_world;

/* Adds an answer; an error has the text "error N". */
struct etcd_answer *etcd_world_add(const char *budget, uint64_t period, int result);
void etcd_world_add_units(
	const char *budget, uint64_t period, uint64_t total, uint64_t drawn, uint64_t left);

#endif
