/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Loss recovery of a TCP sender, and its timers.
 */
#include <math.h>

#include "transport/rtt.h"
#include "transport/tcp_parts.h"

void tcp_timer_stop(struct tcp_sender *t)
{
	t->timer = TCP_TIMER_NONE;
	t->timer_ns = CONN_NEVER;
}

void tcp_timer_start(struct tcp_sender *t, enum tcp_timer timer, uint64_t now_ns, uint32_t us)
{
	t->timer = (uint8_t)timer;
	t->timer_ns = ticks_deadline(now_ns, UINT64_C(1000) * us, t->clock_ns);
}

/* Returns the µs until the first segment has been in flight for the timeout; 0: it has. */
static uint32_t rto_left(const struct tcp_sender *t, uint64_t now_ns)
{
	uint32_t elapsed = tcp_us(now_ns) - t->board.spans[0].sent_us;

	return elapsed < t->rto_us ? t->rto_us - elapsed : 0;
}

void tcp_timer_rto(struct tcp_sender *t, uint64_t now_ns)
{
	uint32_t us = t->rto_us;

	if (board_out(&t->board) == 0) {
		tcp_timer_stop(t);
		return;
	}
	if (t->timer == TCP_TIMER_PROBE || t->timer == TCP_TIMER_REORDER)
		us = rto_left(t, now_ns);
	tcp_timer_start(t, TCP_TIMER_RTO, now_ns, us ? us : 1);
}

bool tcp_timer_probe(struct tcp_sender *t, uint64_t now_ns, bool advanced)
{
	uint32_t left = advanced ? t->rto_us : rto_left(t, now_ns);
	uint32_t us = RTO_INIT_US;

	if (t->state != TCP_OPEN || board_out(&t->board) == 0)
		return false;
	/* The acknowledgement of a single segment can be delayed. */
	if (t->rtt.smooth8)
		us = t->rtt.smooth8 / 4 +
		     (board_out(&t->board) == 1 ? RTO_MIN_US : TCP_TIMER_LEAST_US);
	if (left && left < us)
		us = left;
	tcp_timer_start(t, TCP_TIMER_PROBE, now_ns, us);
	return true;
}

/* Returns the ssthresh to restore by an undo. */
static uint32_t known_good(const struct tcp_sender *t)
{
	uint32_t most = t->window.cwnd - t->window.cwnd / 4;

	if (t->state == TCP_RECOVERY || t->window.ssthresh > most)
		return t->window.ssthresh;
	return most;
}

static void arm_undo(struct tcp_sender *t, uint32_t ssthresh)
{
	t->undo.armed = true;
	t->undo.from = t->board.una;
	t->undo.resent = t->board.resent ? (int32_t)t->board.resent : -1;
	t->undo.ssthresh = ssthresh;
}

/* Starts a reduction in proportion to delivered segments. */
static void begin_reduction(struct tcp_sender *t, uint64_t now_ns)
{
	t->high = t->board.next;
	t->probe.out = false;
	t->window.credit = 0;
	t->prior_cwnd = t->window.cwnd;
	t->prr_delivered = t->prr_out = 0;
	if (!t->ecn.reducing) /* once per window of data */
		t->window.ssthresh = t->window.growth->reduce(&t->window, now_ns);
	t->ecn.reducing = false;
}

void tcp_enter_recovery(struct tcp_sender *t, struct stream *stream, uint64_t now_ns)
{
	arm_undo(t, known_good(t));
	begin_reduction(t, now_ns);
	t->state = TCP_RECOVERY;
	stream->stats.recoveries++;
}

void tcp_enter_loss(struct tcp_sender *t, uint64_t now_ns)
{
	bool first = t->state < TCP_RECOVERY;

	rack_timeout(t, tcp_us(now_ns));
	/* Once per window: a recovery might have lowered it already. */
	if (first || t->board.una >= t->high || (t->state == TCP_LOSS && !t->timed_out)) {
		arm_undo(t, known_good(t));
		t->prior_cwnd = t->window.cwnd;
		t->window.ssthresh = t->window.growth->reduce(&t->window, now_ns);
	}
	t->ecn.reducing = false;
	t->window.growth->forget(&t->window);
	t->window.cwnd = tcp_in_flight(t) + 1;
	t->window.credit = 0;
	t->state = TCP_LOSS;
	t->high = t->board.next;
	t->probe.due = t->probe.out = false;
	t->new_first = false;
	t->frto = first || t->timed_out;
	t->timed_out = true;
}

