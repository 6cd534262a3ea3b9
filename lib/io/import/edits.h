/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What has to change so that the policies whose names begin with a prefix are those of a list, and
 * no others: an array of edits (change/edit.h). Pure; any thread.
 */
#ifndef WEIR_IMPORT_EDITS_H
#define WEIR_IMPORT_EDITS_H

#include <jansson.h>

struct import_counts {
	unsigned added, set, removed, same;
};

/*
 * `running`: all policies that there are; `wanted`: those that the prefix is to have. A new array,
 * empty if nothing has to change; NULL without memory.
 */
json_t *import_edits(const json_t *running, const json_t *wanted, const char *prefix,
	struct import_counts *counts);

#endif
