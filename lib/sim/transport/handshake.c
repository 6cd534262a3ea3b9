/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "transport/handshake.h"

#include "base/time.h"
#include "transport/ticks.h"

#define DOUBLINGS_MAX 6

void handshake_init(struct handshake *h, bool wanted, uint64_t clock_ns)
{
	struct handshake_end end = {.open = !wanted, .timer_ns = CONN_NEVER};

	h->end[CONN_SENDER] = h->end[CONN_RECEIVER] = end;
	h->end[CONN_SENDER].due = wanted;
	h->clock_ns = clock_ns;
}

bool handshake_send(struct handshake *h, enum conn_end end, uint64_t now_ns, struct segment *out)
{
	struct handshake_end *e = &h->end[end];
	unsigned doublings = e->tries < DOUBLINGS_MAX ? e->tries : DOUBLINGS_MAX;

	if (!e->due)
		return false;
	e->due = false;
	*out = (struct segment){
		.syn = end == CONN_RECEIVER || !e->open,
		.is_ack = e->heard,
		.sent_ns = now_ns,
		.echo_ns = e->echo_ns,
	};
	if (e->open)
		return true;
	e->tries += e->tries < UINT8_MAX;
	e->timer_ns = ticks_deadline(now_ns, SECOND_NS << doublings, h->clock_ns);
	return true;
}

static void open_handshake_end(
	struct handshake_end *e, uint64_t now_ns, const struct segment *in, uint64_t *rtt_ns)
{
	e->open = true;
	e->due = false;
	e->timer_ns = CONN_NEVER;
	*rtt_ns = in->echo_ns && in->echo_ns <= now_ns ? now_ns - in->echo_ns : 0;
}

static void receive_syn(struct handshake *h, enum conn_end end, const struct segment *in)
{
	struct handshake_end *e = &h->end[end];

	if ((end == CONN_RECEIVER) == in->is_ack)
		return;
	/* A repeated SYN is answered again, and so is a repeated SYN-ACK. */
	if (e->open && (end == CONN_RECEIVER || !e->heard))
		return;
	e->heard = true;
	e->due = true;
	e->echo_ns = in->sent_ns;
}

bool handshake_receive(struct handshake *h, enum conn_end end, uint64_t now_ns,
	const struct segment *in, bool *opened, uint64_t *rtt_ns)
{
	struct handshake_end *e = &h->end[end];
	bool opens = end == CONN_SENDER ? in->syn && in->is_ack
					: !in->syn && e->heard && e->tries > 0;

	*opened = !e->open && opens;
	if (*opened)
		open_handshake_end(e, now_ns, in, rtt_ns);
	if (in->syn) {
		if (*opened)
			e->heard = true;
		receive_syn(h, end, in);
		return false;
	}
	return e->open;
}

void handshake_expire(struct handshake *h, uint64_t now_ns)
{
	for (unsigned i = 0; i < 2; i++) {
		struct handshake_end *e = &h->end[i];

		if (now_ns < e->timer_ns)
			continue;
		e->timer_ns = CONN_NEVER;
		e->due = true;
	}
}

void handshake_stop(struct handshake *h)
{
	struct handshake_end *e = &h->end[CONN_SENDER];

	e->due = false;
	e->timer_ns = CONN_NEVER;
}
