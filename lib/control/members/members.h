/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The set of members of a group, at one limiter. All limiters merge their sets: see
 * exchange.h. An entry is never removed, and its fields only grow. So all sets become equal, in any
 * order of messages.
 *
 * A name can have several entries, but at most one of them counts: the present one with the lowest
 * `born`. An entry is present until it is MEMBER_LEFT. The same holds for two names with one id,
 * because the other parts of a limiter identify a member by its id.
 *
 * Pure: the caller draws random numbers and stores the bytes. One thread. Pointers to entries are
 * valid until the set changes.
 */
#ifndef WEIR_MEMBERS_MEMBERS_H
#define WEIR_MEMBERS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "members/member_entry.h"

#define MEMBERS_MOST 16384 /* entries, including previous members */
#define MEMBERS_NONE UINT32_MAX

struct members;

/* Returns 0 or -ENOMEM. The set is empty. */
int members_create(struct members **out);
void members_destroy(struct members *m);

/*
 * Merges an entry. Returns 1 if the set has changed, 0 if it has the same or more already; or
 * -EINVAL (an impossible entry), -ENOSPC (the set is full) or -ENOMEM: nothing has changed.
 */
int members_merge(struct members *m, const struct member_entry *entry);

/* Returns a digest of all entries. Equal sets have equal digests. */
uint64_t members_digest(const struct members *m);

/*
 * Adds a member of the configuration; `key` is its public key or NULL. If that membership has
 * ended, or is ending, nothing changes. It has version 0, so an address from members_add() or
 * members_move() prevails; otherwise the address and the key are the present ones, here alone.
 * Returns 0, or an error of members_merge().
 */
int members_seed(struct members *m, const char *name, const struct member_address *address,
	const uint8_t *key);

/*
 * Adds a member for an operator. A name that is not in the set gets the same identity as from
 * members_seed(); otherwise `random_born` is its `born`. It has version 1. Returns 0; -EEXIST if a
 * member with that name or its id is present; -EINVAL also if the name has had that random number;
 * or another error of members_merge().
 *
 * If the name has left in another limiter's set only, the new entry is MEMBER_LEFT after the merge.
 * So add a name again at a limiter whose set its peers have confirmed.
 */
int members_add(struct members *m, const char *name, const struct member_address *address,
	const uint8_t *key, uint64_t random_born);

/*
 * Begins to remove a member: it becomes MEMBER_LEAVING, or MEMBER_LEFT if it is dead. Other entries
 * of that name, which do not count, become MEMBER_LEFT. Returns 0, or -ENOENT if none is present.
 */
int members_remove(struct members *m, const char *name, bool dead);

/* Ends a removal: MEMBER_LEAVING becomes MEMBER_LEFT. Returns 0, or -ENOENT: none is leaving. */
int members_left(struct members *m, const char *name);

/*
 * Changes the address of the member that counts. Returns 0, -ENOENT, -EINVAL (address), or
 * -EOVERFLOW after the last version.
 */
int members_move(struct members *m, const char *name, const struct member_address *address);

/* Returns the entry that counts, or NULL. */
const struct member_entry *members_find(const struct members *m, const char *name);

/*
 * Returns the last changed membership of an id that has ended; NULL: there is none, or a member
 * with that id is present.
 */
const struct member_entry *members_ended(const struct members *m, uint32_t id);

/*
 * Returns the next entry that counts, in the ascending order of ids, or NULL at the end. *position
 * is 0 at first.
 */
const struct member_entry *members_present(const struct members *m, unsigned *position);

/*
 * Returns a present entry that does not count, or NULL. Reads the whole set, so call it
 * after a change.
 */
const struct member_entry *members_twice(const struct members *m);

/* Return the number of entries, and one by its position: they are in the order of identities. */
unsigned members_count(const struct members *m);
const struct member_entry *members_at(const struct members *m, unsigned position);

/* Returns the `changed` of the newest change, or 0. Each change has a larger one. */
uint64_t members_serial(const struct members *m);

/*
 * For exchange.h. An entry keeps its number, which is less than members_count(). Return the number
 * of the last changed entry, of the one that changed before another one, and of an entry with the
 * same identity; or MEMBERS_NONE.
 */
uint32_t members_newest(const struct members *m);
uint32_t members_older(const struct members *m, uint32_t number);
uint32_t members_number(const struct members *m, const struct member_entry *entry);
const struct member_entry *members_numbered(const struct members *m, uint32_t number);

/*
 * The bytes of a set, for a file. Return their number, and write them. `buf` has room for that
 * number. They keep the order of changes.
 */
size_t members_bytes(const struct members *m);
void members_encode(const struct members *m, uint8_t *buf);

/*
 * Creates the set from such bytes. Returns 0, -EBADMSG (damaged), -EPROTONOSUPPORT (a newer format)
 * or -ENOMEM.
 */
int members_decode(const uint8_t *buf, size_t len, struct members **out);

#endif
