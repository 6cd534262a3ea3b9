/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "packet/fragment.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/counter.h"
#include "base/wire.h"
#include "packet/layers.h"
#include "policy/policy.h"

#define UNIT          8 /* bytes that offsets count in */
#define PACKET_MAX    65535
#define MISSING_LEAST (-16384) /* enough for any packet, and far from what 16 bits hold */
#define V4_ADDRESSES  12       /* offsets in the header */
#define V6_ADDRESSES  8
#define V6_LEN        40
#define V6_ID         4 /* in the fragment header, */
#define V6_FRAGMENT   8 /* and how long that is */
#define TIME_BITS     24

/* Where a fragment lies in its packet. */
struct piece {
	uint32_t offset, len;
	bool more, sound; /* a receiver would take it */
	uint8_t ttl;
};

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

/* The number of a packet's line, and its tag there. */
static uint32_t find_line(const struct fragments *fragments, const uint8_t *data,
	const struct packet *packet, uint32_t *tag)
{
	const uint8_t *id = data + packet->id_off;
	const uint64_t *key = fragments->key.word;
	const uint64_t pair = hash_pair(key, data + packet->src_off, packet);
	const uint64_t whole = source_fold(pair ^ key[2],
		(packet->family == PACKET_IPV4 ? read_be16(id) : read_be32(id)) ^ key[3]);
	const uint32_t group = pair >> 32 & (FRAGMENT_SETS / FRAGMENT_LINES - 1);
	const uint32_t line = whole >> 32 & (FRAGMENT_LINES - 1);

	*tag = (uint32_t)whole;
	return group * FRAGMENT_LINES + line;
}

static struct place find_place(
	struct fragments *fragments, const uint8_t *data, uint64_t now, const struct packet *packet)
{
	uint32_t tag, line = find_line(fragments, data, packet, &tag);

	return (struct place){
		.set = &fragments->sets[line],
		.tag = tag,
		.time = (uint32_t)(now >> fragments->time_shift) & ((UINT32_C(1) << TIME_BITS) - 1),
	};
}

/* IPv4's own, over a header that is whole: in one's complement all words add up to all ones. */
static bool header_sum_holds(const uint8_t *ip, uint32_t bytes)
{
	uint32_t sum = 0;

	for (uint32_t at = 0; at < bytes; at += 2)
		sum += read_be16(ip + at);
	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return sum == UINT16_MAX;
}

static struct piece piece_of(const uint8_t *data, const struct packet *packet)
{
	struct piece piece;
	bool sound = true;

	if (packet->family == PACKET_IPV4) {
		const uint8_t *ip = data + packet->src_off - V4_ADDRESSES;
		const uint32_t header = (ip[0] & 0xf) * 4, field = read_be16(ip + 6);

		piece.offset = (field & 0x1fff) * UNIT;
		piece.more = field & 0x2000;
		piece.len = read_be16(ip + 2) - header;
		piece.ttl = ip[8];
		sound = header_sum_holds(ip, header);
	} else {
		const uint8_t *ip = data + packet->src_off - V6_ADDRESSES;
		const uint8_t *header = data + packet->id_off - V6_ID;
		const uint32_t before = (uint32_t)(header - ip) + V6_FRAGMENT - V6_LEN;
		const uint32_t payload = read_be16(ip + 4);

		piece.offset = read_be16(header + 2) & 0xfff8;
		piece.more = header[3] & 1;
		piece.len = payload > before ? payload - before : 0;
		piece.ttl = ip[7];
		sound = !piece.more || piece.len % UNIT == 0;
	}
	piece.sound = sound && piece.len >= (piece.more ? UNIT : 1) &&
		      piece.offset + piece.len <= PACKET_MAX;
	return piece;
}

/* The age is below 0 if the clock stepped back. */
static bool is_valid(const struct place *place, const struct fragment *entry, int32_t valid)
{
	const uint32_t age = place->time - entry->time;

	return (int32_t)(age << (32 - TIME_BITS)) >> (32 - TIME_BITS) <= valid;
}

/* What is too old is no longer there: else there might be two of one packet. */
static struct fragment *fragment_lookup(const struct place *place, int32_t valid)
{
	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		struct fragment *entry = &place->set->way[i];

		if (entry->used && entry->tag == place->tag)
			entry->used = is_valid(place, entry, valid);
		if (entry->used && entry->tag == place->tag)
			return entry;
	}
	return NULL;
}

/* The newest is first; what gives way is its own of before, a free one, or the oldest: the last. */
static struct fragment *fragment_insert(struct fragment_set *set, const struct fragment *entry)
{
	unsigned gone = 0;

	while (gone < FRAGMENT_WAYS - 1 && set->way[gone].used && set->way[gone].tag != entry->tag)
		gone++;
	memmove(&set->way[1], &set->way[0], gone * sizeof(*entry));
	set->way[0] = *entry;
	return &set->way[0];
}

/* The bytes of a fragment have been seen; with the packet's last ones its entry ends. */
static void account_piece(struct fragment *entry, const struct piece *piece)
{
	const uint32_t units = (piece->len + (piece->more ? 0 : UNIT - 1)) / UNIT;
	int32_t missing = entry->missing - (int32_t)units;

	if (!piece->more && !entry->last) {
		missing += (int32_t)(piece->offset / UNIT + units);
		entry->last = 1;
	}
	entry->missing = (int16_t)(missing < MISSING_LEAST ? MISSING_LEAST : missing);
	entry->used = !(entry->last && missing <= 0 && entry->first);
}

