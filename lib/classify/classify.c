/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The workers' side: the destination's longest prefix, then the source's, then no address at all.
 * Each stage works on the packets that the one before left without a policy.
 */
#include "classify/frames.h"
#include "classify/tables.h"

#include <endian.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

enum side { SIDE_DST, SIDE_SRC };

struct burst {
	const struct classifier *classifier;
	const struct packet *packets;
	const uint8_t *const *data;
	uint32_t *policies;
	uint64_t key; /* wire and direction */
	unsigned n_waiting;
	uint8_t waiting[BURST_MAX]; /* packets without a policy yet */
	uint32_t start[BURST_MAX];  /* a packet's first rule in this stage */
};

static uint64_t packet_key(uint64_t key, const struct packet *packet)
{
	const uint64_t dscp = packet->family == PACKET_OTHER ? KEY_DSCP_NOT_IP : packet->dscp;

	return key | packet->vlan | dscp << KEY_DSCP_SHIFT;
}

static bool source_matches(
	const struct source *source, const struct packet *packet, const uint8_t *data)
{
	uint64_t addr[2];

	load_address(data + packet->src_off, packet->family, addr);
	return (addr[0] & source->mask[0]) == source->addr[0] &&
	       (addr[1] & source->mask[1]) == source->addr[1];
}

static uint32_t walk(const struct classifier *classifier, uint32_t start, uint64_t key,
	const struct packet *packet, const uint8_t *data)
{
	const struct rule *rule;

	for (uint32_t at = start; at != RULE_NONE; at = rule->next) {
		rule = &classifier->rules[at];
		if ((key & rule->mask) != rule->key)
			continue;
		if (rule->source == RULE_NONE ||
			source_matches(&classifier->sources[rule->source], packet, data))
			return rule->policy;
	}
	return CLASSIFY_NONE;
}

/* Follows each waiting packet's chain and keeps waiting those that found nothing. */
static void walk_waiting(struct burst *burst)
{
	unsigned left = 0;

	for (unsigned w = 0; w < burst->n_waiting; w++) {
		const uint8_t i = burst->waiting[w];
		const struct packet *packet = &burst->packets[i];

		burst->policies[i] = walk(burst->classifier, burst->start[i],
			packet_key(burst->key, packet), packet, burst->data[i]);
		burst->waiting[left] = i;
		left += burst->policies[i] == CLASSIFY_NONE;
	}
	burst->n_waiting = left;
}

static const uint8_t *address(const struct burst *burst, uint8_t i, enum side side)
{
	const struct packet *packet = &burst->packets[i];

	return burst->data[i] + (side == SIDE_DST ? packet->dst_off : packet->src_off);
}

/* The waiting packets of one family into who; returns how many. */
static unsigned gather(const struct burst *burst, uint8_t family, uint8_t *who)
{
	unsigned n = 0;

	for (unsigned w = 0; w < burst->n_waiting; w++) {
		who[n] = burst->waiting[w];
		n += burst->packets[burst->waiting[w]].family == family;
	}
	return n;
}

static void set_start(struct burst *burst, uint8_t i, uint32_t rule)
{
	burst->start[i] = rule;
	if (rule != RULE_NONE)
		rte_prefetch0(&burst->classifier->rules[rule]);
}

static void set_starts(struct burst *burst, const uint8_t *who, unsigned n, uint32_t rule)
{
	for (unsigned k = 0; k < n; k++)
		set_start(burst, who[k], rule);
}

/* Returns how many of the waiting packets are of this family. */
static unsigned lookup4(struct burst *burst, const struct table *table, enum side side)
{
	uint32_t addr[BURST_MAX], hop[BURST_MAX];
	uint8_t who[BURST_MAX];
	const unsigned n = gather(burst, PACKET_IPV4, who);

	if (table->v4 == NULL || n == 0) {
		set_starts(burst, who, n, table->root4);
		return n;
	}
	for (unsigned k = 0; k < n; k++) {
		memcpy(&addr[k], address(burst, who[k], side), sizeof(addr[k]));
		addr[k] = be32toh(addr[k]);
	}
	rte_lpm_lookup_bulk(table->v4, addr, hop, n);
	for (unsigned k = 0; k < n; k++)
		set_start(burst, who[k],
			hop[k] & RTE_LPM_LOOKUP_SUCCESS ? hop[k] & 0xffffff : table->root4);
	return n;
}

