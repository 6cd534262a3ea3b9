/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The wall clock, for what turns by it: periods of totals, and limits by time of day. Control.
 */
#ifndef WEIR_APP_WALL_H
#define WEIR_APP_WALL_H

struct instance;

/* Tells the limiter what both clocks say, and the log when what is believed of them is another. */
void wall_look(struct instance *inst);

#endif
