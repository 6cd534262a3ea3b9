/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lists the parts of a table of sources that one source's next packet can access. So a packet can
 * be tried on a copy of these parts, however large the table is.
 */
#ifndef WEIR_SOURCE_SOURCE_EXTENTS_H
#define WEIR_SOURCE_SOURCE_EXTENTS_H

#include <stdint.h>

#include "base/extents.h"
#include "source/source_table.h"

/*
 * Adds the table's head and the lines that decide on a packet of the source with this hash: at most
 * 95 pieces. Other memory that a packet writes does not affect the verdict. The table's worker.
 */
void source_table_extents(const struct source_table *table, uint64_t hash, struct extents *extents);

#endif
