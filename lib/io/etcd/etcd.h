/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Totals that live in etcd (v3, by its JSON gateway), so that no limiter owns the money. A limiter
 * draws units from a total as it needs them; all that it has ever drawn in a period is a number in
 * etcd, cumulative as in the ledger, so that an answer that is lost is found again by asking.
 *
 *     PREFIX/limiters/LIMITER               the fencing token: the epoch of its newest start, 16
 *                                           hexadecimal digits, and a number drawn by lot, so that
 *                                           of two copies of one store only one can draw
 *     PREFIX/budgets/BUDGET/total           units a period, if it is to differ from the
 *                                           configured one: for operators to set
 *     PREFIX/budgets/BUDGET/PERIOD/drawn            by all
 *     PREFIX/budgets/BUDGET/PERIOD/drawn/LIMITER    by this one
 *
 * Each draw is one transaction: it succeeds only if the epoch is still the session's own and what
 * was drawn is still what it had read, so the sum of what all have drawn never exceeds the total,
 * and a limiter that has been started elsewhere under the same name cannot draw any more.
 *
 * Totals and what was drawn are plain decimal numbers, without a newline. A name has no slash.
 *
 * A thread of its own talks HTTP (libcurl); whoever draws never waits. All calls from one thread,
 * which is the first of the process to use libcurl.
 */
#ifndef WEIR_ETCD_ETCD_H
#define WEIR_ETCD_ETCD_H

#include <sys/types.h>

#include "etcd/request.h"

struct etcd;

/*
 * Starts the thread; the epoch is claimed before the first draw. What params points at is copied.
 * 0, -EINVAL, -ENOMEM or another of the system's.
 */
int etcd_open(const struct etcd_params *params, struct etcd **out);

/*
 * Whether the file, of root or of that user, has a password that may be used: 0, or -EACCES and
 * `why` says what to change.
 */
int etcd_password_check(const char *file, uid_t user, char why[ETCD_WHY_MAX]);

/* A request under way is given up, within a second. NULL is fine. */
void etcd_close(struct etcd *etcd);

/*
 * Asks; one draw of a budget at a time, in the order of asking. 0; -EBUSY (that budget's last is
 * not answered yet, or the answer not fetched); -EINVAL (its name) or -ENOMEM.
 */
int etcd_draw(struct etcd *etcd, const struct etcd_draw *draw);

/* Readable when there are answers; the next one: 0, or -EAGAIN. */
int etcd_fd(const struct etcd *etcd);
int etcd_answer(struct etcd *etcd, struct etcd_answer *answer);

#endif
