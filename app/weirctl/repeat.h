/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_WEIRCTL_REPEAT_H
#define WEIR_WEIRCTL_REPEAT_H

#include "ask_boxes.h"

/* Runs "watch" before a command, for all limiters; returns the exit status. */
int watch_boxes(struct boxes *boxes, const struct options *options);

#endif
