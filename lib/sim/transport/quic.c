/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The two ends of a bulk transfer by a protocol similar to QUIC (RFC 9002).
 */
#include "transport/quic.h"

#define PACKET_THRESHOLD   3
#define GRANULARITY_US     1000
#define ACK_DELAY_US       25000
#define FIRST_TIMEOUT_US   1000000 /* three times the initial round trip time of 333 ms */
#define INITIAL_PACKETS    10
#define INITIAL_BYTES      14720
#define LEAST_PACKETS      2
#define PERSISTENT_PERIODS 3
#define PROBES_MAX         10 /* at most so many doublings: a quarter of an hour */

/* Result of reading an acknowledgement. */
struct outcome {
	uint64_t acked;          /* bytes, of packets outside of recovery */
	uint32_t largest;        /* one past the largest number newly acknowledged */
	uint32_t smallest;       /* smallest number newly acknowledged */
	uint32_t rtt_us;         /* round trip of the largest packet */
	uint32_t largest_before; /* `largest` before this acknowledgement */
	uint32_t now_us;
};

/* Packets that an acknowledgement shows as lost. */
struct losses {
	uint32_t largest;           /* one past the largest number; 0: none */
	uint32_t first_us, last_us; /* sending times in a period without acknowledgements */
	bool silent;
};

static uint32_t us_of(uint64_t ns)
{
	return (uint32_t)(ns / 1000);
}

static uint32_t quic_span_length(const struct board *board, unsigned i)
{
	return board->spans[i].end - board_start(board, i);
}

void quic_sender_init(struct quic_sender *q, uint32_t mss)
{
	uint64_t most = 2 * (uint64_t)mss > INITIAL_BYTES ? 2 * (uint64_t)mss : INITIAL_BYTES;
	uint64_t initial = (uint64_t)INITIAL_PACKETS * mss;

	*q = (struct quic_sender){
		.board.exact = true,
		.cwnd = initial < most ? initial : most,
		.ssthresh = UINT64_MAX,
		.mss = mss,
		.timer_ns = CONN_NEVER,
	};
}

static void quic_rtt_sample(struct quic_sender *q, uint32_t us, uint32_t adjusted_us)
{
	uint32_t error;

	us = us ? us : 1;
	q->latest_us = us;
	if (q->smoothed_us == 0) {
		q->least_us = q->smoothed_us = us;
		q->deviation_us = us / 2;
		return;
	}
	q->least_us = us < q->least_us ? us : q->least_us;
	/* Subtracts the reported delay of the receiver, unless it is impossibly large. */
	if (adjusted_us >= q->least_us && adjusted_us <= us)
		us = adjusted_us;
	error = us > q->smoothed_us ? us - q->smoothed_us : q->smoothed_us - us;
	q->deviation_us = (uint32_t)((3 * (uint64_t)q->deviation_us + error) / 4);
	q->smoothed_us = (uint32_t)((7 * (uint64_t)q->smoothed_us + us) / 8);
}

void quic_sender_open(struct quic_sender *q, uint32_t rtt_us)
{
	if (rtt_us)
		quic_rtt_sample(q, rtt_us, rtt_us);
}

/* Returns the probe timeout without back-off, µs. */
static uint64_t probe_timeout_us(const struct quic_sender *q)
{
	uint64_t deviation = 4 * (uint64_t)q->deviation_us;

	if (q->smoothed_us == 0)
		return FIRST_TIMEOUT_US;
	return q->smoothed_us + (deviation > GRANULARITY_US ? deviation : GRANULARITY_US) +
	       ACK_DELAY_US;
}

/* Returns the age at which a packet is lost if a later one is acknowledged, µs. */
static uint32_t time_threshold_us(const struct quic_sender *q)
{
	uint32_t us = q->latest_us > q->smoothed_us ? q->latest_us : q->smoothed_us;

	us += us / 8;
	return us > GRANULARITY_US ? us : GRANULARITY_US;
}

static void set_timer(struct quic_sender *q, uint64_t now_ns, uint32_t loss_us)
{
	q->waits_for_loss = loss_us > 0;
	if (loss_us)
		q->timer_ns = now_ns + UINT64_C(1000) * loss_us;
	else if (board_out(&q->board) == 0)
		q->timer_ns = CONN_NEVER;
	else
		q->timer_ns = q->sent_ns + ((1000 * probe_timeout_us(q)) << q->probes);
	if (q->timer_ns < now_ns)
		q->timer_ns = now_ns;
}

/* Marks packets [from, to) of span i as acknowledged. Returns the index after them, 0: no room. */
static unsigned take_span(
	struct quic_sender *q, struct outcome *o, unsigned i, uint32_t from, uint32_t to)
{
	struct span span = q->board.spans[i];
	uint32_t seg = board_start(&q->board, i) + (from - span.serial);
	unsigned first, last;

