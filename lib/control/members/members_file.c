/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The bytes of a set, big-endian: MAGIC (8), format (2), number of entries (4), entries in the
 * order of their last changes, and a hash of all bytes before it (8). Every later format begins
 * with MAGIC and its number and ends with that hash.
 */
#include <errno.h>
#include <string.h>

#include "base/wire.h"
#include "members/members.h"

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
