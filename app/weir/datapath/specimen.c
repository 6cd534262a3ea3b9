/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Control requests the verdict that a worker would return for a packet now, without any effect.
 */
#include "specimen.h"

#include <string.h>

#include <rte_common.h>

#include "classify/classify.h"
#include "leases_end.h"
#include "packet/parse.h"
#include "police/excerpt.h"
#include "shape/shape.h"
#include "worker_data.h"
#include "tick.h"

void specimen_ask(struct worker *worker, struct specimen *specimen)
{
	specimen->taken = false;
	/* Release: a worker that sees the request sees the frame. */
	__atomic_store_n(&worker->asked, specimen, __ATOMIC_RELEASE);
}

bool specimen_is_taken(const struct specimen *specimen)
{
	return __atomic_load_n(&specimen->taken, __ATOMIC_ACQUIRE);
}

bool specimen_withdraw(struct worker *worker, struct specimen *specimen)
{
	return __atomic_compare_exchange_n(
		&worker->asked, &specimen, NULL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Copies pieces, one after the other. Returns false if there is no room for all. */
static bool copy_extents(const struct extents *extents, uint8_t *to, size_t room)
{
	size_t at = 0;

	if (extents->overflow)
		return false;
	for (unsigned i = 0; i < extents->n; i++) {
		if (room - at < extents->of[i].bytes)
			return false;
		memcpy(to + at, extents->of[i].at, extents->of[i].bytes);
		at += extents->of[i].bytes;
	}
	return true;
}

/* Copies the line of a fragment's packet, which frames_look_further() will read. */
static void take_fragments(const struct worker *w, struct specimen *s)
{
	const struct fragments *table = __atomic_load_n(&w->fragments, __ATOMIC_RELAXED);
	struct packet packet;

	s->before = (struct extents){.n = 0};
	packet_parse(s->frame, s->len, &packet);
	if (w->tunnels)
		packet_enter_tunnels(s->frame, s->len, w->tunnels, &packet);
	if (!table || !packet.fragment)
		return;
	fragments_extents(table, s->frame, &packet, &s->before);
	s->complete &= copy_extents(&s->before, s->first, sizeof(s->first));
}

struct fragments *specimen_fragments(struct specimen *s)
{
	const uint8_t *from = s->first;
	const uint8_t *base;

	if (s->before.n == 0)
		return NULL;
	base = s->before.of[0].at;
	for (unsigned i = 0; i < s->before.n; i++) {
		size_t at = (size_t)((const uint8_t *)s->before.of[i].at - base);

		memcpy((uint8_t *)&s->fragments + at, from, s->before.of[i].bytes);
		from += s->before.of[i].bytes;
	}
	return &s->fragments;
}

/* Finds the frame's policy with the snapshot that the worker uses. */
static void find_policy(const struct worker *w, struct specimen *s)
{
	const struct path *path = &w->paths[s->path];
	struct frames *frames = &s->frames;

	frames->tunnels = w->tunnels;
	frames->fragments = specimen_fragments(s);
	frames->now = s->now;
	frames->lines = NULL;
	frames->wide = false;
	frames->data[0] = s->frame;
	frames->len[0] = s->len;
	frames->whole = frames->len;
	classify_frames(w->own.view.classifier, path->wire, path->direction, frames, 1);
	s->slot = frames->policy[0];
}

static void take_policy(struct worker *w, struct specimen *s)
{
	const struct policy_state *state = &w->policies[s->slot];
	const struct credit *credit = police_credit(state);

	s->state = *state;
	s->ending = w->ending[s->slot];
	s->sampled = w->samples[s->slot] != NULL;
	s->shares = w->shared_buckets && (police_is_simple(state) || police_borrows(state) ||
						 police_shape_shared(state));
	if (w->shared_buckets)
		shared_bucket_copy(&w->shared_buckets[s->slot], &s->shared);
	if (credit)
		credit_copy(credit, &s->credit);
	police_excerpt(state, frames_packet(&s->frames, 0), s->frame, &s->extents);
	if (police_is_shaped(state))
		shaper_extents(w->shaper, &s->extents);
	s->complete &= copy_extents(&s->extents, s->bytes, sizeof(s->bytes));
}

/* Copies the levels above the policy. */
static void take_levels(const struct worker *w, struct specimen *s)
{
	uint32_t slots[POLICY_LEVELS_MOST];
	unsigned n = lineage_of(w, s->slot, slots);

	s->n_above = n - 1;
	for (unsigned k = 1; k < n; k++) {
		const struct credit *credit = police_credit(&w->policies[slots[k]]);
		struct specimen_level *level = &s->above[k - 1];

		level->slot = slots[k];
		level->state = w->policies[slots[k]];
		level->ending = w->ending[slots[k]];
		if (!police_is_simple(&level->state))
			level->other = *level->state.other;
		if (w->shared_buckets)
			shared_bucket_copy(&w->shared_buckets[slots[k]], &level->shared);
		if (credit)
			credit_copy(credit, &level->credit);
	}
}

void specimen_take(struct worker *w)
{
	struct specimen *s = __atomic_exchange_n(&w->asked, NULL, __ATOMIC_ACQUIRE);

	if (s == NULL)
		return;
	s->now = tick_now();
	s->complete = true;
	s->extents = (struct extents){.n = 0};
	expire_look(w, s->now);
	s->own = w->own;
	take_fragments(w, s);
	find_policy(w, s);
	s->n_above = 0;
	if (s->slot != CLASSIFY_NONE) {
		take_policy(w, s);
		take_levels(w, s);
	}
	__atomic_store_n(&s->taken, true, __ATOMIC_RELEASE);
}
