/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A map from names to numbers, with constant expected time per operation (amortized). One thread.
 */
#ifndef WEIR_BASE_NAME_TABLE_H
#define WEIR_BASE_NAME_TABLE_H

#include <stdint.h>

#define NAME_NONE UINT32_MAX /* the name has no number */

struct name_table;

/* Creates a table with room for `room` names. It grows when needed. Returns 0 or -ENOMEM. */
int name_table_create(uint32_t room, struct name_table **out);
void name_table_destroy(struct name_table *table); /* NULL is allowed */

/* Returns the number of a name, or NAME_NONE. */
uint32_t name_table_find(const struct name_table *table, const char *name);

/*
 * Sets the number of a name; NAME_NONE removes it. The table keeps the pointer `name`, also of a
 * removed name: it must stay valid as long as the table. Returns 0 or -ENOMEM.
 */
int name_table_set(struct name_table *table, const char *name, uint32_t number);

#endif
