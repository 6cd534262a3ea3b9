/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What of a table of sources one source's next packet may touch: so that it can be tried on a copy
 * of that alone, of a table that may be of any size.
 */
#ifndef WEIR_SOURCE_SOURCE_EXTENTS_H
#define WEIR_SOURCE_SOURCE_EXTENTS_H

#include <stdint.h>

#include "base/extents.h"
#include "source/source_table.h"

/*
 * Adds the table's head and those lines that decide on a packet of the source with that hash: at
 * most 95 pieces. What is written beside them says nothing of the verdict. The table's worker.
 */
void source_table_extents(const struct source_table *table, uint64_t hash, struct extents *extents);

#endif
