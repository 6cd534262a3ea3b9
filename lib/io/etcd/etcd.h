/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas stored in etcd (v3, through its JSON gateway), so that no limiter owns them. A limiter
 * draws units from a quota as it needs them. etcd has the number of all units that it has drawn in
 * a period. The number is cumulative as in the ledger, so a request after a lost answer finds the
 * result.
 *
 *     PREFIX/limiters/LIMITER               the fencing token: the epoch of its newest start, 16
 *                                           hexadecimal digits, and a random number, so that of
 *                                           two copies of one store only one can draw
 *     PREFIX/quotas/QUOTA/total             units per period, if different from the configured
 *                                           ones: operators can set it
 *     PREFIX/quotas/QUOTA/PERIOD/drawn            by all limiters
 *     PREFIX/quotas/QUOTA/PERIOD/drawn/LIMITER    by this limiter
 *
 * Each draw is one transaction. It succeeds only if the fence is the session's own, and the
 * counters are as read before. So the sum of all draws never exceeds the quota. And after another
 * start with the same name, a limiter cannot draw any more.
 *
 * Quotas and counters are plain decimal numbers, without a newline. Names contain no slash.
 *
 * A separate thread talks HTTP (libcurl), so callers never wait. All calls come from one thread,
 * the first of the process to use libcurl.
 */
#ifndef WEIR_ETCD_ETCD_H
#define WEIR_ETCD_ETCD_H

#include <sys/types.h>

#include "etcd/request.h"

struct etcd;

/*
 * Starts the thread. It claims the epoch before the first draw. Copies all that params points to.
 * Returns 0, -EINVAL, -ENOMEM or another negative errno.
 */
int etcd_open(const struct etcd_params *params, struct etcd **out);

/*
 * Checks the password file, which must belong to root or `user`. Returns 0, or -EACCES with the
 * necessary change in `why`.
 */
int etcd_password_check(const char *file, uid_t user, char why[ETCD_WHY_MAX]);

/* Cancels a request in progress, within a second. NULL has no effect. */
void etcd_close(struct etcd *etcd);

/*
 * Submits a draw; one at a time for a budget. Draws execute in order of submission. Returns 0,
 * -EBUSY (the answer to the budget's last draw was not collected yet), -EINVAL (its name) or
 * -ENOMEM.
 */
int etcd_draw(struct etcd *etcd, const struct etcd_draw *draw);

/*
 * The descriptor is readable if there are answers. etcd_answer() returns 0 with the next one, or
 * -EAGAIN.
 */
int etcd_fd(const struct etcd *etcd);
int etcd_answer(struct etcd *etcd, struct etcd_answer *answer);

#endif
