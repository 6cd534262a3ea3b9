/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
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
		mesh->peers[i].heard_ns = now_ns;
		if (i != g->self)
			mesh->order[k++] = i;
	}
	mesh->at = n - 1; /* the first tick shuffles */
	return 0;
}

void mesh_destroy(struct mesh *mesh)
{
	free(mesh->peers);
	free(mesh->order);
}

static void shuffle_peer_order(struct mesh *mesh, struct gossip *g)
{
	for (unsigned i = g->roster->n - 1; i > 1; i--) {
		unsigned j = prng_below(&g->prng, i), t = mesh->order[j];

		mesh->order[j] = mesh->order[i - 1];
		mesh->order[i - 1] = t;
	}
	mesh->at = 0;
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

	if (mesh->at >= peers)
		shuffle_peer_order(mesh, g);
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
