/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "grace.h"

#include "box.h"

void grace_begin(struct grace *grace, const struct box *box)
{
	grace->taken = false;
	for (unsigned w = 0; w < box->config->n_workers; w++)
		grace->marks[w] = post_mark(&box->workers[w].post);
}

static bool all_taken(const struct grace *grace, const struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++)
		if (!post_taken(&box->workers[w].post, grace->marks[w]))
			return false;
	return true;
}

bool grace_done(struct grace *grace, const struct box *box)
{
	struct rte_rcu_qsbr *rcu = box->publisher.rcu;

	if (!grace->taken) {
		if (!all_taken(grace, box))
			return false;
		grace->token = rte_rcu_qsbr_start(rcu);
		grace->taken = true;
	}
	return rte_rcu_qsbr_check(rcu, grace->token, false) == 1;
}
