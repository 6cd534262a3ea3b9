/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "delays.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "box.h"
#include "police/shaped.h"

/*
 * Policies that are looked at in a tick, of 50 ms or so: 100,000 take 78 s, in which a bin gets no
 * more than 2^32 of the packets that a worker can do.
 */
#define LOOKS 64

int delays_prepare(struct box *box, const struct policy *policy, uint32_t slot)
{
	struct split *split = &box->splits[slot];

	if (!policy_is_shaped(policy))
		return 0;
	split->delays = calloc(box->config->n_workers, sizeof(*split->delays));
	return split->delays ? 0 : -ENOMEM;
}

void delays_remove(struct box *box, uint32_t slot)
{
	free(box->splits[slot].delays);
	box->splits[slot].delays = NULL;
}

static void fold(const struct box *box, uint32_t slot)
{
	struct delay_sum *sums = box->splits[slot].delays;

	for (unsigned w = 0; sums && w < box->config->n_workers; w++)
		delay_fold(&sums[w], &box->workers[w].policies[slot].other->shape->delay);
}

void delays_look(struct box *box)
{
	unsigned n = RTE_MIN(box->n_policies, (unsigned)LOOKS);

	for (unsigned i = 0; i < n; i++) {
		if (box->delays_at >= box->n_policies)
			box->delays_at = 0;
		fold(box, box->slots.of[box->delays_at++]);
	}
}

void delays_sum(const struct box *box, uint32_t slot, struct delay_sum *sum)
{
	const struct delay_sum *sums = box->splits[slot].delays;

	*sum = (struct delay_sum){0};
	fold(box, slot);
	for (unsigned w = 0; sums && w < box->config->n_workers; w++)
		delay_merge(sum, &sums[w]);
}
