/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State of a change that must be confirmed in time: the configuration in force and the last good
 * one. If no confirmation arrives, the caller restores the last good one. Configurations are
 * identified by numbers above 0. The caller has the clock.
 */
#ifndef WEIR_POLICY_CONFIRM_H
#define WEIR_POLICY_CONFIRM_H

#include <stdbool.h>
#include <stdint.h>

struct confirm {
	uint64_t running;  /* in force; 0: has no number */
	uint64_t good;     /* restored without confirmation and at a start; 0: none */
	uint64_t until_ns; /* end of the time to confirm `running`; 0: nothing to confirm */
};

/* Returns true while the configuration in force needs a confirmation. */
bool confirm_waits(const struct confirm *confirm);

/*
 * confirm_may_change() returns 0 if a change is possible, and -EBUSY while an earlier change waits
 * for its confirmation. It returns -ENOENT if within_ns is set and there is no good configuration
 * to restore.
 *
 * confirm_change() records that another configuration is in force. within_ns is the time to confirm
 * it; 0: it needs no confirmation and is good.
 */
int confirm_may_change(const struct confirm *confirm, uint64_t within_ns);
void confirm_change(struct confirm *confirm, uint64_t number, uint64_t now_ns, uint64_t within_ns);

/*
 * Confirms the configuration in force, which becomes the last good one. Returns 0, or -ENOENT if no
 * change waits for a confirmation.
 */
int confirm_accept(struct confirm *confirm);

/*
 * Return true once the time to confirm has passed, and the time that is left (0: passed, or no
 * change waits).
 */
bool confirm_due(const struct confirm *confirm, uint64_t now_ns);
uint64_t confirm_left_ns(const struct confirm *confirm, uint64_t now_ns);

/* Records that the last good configuration is in force again. */
void confirm_undone(struct confirm *confirm);

#endif
