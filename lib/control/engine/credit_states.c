/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "engine/credit_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void join_credit_state(void *context, uint32_t slot, struct limit_profile *profile)
{
	const struct credit_account *account = &((struct credit_states *)context)->accounts[slot];

	if (account->credit)
		credit_account_join(account, profile);
}

int credit_states_alloc(struct credit_states *states, struct engine *engine, unsigned n_slots)
{
	size_t bytes = ((size_t)n_slots + 1) * sizeof(*states->credits);

	states->accounts = calloc((size_t)n_slots + 1, sizeof(*states->accounts));
	states->credits = aligned_alloc(sizeof(*states->credits), bytes);
	if (!states->accounts || !states->credits)
		return -ENOMEM;
	memset(states->credits, 0, bytes);
	engine->driver = (struct engine_driver){.context = states, .join = join_credit_state};
	return 0;
}

void credit_states_free(struct credit_states *states)
{
	free(states->credits);
	free(states->accounts);
	*states = (struct credit_states){0};
}

struct credit_account *credit_states_begin(
	struct credit_states *states, const struct credit_owner *owner, uint64_t now_ns)
{
	struct credit_account *account = &states->accounts[owner->index];

	account->credit = &states->credits[owner->index];
	credit_account_begin(account, owner, now_ns);
	return account;
}
