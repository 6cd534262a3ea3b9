/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers that a numeric component of a flow specification (RFC 8955, 4.2.1.1) takes, as exabgp
 * writes it: ["=53", ">8080&<8088"]. Exact. Private to this room.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_SET_H
#define WEIR_IMPORT_FLOWSPEC_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define NUMBERS_MOST 65536

struct number_set {
	unsigned n; /* of numbers from 0: a multiple of 64 */
	uint64_t bits[NUMBERS_MOST / 64 + 1];
};

/* The number that a word names, or -1. */
typedef int (*number_named_fn)(const char *word);

/*
 * Those of n numbers from 0 that any of the list's texts takes. 0; -EINVAL: one of them is not
 * understood. `named`: NULL, nothing has a name.
 */
int number_set_read(struct number_set *set, unsigned n, const json_t *list, number_named_fn named);

bool number_set_has(const struct number_set *set, unsigned number);
bool number_set_is_whole(const struct number_set *set);

/* The next numbers in a row from `from` on; false: there are no more. */
bool number_set_next(const struct number_set *set, unsigned from, unsigned *first, unsigned *last);

#endif
