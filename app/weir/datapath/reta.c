/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The redirection table of a placed policy: the workers of its sources.
 */
#include "reta.h"

#include <string.h>

#include "base/hash.h"
#include "source/source_hash.h"

#define MAC_LEN 6

void reta_target_init(struct reta_target *reta_target, const struct place_key *key, uint8_t worker)
{
	reta_target->key = *key;
	memset(reta_target->wanted, worker, sizeof(reta_target->wanted));
}

void reta_init(struct reta *reta, const struct reta_target *reta_target)
{
	memset(reta, 0, sizeof(*reta));
	reta->reta_target = reta_target;
	memcpy(reta->at, reta_target->wanted, sizeof(reta->at));
}

/*
 * Returns the sum of the address's bytes after the prefix. Hosts that are numbered consecutively in
 * any one byte get consecutive values.
 */
static uint8_t host_of(const uint8_t *addr, unsigned len, unsigned prefix_bits)
{
	unsigned at = prefix_bits / 8, sum = 0;

	if (at == len)
		return 0;
	sum = addr[at++] & 0xff >> prefix_bits % 8;
	while (at < len)
		sum += addr[at++];
	return (uint8_t)sum;
}

static uint8_t hash_prefix(const uint8_t *addr, unsigned family, unsigned bits)
{
	static const struct source_key no_secret = {{HASH_GOLDEN, UINT64_C(0xbf58476d1ce4e5b9),
		UINT64_C(0x94d049bb133111eb), UINT64_C(0xd6e8feb86659fd93)}};

	return (uint8_t)(source_key_hash(&no_secret, addr, family, bits) >> 56);
}

static uint8_t bucket_mac(const struct packet *packet, const uint8_t *data)
{
	uint8_t addr[16] = {0};

	if (packet->l2_len >= 2 * MAC_LEN)
		memcpy(addr, data + MAC_LEN, MAC_LEN);
	return hash_prefix(addr, PACKET_OTHER, MAC_LEN * 8);
}

uint8_t reta_bucket(const struct place_key *key, const struct packet *packet, const uint8_t *data)
{
	const uint8_t *addr = data + packet->src_off;
	bool v4 = packet->family == PACKET_IPV4;
	unsigned len = v4 ? 4 : 16, bits = v4 ? key->v4 : key->v6;

	if (packet->family == PACKET_OTHER)
		return bucket_mac(packet, data);
	return (uint8_t)(hash_prefix(addr, packet->family, bits) + host_of(addr, len, bits));
}
