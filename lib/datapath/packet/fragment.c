/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "packet/fragment.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/counter.h"
#include "base/wire.h"
#include "policy/policy.h"

/* What fragments of one packet have in common: the lines of their addresses, a line, an entry. */
struct place {
	struct fragment_set *set;
	uint32_t tag, time;
};

void fragments_init(struct fragments *fragments, uint64_t secret, uint64_t hz)
{
	unsigned time_shift = 0;

	while (hz >> (time_shift + 4))
		time_shift++;
	*fragments = (struct fragments){
		.valid = (FRAGMENT_SECONDS * hz >> time_shift) + 1,
		.time_shift = time_shift,
	};
	source_key_init(&fragments->key, secret);
}

/* Hashes all but the identification. */
static uint64_t hash_pair(
	const uint64_t *key, const uint8_t *addresses, const struct packet *packet)
{
	const bool v4 = packet->family == PACKET_IPV4;
	const uint64_t rest = packet->family | (uint64_t)packet->vlan << 8 |
			      (v4 ? (uint64_t)packet->proto << 24 : 0);
	uint64_t h;

	if (v4)
		return source_fold(read_raw64(addresses) ^ key[0], rest ^ key[1]);
	h = source_fold(read_raw64(addresses) ^ key[0], read_raw64(addresses + 8) ^ key[1]);
	h = source_fold(
		h ^ read_raw64(addresses + 16) ^ key[2], read_raw64(addresses + 24) ^ key[3]);
	return source_fold(h ^ key[0], rest ^ key[1]);
}

static struct place find_place(
	struct fragments *fragments, const uint8_t *data, uint64_t now, const struct packet *packet)
{
	const uint8_t *id = data + packet->id_off;
	const uint64_t *key = fragments->key.word;
	const uint64_t pair = hash_pair(key, data + packet->src_off, packet);
	const uint64_t whole = source_fold(pair ^ key[2],
		(packet->family == PACKET_IPV4 ? read_be16(id) : read_be32(id)) ^ key[3]);
	const uint32_t group = pair >> 32 & (FRAGMENT_SETS / FRAGMENT_LINES - 1);
	const uint32_t line = whole >> 32 & (FRAGMENT_LINES - 1);

	return (struct place){
		.set = &fragments->sets[group * FRAGMENT_LINES + line],
		.tag = (uint32_t)whole,
		.time = (uint32_t)(now >> fragments->time_shift),
	};
}

static const struct fragment *fragment_lookup(const struct place *place, int32_t valid)
{
	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		const struct fragment *entry = &place->set->way[i];

		/* The age is below 0 if the clock stepped back. */
		if (entry->used && entry->tag == place->tag)
			return (int32_t)(place->time - entry->time) <= valid ? entry : NULL;
	}
	return NULL;
}

/* The newest is first; what gives way is its own of before, a free one, or the oldest: the last. */
static void fragment_insert(struct fragment_set *set, const struct fragment *entry)
{
	unsigned gone = 0;

	while (gone < FRAGMENT_WAYS - 1 && set->way[gone].used && set->way[gone].tag != entry->tag)
		gone++;
	memmove(&set->way[1], &set->way[0], gone * sizeof(*entry));
	set->way[0] = *entry;
}

static void remember_ports(const struct place *place, const uint8_t *data, struct packet *packet)
{
	if (packet->l4_off != 0 && proto_has_ports(packet->proto)) {
		packet->src_port = read_be16(data + packet->l4_off);
		packet->dst_port = read_be16(data + packet->l4_off + 2);
	}
	fragment_insert(place->set, &(struct fragment){.tag = place->tag,
					    .time = place->time,
					    .src_port = packet->src_port,
					    .dst_port = packet->dst_port,
					    .proto = packet->proto,
					    .used = 1});
}

void fragments_ports(
	struct fragments *fragments, const uint8_t *data, uint64_t now, struct packet *packet)
{
	const struct place place = find_place(fragments, data, now, packet);
	const struct fragment *entry;

	if (packet->fragment == PACKET_FRAGMENT_FIRST) {
		remember_ports(&place, data, packet);
		counter_add(&fragments->first, 1);
		return;
	}
	entry = fragment_lookup(&place, fragments->valid);
	if (!entry) {
		counter_add(&fragments->unknown, 1);
		return;
	}
	packet->proto = entry->proto;
	packet->src_port = entry->src_port;
	packet->dst_port = entry->dst_port;
	counter_add(&fragments->found, 1);
}

static_assert(sizeof(struct fragment_set) == 64, "a look costs one cache line");
static_assert(offsetof(struct fragments, sets) % 64 == 0, "sets are lines if the table is");
static_assert((FRAGMENT_SETS & (FRAGMENT_SETS - 1)) == 0, "a set is found with a mask");
