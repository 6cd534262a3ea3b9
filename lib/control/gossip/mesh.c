/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every limiter sends to every other in turn: each tick to up to `branching` peers, the next in a
 * random order.
 */
#include "gossip/mesh.h"

#include <errno.h>
#include <stdlib.h>

int mesh_create(struct mesh *mesh, const struct gossip *g, uint64_t now_ns)
{
	unsigned n = g->roster->n, k = 0;

	mesh->peers = calloc(n, sizeof(*mesh->peers));
	mesh->order = calloc(n, sizeof(*mesh->order));
	if (!mesh->peers || !mesh->order)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		mesh->peers[i].id = g->roster->ids[i];
		mesh->peers[i].advanced_ns = now_ns;
		if (i != g->self)
			mesh->order[k++] = i;
	}
	mesh->at = n - 1; /* the first tick shuffles */
	return 0;
}

/* Peers of both rosters keep their order, and new ones follow. */
static void regroup_order(struct mesh *mesh, const struct mesh *before, const struct gossip *g,
	const struct regroup *map)
{
	unsigned n = map->roster->n, k = 0;

	for (unsigned i = 0; i + 1 < g->roster->n; i++) {
		unsigned peer = roster_find(map->roster, g->roster->ids[before->order[i]]);

		if (peer == n)
			continue;
		mesh->at += i < before->at;
		mesh->to_send += i >= before->at && i - before->at < before->to_send;
		mesh->order[k++] = peer;
	}
	for (unsigned i = 0; i < n; i++)
		if (map->from[i] == GOSSIP_ADDED)
			mesh->order[k++] = i;
}

int mesh_regroup(struct mesh *mesh, const struct mesh *before, const struct gossip *g,
	const struct regroup *map)
{
	unsigned n = map->roster->n;

	*mesh = (struct mesh){
		.peers = regroup_rows(g, map, before->peers, 1, sizeof(*mesh->peers)),
		.order = calloc(n, sizeof(*mesh->order)),
	};
	if (!mesh->peers || !mesh->order)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		mesh->peers[i].id = map->roster->ids[i];
		if (map->from[i] == GOSSIP_ADDED)
			mesh->peers[i].advanced_ns = map->now_ns;
		mesh->n_active += mesh->peers[i].alive;
	}
	regroup_order(mesh, before, g, map);
	return 0;
}

void mesh_destroy(struct mesh *mesh)
{
	free(mesh->peers);
	free(mesh->order);
}

static bool expire_mesh_peers(struct mesh *mesh, struct gossip *g, uint64_t now_ns)
{
	uint64_t timeout_ns = mesh_timeout_ns(g);
	bool changed = false;

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		struct peer *peer = &mesh->peers[i];

		if (i == g->self || !peer_expire(peer, now_ns, timeout_ns))
			continue;
		mesh->n_active += peer->alive ? 1U : -1U;
		g->changes++;
		changed = true;
	}
	return changed;
}

bool mesh_tick(struct mesh *mesh, struct gossip *g, uint64_t now_ns)
{
	unsigned peers = g->roster->n - 1, left;
	bool changed = expire_mesh_peers(mesh, g, now_ns);

	if (mesh->at >= peers) {
		for (unsigned i = g->roster->n - 1; i > 1; i--) {
			unsigned j = prng_below(&g->prng, i), t = mesh->order[j];

			mesh->order[j] = mesh->order[i - 1];
			mesh->order[i - 1] = t;
		}
		mesh->at = 0;
	}
	left = peers - mesh->at;
	mesh->to_send = left < g->branching ? left : g->branching;
	return changed;
}

unsigned mesh_next(struct mesh *mesh, const struct gossip *g)
{
	if (mesh->to_send == 0)
		return g->roster->n;
	mesh->to_send--;
	return mesh->order[mesh->at++];
}

unsigned mesh_n_silent(const struct mesh *mesh, const struct gossip *g)
{
	return g->roster->n - 1 - mesh->n_active;
}

uint64_t mesh_timeout_ns(const struct gossip *g)
{
	unsigned peers = g->roster->n - 1;

	return g->timeout_ns * (peers == 0 ? 1 : (peers + g->branching - 1) / g->branching);
}
