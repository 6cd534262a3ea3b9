/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ports of a packet's later fragments.
 */
#include "packet/fragment.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <netinet/in.h>

#include "base/counter.h"
#include "base/math.h"
#include "base/wire.h"
#include "packet/layers.h"
#include "policy/policy.h"

#define UNIT         8 /* bytes per unit of an offset */
#define PACKET_MAX   65535
#define V4_ADDRESSES 12 /* offsets in the header */
#define V4_LEN       20
#define V6_ADDRESSES 8
#define V6_LEN       40
#define V6_ID        4 /* in the fragment header */
#define V6_FRAGMENT  8 /* length of the fragment header */
#define TIME_BITS    24

/* The place of a fragment in its packet. */
struct piece {
	uint32_t offset, len;
	bool more, sound; /* sound: a receiver would accept it */
	bool plain;       /* no option in its headers could make a receiver drop it */
	uint8_t ttl;
};

/* The table set of a packet's fragments, their tag in it, and the coarse time. */
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
		.lends = (FRAGMENT_LEND_S * hz >> time_shift) + 1,
		.time_shift = time_shift,
	};
	source_key_init(&fragments->key, secret);
}

static const uint8_t *ip_header(const uint8_t *data, const struct packet *packet)
{
	return data + packet->src_off -
	       (packet->family == PACKET_IPV4 ? V4_ADDRESSES : V6_ADDRESSES);
}

/* Adds bytes and their number to a hash. */
static uint64_t hash_bytes(const uint64_t *key, uint64_t h, const uint8_t *data, uint32_t n)
{
	uint64_t words[2];

	for (uint32_t at = 0; at < n; at += sizeof(words)) {
		memset(words, 0, sizeof(words));
		memcpy(words, data + at, min_u32(n - at, sizeof(words)));
		h = source_fold(h ^ words[0] ^ key[2], words[1] ^ key[3]);
	}
	return h ^ n;
}

/*
 * Hashes the bytes of the link layer, which decide where the frame goes, except the length in a
 * PPPoE header. In a tunnel, hashes also the tunnel's addresses and the inner link layer.
 */
static uint64_t hash_way(const uint64_t *key, const uint8_t *data, const struct packet *packet)
{
	const uint32_t l3 = (uint32_t)(ip_header(data, packet) - data), l2 = packet->l2_len;
	const uint32_t length = layers_pppoe_length(data, l2);
	const uint8_t *outer = data + l2;
	uint64_t h = key[0];

	if (length != 0) {
		h = hash_bytes(key, h, data, length);
		h = hash_bytes(key, h, data + length + 2, l2 - length - 2);
	} else {
		h = hash_bytes(key, h, data, l2);
	}
	if (l3 == l2)
		return h;
	h = outer[0] >> 4 == PACKET_IPV4 ? hash_bytes(key, h, outer + V4_ADDRESSES, 8)
					 : hash_bytes(key, h, outer + V6_ADDRESSES, 32);
	return packet->way_off ? hash_bytes(key, h, data + packet->way_off, l3 - packet->way_off)
			       : h;
}

/* Hashes all but the identification. */
static uint64_t hash_pair(const uint64_t *key, const uint8_t *data, const struct packet *packet)
{
	const bool v4 = packet->family == PACKET_IPV4;
	const uint8_t *addresses = data + packet->src_off;
	const uint64_t proto = v4 ? ip_header(data, packet)[PACKET_IPV4_PROTO] : 0;
	uint64_t h = hash_way(key, data, packet) ^ (packet->family | proto << 8);

	if (v4)
		return source_fold(read_raw64(addresses) ^ key[0], h ^ key[1]);
	h = source_fold(h ^ read_raw64(addresses) ^ key[0], read_raw64(addresses + 8) ^ key[1]);
	return source_fold(
		h ^ read_raw64(addresses + 16) ^ key[2], read_raw64(addresses + 24) ^ key[3]);
}