static unsigned lookup6(struct burst *burst, const struct table *table, enum side side)
{
	uint8_t addr[BURST_MAX][RTE_LPM6_IPV6_ADDR_SIZE];
	int32_t hop[BURST_MAX];
	uint8_t who[BURST_MAX];
	const unsigned n = gather(burst, PACKET_IPV6, who);

	if (table->v6 == NULL || n == 0) {
		set_starts(burst, who, n, table->root6);
		return n;
	}
	for (unsigned k = 0; k < n; k++)
		memcpy(addr[k], address(burst, who[k], side), sizeof(addr[k]));
	rte_lpm6_lookup_bulk_func(table->v6, addr, hop, n);
	for (unsigned k = 0; k < n; k++)
		set_start(burst, who[k], hop[k] >= 0 ? (uint32_t)hop[k] : table->root6);
	return n;
}

/* Most bursts are of one family, and then looked through for no other. */
static void match_address(struct burst *burst, const struct table *table, enum side side)
{
	uint8_t who[BURST_MAX];
	unsigned n;

	if (!table->used || burst->n_waiting == 0)
		return;
	n = lookup4(burst, table, side);
	if (n < burst->n_waiting)
		n += lookup6(burst, table, side);
	if (n < burst->n_waiting)
		set_starts(burst, who, gather(burst, PACKET_OTHER, who), RULE_NONE);
	walk_waiting(burst);
}

static void match_any(struct burst *burst)
{
	const struct classifier *classifier = burst->classifier;

	for (unsigned w = 0; w < burst->n_waiting; w++) {
		const uint8_t i = burst->waiting[w];
		const uint16_t vlan = burst->packets[i].vlan;

		burst->start[i] = classifier->by_vlan != NULL && vlan < VLANS
					  ? classifier->by_vlan[vlan]
					  : classifier->any;
	}
	walk_waiting(burst);
}

static uint64_t burst_key(unsigned wire, enum direction direction)
{
	return (uint64_t)wire << KEY_WIRE_SHIFT | (uint64_t)direction << KEY_DIRECTION_SHIFT;
}

/* What no packet can change is decided once. */
static void classify_alike(
	const struct classifier *classifier, uint64_t key, unsigned n, uint32_t *policies)
{
	const uint32_t policy = walk(classifier, classifier->any, key, NULL, NULL);

	for (unsigned i = 0; i < n; i++)
		policies[i] = policy;
}

void classify_burst(const struct classifier *classifier, unsigned wire, enum direction direction,
	const struct packet *packets, const uint8_t *const *data, unsigned n, uint32_t *policies)
{
	struct burst burst;

	burst.key = burst_key(wire, direction);
	if (classifier->per_burst) {
		classify_alike(classifier, burst.key, n, policies);
		return;
	}
	burst.classifier = classifier;
	burst.packets = packets;
	burst.data = data;
	burst.policies = policies;
	burst.n_waiting = n;
	for (unsigned i = 0; i < n; i++)
		burst.waiting[i] = i;
	match_address(&burst, &classifier->dst, SIDE_DST);
	match_address(&burst, &classifier->src, SIDE_SRC);
	match_any(&burst);
}

void classify_frames(const struct classifier *classifier, unsigned wire, enum direction direction,
	struct frames *frames, unsigned n)
{
	frames->parsed = 0;
	for (unsigned i = 0; i < n; i++)
		frames->l2_len[i] = frames_packet(frames, i)->l2_len;
	classify_burst(
		classifier, wire, direction, frames->packet, frames->data, n, frames->policy);
}
