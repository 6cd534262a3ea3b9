/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_WEIRCTL_EVENTS_H
#define WEIR_WEIRCTL_EVENTS_H

#include "ask_boxes.h"

/* "events --follow", of one box: until a signal ends the program, or the exit status. */
int events_follow(struct boxes *boxes, const struct options *options);

#endif