	if (!board_cut(&q->board, seg, seg + (to - from), &first, &last))
		return 0;
	for (i = first; i < last; i++)
		q->board.spans[i] = (struct span){
			.end = q->board.spans[i].end, .marks = SEG_SACKED};
	if (to > q->recovery)
		o->acked += (uint64_t)(to - (from > q->recovery ? from : q->recovery)) * q->mss;
	if (from < o->smallest)
		o->smallest = from;
	if (to > o->largest) {
		o->largest = to;
		o->rtt_us = o->now_us - span.sent_us;
	}
	return last;
}

static void take_range(struct quic_sender *q, struct outcome *o, const struct range *range)
{
	uint32_t from = (uint32_t)range->from, to = (uint32_t)range->to;

	if (range->from >= range->to || range->to > q->number)
		return;
	for (unsigned i = 0, next; i < q->board.n; i = next) {
		const struct span *span = &q->board.spans[i];
		uint32_t end = span->serial + quic_span_length(&q->board, i);
		uint32_t lo = from > span->serial ? from : span->serial;
		uint32_t hi = to < end ? to : end;

		next = i + 1;
		/* Packets that were marked lost too early are not sent again. */
		if (!(span->marks & SEG_SACKED) && lo < hi)
			next = take_span(q, o, i, lo, hi);
		if (next == 0)
			break;
	}
	board_settle(&q->board);
}

/* Marks the first `count` packets of span i as lost. */
static void quic_mark_lost(struct quic_sender *q, struct losses *l, const struct outcome *o,
	unsigned i, uint32_t count)
{
	struct span *span = &q->board.spans[i];
	uint32_t start = board_start(&q->board, i), end = span->serial + count;
	unsigned first, last;

	if (span->serial >= o->largest_before && end <= o->smallest) {
		if (!l->silent || (int32_t)(span->sent_us - l->first_us) < 0)
			l->first_us = span->sent_us;
		if (!l->silent || (int32_t)(span->sent_us - l->last_us) > 0)
			l->last_us = span->sent_us;
		l->silent = true;
	}
	if (end > l->largest)
		l->largest = end;
	if (!board_cut(&q->board, start, start + count, &first, &last))
		return;
	for (i = first; i < last; i++)
		q->board.spans[i].marks = SEG_LOST;
}

/*
 * Returns the number of lost packets at the front of span i. *loss_us is lowered to the time until
 * the next one counts as lost.
 */
static uint32_t count_lost(
	const struct quic_sender *q, unsigned i, uint32_t now_us, uint32_t *loss_us)
{
	const struct span *span = &q->board.spans[i];
	uint32_t age = now_us - span->sent_us, most = time_threshold_us(q), below, count;

	if (span->marks != 0 || span->serial >= q->largest)
		return 0;
	below = q->largest - span->serial;
	count = quic_span_length(&q->board, i);
	count = count < below ? count : below;
	if (age >= most)
		return count;
	/* Packets are lost if an acknowledged number is at least three above theirs. */
	if (below > PACKET_THRESHOLD && count <= below - PACKET_THRESHOLD)
		return count;
	if (*loss_us == 0 || most - age < *loss_us)
		*loss_us = most - age;
	return below > PACKET_THRESHOLD ? below - PACKET_THRESHOLD : 0;
}

/* Reduces the window once per round trip; to the least one after persistent congestion. */
static void quic_reduce(struct quic_sender *q, const struct losses *l, struct stream *stream)
{
	uint64_t half = q->cwnd / 2, least = (uint64_t)LEAST_PACKETS * q->mss;

	if (l->largest > q->recovery) {
		q->recovery = q->number;
		q->ssthresh = half > least ? half : least;
		q->cwnd = q->ssthresh;
		stream->stats.recoveries++;
	}
	if (l->silent && q->smoothed_us &&
		l->last_us - l->first_us > PERSISTENT_PERIODS * probe_timeout_us(q)) {
		q->cwnd = least;
		q->recovery = 0;
	}
}

static void quic_detect_loss(
	struct quic_sender *q, struct stream *stream, const struct outcome *o, uint64_t now_ns)
{
	struct losses losses = {0};
	uint32_t loss_us = 0;

	for (unsigned i = 0; i < q->board.n; i++) {
		uint32_t count = count_lost(q, i, us_of(now_ns), &loss_us);

		if (count)
			quic_mark_lost(q, &losses, o, i, count);
	}
	board_settle(&q->board);
	if (losses.largest)
		quic_reduce(q, &losses, stream);
	set_timer(q, now_ns, loss_us);
}

void quic_sender_receive(
	struct quic_sender *q, struct stream *stream, uint64_t now_ns, const struct segment *in)
{
	struct outcome o = {
		.smallest = UINT32_MAX,
		.largest_before = q->largest,
		.now_us = us_of(now_ns),
	};
	uint32_t recovery;

