/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Records of policies that this limiter does not have any more. A record ends by itself if a new
 * one would have the same content, or when the period of its quota is over. An operator can end the
 * others. A group must do that at all limiters before a policy of that name returns. Control.
 */
#ifndef WEIR_APP_LEDGER_UNUSED_H
#define WEIR_APP_LEDGER_UNUSED_H

#include <stdint.h>

struct instance;

/* Ends those that can end by themselves. */
void ledger_unused_end(struct instance *inst, uint64_t now_ns);

struct ledger_forgotten {
	unsigned n;      /* records that have ended, in memory; the next commit removes them */
	unsigned in_use; /* others that a neighbour still has the policy of */
	unsigned unused; /* records without a policy that are left */
};

/* Ends the records of a name, or (NULL) all that no neighbour uses. Logs it with the user. */
struct ledger_forgotten ledger_forget(struct instance *inst, const char *name, int64_t uid);

#endif
