/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The configuration that a limiter runs.
 */
#ifndef WEIR_WEIRCTL_RUNNING_H
#define WEIR_WEIRCTL_RUNNING_H

#include "ask/source.h"

/*
 * The configuration that runs, whole: a new reference. 0; -ENOENT: this weir keeps none (it has no
 * --state); or what source.h says.
 */
int ask_running(struct source *source, json_t **running);

#endif
