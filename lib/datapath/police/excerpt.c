/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The part of a policy's state on a worker that one packet depends on, for any size of the rest.
 */
#include "police/excerpt.h"

#include "flow/new_flow.h"
#include "police/coloured.h"
#include "police/shaped.h"
#include "source/source_extents.h"

static void add_phantom(const struct phantom *phantom, struct extents *extents)
{
	extents_add(extents, phantom,
		sizeof(*phantom) + (phantom->mask + 1u) * sizeof(phantom->classes[0]));
}

void police_excerpt(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, struct extents *extents)
{
	unsigned bits = police_source_bits(state, packet);
	struct policy_extended *other = state->other;

	if (police_is_phantom(state))
		add_phantom(state->phantom, extents);
	if (!police_is_extended(state))
		return;
	extents_add(extents, other, sizeof(*other));
	if (other->sources)
		source_table_extents(other->sources,
			bits ? source_hash(
				       other->sources, data + packet->src_off, packet->family, bits)
			     : 0,
			extents);
	if (other->flows && packet->family != PACKET_OTHER)
		new_flows_extents(
			other->flows, packet_keyed_hash(&other->flow_key, packet, data), extents);
	if (police_is_shaped(state))
		extents_add(extents, police_shape(other), sizeof(struct policy_shape));
	if (other->kind == METER_PHANTOM)
		add_phantom(police_phantom(other), extents);
	if (other->coloured)
		extents_add(extents, police_coloured(other), sizeof(struct coloured));
}

const struct credit *police_credit(const struct policy_state *state)
{
	return police_is_quota(state) ? state->other->profile.credit.credit : NULL;
}

const struct shared_bucket *police_shape_shared(const struct policy_state *state)
{
	return police_is_shaped(state) ? police_shape(state->other)->queue.shared : NULL;
}

/* Returns the place in the copy of an address in the original's memory. */
static void *moved_pointer(const struct police_secondary *secondary, const void *at)
{
	return at ? (uint8_t *)secondary->to +
			       ((const uint8_t *)at - (const uint8_t *)secondary->from)
		  : NULL;
}

void police_excerpt_settle(struct policy_state *copy, const struct police_secondary *secondary)
{
	struct policy_extended *other;
	struct policy_shape *shape;

	if (police_is_phantom(copy))
		copy->phantom = moved_pointer(secondary, copy->phantom);
	if (!police_is_extended(copy))
		return;
	other = copy->other = moved_pointer(secondary, copy->other);
	other->sources = moved_pointer(secondary, other->sources);
	other->flows = moved_pointer(secondary, other->flows);
	if (other->sources) {
		other->sources->lines = moved_pointer(secondary, other->sources->lines);
		other->sources->shared = moved_pointer(secondary, other->sources->shared);
		other->sources->seen = moved_pointer(secondary, other->sources->seen);
	}
	if (police_is_quota(copy) && other->profile.credit.credit)
		other->profile.credit.credit = secondary->credit;
	if (!police_is_shaped(copy))
		return;
	shape = police_shape(other);
	shape->seat = NULL;
	shape_queue_excerpt_settle(
		&shape->queue, secondary->last, shape->queue.shared ? secondary->shared : NULL);
}
