/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Single changes: policies that were changed on top of a file that stays the same. A list of
 *
 *     {"policy": "video", "was": {...}}      policy in the file at the first change; null: none
 *
 * The present policy is in the running configuration. When the file is read again, the changes are
 * applied again, by name. But if the policy in the file differs from "was", the file is newer, and
 * the change is dropped. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_SINGLES_H
#define WEIR_CHANGE_SINGLES_H

#include <stdio.h>

#include <jansson.h>

/*
 * Records the policies that an edit, or an array of edits (edit.h), changes. Call it before the
 * edits are applied: "was" is the policy in `configuration`, unless the list has the policy
 * already. Skips values that are not edits. Returns 0 or -ENOMEM.
 */
int singles_note(json_t *singles, const json_t *configuration, const json_t *edits);

/*
 * Removes changes of policies that the file never had and that no longer exist, so that the list
 * does not grow with them. Call it after the edits are applied. Returns 0 or -ENOMEM.
 */
int singles_forget(json_t *singles, const json_t *configuration);

/*
 * Applies the single changes of the running configuration to a new reading of the file. Removes
 * those from the list that the file now contains or overrides; reports the overridden ones on
 * `messages`. Returns 0 or -ENOMEM.
 */
int singles_carry(json_t *file, const json_t *running, json_t *singles, FILE *messages);

#endif