	if (!in->is_ack)
		return;
	for (unsigned i = 0; i < in->n_sacks && i < CONN_SACKS; i++)
		take_range(q, &o, &in->sack[i]);
	if (o.largest == 0)
		return;
	if (o.largest > q->largest) {
		q->largest = o.largest;
		quic_rtt_sample(q, o.rtt_us, o.now_us - us_of(in->echo_ns));
	}
	q->probes = 0;
	if (q->board.n && (q->board.spans[0].marks & SEG_SACKED))
		board_advance(&q->board, q->board.spans[0].end);
	else
		board_advance(&q->board, q->board.una);
	recovery = q->recovery;
	quic_detect_loss(q, stream, &o, now_ns);
	/*
	 * Packets that start a recovery were sent before it, so they do not grow the window (RFC
	 * 9002, A.7).
	 */
	if (q->recovery <= recovery && q->limited && o.acked > 0)
		q->cwnd += q->cwnd < q->ssthresh ? o.acked : q->mss * o.acked / q->cwnd;
}

/* Sends an old segment in a new packet. */
static bool quic_resend(struct quic_sender *q, struct stream *stream, uint32_t seg, uint64_t now_ns,
	struct segment *out)
{
	unsigned first, last;

	if (!board_cut(&q->board, seg, seg + 1, &first, &last))
		return false;
	q->board.spans[first].marks = 0;
	q->board.spans[first].serial = q->number;
	q->board.spans[first].sent_us = us_of(now_ns);
	board_settle(&q->board);
	stream->stats.resent++;
	stream_segment(stream, seg, now_ns, out);
	return true;
}

/* Sends the first lost segment. For a probe, if none is lost, the first one in flight. */
static bool send_old(struct quic_sender *q, struct stream *stream, bool probe, uint64_t now_ns,
	struct segment *out)
{
	uint32_t oldest = q->board.next;

	for (unsigned i = q->board.n; i > 0; i--) {
		uint32_t marks = q->board.spans[i - 1].marks;

		if (q->board.lost ? marks == SEG_LOST : probe && marks == 0)
			oldest = board_start(&q->board, i - 1);
	}
	return oldest != q->board.next && quic_resend(q, stream, oldest, now_ns, out);
}

static bool quic_send_new(
	struct quic_sender *q, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	uint32_t seg = q->board.next;

	if (!stream_has(stream, q->board.una, seg) ||
		!board_append(&q->board, q->number, us_of(now_ns)))
		return false;
	stream_segment(stream, seg, now_ns, out);
	return true;
}

bool quic_sender_send(
	struct quic_sender *q, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	bool probe = q->probe_due;
	const uint64_t in_flight = (uint64_t)(board_out(&q->board) - q->board.sacked -
					      q->board.lost) *
				   q->mss;
	bool room = in_flight + q->mss <= q->cwnd;

	if (!probe)
		q->limited = !room;
	if (!probe && !room)
		return false;
	/* Lost data first. A probe then prefers new data to data that might still arrive. */
	if (!(q->board.lost && send_old(q, stream, probe, now_ns, out)) &&
		!quic_send_new(q, stream, now_ns, out) && !send_old(q, stream, probe, now_ns, out))
		return false;
	out->offset = out->seq;
	out->seq = q->number++;
	q->probe_due = false;
	q->sent_ns = now_ns;
	if (!q->waits_for_loss)
		set_timer(q, now_ns, 0);
	return true;
}

void quic_sender_expire(struct quic_sender *q, struct stream *stream, uint64_t now_ns)
{
	struct outcome nothing = {.smallest = 0, .largest_before = UINT32_MAX};

	if (now_ns < q->timer_ns)
		return;
	if (board_out(&q->board) == 0) {
		q->timer_ns = CONN_NEVER;
	} else if (q->waits_for_loss) {
		quic_detect_loss(q, stream, &nothing, now_ns);
	} else {
		stream->stats.timeouts++;
		q->probe_due = true;
		q->probes += q->probes < PROBES_MAX;
		/* No room to mark lost packets: marks all as lost, so that sending continues. */
		if (q->board.n == BOARD_SPANS)
			board_forget(&q->board, SEG_LOST);
		q->timer_ns = now_ns + ((1000 * probe_timeout_us(q)) << q->probes);
	}
}

/* --- receiver --------------------------------------------------------------------------------- */

#define DELAY_NS  UINT64_C(25000000) /* max_ack_delay */
#define TOLERANCE 2                  /* packets per acknowledgement */

void quic_receiver_init(struct quic_receiver *r)
{
	*r = (struct quic_receiver){.ack_ns = CONN_NEVER};
}

void quic_receiver_receive(
	struct quic_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in)
{
	uint64_t before = r->data.base, edge = before + stream->window;
	bool in_turn = in->seq == r->largest;
	const bool fits = in->len > 0 && in->offset <= edge && in->len <= edge - in->offset;
	const bool numbered = in->seq >= r->numbers.base && in->seq - r->numbers.base < UINT32_MAX;

	/* Data without room must not be acknowledged. */
	if (!fits || !numbered ||
		ranges_add(&r->data, in->offset, in->offset + in->len) == RANGES_FULL)
		return;
	stream->stats.delivered += r->data.base - before;
	/* Numbers are not repeated, so holes stay. The oldest hole is dropped for a new one. */
	if (r->numbers.n == RANGES_MAX) {
		r->floor = r->numbers.base + r->numbers.at[0].from;
		ranges_skip_hole(&r->numbers);
	}
	if (ranges_add(&r->numbers, in->seq, in->seq + 1) != RANGES_NEW)
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
