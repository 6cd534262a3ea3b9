/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "slots.h"

#include <stddef.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

/* No network of 64 bits has these keys: they would be in reserved space. */
#define LOOPBACK   UINT64_C(1)
#define OF_IPV4    UINT64_C(0xffff00000000)
#define UNKNOWN    UINT64_C(2)
#define LOOPBACK_4 127

static uint64_t ipv4_key(uint32_t address)
{
	return address >> 24 == LOOPBACK_4 ? LOOPBACK : OF_IPV4 | address;
}

static uint64_t ipv6_key(const struct in6_addr *address)
{
	uint64_t network = 0;
	uint32_t ipv4;

	if (IN6_IS_ADDR_LOOPBACK(address))
		return LOOPBACK;
	if (IN6_IS_ADDR_V4MAPPED(address)) {
		memcpy(&ipv4, &address->s6_addr[12], sizeof(ipv4));
		return ipv4_key(ntohl(ipv4));
	}
	for (unsigned i = 0; i < 8; i++)
		network = network << 8 | address->s6_addr[i];
	return network;
}

uint64_t slot_address(const struct sockaddr *address)
{
	if (address && address->sa_family == AF_INET)
		return ipv4_key(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
	if (address && address->sa_family == AF_INET6)
		return ipv6_key(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return UNKNOWN;
}

bool slot_is_loopback(uint64_t address)
{
	return address == LOOPBACK;
}

struct slot *slot_take(struct slot slots[SLOTS_ALL])
{
	for (unsigned i = 0; i < SLOTS_ALL; i++)
		if (slots[i].state == SLOT_FREE)
			return &slots[i];
	return NULL;
}

static bool can_end(const struct slot *slot)
{
	return slot->state > SLOT_ENDING && slot->state < SLOT_STREAMS;
}

/* Connections of an address that can end for others. */
static unsigned count_of(const struct slot slots[SLOTS_ALL], uint64_t address)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS_ALL; i++)
		n += can_end(&slots[i]) && slots[i].address == address;
	return n;
}

/* The address with most connections. */
static uint64_t heaviest_address(const struct slot slots[SLOTS_ALL])
{
	uint64_t heaviest = UNKNOWN;
	unsigned most = 0;

	for (unsigned i = 0; i < SLOTS_ALL; i++) {
		unsigned n = can_end(&slots[i]) ? count_of(slots, slots[i].address) : 0;

		if (n > most) {
			most = n;
			heaviest = slots[i].address;
		}
	}
	return heaviest;
}

/* The lowest ends first: slow ones, then those whose request may be on its way. */
static unsigned rank_of(const struct slot *slot, uint64_t now_ms)
{
	bool slow = now_ms - slot->since_ms > SLOTS_GRACE_MS;

	if (slot->state == SLOT_ASKS)
		return slow ? 0 : 2;
	if (slot->state == SLOT_ANSWERED)
		return slow ? 1 : 3;
	return 4;
}

static bool ends_before(const struct slot *a, const struct slot *b, uint64_t now_ms)
{
	unsigned rank = rank_of(a, now_ms), other = rank_of(b, now_ms);

	return rank < other || (rank == other && a->since_ms < b->since_ms);
}

static struct slot *first_to_end(struct slot slots[SLOTS_ALL], uint64_t address,
	const struct slot *newcomer, uint64_t now_ms)
{
	struct slot *first = NULL;

	for (unsigned i = 0; i < SLOTS_ALL; i++) {
		struct slot *slot = &slots[i];

		if (can_end(slot) && slot != newcomer && slot->address == address &&
			(!first || ends_before(slot, first, now_ms)))
			first = slot;
	}
	return first;
}

struct slot *slot_to_end(struct slot slots[SLOTS_ALL], const struct slot *newcomer, uint64_t now_ms)
{
	uint64_t address = newcomer->address;
	unsigned n_taken = 0;

	for (unsigned i = 0; i < SLOTS_ALL; i++)
		n_taken += slots[i].state > SLOT_ENDING;
	if (!slot_is_loopback(address) && count_of(slots, address) > SLOTS_ADDRESS)
		return first_to_end(slots, address, newcomer, now_ms);
	if (n_taken > SLOTS)
		return first_to_end(slots, heaviest_address(slots), newcomer, now_ms);
	return NULL;
}

struct slot *slot_reads_longest(struct slot slots[SLOTS_ALL])
{
	struct slot *longest = NULL;

	for (unsigned i = 0; i < SLOTS_ALL; i++)
		if (slots[i].state == SLOT_ANSWERED &&
			(!longest || slots[i].since_ms < longest->since_ms))
			longest = &slots[i];
	return longest;
}

bool slot_may_stream(const struct slot slots[SLOTS_ALL], uint64_t address)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS_ALL; i++)
		n += slots[i].state == SLOT_STREAMS && slots[i].address == address;
	return slot_is_loopback(address) || n < SLOTS_STREAMING;
}
