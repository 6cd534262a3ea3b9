/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads messages: checks all of a message, then accepts its content.
 */
#include <errno.h>

#include "base/wire.h"
#include "members/exchange_private.h"

static bool entries_valid(const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;
	size_t len;

	for (; at < end; at += len) {
		len = member_read(&entry, at, (size_t)(end - at));
		if (len == 0)
			return false;
	}
	return true;
}

static void merge_entries(struct exchange *e, const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;

	while (at < end) {
		int ret;

		at += member_read(&entry, at, (size_t)(end - at));
		ret = members_merge(e->members, &entry);
		e->counters.merged += ret > 0;
		e->counters.refused += ret < 0;
	}
}

/* Notes that the peer has the entries in its message. */
static void note_held(
	struct exchange *e, struct exchange_pass *pass, const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;

	while (at < end) {
		uint32_t number;

		at += member_read(&entry, at, (size_t)(end - at));
		number = members_number(e->members, &entry);
		if (number == MEMBERS_NONE)
			continue; /* refused */
		if (member_equal(members_numbered(e->members, number), &entry))
			pass_set_held(pass, number);
		else
			pass_set_due(pass, number);
	}
}

static bool message_is_valid(
	const struct exchange *e, unsigned from, const uint8_t *buf, size_t len)
{
	return from < e->n && from != e->self && len >= EXCHANGE_HEAD &&
	       buf[0] == EXCHANGE_MESSAGE && buf[1] <= EXCHANGE_WANTED &&
	       entries_valid(buf + EXCHANGE_HEAD, buf + len);
}

int exchange_receive(struct exchange *e, unsigned from, const uint8_t *buf, size_t len)
{
	const uint8_t *entries = buf + EXCHANGE_HEAD, *end = buf + len;
	struct exchange_peer *p;
	uint64_t digest;

	if (!message_is_valid(e, from, buf, len)) {
		e->counters.rejected++;
		return -EBADMSG;
	}
	p = exchange_get(e, from);
	if (!p)
		return -ENOMEM;
	e->counters.received++;
	exchange_note_changes(e); /* by others */
	merge_entries(e, entries, end);
	exchange_note_changes(e);
	wire_get64(buf + 2, &digest);
	if (!p->reported || p->digest != digest)
		peer_hurry(e, p);
	p->speaks = p->reported = true;
	p->digest = digest;
	p->answer |= buf[1] & EXCHANGE_WANTED;
	if (peer_is_equal(e, p))
		pass_end(p, e->serial);
	else if (pass_extend(e, p) == 0)
		note_held(e, &p->pass, entries, end);
	return 0;
}
