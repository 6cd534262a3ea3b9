/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes the roster at run time. Limiters in both rosters keep their state: it moves to their new
 * index.
 */
#include <errno.h>
#include <stdlib.h>

#include "gossip/message.h"

static unsigned *previous_indices(const struct roster *before, const struct roster *roster)
{
	unsigned *from = calloc(roster->n, sizeof(*from));

	for (unsigned i = 0; from && i < roster->n; i++) {
		unsigned old = roster_find(before, roster->ids[i]);

		from[i] = old < before->n ? old : GOSSIP_ADDED;
	}
	return from;
}

static void regroup_commit(struct gossip *g, const struct regroup *map)
{
	g->roster = map->roster;
	g->self = g->from = map->self;
	g->all_news = true;
	g->changes++;
}

int gossip_regroup(struct gossip *g, const struct roster *roster, unsigned self,
	struct keyring *keyring, uint64_t now_ns)
{
	struct regroup map = {.roster = roster, .self = self, .now_ns = now_ns};
	struct correspondent **correspondents = NULL;
	int ret = 0;

	if (self >= roster->n || roster->ids[self] != g->roster->ids[g->self] ||
		!keyring != !g->keyring)
		return -EINVAL;
	if (!g->estimator->regroup)
		return -ENOTSUP;
	map.from = previous_indices(g->roster, roster);
	if (!map.from)
		return -ENOMEM;
	ret = messages_regroup(g, &map, &correspondents);
	if (ret == 0)
		ret = g->estimator->regroup(g, &map);
	if (ret == 0) {
		messages_commit(g, &map, correspondents);
		regroup_commit(g, &map);
		g->keyring = keyring;
	} else {
		free(correspondents);
	}
	free(map.from);
	return ret;
}
