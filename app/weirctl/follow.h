/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Live views: limiters are queried at an interval, and their new answers are shown. A limiter that
 * is gone is queried until it is back.
 */
#ifndef WEIR_WEIRCTL_FOLLOW_H
#define WEIR_WEIRCTL_FOLLOW_H

#include "ask/targets.h"
#include "ctl_options.h"

struct follow_view {
	/* Replaces the query of the command: see targets.h. NULL: the command's own. */
	int (*query)(struct target *target, const void *context, json_t **document);

	/*
	 * Shows the last results. `fresh` ones were not shown before. Returns 0; an error ends the
	 * view.
	 */
	int (*show)(void *context, const struct targets *targets);

	/*
	 * Reads the keys of a terminal that is redrawn. Returns false if the user ends the view.
	 * NULL: no keys, and a picture at an interval.
	 */
	bool (*read_keys)(void *context);
};

/* Shows the view to the end of its count, or until a signal ends it. Returns the exit status. */
int follow_run(const struct options *options, const struct follow_view *view, void *context);

#endif
