/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Adds, changes and removes policies in the JSON of a configuration, one or several together. Other
 * policies stay the same. The caller must check the resulting configuration. No thread, clock or
 * file.
 */
#ifndef WEIR_CHANGE_EDIT_H
#define WEIR_CHANGE_EDIT_H

#include <stdio.h>

#include <jansson.h>

/*
 * Returns an edit, {"do": "add", "name": "video", "keys": {"match.dst": "10.0.0.0/8"}}, made from
 * words such as "limit=5Mbit/s". A value is JSON (`sources=1024`, `match={...}`) or otherwise a
 * string; `null` removes the key. NULL, reported on err, if a word is wrong.
 */
json_t *policy_edit_parse(
	const char *verb, const char *name, char *const *words, unsigned n, FILE *err);

/*
 * Applies the edit, or the edits of an array in their order, to the configuration: all or none. New
 * policies come last; the others keep their order and their values. Mistakes: no edit, no such
 * policy, a policy that exists already, or a removed policy that is still a parent. The time grows
 * with the policies and edits, not with their product.
 *
 * Returns 0; -EINVAL, and the first mistakes are on err, each with its place (`edits[17]: ` for an
 * array, then `policy "video": `); or -ENOMEM. After an error the configuration is unchanged.
 */
int policy_edits_apply(json_t *configuration, const json_t *edits, FILE *err);

#endif