/* Returns the index of a packet's set. *tag: its tag there. */
static uint32_t find_line(const struct fragments *fragments, const uint8_t *data,
	const struct packet *packet, uint32_t *tag)
{
	const uint8_t *id = data + packet->id_off;
	const uint64_t *key = fragments->key.word;
	const uint64_t pair = hash_pair(key, data, packet);
	const uint64_t whole = source_fold(pair ^ key[2],
		(packet->family == PACKET_IPV4 ? read_be16(id) : read_be32(id)) ^ key[3]);
	const uint32_t group = pair >> 32 & (FRAGMENT_SETS / FRAGMENT_LINES - 1);
	const uint32_t line = whole >> 32 & (FRAGMENT_LINES - 1);

	*tag = (uint32_t)whole;
	return group * FRAGMENT_LINES + line;
}

/*
 * Checks the checksum of a complete IPv4 header: the one's complement sum of all words is all ones.
 */
static bool header_sum_holds(const uint8_t *ip, uint32_t bytes)
{
	uint32_t sum = 0;

	for (uint32_t at = 0; at < bytes; at += 2)
		sum += read_be16(ip + at);
	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return sum == UINT16_MAX;
}

static struct piece piece_of(const uint8_t *data, uint32_t frame, const struct packet *packet)
{
	const uint8_t *ip = ip_header(data, packet);
	uint32_t end = (uint32_t)(ip - data);
	struct piece piece;
	bool sound = true;

	if (packet->family == PACKET_IPV4) {
		const uint32_t header = (ip[0] & 0xf) * 4, field = read_be16(ip + 6);

		end += read_be16(ip + 2);
		piece.offset = (field & 0x1fff) * UNIT;
		piece.more = field & 0x2000;
		piece.len = read_be16(ip + 2) - header;
		piece.plain = header == V4_LEN;
		piece.ttl = ip[8];
		sound = header_sum_holds(ip, header);
	} else {
		const uint8_t *header = data + packet->id_off - V6_ID;
		const uint32_t before = (uint32_t)(header - ip) + V6_FRAGMENT - V6_LEN;
		const uint32_t payload = read_be16(ip + 4);

		end += V6_LEN + payload;
		piece.offset = read_be16(header + 2) & 0xfff8;
		piece.more = header[3] & 1;
		piece.len = payload > before ? payload - before : 0;
		piece.plain = before == V6_FRAGMENT;
		piece.ttl = ip[7];
		sound = !piece.more || piece.len % UNIT == 0;
	}
	piece.sound = sound && end <= frame && piece.len >= (piece.more ? UNIT : 1) &&
		      piece.offset + piece.len <= PACKET_MAX;
	return piece;
}

/* The age of an entry in coarse ticks; below 0 if the clock stepped back. */
static int32_t age_of(const struct place *place, const struct fragment *entry)
{
	const uint32_t age = place->time - entry->time;

	return (int32_t)(age << (32 - TIME_BITS)) >> (32 - TIME_BITS);
}

/* Finds a packet's entry. Frees it if it is too old, so that a packet never has two. */
static struct fragment *fragment_lookup(const struct place *place, int32_t valid)
{
	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		struct fragment *entry = &place->set->way[i];

		if (entry->used && entry->tag == place->tag)
			entry->used = age_of(place, entry) <= valid;
		if (entry->used && entry->tag == place->tag)
			return entry;
	}
	return NULL;
}

/*
 * Inserts an entry as the newest, which is first. It replaces the packet's previous entry, or a
 * free one, or the oldest, which is last.
 */
static void fragment_insert(struct fragment_set *set, const struct fragment *entry)
{
	unsigned gone = 0;

	while (gone < FRAGMENT_WAYS - 1 && set->way[gone].used && set->way[gone].tag != entry->tag)
		gone++;
	memmove(&set->way[1], &set->way[0], gone * sizeof(*entry));
	set->way[0] = *entry;
}

static void say_unparsed(struct packet *packet, enum packet_unparsed reason, uint8_t unknown)
{
	packet->unparsed = (uint8_t)reason;
	packet->unknown |= unknown;
}

