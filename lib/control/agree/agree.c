/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "agree/agree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agree/agree_private.h"
#include "base/hash.h"

int agree_create(const struct agree_params *params, struct agree **out)
{
	struct agree *a;

	if (params->self >= params->n || params->n_group > AGREE_GROUP_MOST ||
		params->n_policy > AGREE_POLICY_MOST || params->epoch == 0)
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->n = params->n;
	a->self = params->self;
	a->epoch = params->epoch;
	a->n_group = params->n_group;
	a->n_policy = params->n_policy;
	a->clock = params->clock;
	for (unsigned t = 0; t < a->n_group; t++)
		a->tags[t] = name_hash(params->group_things[t]);
	a->things = HASH64_BASIS;
	for (unsigned t = 0; t < a->n_policy; t++)
		a->things = hash64_step(a->things, name_hash(params->policy_things[t]));
	*out = a;
	return 0;
}

static void peer_free(struct agree_peer *p)
{
	free(p->said);
	free(p->since_ns);
	free(p->walk);
	free(p->found);
}

void agree_destroy(struct agree *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->n_peers; i++)
		peer_free(&a->peers[i]);
	free(a->peers);
	rows_destroy(a->rows);
	free(a);
}

unsigned peer_at(const struct agree *a, unsigned index)
{
	unsigned low = 0, high = a->n_peers;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (a->peers[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct agree_peer *peer_find(const struct agree *a, unsigned index)
{
	unsigned at = peer_at(a, index);

	return at < a->n_peers && a->peers[at].index == index ? &a->peers[at] : NULL;
}

static int make_room(struct agree *a)
{
	unsigned room = a->peers_room ? 2 * a->peers_room : 8;
	struct agree_peer *peers;

	if (a->n_peers < a->peers_room)
		return 0;
	peers = realloc(a->peers, room * sizeof(*peers));
	if (!peers)
		return -ENOMEM;
	a->peers = peers;
	a->peers_room = room;
	return 0;
}

struct agree_peer *peer_get(struct agree *a, unsigned index)
{
	unsigned at = peer_at(a, index);

	if (at < a->n_peers && a->peers[at].index == index)
		return &a->peers[at];
	if (make_room(a))
		return NULL;
	memmove(a->peers + at + 1, a->peers + at, (a->n_peers - at) * sizeof(*a->peers));
	a->n_peers++;
	a->peers[at] = (struct agree_peer){.index = index, .summary_due = true};
	return &a->peers[at];
}

static int compare_peers(const void *a, const void *b)
{
	unsigned left = ((const struct agree_peer *)a)->index;
	unsigned right = ((const struct agree_peer *)b)->index;

	return left < right ? -1 : left > right;
}

void agree_regroup(struct agree *a, unsigned n, unsigned self, const unsigned *to)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < a->n_peers; i++) {
		a->peers[i].index = to[a->peers[i].index];
		if (a->peers[i].index < n)
			a->peers[kept++] = a->peers[i];
		else
			peer_free(&a->peers[i]);
	}
	a->n = n;
	a->self = self;
	a->n_peers = kept;
	a->next = 0;
	a->views++;
	if (kept > 0)
		qsort(a->peers, kept, sizeof(*a->peers), compare_peers);
}

static bool group_equal(const struct agree *a, const uint64_t *group)
{
	return memcmp(a->group, group, a->n_group * sizeof(*group)) == 0;
}

/* Makes a summary due for every peer, and compares their earlier values with the new ones. */
static void look_again(struct agree *a, uint64_t now_ns)
{
	a->changes++;
	a->views++; /* policies have other numbers */
	for (unsigned i = 0; i < a->n_peers; i++) {
		struct agree_peer *p = &a->peers[i];

		p->summary_due = true;
		if (!p->heard)
			continue;
		memset(p->walk, 0, sizeof(*p->walk));
		p->walk->branch = BRANCHES;
		compare_group(a, p, now_ns);
		compare_root(a, p, now_ns);
	}
}

int agree_set(struct agree *a, const uint64_t *group, const struct agree_policy *policies,
	unsigned n, uint64_t now_ns)
{
	struct agree_rows *rows = rows_create(policies, n, a->n_policy);
	bool same;

	if (!rows)
		return -ENOMEM;
	same = a->rows && a->rows->root == rows->root && group_equal(a, group);
	rows_destroy(a->rows);
	a->rows = rows;
	memcpy(a->group, group, a->n_group * sizeof(*group));
	if (same)
		a->views++;
	else
		look_again(a, now_ns);
	return 0;
}

void agree_clock(struct agree *a, uint64_t ahead_ns)
{
	a->ahead_ns = ahead_ns;
}

void agree_watch(struct agree *a, unsigned peer, bool watched)
{
	struct agree_peer *p;

	if (peer == a->self || (!watched && !peer_find(a, peer)))
		return;
	p = peer_get(a, peer);
	if (p) /* or it is watched the next time */
		p->watched = watched;
}

unsigned agree_next(const struct agree *a, unsigned from)
{
	unsigned at = peer_at(a, from);

	return at < a->n_peers ? a->peers[at].index : a->n;
}

uint64_t agree_changes(const struct agree *a)
{
	return a->views;
}

static unsigned group_differences(const struct agree *a, const struct agree_peer *p)
{
	unsigned n = p->things_since_ns != 0;

	for (unsigned t = 0; p->since_ns && t < a->n_group; t++)
		n += p->since_ns[t] != 0;
	return n;
}

static void keep_oldest(uint64_t *oldest_ns, uint64_t since_ns)
{
	if (since_ns && (*oldest_ns == 0 || since_ns < *oldest_ns))
		*oldest_ns = since_ns;
}

static uint64_t oldest_of(const struct agree *a, const struct agree_peer *p)
{
	uint64_t oldest_ns = p->things_since_ns;

	for (unsigned t = 0; p->since_ns && t < a->n_group; t++)
		keep_oldest(&oldest_ns, p->since_ns[t]);
	/* The roots differ while any policy does. */
	keep_oldest(&oldest_ns, p->roots_since_ns);
	return oldest_ns;
}

struct agree_peer_view agree_peer(const struct agree *a, unsigned peer)
{
	const struct agree_peer *p = peer_find(a, peer);

	if (!p)
		return (struct agree_peer_view){0};
	return (struct agree_peer_view){
		.heard = p->heard,
		.heard_ns = p->heard_ns,
		.n = group_differences(a, p) + p->n_found,
		.more = p->overflow || (p->roots_since_ns && p->n_found == 0),
		.since_ns = oldest_of(a, p),
	};
}

struct agree_difference agree_difference(const struct agree *a, unsigned peer, unsigned i)
{
	const struct agree_peer *p = peer_find(a, peer);
	const struct agree_found *found;
	const struct agree_row *row;

	if (p->things_since_ns && i-- == 0)
		return (struct agree_difference){
			0, AGREE_GROUP, AGREE_PRESENCE, p->things_since_ns};
	for (unsigned t = 0; p->since_ns && t < a->n_group; t++)
		if (p->since_ns[t] && i-- == 0)
			return (struct agree_difference){0, AGREE_GROUP, 1U << t, p->since_ns[t]};
	found = &p->found[i];
	row = rows_find(a->rows, found->id);
	return (struct agree_difference){
		found->id, row ? row->policy : AGREE_NOWHERE, found->things, found->since_ns};
}
