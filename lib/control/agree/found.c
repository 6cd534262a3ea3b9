/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Differences of each peer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agree/agree_private.h"

int peer_begin(struct agree *a, struct agree_peer *p)
{
	if (!p->said)
		p->said = calloc(AGREE_GROUP_MOST, sizeof(*p->said));
	if (!p->since_ns)
		p->since_ns = calloc(AGREE_GROUP_MOST, sizeof(*p->since_ns));
	if (!p->walk) {
		p->walk = calloc(1, sizeof(*p->walk));
		if (p->walk)
			p->walk->branch = BRANCHES;
	}
	if (!p->said || !p->since_ns || !p->walk)
		return -ENOMEM;
	a->views += !p->heard;
	p->heard = true;
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

static bool thing_differs(const struct agree *a, const struct agree_peer *p, unsigned thing)
{
	if (p->said[thing] == 0 || a->group[thing] == 0)
		return false;
	return thing == a->clock ? p->clock_differs : p->said[thing] != a->group[thing];
}

void compare_group(struct agree *a, struct agree_peer *p, uint64_t now_ns)
{
	for (unsigned t = 0; t < a->n_group; t++)
		mark_since(a, &p->since_ns[t], thing_differs(a, p, t), now_ns);
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
