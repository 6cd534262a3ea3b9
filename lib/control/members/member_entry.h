/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One membership of a limiter in its group. A limiter that leaves and comes back has another entry,
 * with another `born`. Two versions of one entry are joined field by field, and each field only
 * grows. So the order and the number of joins do not matter. Pure; any thread.
 *
 * The bytes of an entry, big-endian:
 *
 *   length of the name (1), name, born (8), state (1), version (4), has_key (1), family (1),
 *   address (4 or 16, by the family), port (2), and the key (32) if has_key is 1
 *
 * The id follows from the name.
 */
#ifndef WEIR_MEMBERS_MEMBER_ENTRY_H
#define WEIR_MEMBERS_MEMBER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of a name, with the terminator. Equals CONFIG_NAME_MAX of lib/policy, which is above this
 * room.
 */
#define MEMBER_NAME_MAX 64

#define MEMBER_KEY 32 /* bytes of a public key */

/* Bytes of the shortest and of the longest entry. */
#define MEMBER_BYTES_LEAST 23
#define MEMBER_BYTES_MOST  129

/* In the only order in which an entry passes through them. */
enum member_state { MEMBER_IN, MEMBER_LEAVING, MEMBER_LEFT, MEMBER_STATES };

struct member_address {
	uint8_t family;    /* 4 or 6 */
	uint8_t bytes[16]; /* network order; with family 4 the last 12 are 0 */
	uint16_t port;
};

struct member_entry {
	char name[MEMBER_NAME_MAX];
	uint32_t id;   /* name_hash() of the name */
	uint64_t born; /* the identity is (id, born, name) */
	enum member_state state;
	/*
	 * The larger one prevails, with all below, and then the larger bytes. 0: from a file, whose
	 * address and key are for this limiter alone, because others can reach it elsewhere.
	 */
	uint32_t version;
	struct member_address address;
	bool has_key;
	uint8_t public_key[MEMBER_KEY]; /* 0 without a key */
	uint64_t changed; /* order of its last change in this process; not part of the entry */
};

/* Compares the fields: the bytes between them have any value. */
bool member_address_equal(const struct member_address *a, const struct member_address *b);

/* Returns the `born` of the first membership of a name: the same at all limiters. */
uint64_t member_first_born(const char *name);

/* Returns true if all fields have possible values. */
bool member_is_valid(const struct member_entry *entry);

/* Compares identities. Returns a number less than, equal to or greater than 0. */
int member_compare(const struct member_entry *a, const struct member_entry *b);

/* Returns true if two entries of one identity have the same content for all limiters. */
bool member_equal(const struct member_entry *a, const struct member_entry *b);

/* Returns true if they also have the same content for this limiter. */
bool member_is_same(const struct member_entry *a, const struct member_entry *b);

/* Joins an entry of the same identity. Returns true if `ours` has changed. */
bool member_join(struct member_entry *ours, const struct member_entry *theirs);

/* Writes a valid entry. Returns the number of bytes, or 0 if there is no room. */
size_t member_write(const struct member_entry *entry, uint8_t *at, size_t room);

/* Reads an entry at the start of the bytes. Returns its length, or 0: there is no valid one. */
size_t member_read(struct member_entry *entry, const uint8_t *at, size_t len);

/* Returns a hash of bytes, another one after each change of up to 8 aligned bytes. */
uint64_t member_hash_bytes(const uint8_t *at, size_t len);

/* Returns a hash of the fields that are the same at all limiters. */
uint64_t member_hash(const struct member_entry *entry);

#endif
