/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets have waited, of each policy on each worker, in whole numbers: the workers' bins have
 * 32 bits, so that somebody has to look. Control, but for delays_prepare(), which is as
 * tenant_prepare() is.
 */
#ifndef WEIR_APP_DELAYS_H
#define WEIR_APP_DELAYS_H

#include <stdint.h>

#include "shape/delay.h"

struct box;
struct policy;

/* Room for the policy in a free slot, if its packets wait. 0 or -ENOMEM. */
int delays_prepare(struct box *box, const struct policy *policy, uint32_t slot);
void delays_remove(struct box *box, uint32_t slot);

/* Looks at some slots, so that none counts 2^32 packets between two looks: every tick. */
void delays_look(struct box *box);

/* Of the policy in a slot, whose packets wait, over all workers. */
void delays_sum(const struct box *box, uint32_t slot, struct delay_sum *sum);

#endif