static void see_first(struct fragments *fragments, const struct place *place,
	const struct piece *piece, const uint8_t *data, struct packet *packet)
{
	const bool in_tunnel = ip_header(data, packet) != data + packet->l2_len;
	struct fragment *entry = fragment_lookup(place, fragments->valid);
	struct fragment first;

	if (packet->l4_off != 0 && proto_has_ports(packet->proto)) {
		packet->src_port = read_be16(data + packet->l4_off);
		packet->dst_port = read_be16(data + packet->l4_off + 2);
	}
	if (entry != NULL && entry->whole && !entry->closed &&
		age_of(place, entry) > fragments->lends)
		entry = NULL;
	if (entry != NULL && entry->first &&
		(entry->src_port != packet->src_port || entry->dst_port != packet->dst_port ||
			entry->proto != packet->proto)) {
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
		.closed = packet->unparsed != UNPARSED_NONE || !piece->plain ||
			  (in_tunnel && packet->way_off == 0) ||
			  (entry != NULL && (entry->closed || !entry->whole)),
		.next = (uint16_t)(piece->len / UNIT),
	};
	fragment_insert(place->set, &first);
	counter_add(&fragments->first, 1);
}

/* Stops lending: a receiver might or might not combine this fragment with the first one. */
static void close_entry(
	struct fragments *fragments, const struct place *place, struct fragment *entry)
{
	const struct fragment orphan = {
		.tag = place->tag, .time = place->time, .used = 1, .closed = 1};

	if (entry == NULL)
		fragment_insert(place->set, &orphan);
	else
		entry->closed = 1;
	counter_add(&fragments->unknown, 1);
}

static void see_later(struct fragments *fragments, const struct place *place,
	const struct piece *piece, struct packet *packet)
{
	struct fragment *entry = fragment_lookup(place, fragments->valid);
	const bool lends = entry != NULL && !entry->closed && !entry->whole &&
			   piece->ttl <= entry->ttl && piece->offset / UNIT == entry->next &&
			   age_of(place, entry) <= fragments->lends;

	if (lends) {
		packet->proto = entry->proto;
		packet->src_port = entry->src_port;
		packet->dst_port = entry->dst_port;
		entry->next = (uint16_t)(entry->next + piece->len / UNIT);
		entry->whole = !piece->more;
		counter_add(&fragments->found, 1);
	} else {
		/* Only the first fragment has the protocol: in IPv6, and after an AH in IPv4. */
		const bool hidden = packet->family == PACKET_IPV6 || packet->proto == IPPROTO_AH;

		close_entry(fragments, place, entry);
		say_unparsed(packet, UNPARSED_FRAGMENT_UNKNOWN,
			(hidden ? PACKET_UNKNOWN_PROTO : 0) |
				(hidden || proto_has_ports(packet->proto) ? PACKET_UNKNOWN_PORTS
									  : 0));
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

void fragments_ports(struct fragments *fragments, const uint8_t *data, uint32_t frame, uint64_t now,
	struct packet *packet)
{
	uint32_t tag;
	const uint32_t line = find_line(fragments, data, packet, &tag);
	const struct place place = {
		.set = &fragments->sets[line],
		.tag = tag,
		.time = (uint32_t)(now >> fragments->time_shift) & ((UINT32_C(1) << TIME_BITS) - 1),
	};
	const struct piece piece = piece_of(data, frame, packet);

	if (!piece.sound) {
		struct fragment *entry = fragment_lookup(&place, fragments->valid);

		if (entry != NULL) /* some receivers drop the whole packet */
			entry->closed = 1;
		say_unparsed(packet, UNPARSED_FRAGMENT_MALFORMED, PACKET_UNKNOWN_TRANSPORT);
	} else if (packet->fragment == PACKET_FRAGMENT_FIRST) {
		see_first(fragments, &place, &piece, data, packet);
	} else {
		see_later(fragments, &place, &piece, packet);
	}
}

static_assert(sizeof(struct fragment_set) == 64, "a look costs one cache line");
static_assert(offsetof(struct fragments, sets) % 64 == 0, "sets are lines if the table is");
static_assert((FRAGMENT_SETS & (FRAGMENT_SETS - 1)) == 0, "a set is found with a mask");
