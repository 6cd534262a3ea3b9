/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies of a configuration's JSON are added, changed or taken out, one or as many as are to
 * change together: no other is touched. Whether what comes out is a good configuration is for
 * whoever reads it. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_EDIT_H
#define WEIR_CHANGE_EDIT_H

#include <stdio.h>

#include <jansson.h>

/*
 * An edit as it travels: {"do": "add", "name": "video", "keys": {"match.dst": "10.0.0.0/8"}}, of
 * words such as "limit=5Mbit/s". A value that is JSON is that (`sources=1024`, `match={...}`), any
 * other is a string; `null` takes the key away. NULL, and said on err, if a word makes no sense.
 */
json_t *policy_edit_parse(
	const char *verb, const char *name, char *const *words, unsigned n, FILE *err);

/*
 * Makes the edit, or an array of them in their order, in the configuration itself: all or none.
 * What is added comes last, and all that stays is the same values in the order that it had. 0;
 * -EINVAL, said on err, of the first mistakes of an array each with its place, `edits[17].name`
 * (no edit, no such policy, or there is one already); or -ENOMEM. In neither case has anything
 * changed. The time grows with the policies and edits, not with their product.
 */
int policy_edits_apply(json_t *configuration, const json_t *edits, FILE *err);

#endif
