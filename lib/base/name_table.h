/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Names, each with a number, in a time that does not grow with how many there are. One thread.
 */
#ifndef WEIR_BASE_NAME_TABLE_H
#define WEIR_BASE_NAME_TABLE_H

#include <stdint.h>

#define NAME_NONE UINT32_MAX /* no number of a name */

struct name_table;

/* With room for so many names at first. 0 or -ENOMEM. */
int name_table_create(uint32_t room, struct name_table **out);
void name_table_destroy(struct name_table *table); /* NULL is none */

/* The number of a name, or NAME_NONE. */
uint32_t name_table_find(const struct name_table *table, const char *name);

/*
 * Gives the name a number in place of the one that it had; NAME_NONE: it has none any more. It is
 * kept by pointer. 0 or -ENOMEM.
 */
int name_table_set(struct name_table *table, const char *name, uint32_t number);

#endif
