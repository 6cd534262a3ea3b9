/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter runs, and changes of its policies.
 */
#ifndef WEIR_WEIRCTL_RUNNING_H
#define WEIR_WEIRCTL_RUNNING_H

#include "ask/source.h"

/*
 * The configuration that runs, whole: a new reference. 0; -ENOENT: this weir keeps none (it has no
 * --state); or what source.h says.
 */
int ask_running(struct source *source, json_t **running);

/*
 * Asks for an edit of a policy (change/edit.h), or an array of them that are made at once or not at
 * all, and waits: what came of it, as /weir/change says, or the refusal in its place. 0, or what
 * source.h says; -ESTALE: how it ended is not told, as another change has ended since.
 */
int make_edit(struct source *source, const json_t *edit, json_t **document);

#endif
