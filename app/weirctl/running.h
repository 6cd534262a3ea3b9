/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The running configuration of a limiter.
 */
#ifndef WEIR_WEIRCTL_RUNNING_H
#define WEIR_WEIRCTL_RUNNING_H

#include "ask/source.h"

/*
 * Gets the whole running configuration: a new reference. Returns 0; -ENOENT: this limiter keeps
 * none (no --state); or an error of source.h.
 */
int ask_running(struct source *source, json_t **running);

#endif