/* Enters OPEN, or DISORDER if segments are missing. */
static void try_open(struct tcp_sender *t)
{
	enum tcp_state state = TCP_OPEN;

	/* Forgets the first retransmission if none is in flight: no echo can distinguish them. */
	if (t->board.resent == 0 && !(t->board.n && (t->board.spans[0].marks & SEG_REPEATED)))
		t->undo.first_ns = 0;
	if (t->board.sacked || t->board.lost || t->undo.first_ns)
		state = TCP_DISORDER;
	if (t->state != state) {
		t->state = (uint8_t)state;
		t->high = t->board.next;
	}
}

static void tcp_undo_recovery(struct tcp_sender *t, bool unmark)
{
	if (unmark) {
		for (unsigned i = 0; i < t->board.n; i++)
			t->board.spans[i].marks &= ~(uint32_t)SEG_LOST;
		board_settle(&t->board);
	}
	if (t->undo.ssthresh) {
		if (t->window.cwnd < t->prior_cwnd)
			t->window.cwnd = t->prior_cwnd;
		if (t->window.ssthresh < t->undo.ssthresh)
			t->window.ssthresh = t->undo.ssthresh;
	}
	t->undo.armed = false;
	t->rack.advanced = true; /* detect losses again */
}

/*
 * Returns true if the acknowledged segment was sent before the first retransmission (Eifel, RFC
 * 3522).
 */
static bool answers_original(const struct tcp_sender *t, const struct news *news)
{
	return t->undo.first_ns && news->echo_ns < t->undo.first_ns;
}

static bool was_for_nothing(const struct tcp_sender *t, const struct news *news)
{
	return t->undo.armed && (t->undo.resent == 0 || answers_original(t, news));
}

static void finish_recovery(struct tcp_sender *t, const struct news *news)
{
	if (was_for_nothing(t, news))
		tcp_undo_recovery(t, false);
	else if (t->rack.keep)
		t->rack.keep--;
	t->state = TCP_OPEN;
}

/* Undoes the reduction if the receiver reports all retransmissions as superfluous. */
static bool undo_by_twice(struct tcp_sender *t)
{
	if (!t->undo.armed || t->undo.resent != 0)
		return false;
	tcp_undo_recovery(t, false);
	return true;
}

/*
 * Undoes the reduction if segments thought lost were only late. Returns true if there is nothing
 * more to do.
 */
static bool undo_partly(struct tcp_sender *t, const struct news *news)
{
	if (!t->undo.armed || !answers_original(t, news))
		return false;
	rack_reordered(t, 0);
	if (t->board.resent)
		return true;
	tcp_undo_recovery(t, true);
	try_open(t);
	return false;
}

static bool undo_loss(struct tcp_sender *t, const struct news *news, bool surely)
{
	if (!surely && !was_for_nothing(t, news))
		return false;
	tcp_undo_recovery(t, true);
	t->timed_out = false;
	t->state = TCP_OPEN;
	return true;
}

/* F-RTO: sends new data first, to find out if the timeout is spurious. */
static void ask_with_new(struct tcp_sender *t, const struct stream *stream, const struct news *news)
{
	if (t->board.next > t->high) {
		if (news->sacked || !(news->advanced || news->twice))
			t->frto = false; /* not spurious: the new data arrived, the old did not */
	} else if (news->advanced && t->board.una < t->high) {
		t->high = t->board.next;
		if (stream_has(stream, t->board.una, t->board.next))
			t->new_first = true;
		else
			t->frto = false;
	}
}

static void after_timeout(
	struct tcp_sender *t, const struct stream *stream, const struct news *news)
{
	bool recovered = t->board.una >= t->high;

	if (news->advanced && undo_loss(t, news, false))
		return;
	if (t->frto) {
		if (news->original && undo_loss(t, news, true))
			return;
		ask_with_new(t, stream, news);
	}
	if (recovered)
		finish_recovery(t, news);
}

/* Marks lost segments, and starts a timer for segments that might be lost. */
static void tcp_detect_loss(struct tcp_sender *t, struct news *news, uint64_t now_ns)
{
	uint32_t wait_us;

	if (!t->rack.advanced)
		return;
	t->rack.advanced = false;
	wait_us = rack_detect(t, news, tcp_us(now_ns));
	if (wait_us) {
		tcp_timer_start(t, TCP_TIMER_REORDER, now_ns, wait_us + TCP_TIMER_LEAST_US);
		news->rearm = false;
	}
}

