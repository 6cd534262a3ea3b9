/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Asks the limiters in a thread of its own, so that nobody waits for one that does not answer.
 */
#ifndef WEIR_EXPORTER_ASKER_H
#define WEIR_EXPORTER_ASKER_H

#include <stdbool.h>

#include "boxes.h"

struct asker;

/* 0 and *asker, or a negative errno. The options are borrowed. */
int asker_open(const struct boxes_options *options, struct asker **asker);

/* Can be read when a round has ended. */
int asker_fd(const struct asker *asker);

/* Begins a round of all limiters; nothing, while one is under way. */
void asker_begin(struct asker *asker, const struct looked_at *looked_at);

/* What the round that has ended has found, for boxes_free(); NULL: none has, or no memory. */
struct boxes *asker_take(struct asker *asker);

/* Waits for a round that is under way. Also of NULL. */
void asker_close(struct asker *asker);

#endif
