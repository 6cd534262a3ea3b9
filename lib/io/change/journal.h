/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The history of changes: one JSON object a line, appended to a file. A full file is renamed to
 * history.1.jsonl, the previous one of that name to history.2.jsonl, and so on up to JOURNAL_FILES.
 * A line that a crash has truncated is skipped, and the next one starts on a new line.
 */
#ifndef WEIR_CHANGE_JOURNAL_H
#define WEIR_CHANGE_JOURNAL_H

#include <stddef.h>

#include <jansson.h>

#include "change/keep.h"

#define JOURNAL_FILES     4
#define JOURNAL_FILE_MOST (4 << 20) /* bytes */

/*
 * Appends a line. Returns 0 when it is durable, or a negative errno: no line or half a line was
 * written.
 */
int journal_add(const struct keep *keep, const json_t *line);

/* Returns a new array of the last lines, at most `most`, the oldest first. NULL: out of memory. */
json_t *journal_last(const struct keep *keep, size_t most);

#endif
