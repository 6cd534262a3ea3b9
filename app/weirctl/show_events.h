/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_WEIRCTL_EVENTS_H
#define WEIR_WEIRCTL_EVENTS_H

#include "ask_boxes.h"

/*
 * "events --follow". Returns EXIT_FAILURE if there is more than one limiter, or if it cannot be
 * reached at first. Otherwise runs until a signal or an output error ends the program.
 */
int events_follow(struct boxes *boxes, const struct options *options);

#endif
