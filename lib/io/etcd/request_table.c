/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests of budgets, found by name.
 */
#include "etcd/request_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_CHAINS 16

static struct ask **chain_of(struct asks *asks, const char *budget)
{
	return &asks->chains[name_hash(budget) & (asks->n_chains - 1)];
}

/* Doubles the number of chains, so that they stay short. */
static int rehash_asks(struct asks *asks)
{
	struct asks wide = {.n = asks->n};

	wide.n_chains = asks->n_chains ? 2 * asks->n_chains : FIRST_CHAINS;
	wide.chains = calloc(wide.n_chains, sizeof(*wide.chains));
	if (!wide.chains)
		return -1;
	for (unsigned i = 0; i < asks->n_chains; i++)
		for (struct ask *ask = asks->chains[i], *chain; ask; ask = chain) {
			struct ask **at = chain_of(&wide, ask->draw.budget);

			chain = ask->chain;
			ask->chain = *at;
			*at = ask;
		}
	free(asks->chains);
	*asks = wide;
	return 0;
}

struct ask *asks_find(struct asks *asks, const char *budget)
{
	struct ask *ask = asks->n_chains ? *chain_of(asks, budget) : NULL;
	struct ask **at;

	while (ask && strcmp(ask->draw.budget, budget) != 0)
		ask = ask->chain;
	if (ask)
		return ask;
	if (asks->n == asks->n_chains && rehash_asks(asks))
		return NULL;
	ask = calloc(1, sizeof(*ask));
	if (!ask)
		return NULL;
	strncpy(ask->draw.budget, budget, sizeof(ask->draw.budget) - 1);
	at = chain_of(asks, budget);
	ask->chain = *at;
	*at = ask;
	asks->n++;
	return ask;
}

void asks_free(struct asks *asks)
{
	for (unsigned i = 0; i < asks->n_chains; i++)
		for (struct ask *ask = asks->chains[i], *chain; ask; ask = chain) {
			chain = ask->chain;
			free(ask);
		}
	free(asks->chains);
}
