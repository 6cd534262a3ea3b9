/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * LibreQoS's network.json: what circuits are below of. Private to this room.
 */
#ifndef WEIR_IMPORT_NETWORK_H
#define WEIR_IMPORT_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "json/diagnostics.h"

/* Bit/s of a number of Mbit/s, to the nearest one. 0, or -ERANGE beyond all rates. */
int network_rate(double mbps, uint64_t *bps);

/*
 * All nodes, by their names as they are written: {"limit": "500Mbit/s", "parent": "Site_1"}, of
 * which those at the top have no parent; of one direction. A virtual node has no limit, and no
 * other node has it as its parent: {"virtual": true, "parent": "Site_1"}. NULL, and every mistake is told.
 */
json_t *network_nodes(
	const json_t *network, bool upload, const char *file, struct diagnostics *diagnostics);

#endif
