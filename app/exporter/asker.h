/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queries the limiters in its own thread, so the caller does not wait for one that does not answer.
 */
#ifndef WEIR_EXPORTER_ASKER_H
#define WEIR_EXPORTER_ASKER_H

#include <stdbool.h>

#include "boxes.h"

struct asker;

/* Starts the thread. Returns 0 and *asker, or a negative errno. The options are borrowed. */
int asker_open(const struct boxes_options *options, struct asker **asker);

/* Returns a descriptor that is readable when a round has ended. */
int asker_fd(const struct asker *asker);

/* Begins a round of all limiters. Does nothing while one is running. */
void asker_begin(struct asker *asker, const struct looked_at *looked_at);

/* Returns the result of a round that has ended, for boxes_free(). NULL: none, or no memory. */
struct boxes *asker_take(struct asker *asker);

/* Waits for a running round. NULL does nothing. */
void asker_close(struct asker *asker);

#endif
