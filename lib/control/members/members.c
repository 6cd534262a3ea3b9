/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Entries are in an array in the order in which they came. A list through them has the order of
 * their last changes, and a sorted array of numbers that of their identities.
 */
#include "members/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/wire.h"

struct member_slot {
	struct member_entry entry;
	uint32_t newer, older; /* numbers of the entries that changed next, and before */
};

struct members {
	struct member_slot *slots;
	uint32_t *sorted; /* n: numbers */
	unsigned n, room;
	uint32_t newest;
	uint64_t serial;
	uint64_t digest; /* sum of all hashes, so that a change costs one entry */
};

int members_create(struct members **out)
{
	struct members *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->newest = MEMBERS_NONE;
	*out = m;
	return 0;
}

void members_destroy(struct members *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m->sorted);
	free(m);
}

unsigned members_count(const struct members *m)
{
	return m->n;
}

const struct member_entry *members_at(const struct members *m, unsigned position)
{
	return &m->slots[m->sorted[position]].entry;
}

uint64_t members_serial(const struct members *m)
{
	return m->serial;
}

uint64_t members_digest(const struct members *m)
{
	return m->digest;
}

uint32_t members_newest(const struct members *m)
{
	return m->newest;
}

uint32_t members_older(const struct members *m, uint32_t number)
{
	return m->slots[number].older;
}

const struct member_entry *members_numbered(const struct members *m, uint32_t number)
{
	return &m->slots[number].entry;
}

