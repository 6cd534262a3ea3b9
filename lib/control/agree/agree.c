/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds the settings in which the limiters of a group differ, although they must be the same.
 */
#include "agree/agree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agree/agree_private.h"
#include "base/hash.h"

/* The policies of this limiter, with their digests. */

static uint64_t mix_word(uint64_t word)
{
	return splitmix64_next(&word);
}

static int compare_rows(const void *a, const void *b)
{
	uint64_t left = ((const struct agree_row *)a)->id;
	uint64_t right = ((const struct agree_row *)b)->id;

	return left < right ? -1 : left > right;
}

/* Places each policy in its leaf, in one pass over them; a leaf is small. */
static void place_rows(
	struct agree_rows *rows, const struct agree_policy *policies, unsigned n, unsigned n_things)
{
	unsigned at[LEAVES];

	for (unsigned i = 0; i < n; i++)
		rows->first[leaf_of(policies[i].id) + 1]++;
	for (unsigned leaf = 0; leaf < LEAVES; leaf++)
		rows->first[leaf + 1] += rows->first[leaf];
	memcpy(at, rows->first, sizeof(at));
	for (unsigned i = 0; i < n; i++) {
		const struct agree_policy *policy = &policies[i];
		struct agree_row *row = &rows->rows[at[leaf_of(policy->id)]++];

		*row = (struct agree_row){
			.id = policy->id, .policy = i, .digest = mix_word(policy->id)};
		for (unsigned t = 0; t < n_things; t++) {
			row->digest = mix_word(row->digest ^ policy->values[t]);
			row->checks[t] = (uint16_t)mix_word(policy->values[t]);
		}
	}
}

struct agree_rows *rows_create(const struct agree_policy *policies, unsigned n, unsigned n_things)
{
	struct agree_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->rows = calloc((size_t)n + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows) {
		free(rows);
		return NULL;
	}
	rows->n = n;
	place_rows(rows, policies, n, n_things);
	for (unsigned leaf = 0; leaf < LEAVES; leaf++) {
		unsigned first = rows->first[leaf], behind = rows->first[leaf + 1];

		qsort(rows->rows + first, behind - first, sizeof(*rows->rows), compare_rows);
		for (unsigned r = first; r < behind; r++)
			rows->leaves[leaf] += rows->rows[r].digest;
		rows->branches[leaf / BRANCHES] += rows->leaves[leaf];
		rows->root += rows->leaves[leaf];
	}
	return rows;
}

