/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "transport/tcp_parts.h"

#include "transport/ticks.h"

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
