/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes the policies at run time. Remaining policies keep their state. A record is valid until a
 * newer one arrives, so peers continue to count our last record of a removed policy. Because of
 * that we continue to send a demand and weight of 0 for it. A withdrawn policy has an index after
 * the policies in use, until the first change after WITHDRAWN_NS.
 */
#include "gossip/gossip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "gossip/estimator.h"

/*
 * A peer that we do not reach for longer keeps our last record of a policy withdrawn meanwhile,
 * until one of us restarts.
 */
#define WITHDRAWN_NS (3600 * SECOND_NS)

/* A prepared update, which takes effect when nothing can fail any more. */
struct update {
	struct remap map;
	unsigned *from;
	uint64_t *ids;
	uint64_t *withdrawn_ns, *news;
	struct id_table *policies;
};

static void gossip_update_free(struct update *u)
{
	free(u->from);
	free(u->ids);
	free(u->withdrawn_ns);
	free(u->news);
	id_table_destroy(u->policies);
}

/* Adds the given policies; a withdrawn one keeps its state. False if an index is not the id's. */
static bool take_new(struct update *u, const struct gossip *g, const uint64_t *ids, unsigned n,
	const unsigned *from)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned old = id_table_find(g->policies, ids[i]);

		if (from[i] != GOSSIP_ADDED && from[i] != old)
			return false;
		u->ids[i] = ids[i];
		u->from[i] = old < g->policies->n ? old : GOSSIP_ADDED;
	}
	u->map.n = n;
	return true;
}

static bool policy_record_stays(const struct gossip *g, unsigned old, uint64_t now_ns)
{
	if (old < g->n_policies)
		return g->estimator->has_record(g, old);
	return now_ns - g->withdrawn_ns[old - g->n_policies] < WITHDRAWN_NS;
}

static int take_withdrawn(struct update *u, const struct gossip *g, uint64_t now_ns)
{
	unsigned n = u->map.n;
	bool *kept = calloc((size_t)g->policies->n + 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		if (u->from[i] != GOSSIP_ADDED)
			kept[u->from[i]] = true;
	for (unsigned old = 0; old < g->policies->n; old++) {
		if (kept[old] || !policy_record_stays(g, old, now_ns))
			continue;
		u->withdrawn_ns[u->map.n - n] = old < g->n_policies
							? now_ns
							: g->withdrawn_ns[old - g->n_policies];
		u->ids[u->map.n] = g->policies->ids[old];
		u->from[u->map.n++] = old;
	}
	free(kept);
	return 0;
}

static int gossip_update_prepare(struct update *u, const struct gossip *g, const uint64_t *ids,
	unsigned n, const unsigned *from, uint64_t now_ns)
{
	const size_t most = (size_t)n + g->policies->n + 1;
	int ret;

	u->from = malloc(most * sizeof(*u->from));
	u->ids = malloc(most * sizeof(*u->ids));
	u->withdrawn_ns = malloc(most * sizeof(*u->withdrawn_ns));
	u->news = calloc(most / 64 + 1, sizeof(*u->news));
	if (!u->from || !u->ids || !u->withdrawn_ns || !u->news)
		return -ENOMEM;
	if (!take_new(u, g, ids, n, from))
		return -EINVAL;
	ret = take_withdrawn(u, g, now_ns);
	u->map.from = u->from;
	return ret ? ret : id_table_create(u->ids, u->map.n, &u->policies);
}

static void gossip_update_commit(struct update *u, struct gossip *g, unsigned n)
{
	struct update old = {
		.withdrawn_ns = g->withdrawn_ns, .news = g->news, .policies = g->policies};

	/* Moves the unreported news of policies that stay; one that is added has none. */
	for (unsigned i = 0; i < n; i++) {
		unsigned was = u->from[i];

		if (was < g->n_policies && g->news[was / 64] >> was % 64 & 1)
			u->news[i / 64] |= UINT64_C(1) << i % 64;
	}
	g->policies = u->policies;
	g->withdrawn_ns = u->withdrawn_ns;
	g->news = u->news;
	g->n_policies = n;
	for (unsigned i = n; i < g->policies->n; i++)
		g->estimator->set(g, i, 0, 0);
	free(u->from);
	free(u->ids);
	gossip_update_free(&old);
}

int gossip_update(struct gossip *g, const uint64_t *ids, unsigned n, const unsigned *from,
	uint64_t tick_ns, uint64_t now_ns)
{
	struct update u = {0};
	const bool same = n == g->n_policies &&
			  memcmp(ids, g->policies->ids, n * sizeof(*ids)) == 0;
	int ret = 0;

	if (!same) {
		ret = gossip_update_prepare(&u, g, ids, n, from, now_ns);
		if (ret == 0)
			ret = g->estimator->update(g, &u.map);
		if (ret) {
			gossip_update_free(&u);
			return ret;
		}
		gossip_update_commit(&u, g, n);
	}
	g->tick_ns = tick_ns;
	return 0;
}

/* --- roster ----------------------------------------------------------------------------------- */

/*
 * Changes the roster at run time. Limiters in both rosters keep their state: it moves to their new
 * index.
 */

int gossip_regroup(struct gossip *g, const struct roster *roster, unsigned self,
	struct keyring *keyring, uint64_t now_ns)
{
	struct regroup map = {.roster = roster, .self = self, .now_ns = now_ns};
	struct correspondent **correspondents = NULL;
	unsigned *from;
	int ret = 0;

	if (self >= roster->n || roster->ids[self] != g->roster->ids[g->self] ||
		!keyring != !g->keyring)
		return -EINVAL;
	if (!g->estimator->regroup)
		return -ENOTSUP;
	from = calloc(roster->n, sizeof(*from));
	if (!from)
		return -ENOMEM;
	for (unsigned i = 0; i < roster->n; i++) {
		unsigned old = roster_find(g->roster, roster->ids[i]);

		from[i] = old < g->roster->n ? old : GOSSIP_ADDED;
	}
	map.from = from;
	ret = messages_regroup(g, &map, &correspondents);
	if (ret == 0)
		ret = g->estimator->regroup(g, &map);
	if (ret == 0) {
		messages_commit(g, &map, correspondents);
		g->roster = map.roster;
		g->self = g->from = map.self;
		g->all_news = true;
		g->changes++;
		g->keyring = keyring;
	} else {
		free(correspondents);
	}
	free(from);
	return ret;
}
