/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "members/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "members/exchange_private.h"

int exchange_create(const struct exchange_params *params, struct exchange **out)
{
	struct exchange *e;

	if (params->self >= params->n || params->every_ns > EXCHANGE_REST_NS)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->n = params->n;
	e->self = params->self;
	e->members = params->members;
	e->every_ns = params->every_ns ? params->every_ns : EXCHANGE_EVERY_NS;
	e->serial = members_serial(e->members);
	*out = e;
	return 0;
}

void exchange_destroy(struct exchange *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->n_peers; i++)
		pass_end(&e->peers[i], 0);
	free(e->peers);
	free(e);
}

/* Returns the place of the first peer at an index or after it. */
static unsigned place_of(const struct exchange *e, unsigned index)
{
	unsigned low = 0, high = e->n_peers;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (e->peers[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct exchange_peer *exchange_find(const struct exchange *e, unsigned index)
{
	unsigned at = place_of(e, index);

	return at < e->n_peers && e->peers[at].index == index ? &e->peers[at] : NULL;
}

struct exchange_peer *exchange_get(struct exchange *e, unsigned index)
{
	unsigned at = place_of(e, index);

	if (at < e->n_peers && e->peers[at].index == index)
		return &e->peers[at];
	if (e->n_peers == e->peers_room) {
		unsigned room = e->peers_room ? 2 * e->peers_room : 8;
		struct exchange_peer *peers = realloc(e->peers, room * sizeof(*peers));

		if (!peers)
			return NULL;
		e->peers = peers;
		e->peers_room = room;
	}
	memmove(e->peers + at + 1, e->peers + at, (e->n_peers - at) * sizeof(*e->peers));
	e->n_peers++;
	e->peers[at] = (struct exchange_peer){.index = index, .pause_ns = e->every_ns};
	return &e->peers[at];
}

void peer_hurry(const struct exchange *e, struct exchange_peer *p)
{
	uint64_t next_ns = p->sent_ns ? p->sent_ns + e->every_ns : 0;

	p->pause_ns = e->every_ns;
	if (p->next_ns > next_ns)
		p->next_ns = next_ns;
}

void exchange_watch(struct exchange *e, unsigned peer, bool watched)
{
	struct exchange_peer *p = exchange_find(e, peer);

	if (peer == e->self || peer >= e->n || (!watched && !p))
		return;
	p = exchange_get(e, peer);
	if (!p || p->watched == watched) /* without memory it is watched the next time */
		return;
	p->watched = watched;
	peer_hurry(e, p);
}

static int compare_indices(const void *a, const void *b)
{
	unsigned x = ((const struct exchange_peer *)a)->index;
	unsigned y = ((const struct exchange_peer *)b)->index;

	return x < y ? -1 : x > y;
}

void exchange_regroup(struct exchange *e, unsigned n, unsigned self, const unsigned *to)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < e->n_peers; i++) {
		struct exchange_peer *p = &e->peers[i];

		p->index = to[p->index];
		if (p->index < n)
			e->peers[kept++] = *p;
		else
			pass_end(p, 0);
	}
	e->n_peers = kept;
	if (kept > 0)
		qsort(e->peers, kept, sizeof(*e->peers), compare_indices);
	e->next = 0;
	e->n = n;
	e->self = self;
}

void exchange_restarted(struct exchange *e, unsigned peer)
{
	struct exchange_peer *p = exchange_find(e, peer);

	if (!p)
		return;
	pass_end(p, 0);
	*p = (struct exchange_peer){.index = peer, .watched = p->watched, .pause_ns = e->every_ns};
}

void exchange_note_changes(struct exchange *e)
{
	const struct members *m = e->members;

	if (members_serial(m) == e->serial)
		return;
	for (unsigned i = 0; i < e->n_peers; i++) {
		struct exchange_peer *p = &e->peers[i];
		uint32_t at = members_newest(m);

		peer_hurry(e, p);
		if (p->pass.n == 0 || pass_extend(e, p))
			continue;
		for (; at != MEMBERS_NONE && members_numbered(m, at)->changed > e->serial;
			at = members_older(m, at))
			pass_set_due(&p->pass, at);
	}
	e->serial = members_serial(m);
}

bool exchange_confirmed(const struct exchange *e, unsigned peer)
{
	const struct exchange_peer *p = exchange_find(e, peer);

	return p && peer_is_equal(e, p);
}

bool exchange_speaks(const struct exchange *e, unsigned peer)
{
	const struct exchange_peer *p = exchange_find(e, peer);

	return p && p->speaks;
}

struct exchange_counters exchange_counters(const struct exchange *e)
{
	return e->counters;
}