/* Returns the position of the first entry whose identity is not less. */
static unsigned position_of(const struct members *m, const struct member_entry *entry)
{
	unsigned low = 0, high = m->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (member_compare(members_at(m, middle), entry) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t members_number(const struct members *m, const struct member_entry *entry)
{
	unsigned at = position_of(m, entry);

	return at < m->n && member_compare(members_at(m, at), entry) == 0 ? m->sorted[at]
									  : MEMBERS_NONE;
}

/* Makes an entry that is not in the list the last changed one, and adds it to the digest. */
static void note_change(struct members *m, uint32_t number)
{
	struct member_slot *slot = &m->slots[number];

	slot->newer = MEMBERS_NONE;
	slot->older = m->newest;
	if (m->newest != MEMBERS_NONE)
		m->slots[m->newest].newer = number;
	m->newest = number;
	slot->entry.changed = ++m->serial;
	m->digest += member_hash(&slot->entry);
}

static int make_room(struct members *m)
{
	unsigned room = m->room ? 2 * m->room : 8;
	uint32_t *sorted;
	struct member_slot *slots;

	if (m->n < m->room)
		return 0;
	slots = realloc(m->slots, room * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	m->slots = slots;
	sorted = realloc(m->sorted, room * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	m->sorted = sorted;
	m->room = room;
	return 0;
}

static int insert_entry(struct members *m, unsigned at, const struct member_entry *entry)
{
	if (m->n == MEMBERS_MOST)
		return -ENOSPC;
	if (make_room(m))
		return -ENOMEM;
	memmove(m->sorted + at + 1, m->sorted + at, (m->n - at) * sizeof(*m->sorted));
	m->sorted[at] = m->n;
	m->slots[m->n].entry = *entry;
	note_change(m, m->n++);
	return 1;
}

static void replace_entry(struct members *m, uint32_t number, const struct member_entry *entry)
{
	struct member_slot *slot = &m->slots[number];

	m->digest -= member_hash(&slot->entry);
	if (slot->newer != MEMBERS_NONE)
		m->slots[slot->newer].older = slot->older;
	else
		m->newest = slot->older;
	if (slot->older != MEMBERS_NONE)
		m->slots[slot->older].newer = slot->newer;
	slot->entry = *entry;
	note_change(m, number);
}

int members_merge(struct members *m, const struct member_entry *entry)
{
	struct member_entry joined;
	uint32_t number;

	if (!member_is_valid(entry))
		return -EINVAL;
	number = members_number(m, entry);
	if (number == MEMBERS_NONE)
		return insert_entry(m, position_of(m, entry), entry);
	joined = m->slots[number].entry;
	if (!member_join(&joined, entry))
		return 0;
	replace_entry(m, number, &joined);
	return 1;
}

/* Returns the position of the first entry of an id. */
static unsigned first_of_id(const struct members *m, uint32_t id)
{
	struct member_entry least = {.id = id};

	return position_of(m, &least);
}

static bool is_present(const struct member_entry *entry)
{
	return entry->state < MEMBER_LEFT;
}

const struct member_entry *members_present(const struct members *m, unsigned *position)
{
	for (unsigned at = *position; at < m->n; at++) {
		const struct member_entry *entry = members_at(m, at);

		if (!is_present(entry))
			continue;
		*position = at + 1;
		while (*position < m->n && members_at(m, *position)->id == entry->id)
			++*position;
		return entry;
	}
	return NULL;
}

const struct member_entry *members_find(const struct members *m, const char *name)
{
	unsigned at = first_of_id(m, name_hash(name));
	const struct member_entry *entry = members_present(m, &at);

	return entry && strcmp(entry->name, name) == 0 ? entry : NULL;
}

const struct member_entry *members_ended(const struct members *m, uint32_t id)
{
	const struct member_entry *last = NULL;

	for (unsigned at = first_of_id(m, id); at < m->n && members_at(m, at)->id == id; at++) {
		const struct member_entry *entry = members_at(m, at);

		if (is_present(entry))
			return NULL;
		if (!last || entry->changed > last->changed)
			last = entry;
	}
	return last;
}

const struct member_entry *members_twice(const struct members *m)
{
	const struct member_entry *counts = NULL;

	for (unsigned at = 0; at < m->n; at++) {
		const struct member_entry *entry = members_at(m, at);

		if (!is_present(entry))
			continue;
		if (counts && counts->id == entry->id)
			return entry;
		counts = entry;
	}
	return NULL;
}

/* Returns false if the name or the key cannot be in an entry. */
static bool make_entry(struct member_entry *entry, const char *name,
	const struct member_address *address, const uint8_t *key)
{
	size_t len = strnlen(name, MEMBER_NAME_MAX);

	*entry = (struct member_entry){.address = *address, .has_key = key};
	if (len == MEMBER_NAME_MAX)
		return false;
	memcpy(entry->name, name, len);
	if (key)
		memcpy(entry->public_key, key, MEMBER_KEY);
	entry->id = name_hash(name);
	entry->born = member_first_born(name);
	return true;
}

int members_seed(struct members *m, const char *name, const struct member_address *address,
	const uint8_t *key)
{
	struct member_entry entry, *ours;
	uint32_t number;
	int ret;

	if (!make_entry(&entry, name, address, key))
		return -EINVAL;
	if (!member_is_valid(&entry))
		return -EINVAL;
	number = members_number(m, &entry);
	if (number == MEMBERS_NONE) {
		ret = members_merge(m, &entry);
		return ret < 0 ? ret : 0;
	}
	ours = &m->slots[number].entry;
	if (ours->state == MEMBER_IN && ours->version == 0 && !member_is_same(ours, &entry))
		replace_entry(m, number, &entry);
	return 0;
}

int members_add(struct members *m, const char *name, const struct member_address *address,
	const uint8_t *key, uint64_t random_born)
{
	struct member_entry entry;
	int ret;

	if (!make_entry(&entry, name, address, key))
		return -EINVAL;
	for (unsigned at = first_of_id(m, entry.id); at < m->n; at++) {
		const struct member_entry *other = members_at(m, at);

		if (other->id != entry.id)
			break;
		if (is_present(other))
			return -EEXIST;
		if (strcmp(other->name, name) == 0)
			entry.born = random_born;
	}
	entry.version = 1;
	if (members_number(m, &entry) != MEMBERS_NONE)
		return -EINVAL;
	ret = members_merge(m, &entry);
	return ret < 0 ? ret : 0;
}

static void raise_state(struct members *m, unsigned position, enum member_state state)
{
	struct member_entry entry = *members_at(m, position);

	if (entry.state >= state)
		return;
	entry.state = state;
	members_merge(m, &entry);
}

int members_remove(struct members *m, const char *name, bool dead)
{
	const struct member_entry *counts = members_find(m, name);
	uint32_t id = name_hash(name);
	uint64_t born = counts ? counts->born : 0;
	int ret = -ENOENT;

	for (unsigned at = first_of_id(m, id); at < m->n && members_at(m, at)->id == id; at++) {
		const struct member_entry *entry = members_at(m, at);

		if (!is_present(entry) || strcmp(entry->name, name) != 0)
			continue;
		raise_state(m, at,
			counts && entry->born == born && !dead ? MEMBER_LEAVING : MEMBER_LEFT);
		ret = 0;
	}
	return ret;
}

int members_left(struct members *m, const char *name)
{
	uint32_t id = name_hash(name);
	int ret = -ENOENT;

	for (unsigned at = first_of_id(m, id); at < m->n && members_at(m, at)->id == id; at++) {
		const struct member_entry *entry = members_at(m, at);

		if (entry->state != MEMBER_LEAVING || strcmp(entry->name, name) != 0)
			continue;
		raise_state(m, at, MEMBER_LEFT);
		ret = 0;
	}
	return ret;
}

int members_move(struct members *m, const char *name, const struct member_address *address)
{
	const struct member_entry *counts = members_find(m, name);
	struct member_entry entry;
	int ret;

	if (!counts)
		return -ENOENT;
	if (member_address_equal(&counts->address, address))
		return 0;
	if (counts->version == UINT32_MAX)
		return -EOVERFLOW;
	entry = *counts;
	entry.version++;
	entry.address = *address;
	ret = members_merge(m, &entry);
	return ret < 0 ? ret : 0;
}

/* --- file ------------------------------------------------------------------------------------- */

/*
 * The bytes of a set, big-endian: MAGIC (8), format (2), number of entries (4), entries in the
 * order of their last changes, and a hash of all bytes before it (8). Every later format begins
 * with MAGIC and its number and ends with that hash.
 */

#define MAGIC  UINT64_C(0x776569722d736574) /* "weir-set" */
#define FORMAT 1
#define HEAD   14
#define HASH   8

size_t members_bytes(const struct members *m)
{
	uint8_t entry[MEMBER_BYTES_MOST];
	size_t len = HEAD + HASH;

	for (unsigned i = 0; i < members_count(m); i++)
		len += member_write(members_at(m, i), entry, sizeof(entry));
	return len;
}

void members_encode(const struct members *m, uint8_t *buf)
{
	uint8_t *end = buf + members_bytes(m) - HASH, *at = end, entry[MEMBER_BYTES_MOST];

	/* The list of changes begins with the last one, so the entries are written backwards. */
	for (uint32_t i = members_newest(m); i != MEMBERS_NONE; i = members_older(m, i)) {
		size_t len = member_write(members_numbered(m, i), entry, sizeof(entry));

		at -= len;
		memcpy(at, entry, len);
	}
	at = wire_put16(wire_put64(buf, MAGIC), FORMAT);
	wire_put32(at, members_count(m));
	wire_put64(end, member_hash_bytes(buf, (size_t)(end - buf)));
}

/* Merges n entries, which are all bytes up to `end`, and each of which is new. */
static int merge_entries(struct members *m, uint32_t n, const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;

	for (; n > 0; n--) {
		size_t len = member_read(&entry, at, (size_t)(end - at));
		int ret = len > 0 && members_number(m, &entry) == MEMBERS_NONE
				  ? members_merge(m, &entry)
				  : -EBADMSG;

		if (ret < 0)
			return ret == -ENOMEM ? ret : -EBADMSG;
		at += len;
	}
	return at == end ? 0 : -EBADMSG;
}

int members_decode(const uint8_t *buf, size_t len, struct members **out)
{
	struct members *m;
	uint16_t format;
	uint64_t magic;
	uint32_t n;
	int ret;

	if (len < HEAD + HASH)
		return -EBADMSG;
	wire_get32(wire_get16(wire_get64(buf, &magic), &format), &n);
	if (magic != MAGIC || read_be64(buf + len - HASH) != member_hash_bytes(buf, len - HASH))
		return -EBADMSG;
	if (format > FORMAT)
		return -EPROTONOSUPPORT;
	if (format < FORMAT)
		return -EBADMSG;
	ret = members_create(&m);
	if (ret)
		return ret;
	ret = merge_entries(m, n, buf + HEAD, buf + len - HASH);
	if (ret) {
		members_destroy(m);
		return ret;
	}
	*out = m;
	return 0;
}
