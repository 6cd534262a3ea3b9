/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait as JSON: of a policy, and of a worker. Control thread.
 */
#ifndef WEIR_APP_SHOW_SHAPE_H
#define WEIR_APP_SHOW_SHAPE_H

#include <jansson.h>

struct box;

/* "shape" and "slo" of a policy of the box, by its index; null of one whose packets do not wait. */
void show_shape(json_t *json, struct box *box, unsigned policy);

/*
 * A command, whose parameter is a policy's name: how many of its packets have waited how long. In
 * bins, which add up over limiters and subtract over time, as quantiles do not.
 */
json_t *show_delays(const char *params, void *context);

/* "waiting" of a worker. */
json_t *show_waiting(struct box *box, unsigned worker);

#endif
