/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "police/police.h"

#include "flow/new_flow.h"
#include "source/source_table.h"

#define UDP     17
#define TCP_SYN 0x02
#define TCP_ACK 0x10

/* Of packets that may begin a flow: whether the table knows when one did. */
static bool in_table(const struct packet *packet)
{
	return packet->proto == UDP || (packet->proto == POLICE_TCP && packet->fragment);
}

static bool begins_flow(struct new_flows *flows, const struct packet *packet, uint64_t now)
{
	if (in_table(packet))
		return !new_flows_known(flows, packet->flow_hash, now);
	return packet->proto == POLICE_TCP && (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

uint32_t police_cost_other(const struct limit_profile *profile, struct policy_extra *extra,
	const struct packet *packet, uint32_t bytes, uint64_t now)
{
	switch (profile->count) {
	case COUNT_PACKETS:
		return 1;
	case COUNT_FLOWS:
		return begins_flow(extra->flows, packet, now);
	default:
		return bytes;
	}
}

static uint64_t source_of(const struct policy_extra *extra, const struct limit_profile *profile,
	const struct packet *packet, const uint8_t *data)
{
	unsigned bits = packet->family == PACKET_IPV4 ? profile->per_v4 : profile->per_v6;

	return source_hash(extra->sources, data + packet->src_off, packet->family, bits);
}

void police_prefetch_source(const struct policy_extra *extra, const struct limit_profile *profile,
	const struct packet *packet, const uint8_t *data)
{
	if (police_has_source(profile, packet))
		source_table_prefetch(extra->sources, source_of(extra, profile, packet, data));
}

/* A packet that passes. A flow counts as begun only now: one that is refused stays new. */
static void pass(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, uint32_t cost,
	uint64_t now)
{
	counter_add(&state->passed_packets, 1);
	counter_add(&state->passed_bytes, cost);
	if (profile->count == COUNT_FLOWS && cost > 0 && in_table(packet))
		new_flows_remember(extra->flows, packet->flow_hash, now);
}

static void pass_over(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, uint32_t cost,
	uint64_t now)
{
	pass(state, extra, profile, packet, cost, now);
	counter_add(&extra->over_packets, 1);
	counter_add(&extra->over_bytes, cost);
}

static void drop(struct policy_state *state, uint32_t cost)
{
	counter_add(&state->dropped_packets, 1);
	counter_add(&state->dropped_bytes, cost);
}

enum verdict police_charge_other(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now)
{
	bool conforms;

	if (police_has_source(profile, packet))
		conforms = source_table_conforms(extra->sources, &profile->meter,
			source_of(extra, profile, packet, data), now, cost);
	else
		conforms = meter_conforms(profile->kind, &state->meter, &profile->meter, now, cost);
	if (conforms) {
		pass(state, extra, profile, packet, cost, now);
		return VERDICT_PASS;
	}
	switch (profile->action) {
	case ACTION_MARK:
		return VERDICT_MARK;
	case ACTION_COUNT:
		pass_over(state, extra, profile, packet, cost, now);
		return VERDICT_COUNT;
	default:
		drop(state, cost);
		return VERDICT_DROP;
	}
}

void police_marked(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, uint32_t cost,
	uint64_t now, bool marked)
{
	if (marked)
		pass_over(state, extra, profile, packet, cost, now);
	else
		drop(state, cost);
}