static void rows_destroy(struct agree_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

const struct agree_row *rows_find(const struct agree_rows *rows, uint64_t id)
{
	unsigned leaf = leaf_of(id);

	for (unsigned r = rows->first[leaf]; r < rows->first[leaf + 1]; r++)
		if (rows->rows[r].id == id)
			return &rows->rows[r];
	return NULL;
}

/* Differences of each peer. */

int peer_begin(struct agree *a, struct agree_peer *p)
{
	if (!p->reported)
		p->reported = calloc(AGREE_GROUP_MOST, sizeof(*p->reported));
	if (!p->since_ns)
		p->since_ns = calloc(AGREE_GROUP_MOST, sizeof(*p->since_ns));
	if (!p->walk) {
		p->walk = calloc(1, sizeof(*p->walk));
		if (p->walk)
			p->walk->branch = BRANCHES;
	}
	if (!p->reported || !p->since_ns || !p->walk)
		return -ENOMEM;
	a->views += !p->has_reported;
	p->has_reported = true;
	return 0;
}

unsigned found_at(const struct agree_peer *p, uint64_t id)
{
	unsigned low = 0, high = p->n_found;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (p->found[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool found_room(struct agree_peer *p)
{
	unsigned room = p->room ? 2 * p->room : 16;
	struct agree_found *found;

	if (p->n_found < p->room)
		return true;
	found = p->n_found < AGREE_KEPT ? realloc(p->found, room * sizeof(*found)) : NULL;
	if (!found) {
		p->overflow = true;
		return false;
	}
	p->found = found;
	p->room = room;
	return true;
}

static void found_remove(struct agree *a, struct agree_peer *p, unsigned first, unsigned behind)
{
	if (first == behind)
		return;
	memmove(p->found + first, p->found + behind, (p->n_found - behind) * sizeof(*p->found));
	p->n_found -= behind - first;
	a->views++;
}

void found_set(struct agree *a, struct agree_peer *p, uint64_t id, uint32_t things, uint64_t now_ns)
{
	unsigned at = found_at(p, id);
	bool there = at < p->n_found && p->found[at].id == id;

	if (things == 0) {
		found_remove(a, p, at, at + there);
		return;
	}
	if (there) {
		a->views += p->found[at].things != things;
		p->found[at].things = things;
		return;
	}
	if (!found_room(p))
		return;
	memmove(p->found + at + 1, p->found + at, (p->n_found - at) * sizeof(*p->found));
	p->found[at] = (struct agree_found){id, things, now_ns};
	p->n_found++;
	a->views++;
}

void found_clear(struct agree *a, struct agree_peer *p, uint64_t first, uint64_t last)
{
	found_remove(
		a, p, found_at(p, first), last == UINT64_MAX ? p->n_found : found_at(p, last + 1));
}

static void mark_since(struct agree *a, uint64_t *since_ns, bool differs, uint64_t now_ns)
{
	if ((*since_ns != 0) == differs)
		return;
	*since_ns = differs ? now_ns : 0;
	a->views++;
}

void compare_group(struct agree *a, struct agree_peer *p, uint64_t now_ns)
{
	for (unsigned t = 0; t < a->n_group; t++) {
		const bool both = p->reported[t] != 0 && a->group[t] != 0;
		const bool differs = both && (t == a->clock ? p->clock_differs
							    : p->reported[t] != a->group[t]);

		mark_since(a, &p->since_ns[t], differs, now_ns);
	}
	mark_since(a, &p->things_since_ns, !p->same_things, now_ns);
}

void compare_root(struct agree *a, struct agree_peer *p, uint64_t now_ns)
{
	bool differs = p->same_things && a->rows && p->root != a->rows->root;

	mark_since(a, &p->roots_since_ns, differs, now_ns);
	if (differs)
		return;
	found_clear(a, p, 0, UINT64_MAX);
	p->overflow = false;
	memset(p->walk, 0, sizeof(*p->walk));
	p->walk->branch = BRANCHES;
}

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
	free(p->reported);
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

/* Returns the place of the first peer at an index or after it. */
static unsigned peer_at(const struct agree *a, unsigned index)
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

/* Returns the state of a peer, or NULL. */
static const struct agree_peer *peer_find(const struct agree *a, unsigned index)
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

/* Makes a summary due for every peer, and compares their earlier values with the new ones. */
static void look_again(struct agree *a, uint64_t now_ns)
{
	a->changes++;
	a->views++; /* policies have other numbers */
	for (unsigned i = 0; i < a->n_peers; i++) {
		struct agree_peer *p = &a->peers[i];

		p->summary_due = true;
		if (!p->has_reported)
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
	same = a->rows && a->rows->root == rows->root &&
	       memcmp(a->group, group, a->n_group * sizeof(*group)) == 0;
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

static void keep_oldest(uint64_t *oldest_ns, uint64_t since_ns)
{
	if (since_ns && (*oldest_ns == 0 || since_ns < *oldest_ns))
		*oldest_ns = since_ns;
}

struct agree_peer_view agree_peer(const struct agree *a, unsigned peer)
{
	const struct agree_peer *p = peer_find(a, peer);
	uint64_t oldest_ns;
	unsigned n;

	if (!p)
		return (struct agree_peer_view){0};
	n = p->things_since_ns != 0;
	oldest_ns = p->things_since_ns;
	for (unsigned t = 0; p->since_ns && t < a->n_group; t++) {
		n += p->since_ns[t] != 0;
		keep_oldest(&oldest_ns, p->since_ns[t]);
	}
	/* The roots differ while any policy does. */
	keep_oldest(&oldest_ns, p->roots_since_ns);
	return (struct agree_peer_view){
		.has_reported = p->has_reported,
		.received_ns = p->received_ns,
		.n = n + p->n_found,
		.more = p->overflow || (p->roots_since_ns && p->n_found == 0),
		.since_ns = oldest_ns,
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
