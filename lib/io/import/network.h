/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * LibreQoS's network.json: what circuits are below of. Private to this room.
 */
#ifndef WEIR_IMPORT_NETWORK_H
#define WEIR_IMPORT_NETWORK_H

#include <stdbool.h>

#include <jansson.h>

#include "json/diagnostics.h"

/*
 * All nodes, by their names as they are written: {"limit": "500Mbit/s", "parent": "Site_1"}, of
 * which those at the top have no parent; of one direction. NULL, and every mistake is told.
 */
json_t *network_nodes(
	const json_t *network, bool upload, const char *file, struct diagnostics *diagnostics);

#endif
