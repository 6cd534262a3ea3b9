/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Acknowledges as Linux does. Every second full segment is acknowledged immediately. So are
 * segments out of order, those that fill the last hole or arrive twice, and each of the first
 * sixteen. Others wait for a delay that follows the gaps between segments, from 40 ms up to the
 * round trip time.
 */
#include "transport/tcp.h"

#include "transport/rtt.h"

#define DELAY_NS   UINT64_C(40000000)
#define RTO_NS     (UINT64_C(1000) * RTO_INIT_US)
#define QUICK_MAX  16
#define BLOCKS_MAX 3 /* SACK blocks that fit next to timestamps */

void tcp_receiver_init(struct tcp_receiver *r, uint64_t clock_ns)
{
	*r = (struct tcp_receiver){
		.ack_ns = CONN_NEVER,
		.rto_ns = RTO_NS,
		.clock_ns = clock_ns,
	};
}

void tcp_receiver_open(struct tcp_receiver *r, uint64_t rtt_ns)
{
	struct rtt rtt = {0};

	if (rtt_ns == 0)
		return;
	rtt_sample(&rtt, (uint32_t)(rtt_ns / 1000), 0, 0);
	r->rtt_ns = rtt_ns;
	r->rto_ns = UINT64_C(1000) * rtt_timeout(&rtt);
}

static void tcp_quicken_acks(struct tcp_receiver *r, const struct stream *stream)
{
	uint32_t quick = stream->window / (2 * stream->mss);

	quick = quick < 2 ? 2 : quick;
	quick = quick < QUICK_MAX ? quick : QUICK_MAX;
	if (quick > r->quick)
		r->quick = (uint8_t)quick;
}

/* Adapts the delay of acknowledgements to the gap between segments. */
static void learn_ack_delay(struct tcp_receiver *r, const struct stream *stream, uint64_t now_ns)
{
	uint64_t gap = now_ns - r->data_ns;

	if (r->patience_ns == 0) {
		tcp_quicken_acks(r, stream);
		r->patience_ns = DELAY_NS;
	} else if (gap <= DELAY_NS / 2) {
		r->patience_ns = r->patience_ns / 2 + DELAY_NS / 2;
	} else if (gap < r->patience_ns) {
		r->patience_ns = r->patience_ns / 2 + gap;
		if (r->patience_ns > r->rto_ns)
			r->patience_ns = r->rto_ns;
	} else if (gap > r->rto_ns) {
		tcp_quicken_acks(
			r, stream); /* the sender might have restarted with a small window */
	}
	r->data_ns = now_ns;
}

static void delay_ack(struct tcp_receiver *r, uint64_t now_ns)
{
	uint64_t most = r->rtt_ns > DELAY_NS ? r->rtt_ns : DELAY_NS;
	uint64_t wait = r->patience_ns < most ? r->patience_ns : most;
	uint64_t at = ticks_deadline(now_ns, wait, r->clock_ns);

	if (r->ack_ns != CONN_NEVER && r->ack_ns <= now_ns + wait / 4) {
		r->ack_now = true; /* due soon anyway */
		return;
	}
	if (at < r->ack_ns)
		r->ack_ns = at;
}

static void take_segment(
	struct tcp_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in)
{
	uint64_t before = r->data.base;
	bool hole = r->data.n > 0;

	switch (ranges_add(&r->data, in->seq, in->seq + in->len)) {
	case RANGES_HAD:
		/* The next acknowledgement, which is immediate, reports it. */
		r->twice = (struct range){in->seq, in->seq + in->len};
		r->patience_ns = DELAY_NS;
		tcp_quicken_acks(r, stream);
		r->ack_now = true;
		return;
	case RANGES_FULL: /* like a kernel that is short of memory: the sender repeats it */
		r->ack_now = true;
		return;
	case RANGES_NEW:
		break;
	}
	if (r->data.base == before) {
		unsigned n = r->n_touched < CONN_SACKS ? r->n_touched++ : CONN_SACKS - 1;

		for (unsigned i = n; i > 0; i--)
			r->touched[i] = r->touched[i - 1];
		r->touched[0] = in->seq;
		r->ack_now = true;
		return;
	}
	stream->stats.delivered += r->data.base - before;
	learn_ack_delay(r, stream, now_ns);
	if (hole || in->fin || r->quick || r->data.base - r->acked > stream->mss)
		r->ack_now = true;
	else
		delay_ack(r, now_ns);
}

void tcp_receiver_receive(
	struct tcp_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in)
{
	uint64_t edge = r->data.base + stream->window;

	if (in->len == 0 || in->seq > edge || in->len > edge - in->seq)
		return;
	r->marks += in->ecn == ECN_CE;
	r->stamp = in->stamp;
	if (in->seq <= r->acked && in->sent_ns > r->echo_ns)
		r->echo_ns = in->sent_ns;
	take_segment(r, stream, now_ns, in);
}

/* Adds a block, unless one from `first` on is the same. */
static bool add_block(struct segment *out, unsigned first, struct range block)
{
	for (unsigned i = first; i < out->n_sacks; i++)
		if (out->sack[i].from == block.from && out->sack[i].to == block.to)
			return false;
	out->sack[out->n_sacks++] = block;
	return true;
}

/* Adds the ranges that grew last, latest first. Drops those that were joined or delivered. */
static void add_blocks(struct tcp_receiver *r, struct segment *out)
{
	unsigned kept = 0, first = out->n_sacks;

	for (unsigned k = 0; k < r->n_touched; k++) {
		uint64_t byte = r->touched[k];
		unsigned i = 0;

		while (i < r->data.n && ranges_get(&r->data, i).to <= byte)
			i++;
		if (byte < r->data.base || i == r->data.n)
			continue;
		if (out->n_sacks == BLOCKS_MAX || add_block(out, first, ranges_get(&r->data, i)))
			r->touched[kept++] = byte;
	}
	r->n_touched = (uint8_t)kept;
}

bool tcp_receiver_send(struct tcp_receiver *r, uint64_t now_ns, struct segment *out)
{
	if (!r->ack_now)
		return false;
	*out = (struct segment){
		.is_ack = true,
		.ack = r->data.base,
		.sent_ns = now_ns,
		.echo_ns = r->echo_ns,
		.marks = r->marks,
		.stamp = r->stamp,
	};
	if (r->twice.to > r->twice.from)
		out->sack[out->n_sacks++] = r->twice;
	add_blocks(r, out);
	r->twice = (struct range){0, 0};
	r->acked = r->data.base;
	r->ack_ns = CONN_NEVER;
	r->ack_now = false;
	if (r->quick && --r->quick == 0)
		r->patience_ns = DELAY_NS;
	return true;
}

void tcp_receiver_expire(struct tcp_receiver *r, uint64_t now_ns)
{
	if (now_ns < r->ack_ns)
		return;
	/* No second segment arrived during the delay; the next one can be longer. */
	r->patience_ns = 2 * r->patience_ns < r->rto_ns ? 2 * r->patience_ns : r->rto_ns;
	r->ack_ns = CONN_NEVER;
	r->ack_now = true;
}
