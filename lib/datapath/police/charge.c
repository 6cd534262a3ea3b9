/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a parsed and classified packet to its verdict: charge, sample, meter, action.
 */
#include "police/charge.h"
#include "police/coloured.h"
#include "police/policy_state.h"
#include "police/sample.h"

#include "flow/new_flow.h"
#include "source/source_table.h"

#define UDP     17
#define TCP_SYN 0x02
#define TCP_ACK 0x10

/* For packets that can begin a flow: returns true if the table has the flows that began. */
static bool in_table(const struct packet *packet)
{
	return packet->proto == UDP;
}

/*
 * Uses a key, because a sender that could make flows of one hash would have them all pass for one.
 */
static uint32_t flow_of(
	const struct policy_extended *other, const struct packet *packet, const uint8_t *data)
{
	return packet_keyed_hash(&other->flow_key, packet, data);
}

static bool begins_flow(const struct policy_extended *other, const struct packet *packet,
	const uint8_t *data, uint64_t now)
{
	if (packet->unknown & PACKET_UNKNOWN_FLAGS)
		return true;
	if (packet->fragment == PACKET_FRAGMENT_LATER)
		return false;
	if (in_table(packet))
		return !new_flows_known(other->flows, flow_of(other, packet, data), now);
	return packet->proto == POLICE_TCP && (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

uint32_t police_cost_other(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t bytes, uint64_t now)
{
	switch (state->other->count) {
	case COUNT_PACKETS:
		return 1;
	case COUNT_FLOWS:
		return begins_flow(state->other, packet, data, now);
	default:
		return bytes;
	}
}

/* A packet that passes. A flow counts as begun only now: one that is refused stays new. */
static void pass_packet(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	struct policy_extended *other = state->other;

	police_count(state, 1, cost, 0, 0);
	if (other->count == COUNT_FLOWS && cost > 0 && in_table(packet))
		new_flows_remember(other->flows, flow_of(other, packet, data), now);
}

static void pass_over(struct policy_state *state, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now)
{
	pass_packet(state, packet, data, cost, now);
	counter_add(&state->other->over_packets, 1);
	counter_add(&state->other->over_bytes, cost);
}

static void drop_packet(struct policy_state *state, uint32_t cost)
{
	police_count(state, 1, cost, 1, cost);
}

/* Returns the class of a packet that needs more than the free part. */
static struct phantom_class *class_of(
	struct policy_extended *other, const struct packet *packet, const uint8_t *data)
{
	struct phantom *phantom = police_phantom(other);

	if (other->by_dscp)
		return phantom_of_number(phantom, packet->dscp);
	return phantom_of_flow(phantom, packet_flow_hash(packet, data), &other->meter.bucket,
		&other->profile.bucket);
}

static bool fair_share_passes(struct policy_extended *other, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	const struct token_bucket_profile *profile = &other->profile.bucket;
	struct token_bucket *bucket = &other->meter.bucket;
	struct phantom *phantom = police_phantom(other);

	token_bucket_refill(bucket, profile, now);
	if (phantom_take_free(bucket, profile, cost))
		return true;
	phantom_follow(phantom, bucket, profile);
	return phantom_take(phantom, class_of(other, packet, data), bucket, profile, cost);
}

static bool packet_conforms(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	struct policy_extended *other = state->other;
	unsigned bits = police_source_bits(state, packet);
	uint32_t parts = cost << other->unit_bits;

	if (bits)
		return source_table_conforms(other->sources, &other->profile,
			source_hash(other->sources, data + packet->src_off, packet->family, bits),
			now, parts);
	if (other->kind == METER_CREDIT) /* in units: only the fallback counts in parts */
		return police_pay(other, cost, now);
	if (other->kind == METER_PHANTOM)
		return fair_share_passes(other, packet, data, parts, now);
	if (other->coloured)
		return coloured_passes(other, packet, cost, now);
	return meter_conforms(other->kind, &other->meter, &other->profile, now, parts);
}

enum verdict police_enact(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now, bool conforming)
{
	if (conforming) {
		pass_packet(state, packet, data, cost, now);
		return VERDICT_PASS;
	}
	switch (state->other->action) {
	case ACTION_MARK:
		return VERDICT_MARK;
	case ACTION_COUNT:
		pass_over(state, packet, data, cost, now);
		return VERDICT_COUNT;
	default:
		drop_packet(state, cost);
		return VERDICT_DROP;
	}
}

static enum verdict charge_phantom(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	uint64_t over;

	token_bucket_refill(&state->bucket, &state->limit, now);
	over = police_over_line(state, cost);
	if (over == POLICE_ASKS_FLOW)
		over = police_over_flow(state, cost, packet_flow_hash(packet, data));
	return over ? VERDICT_DROP : VERDICT_PASS;
}

enum verdict police_charge_other(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	if (police_is_phantom(state))
		return charge_phantom(state, packet, data, cost, now);
	return police_enact(
		state, packet, data, cost, now, packet_conforms(state, packet, data, cost, now));
}

uint64_t police_over_total(struct policy_state *state, uint32_t bytes, uint64_t now)
{
	uint64_t over = police_pay(state->other, bytes, now) ? 0 : UINT64_MAX;

	police_count(state, 1, bytes, -(uint32_t)over, bytes & over);
	return over;
}

/* Returns true if a packet fits next to its flow's queue, if the line did not decide. */
static bool flow_fits(struct policy_state *state, uint32_t bytes, uint32_t hash)
{
	const struct token_bucket_profile *limit = &state->limit;
	struct token_bucket *bucket = &state->bucket;
	struct phantom *phantom = state->phantom;

	phantom_follow(phantom, bucket, limit);
	return phantom_take(
		phantom, phantom_of_flow(phantom, hash, bucket, limit), bucket, limit, bytes);
}

uint64_t police_over_class(struct policy_state *state, uint32_t bytes, uint32_t hash)
{
	if (flow_fits(state, bytes, hash))
		return 0;
	police_count_refused(state, 1, bytes);
	return UINT64_MAX;
}

/* Returns the verdict of police_over_line() and police_over_flow(), without the counting. */
static bool packet_fits(struct policy_state *state, uint32_t bytes, uint32_t hash)
{
	if (phantom_take_free(&state->bucket, &state->limit, bytes))
		return true;
	return phantom_asks(&state->bucket, &state->limit, bytes) && flow_fits(state, bytes, hash);
}

uint64_t police_charge_flows(struct policy_state *state, const uint32_t *bytes,
	const uint32_t *hashes, unsigned n, uint64_t now)
{
	uint64_t sum = 0, passed = 0, passes = 0;

	for (unsigned i = 0; i < n; i++)
		phantom_fetch_class(state->phantom, hashes[i]);
	token_bucket_refill(&state->bucket, &state->limit, now);
	for (unsigned i = 0; i < n; i++) {
		uint64_t fit = packet_fits(state, bytes[i], hashes[i]);

		sum += bytes[i];
		passed += bytes[i] & -fit;
		passes |= fit << i;
	}
	counter_add32(&state->packets, n);
	counter_add(&state->bytes, sum);
	police_count_refused(state, n - (uint32_t)__builtin_popcountll(passes), sum - passed);
	return passes;
}

void police_marked(struct policy_state *state, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now, bool marked)
{
	if (!marked)
		drop_packet(state, cost);
	else if (state->other->coloured && coloured_last(state->other) == COLOUR_GREEN)
		pass_packet(state, packet, data, cost, now);
	else
		pass_over(state, packet, data, cost, now);
}

/* Applies a limit to a policy with a struct policy_extended. */
static void limit_other(
	struct policy_extended *other, const struct limit_profile *profile, uint64_t now)
{
	if (other->kind == METER_PHANTOM)
		phantom_change(police_phantom(other), &other->meter.bucket, &other->profile.bucket,
			&profile->meter.bucket, now);
	else if (other->coloured)
		coloured_limit(other, &profile->meter.trtcm, now);
	else if (other->action != ACTION_SHAPE) /* see shaped_limit() */
		meter_change(other->kind, &other->meter, &other->profile, &profile->meter, now);
}

void police_limit(struct policy_state *state, const struct limit_profile *profile, uint64_t now)
{
	token_bucket_set_owner(&state->bucket,
		police_owner(police_flags(state), profile->sample_shift, police_accounting(state)));
	if (police_is_simple(state))
		token_bucket_change(&state->bucket, &state->limit, &profile->meter.bucket, now);
	else if (police_is_phantom(state))
		phantom_change(
			state->phantom, &state->bucket, &state->limit, &profile->meter.bucket, now);
	else
		limit_other(state->other, profile, now);
}
