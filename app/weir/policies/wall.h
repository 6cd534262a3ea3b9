/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wall clock for quota periods and for limits by time of day. Control.
 */
#ifndef WEIR_APP_WALL_H
#define WEIR_APP_WALL_H

struct instance;

/* Gives the limiter the time of both clocks. Logs an event if its verdict on them changes. */
void wall_look(struct instance *inst);

#endif
