/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Which configuration is in force, and which is the last good one, where a change may have to be
 * confirmed in time: else what was before comes back. Configurations are known by numbers above 0;
 * the caller has the clock.
 */
#ifndef WEIR_POLICY_CONFIRM_H
#define WEIR_POLICY_CONFIRM_H

#include <stdbool.h>
#include <stdint.h>

struct confirm {
	uint64_t running;  /* in force; 0: it is not known by a number */
	uint64_t good;     /* what comes back, at a start, too; 0: none */
	uint64_t until_ns; /* running goes by then if nobody confirms it; 0: it stays */
};

/* Whether somebody has yet to confirm what is in force. */
bool confirm_waits(const struct confirm *confirm);

/*
 * Another one is in force: for good, or (within_ns) until then. A change that has yet to be
 * confirmed is not to be changed again: -EBUSY; nor is there anything to come back to without a
 * good one: -ENOENT. Else 0.
 */
int confirm_may_change(const struct confirm *confirm, uint64_t within_ns);
void confirm_change(struct confirm *confirm, uint64_t number, uint64_t now_ns, uint64_t within_ns);

/* It stays, and is the last good one. -ENOENT: nothing waits for that. */
int confirm_accept(struct confirm *confirm);

/* Nobody has confirmed it in time; and how long there is, 0 when it is due. */
bool confirm_due(const struct confirm *confirm, uint64_t now_ns);
uint64_t confirm_left_ns(const struct confirm *confirm, uint64_t now_ns);

/* The last good one is in force again. */
void confirm_undone(struct confirm *confirm);

#endif
