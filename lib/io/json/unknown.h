/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: messages about unknown keys.
 */
#ifndef WEIR_JSON_UNKNOWN_H
#define WEIR_JSON_UNKNOWN_H

#include "json/read.h"
#include "json/suggest.h"

/*
 * Reports the key at the path, which the table `keys` of its object does not have. Suggests keys
 * by spelling and by meaning, and other objects that have this key. Counts as an error.
 */
void report_unknown_key(
	struct reader *reader, const struct json_path *path, const struct key *keys);

#endif
