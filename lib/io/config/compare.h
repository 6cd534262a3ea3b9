/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares two configurations of one limiter by the tables of keys: which policies stay and change,
 * and which keys a running limiter cannot change. Control thread.
 */
#ifndef WEIR_CONFIG_COMPARE_H
#define WEIR_CONFIG_COMPARE_H

#include <stdio.h>

#include "policy/complaint.h"
#include "policy/config.h"
#include "policy/diff.h"

/*
 * Reports each place of the new configuration that differs and cannot change while the limiter
 * runs, such as "gossip.roster" or "ports.NAME.mtu". Returns their number.
 * config_load_for_running() calls it, and adds the lines.
 */
unsigned config_fixed(
	const struct config *old, const struct config *config, const struct complaint_sink *to);

/*
 * Compares them. Returns 0 and a diff for config_diff_free(); -EINVAL if config_fixed() finds a
 * place, each reported to err as `FILE: gossip.roster: cannot change while the limiter runs:
 * restart it`; or -ENOMEM. Changes neither.
 */
int config_diff(const struct config *old, const struct config *config, const char *file, FILE *err,
	struct config_diff **out);

void config_diff_free(struct config_diff *diff);

#endif
