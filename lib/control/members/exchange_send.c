/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "base/bitmap.h"
#include "base/wire.h"
#include "members/exchange_private.h"

/* Messages of a round are this part of the pause after it apart. */
#define ROUND_PART 16

void exchange_tick(struct exchange *e)
{
	e->sent = 0;
	exchange_note_changes(e);
}

uint64_t exchange_next(struct exchange *e, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	exchange_note_changes(e);
	for (unsigned i = 0; i < e->n_peers; i++) {
		const struct exchange_peer *p = &e->peers[i];

		if (p->answer)
			return now_ns;
		if (p->watched && !peer_is_equal(e, p) && p->next_ns < next_ns)
			next_ns = p->next_ns;
	}
	return next_ns > now_ns ? next_ns : now_ns;
}

/* Writes the due entries that fit, the last changed ones first. */
static uint8_t *write_entries(
	const struct exchange *e, struct exchange_pass *pass, uint8_t *at, const uint8_t *end)
{
	const struct members *m = e->members;

	for (uint32_t i = members_newest(m); i != MEMBERS_NONE && pass->n_due > 0;
		i = members_older(m, i)) {
		size_t len;

		if (!bitmap_has(pass->due, i))
			continue;
		len = member_write(members_numbered(m, i), at, (size_t)(end - at));
		if (len == 0)
			break;
		bitmap_clear(pass->due, i);
		pass->n_due--;
		at += len;
	}
	return at;
}

/* Sets the time of the next message that is no answer, after the present one. */
static void plan_next(const struct exchange *e, struct exchange_peer *p, uint64_t now_ns)
{
	uint64_t apart_ns = p->pause_ns / ROUND_PART;

	p->sent_ns = now_ns;
	if (p->pass.n_due > 0) {
		p->next_ns = now_ns + (apart_ns > e->every_ns ? apart_ns : e->every_ns);
		return;
	}
	p->next_ns = now_ns + p->pause_ns;
	p->pause_ns = 2 * p->pause_ns < EXCHANGE_REST_NS ? 2 * p->pause_ns : EXCHANGE_REST_NS;
}

/* Begins a round. After many without a change it has all entries, in case `held` is wrong. */
static void begin_round(const struct exchange *e, struct exchange_peer *p)
{
	if (p->pause_ns == EXCHANGE_REST_NS)
		pass_end(p, 0);
	if (pass_extend(e, p) == 0)
		pass_again(&p->pass);
}

static size_t write_message(
	struct exchange *e, struct exchange_peer *p, uint64_t now_ns, uint8_t *buf, size_t room)
{
	bool due = peer_is_due(e, p, now_ns);
	uint8_t *at = buf;

	if (!due && !p->answer)
		return 0;
	*at++ = EXCHANGE_MESSAGE;
	*at++ = due ? EXCHANGE_WANTED : 0;
	at = wire_put64(at, members_digest(e->members));
	if (p->reported && !peer_is_equal(e, p) && pass_extend(e, p) == 0) {
		if (due && p->pass.n_due == 0)
			begin_round(e, p);
		at = write_entries(e, &p->pass, at, buf + room);
	}
	if (due)
		plan_next(e, p, now_ns);
	p->answer = false;
	return (size_t)(at - buf);
}

size_t exchange_send(struct exchange *e, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	if (e->sent >= EXCHANGE_TICK_MOST || room < EXCHANGE_MESSAGE_MIN)
		return 0;
	exchange_note_changes(e);
	for (unsigned k = 0; k < e->n_peers; k++) {
		unsigned i = (e->next + k) % e->n_peers;
		struct exchange_peer *p = &e->peers[i];
		size_t len = write_message(e, p, now_ns, buf, room);

		if (len == 0)
			continue;
		e->sent++;
		e->counters.sent++;
		e->next = i + 1;
		*peer = p->index;
		return len;
	}
	return 0;
}
