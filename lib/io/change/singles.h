/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that were changed singly, on top of a file that stays as it is: a list of
 *
 *     {"policy": "video", "was": {...}}      what the file had when that began; null: nothing
 *
 * What they are now stands in the configuration that runs. When the file is read again they come
 * on top of it again, by name; but where the file has another policy of that name than it had, it
 * is the newer one, and its own goes. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_SINGLES_H
#define WEIR_CHANGE_SINGLES_H

#include <stdio.h>

#include <jansson.h>

/*
 * Before the edit, or the array of them (edit.h), is made: what each of its policies is in the
 * configuration as yet is what it was, unless that is known already. What is no edit is passed
 * over. 0 or -ENOMEM.
 */
int singles_note(json_t *singles, const json_t *configuration, const json_t *edits);

/*
 * After the edits are made: takes those out of the list that the file has not had and that are gone
 * again, so that it is no longer than what there is. 0 or -ENOMEM.
 */
int singles_forget(json_t *singles, const json_t *configuration);

/*
 * Puts the single changes of what runs on top of another reading of the file, and takes those out
 * of the list that the file has by now or has overruled; each of the latter is said on `say`. 0 or
 * -ENOMEM.
 */
int singles_carry(json_t *file, const json_t *running, json_t *singles, FILE *say);

#endif