static void in_recovery(
	struct tcp_sender *t, struct stream *stream, struct news *news, uint64_t now_ns)
{
	if (news->advanced && undo_partly(t, news))
		return;
	if (undo_by_twice(t))
		try_open(t);
	tcp_detect_loss(t, news, now_ns);
	if (t->state != TCP_RECOVERY && t->board.lost)
		tcp_enter_recovery(t, stream, now_ns);
}

void tcp_react(struct tcp_sender *t, struct stream *stream, struct news *news, uint64_t now_ns)
{
	if (t->state == TCP_OPEN)
		t->undo.first_ns = 0;
	if (t->state == TCP_RECOVERY && t->board.una >= t->high) {
		finish_recovery(t, news);
		if (t->undo.armed)
			t->window.cwnd = t->window.ssthresh;
	}
	if (t->state == TCP_RECOVERY) {
		in_recovery(t, stream, news, now_ns);
		return;
	}
	if (t->state == TCP_LOSS) {
		after_timeout(t, stream, news);
		tcp_detect_loss(t, news, now_ns);
		if (t->state != TCP_OPEN && !news->lost_again)
			return;
	}
	if (t->state <= TCP_DISORDER)
		undo_by_twice(t);
	tcp_detect_loss(t, news, now_ns);
	if (t->board.lost)
		tcp_enter_recovery(t, stream, now_ns);
	else
		try_open(t);
}

void tcp_probe_repaired(struct tcp_sender *t, uint64_t now_ns)
{
	begin_reduction(t, now_ns);
	t->window.cwnd = t->window.ssthresh;
	try_open(t);
}

void tcp_read_marks(struct tcp_sender *t, const struct news *news, uint64_t marks, uint64_t now_ns)
{
	struct ecn *ecn = &t->ecn;
	uint32_t more = (uint32_t)(marks - ecn->marks);
	double to;

	ecn->marks = marks;
	ecn->acked += news->delivered;
	ecn->marked += more;
	if (t->board.una > ecn->observed && ecn->acked) { /* RFC 8257, section 3.3; g is 1/16 */
		ecn->alpha += (fmin(1, (double)ecn->marked / ecn->acked) - ecn->alpha) / 16;
		ecn->acked = ecn->marked = 0;
		ecn->observed = t->board.next;
	}
	if (ecn->reducing && t->board.una > ecn->reduced) {
		ecn->reducing = false;
		t->window.cwnd = t->window.ssthresh;
	}
	if (more == 0 || t->state >= TCP_RECOVERY || t->board.una <= ecn->reduced)
		return;
	t->undo.armed = false;
	to = t->window.cwnd + fmin(1, (double)t->window.credit / t->window.cwnd);
	to = fmax(2, to * (1 - ecn->alpha / 2)); /* credit is a part of a segment */
	begin_reduction(t, now_ns);
	ecn->reducing = true;
	ecn->reduced = t->board.next;
	if (ecn->ect == ECT_1) {
		t->window.ssthresh = (uint32_t)to;
		t->window.credit = (uint32_t)((to - floor(to)) * to);
	}
}

/*
 * Proportional rate reduction (RFC 6937): sends in proportion to delivery. So the window falls to
 * ssthresh within a round trip, and does not stay below it for long.
 */
static void tcp_reduce_rate(struct tcp_sender *t, const struct news *news)
{
	int64_t in_flight = tcp_in_flight(t), room = (int64_t)t->window.ssthresh - in_flight, n;

	if (news->delivered == 0 || t->prior_cwnd == 0)
		return;
	t->prr_delivered += news->delivered;
	if (room < 0) {
		uint64_t due = (uint64_t)t->window.ssthresh * t->prr_delivered;

		n = (int64_t)((due + t->prior_cwnd - 1) / t->prior_cwnd) - t->prr_out;
	} else {
		n = (int64_t)t->prr_delivered - t->prr_out;
		n = n > news->delivered ? n : news->delivered;
		n += news->advanced && !news->lost;
		n = n < room ? n : room;
	}
	/* The first retransmission does not wait. */
	if (n < !t->prr_out)
		n = !t->prr_out;
	n = n > 0 ? n : 0;
	t->window.cwnd = in_flight + n ? (uint32_t)(in_flight + n) : 1;
}

void tcp_adjust_window(struct tcp_sender *t, const struct news *news, uint64_t now_ns)
{
	t->window.least_rtt_us = t->rtt.least;
	if (tcp_reduces(t))
		tcp_reduce_rate(t, news);
	else if (news->advanced || (news->sacked && t->rack.reordering > 3))
		window_grow(&t->window, news->delivered, now_ns);
}
