/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Paths as `gobgp monitor global rib -j` writes them, in the words of exabgp. Private to this room.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_GOBGP_H
#define WEIR_IMPORT_FLOWSPEC_GOBGP_H

#include <jansson.h>

/* What exabgp would call the message: a new object. NULL: it is no path of flow specifications. */
json_t *flowspec_of_gobgp(const json_t *path);

#endif
