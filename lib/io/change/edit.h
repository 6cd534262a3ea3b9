/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One policy of a configuration's JSON is added, changed or taken out: no other is touched. Whether
 * what comes out is a good configuration is for whoever reads it. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_EDIT_H
#define WEIR_CHANGE_EDIT_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

/* The index of the policy in the array of them; SIZE_MAX: there is none of that name. */
size_t policy_index(const json_t *policies, const char *name);

/*
 * An edit as it travels: {"do": "add", "name": "video", "keys": {"match.dst": "10.0.0.0/8"}}, of
 * words such as "limit=5Mbit/s". A value that is JSON is that (`sources=1024`, `match={...}`), any
 * other is a string; `null` takes the key away. NULL, and said on err, if a word makes no sense.
 */
json_t *policy_edit_parse(
	const char *verb, const char *name, char *const *words, unsigned n, FILE *err);

/*
 * Makes the edit, in the configuration itself. 0; -EINVAL, said on err, with the configuration as
 * it was (no edit, no such policy, or there is one already); -ENOMEM.
 */
int policy_edit_apply(json_t *configuration, const json_t *edit, FILE *err);

#endif
