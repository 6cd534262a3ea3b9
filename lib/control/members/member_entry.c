/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One membership of a limiter in its group.
 */
#include "members/member_entry.h"

#include <string.h>

#include "base/hash.h"
#include "base/wire.h"

/* Bytes of the version and all that it versions, in the order that decides between two of them. */
#define VERSIONED (4 + 1 + 1 + 16 + 2 + MEMBER_KEY)

bool member_address_equal(const struct member_address *a, const struct member_address *b)
{
	return a->family == b->family && a->port == b->port &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

uint64_t member_first_born(const char *name)
{
	uint64_t hash = HASH64_BASIS;

	for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++)
		hash = hash64_step(hash, *at);
	return hash;
}

static size_t address_bytes(uint8_t family)
{
	return family == 4 ? 4 : family == 6 ? 16 : 0;
}

static bool is_zero(const uint8_t *at, size_t len)
{
	uint8_t any = 0;

	for (size_t i = 0; i < len; i++)
		any |= at[i];
	return any == 0;
}

bool member_is_valid(const struct member_entry *entry)
{
	const struct member_address *address = &entry->address;
	size_t used = address_bytes(address->family), len = strnlen(entry->name, MEMBER_NAME_MAX);
	/* The result of name_is_valid() of lib/policy, which is above this room. */
	const bool named =
		len > 0 && len < MEMBER_NAME_MAX &&
		strspn(entry->name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;

	return named && entry->id == name_hash(entry->name) &&
	       (unsigned)entry->state < MEMBER_STATES && used > 0 &&
	       is_zero(address->bytes + used, sizeof(address->bytes) - used) &&
	       (entry->has_key || is_zero(entry->public_key, MEMBER_KEY));
}

int member_compare(const struct member_entry *a, const struct member_entry *b)
{
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->born != b->born)
		return a->born < b->born ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* An entry with a key comes after one without, so a file without keys does not remove a key. */
static void write_versioned(const struct member_entry *entry, uint8_t bytes[VERSIONED])
{
	uint8_t *at = wire_put32(bytes, entry->version);

	*at++ = entry->has_key;
	*at++ = entry->address.family;
	memcpy(at, entry->address.bytes, sizeof(entry->address.bytes));
	at = wire_put16(at + sizeof(entry->address.bytes), entry->address.port);
	memcpy(at, entry->public_key, MEMBER_KEY);
}

static int compare_versioned(const struct member_entry *a, const struct member_entry *b)
{
	uint8_t of_a[VERSIONED], of_b[VERSIONED];

	write_versioned(a, of_a);
	write_versioned(b, of_b);
	return memcmp(of_a, of_b, VERSIONED);
}

bool member_equal(const struct member_entry *a, const struct member_entry *b)
{
	if (a->state != b->state || a->version != b->version)
		return false;
	return a->version == 0 || compare_versioned(a, b) == 0;
}

bool member_is_same(const struct member_entry *a, const struct member_entry *b)
{
	return a->state == b->state && compare_versioned(a, b) == 0;
}

bool member_join(struct member_entry *ours, const struct member_entry *theirs)
{
	bool state = theirs->state > ours->state;
	bool versioned = theirs->version > 0 && compare_versioned(theirs, ours) > 0;

	if (state)
		ours->state = theirs->state;
	if (versioned) {
		ours->version = theirs->version;
		ours->address = theirs->address;
		ours->has_key = theirs->has_key;
		memcpy(ours->public_key, theirs->public_key, MEMBER_KEY);
	}
	return state || versioned;
}

size_t member_write(const struct member_entry *entry, uint8_t *at, size_t room)
{
	size_t name = strlen(entry->name), address = address_bytes(entry->address.family);
	size_t len = 18 + name + address + (entry->has_key ? MEMBER_KEY : 0);

	if (len > room)
		return 0;
	*at++ = (uint8_t)name;
	memcpy(at, entry->name, name);
	at = wire_put64(at + name, entry->born);
	*at++ = (uint8_t)entry->state;
	at = wire_put32(at, entry->version);
	*at++ = entry->has_key;
	*at++ = entry->address.family;
	memcpy(at, entry->address.bytes, address);
	at = wire_put16(at + address, entry->address.port);
	if (entry->has_key)
		memcpy(at, entry->public_key, MEMBER_KEY);
	return len;
}

/* Reads the fields after the name from at most `left` bytes. Returns their length, or 0. */
static size_t read_after_name(struct member_entry *entry, const uint8_t *at, size_t left)
{
	size_t address, len = 17;

	if (left < len)
		return 0;
	at = wire_get64(at, &entry->born);
	entry->state = (enum member_state) * at++;
	at = wire_get32(at, &entry->version);
	if (*at > 1)
		return 0;
	entry->has_key = *at++;
	entry->address.family = *at++;
	address = address_bytes(entry->address.family);
	len += address + (entry->has_key ? MEMBER_KEY : 0);
	if (left < len)
		return 0;
	memcpy(entry->address.bytes, at, address);
	at = wire_get16(at + address, &entry->address.port);
	if (entry->has_key)
		memcpy(entry->public_key, at, MEMBER_KEY);
	return len;
}

size_t member_read(struct member_entry *entry, const uint8_t *at, size_t len)
{
	size_t name = len > 0 ? *at : 0, rest;

	if (name == 0 || name >= MEMBER_NAME_MAX || len < 1 + name)
		return 0;
	*entry = (struct member_entry){0};
	memcpy(entry->name, at + 1, name);
	rest = read_after_name(entry, at + 1 + name, len - 1 - name);
	entry->id = name_hash(entry->name);
	/* A terminator within the name makes it shorter than its length. */
	if (rest == 0 || strlen(entry->name) != name || !member_is_valid(entry))
		return 0;
	return 1 + name + rest;
}

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
	uint64_t state = hash ^ word;

	return splitmix64_next(&state);
}

uint64_t member_hash_bytes(const uint8_t *at, size_t len)
{
	uint64_t hash = hash_word(HASH64_BASIS, len);
	uint8_t last[sizeof(hash)] = {0};

	for (; len >= sizeof(hash); at += sizeof(hash), len -= sizeof(hash))
		hash = hash_word(hash, read_be64(at));
	memcpy(last, at, len);
	return hash_word(hash, read_be64(last));
}

uint64_t member_hash(const struct member_entry *entry)
{
	struct member_entry shared = *entry;
	uint8_t bytes[MEMBER_BYTES_MOST];

	if (entry->version == 0) {
		shared.address = (struct member_address){.family = 4};
		shared.has_key = false;
	}
	return member_hash_bytes(bytes, member_write(&shared, bytes, sizeof(bytes)));
}
