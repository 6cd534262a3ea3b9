/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies that have a trial.
 */
#include "trying.h"

#include <rte_prefetch.h>

#include "police/try.h"
#include "worker_data.h"

/* Lines of policies that a turn changes, each to be fetched: a microsecond or two. */
#define CHANGES_A_TURN 16

void try_packet(struct worker *w, const struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now)
{
	uint32_t slot = trial_slot(burst->frames.policy[i], police_trial(state), w->n_policies);
	struct shared_bucket *shared = w->shared_buckets ? &w->shared_buckets[slot] : NULL;
	struct policy_state *trial = &w->policies[slot];

	if (police_is_simple(trial))
		police_try_bytes(trial, shared,
			police_bytes(trial, burst->frames.uncharged[i], burst->len[i]), now);
	else
		police_try(trial, shared, burst_packet(burst, i), burst->frames.data[i],
			burst->len[i], now);
}

bool try_changes(struct worker *w, const struct snapshot *newer)
{
	struct worker_own *own = &w->own;
	unsigned n = RTE_MIN(newer->n_trials - own->tried, CHANGES_A_TURN);
	const struct trial_change *changes;

	if (n == 0)
		return true;
	changes = newer->trials + own->tried;
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[changes[i].slot]);
	for (unsigned i = 0; i < n; i++)
		police_set_trial(&w->policies[changes[i].slot], changes[i].trial);
	own->tried += n;
	return own->tried == newer->n_trials;
}
