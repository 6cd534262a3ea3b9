/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Relates the errors of a whole configuration to the edits of policies that it was made with. So an
 * operator reads about the words that they typed. No thread, clock or file.
 */
#ifndef WEIR_APP_EDIT_PLACE_H
#define WEIR_APP_EDIT_PLACE_H

#include <stdio.h>

#include <jansson.h>

/*
 * Returns the name for read_for_machine() of a configuration with these edits. It begins each of
 * its messages, and stays there if a message belongs to no edit.
 */
const char *edits_label(const json_t *edits);

/*
 * Copies the messages (a line each, as read_for_machine() writes them) to `out`, with the place of
 * an edit in place of the label. `document` is the configuration with the edits in it.
 *
 *	policy "video": limit: 5: expected ...                          the edited policy
 *	policy "link": this change conflicts with policy "video": ...   another one
 *	edits[17]: policy "video": limit: 5: expected ...               one edit of an array
 *
 * Returns 0 or -ENOMEM.
 */
int edits_place(const json_t *edits, const json_t *document, const char *messages, FILE *out);

#endif