static void say_unparsed(struct packet *packet, enum packet_unparsed reason, uint8_t unknown)
{
	packet->unparsed = (uint8_t)reason;
	packet->unknown |= unknown;
}

static bool says_the_same(const struct fragment *entry, const struct packet *packet)
{
	return entry->src_port == packet->src_port && entry->dst_port == packet->dst_port &&
	       entry->proto == packet->proto;
}

static void see_first(struct fragments *fragments, const struct place *place,
	const struct piece *piece, const uint8_t *data, struct packet *packet)
{
	struct fragment *entry = fragment_lookup(place, fragments->valid);
	struct fragment first;

	if (packet->l4_off != 0 && proto_has_ports(packet->proto)) {
		packet->src_port = read_be16(data + packet->l4_off);
		packet->dst_port = read_be16(data + packet->l4_off + 2);
	}
	if (entry != NULL && entry->first && !says_the_same(entry, packet)) {
		say_unparsed(packet, UNPARSED_FRAGMENT_CONFLICT, 0);
		counter_add(&fragments->conflict, 1);
		return;
	}
	first = (struct fragment){
		.tag = place->tag,
		.time = place->time,
		.ttl = piece->ttl,
		.src_port = packet->src_port,
		.dst_port = packet->dst_port,
		.proto = packet->proto,
		.used = 1,
		.first = 1,
		.vague = (packet->unknown & PACKET_UNKNOWN_PORTS) != 0,
	};
	if (entry != NULL && !entry->first) {
		first.last = entry->last;
		first.missing = entry->missing;
	}
	if (entry != NULL)
		entry->used = 0; /* it becomes the newest */
	account_piece(fragment_insert(place->set, &first), piece);
	counter_add(&fragments->first, 1);
}

/*
 * Where to remember what came before its first: a free entry, else one that is like it. No first
 * has to make room for that, nor another orphan while there is room: its packet's entry would miss
 * these bytes, and outlive the packet. NULL if there is none.
 */
static struct fragment *orphan_room(const struct fragments *fragments, const struct place *place)
{
	struct fragment *orphan = NULL;

	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		struct fragment *old = &place->set->way[i];

		if (!old->used || !is_valid(place, old, fragments->valid))
			return old;
		if (!old->first)
			orphan = old;
	}
	return orphan;
}

/* Later ones that come before their first are remembered by their bytes. */
static void see_orphan(struct fragments *fragments, const struct place *place,
	const struct piece *piece, struct fragment *entry)
{
	if (entry == NULL) {
		entry = orphan_room(fragments, place);
		if (entry == NULL)
			return;
		*entry = (struct fragment){.tag = place->tag, .time = place->time, .used = 1};
	}
	account_piece(entry, piece);
}

static void see_later(struct fragments *fragments, const struct place *place,
	const struct piece *piece, struct packet *packet)
{
	struct fragment *entry = fragment_lookup(place, fragments->valid);

	if (entry == NULL || !entry->first || entry->vague || piece->ttl > entry->ttl) {
		const bool v6 = packet->family == PACKET_IPV6;

		see_orphan(fragments, place, piece, entry);
		say_unparsed(packet, UNPARSED_FRAGMENT_UNKNOWN,
			(v6 ? PACKET_UNKNOWN_PROTO : 0) |
				(v6 || proto_has_ports(packet->proto) ? PACKET_UNKNOWN_PORTS : 0));
		counter_add(&fragments->unknown, 1);
	} else {
		packet->proto = entry->proto;
		packet->src_port = entry->src_port;
		packet->dst_port = entry->dst_port;
		account_piece(entry, piece);
		counter_add(&fragments->found, 1);
	}
	if (packet->proto == PROTO_TCP && piece->offset == UNIT)
		say_unparsed(packet, UNPARSED_FRAGMENT_TINY, PACKET_UNKNOWN_FLAGS);
}

void fragments_extents(const struct fragments *fragments, const uint8_t *data,
	const struct packet *packet, struct extents *extents)
{
	uint32_t tag, line = find_line(fragments, data, packet, &tag);

	extents_add(extents, fragments, offsetof(struct fragments, sets));
	extents_add(extents, &fragments->sets[line], sizeof(fragments->sets[line]));
}

void fragments_ports(
	struct fragments *fragments, const uint8_t *data, uint64_t now, struct packet *packet)
{
	const struct place place = find_place(fragments, data, now, packet);
	const struct piece piece = piece_of(data, packet);

	if (!piece.sound)
		say_unparsed(packet, UNPARSED_FRAGMENT_MALFORMED, PACKET_UNKNOWN_TRANSPORT);
	else if (packet->fragment == PACKET_FRAGMENT_FIRST)
		see_first(fragments, &place, &piece, data, packet);
	else
		see_later(fragments, &place, &piece, packet);
}

static_assert(sizeof(struct fragment_set) == 64, "a look costs one cache line");
static_assert(offsetof(struct fragments, sets) % 64 == 0, "sets are lines if the table is");
static_assert((FRAGMENT_SETS & (FRAGMENT_SETS - 1)) == 0, "a set is found with a mask");
