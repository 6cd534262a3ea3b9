/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who has changed what: an object of JSON a line, at the end of a file that nobody writes over.
 * When it is full it becomes history.1.jsonl, and that which was so history.2.jsonl, and so on up
 * to JOURNAL_FILES. A line that a crash has cut short is passed over, and the next begins on a
 * line of its own.
 */
#ifndef WEIR_CHANGE_JOURNAL_H
#define WEIR_CHANGE_JOURNAL_H

#include <stddef.h>

#include <jansson.h>

#include "change/keep.h"

#define JOURNAL_FILES     4
#define JOURNAL_FILE_MOST (4 << 20) /* bytes */

/* Adds a line. 0 when it is durable, or a negative errno: there is nothing, or half a line. */
int journal_add(const struct keep *keep, const json_t *line);

/* The last lines, the oldest first, at most so many: a new array, or NULL without memory. */
json_t *journal_last(const struct keep *keep, size_t most);

#endif
