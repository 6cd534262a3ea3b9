/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "transport/quic.h"

#define DELAY_NS  UINT64_C(25000000) /* max_ack_delay */
#define TOLERANCE 2                  /* packets per acknowledgement */

void quic_receiver_init(struct quic_receiver *r)
{
	*r = (struct quic_receiver){.ack_ns = CONN_NEVER};
}

/* Records the number; returns false if it was present. */
static bool note_number(struct quic_receiver *r, uint64_t number)
{
	/* Numbers are not repeated, so holes stay. The oldest hole is dropped for a new one. */
	if (r->numbers.n == RANGES_MAX) {
		r->floor = r->numbers.base + r->numbers.at[0].from;
		ranges_skip_hole(&r->numbers);
	}
	return ranges_add(&r->numbers, number, number + 1) == RANGES_NEW;
}

static bool is_sound(
	const struct quic_receiver *r, const struct stream *stream, const struct segment *in)
{
	uint64_t edge = r->data.base + stream->window;

	if (in->len == 0 || in->offset > edge || in->len > edge - in->offset)
		return false;
	return in->seq >= r->numbers.base && in->seq - r->numbers.base < UINT32_MAX;
}

void quic_receiver_receive(
	struct quic_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in)
{
	uint64_t before = r->data.base;
	bool in_turn = in->seq == r->largest;

	/* Data without room must not be acknowledged. */
	if (!is_sound(r, stream, in) ||
		ranges_add(&r->data, in->offset, in->offset + in->len) == RANGES_FULL)
		return;
	stream->stats.delivered += r->data.base - before;
	if (!note_number(r, in->seq))
		return;
	if (in->seq >= r->largest) {
		r->largest = in->seq + 1;
		r->largest_ns = now_ns;
		r->echo_ns = in->sent_ns;
	}
	r->unanswered++;
	if (!in_turn || in->fin || r->unanswered >= TOLERANCE)
		r->ack_now = true;
	else
		r->ack_ns = now_ns + DELAY_NS;
}

bool quic_receiver_send(struct quic_receiver *r, uint64_t now_ns, struct segment *out)
{
	if (!r->ack_now)
		return false;
	*out = (struct segment){
		.is_ack = true,
		.ack = r->largest,
		.sent_ns = now_ns,
		.echo_ns = r->echo_ns + (now_ns - r->largest_ns),
	};
	for (unsigned i = r->numbers.n; i > 0 && out->n_sacks < CONN_SACKS; i--)
		out->sack[out->n_sacks++] = ranges_get(&r->numbers, i - 1);
	if (r->numbers.base > r->floor && out->n_sacks < CONN_SACKS)
		out->sack[out->n_sacks++] = (struct range){r->floor, r->numbers.base};
	r->unanswered = 0;
	r->ack_ns = CONN_NEVER;
	r->ack_now = false;
	return true;
}

void quic_receiver_expire(struct quic_receiver *r, uint64_t now_ns)
{
	if (now_ns < r->ack_ns)
		return;
	r->ack_ns = CONN_NEVER;
	r->ack_now = true;
}
