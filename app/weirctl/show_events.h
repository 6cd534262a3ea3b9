/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_WEIRCTL_EVENTS_H
#define WEIR_WEIRCTL_EVENTS_H

#include "ask_boxes.h"

/*
 * "events --follow", for one limiter: runs until a signal ends the program, or returns the exit
 * status.
 */
int events_follow(struct boxes *boxes, const struct options *options);

#endif
