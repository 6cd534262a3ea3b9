/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "handover.h"

#include "box.h"

void handover_begin(struct handover *handover, const struct box *box)
{
	handover->taken = false;
	for (unsigned w = 0; w < box->config->n_workers; w++)
		handover->marks[w] = post_mark(&box->workers[w].post);
}

static bool all_taken(const struct handover *handover, const struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++)
		if (!post_taken(&box->workers[w].post, handover->marks[w]))
			return false;
	return true;
}

bool handover_done(struct handover *handover, const struct box *box)
{
	struct rte_rcu_qsbr *rcu = box->publisher.rcu;

	if (!handover->taken) {
		if (!all_taken(handover, box))
			return false;
		handover->token = rte_rcu_qsbr_start(rcu);
		handover->taken = true;
	}
	return rte_rcu_qsbr_check(rcu, handover->token, false) == 1;
}
