/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Hashes a packet's flow to 32 bits, from its parsed fields.
 */
#include "base/wire.h"
#include "packet/flow_mix.h"
#include "packet/parse.h"
#include "source/source_hash.h"

#define ETHER_LEN 14

/*
 * The protocol and the ports, in the packet's byte order. For fragments without ports it is the
 * same for all fragments of a packet: in IPv4 the protocol of the IP header, in IPv6 0.
 */
static uint64_t transport_word(const struct packet *packet, const uint8_t *data)
{
	const uint32_t ports = (uint32_t)packet->src_port << 16 | packet->dst_port;

	if (packet->fragment && ports == 0)
		return packet->family == PACKET_IPV6
			       ? 0
			       : (uint64_t)data[packet->src_off - PACKET_IPV4_SRC +
						PACKET_IPV4_PROTO]
					 << 32;
	return (uint64_t)packet->proto << 32 | htobe32(ports);
}

static uint32_t hash_ethernet(const uint8_t *data, uint16_t type)
{
	uint64_t h = hash_step(0, read_raw64(data));

	return hash_end(hash_step(h, (uint64_t)type << 32 | read_raw32(data + 8)));
}

static uint32_t hash_runt(const uint8_t *data, uint32_t len)
{
	uint8_t padded[16] = {0};
	uint64_t h;

	if (len > 0)
		memcpy(padded, data, len);
	padded[15] = len;
	h = hash_step(0, read_raw64(padded));
	return hash_end(hash_step(h, read_raw64(padded + 8)));
}

/* Hashes both addresses, which are adjacent in the packet. */
static uint32_t hash_ipv6(const uint8_t *addresses, uint64_t transport)
{
	uint64_t h = hash_step(0, read_raw64(addresses));

	h = hash_step(h, read_raw64(addresses + 8));
	h = hash_step(h, read_raw64(addresses + 16));
	h = hash_step(h, read_raw64(addresses + 24));
	return hash_end(hash_step(h, transport));
}

uint32_t packet_hash(const struct packet *packet, const uint8_t *data)
{
	if (packet->family == PACKET_IPV4)
		return hash_end(hash_step(hash_step(0, read_raw64(data + packet->src_off)),
			transport_word(packet, data)));
	if (packet->family == PACKET_IPV6)
		return hash_ipv6(data + packet->src_off, transport_word(packet, data));
	if (packet->l2_len < ETHER_LEN)
		return hash_runt(data, packet->l2_len);
	return hash_ethernet(data, read_be16(data + packet->l2_len - 2));
}

/*
 * A keyed hash like source_key_hash(): words that the sender chooses are combined with secret words
 * before each multiplication.
 */
uint32_t packet_keyed_hash(
	const struct source_key *key, const struct packet *packet, const uint8_t *data)
{
	const uint8_t *addresses = data + packet->src_off;
	const uint64_t *k = key->word;
	uint64_t h = read_raw64(addresses);

	if (packet->family == PACKET_IPV6) {
		h = source_fold(h ^ k[0], read_raw64(addresses + 8) ^ k[1]);
		h ^= read_raw64(addresses + 16);
		h = source_fold(h ^ k[2], read_raw64(addresses + 24) ^ k[3]);
	}
	h = source_fold(h ^ k[0], transport_word(packet, data) ^ k[1]);
	return source_fold(h ^ k[2], packet->family ^ k[3]) >> 32;
}
