/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A congestion window in segments, and its growth.
 */
#include "transport/window.h"

void window_init(struct window *window, const struct growth *growth)
{
	*window = (struct window){
		.cwnd = WINDOW_INITIAL,
		.ssthresh = WINDOW_NO_LIMIT,
		.growth = growth,
	};
}

void window_grow(struct window *window, uint32_t acked, uint64_t now_ns)
{
	/* In slow start it can become twice the used part. */
	const bool slow_start = window->cwnd < window->ssthresh && window->cwnd < 2 * window->used;

	if (!window->limited && !slow_start)
		return;
	if (window->cwnd < window->ssthresh) {
		uint32_t room = window->ssthresh - window->cwnd;
		uint32_t more = acked < room ? acked : room;

		window->cwnd += more;
		acked -= more;
	}
	if (acked)
		window->growth->avoid(window, acked, now_ns);
}

void window_increase(struct window *window, uint32_t pace, uint32_t acked)
{
	/* Credit from a slower pace counts for at most one segment. */
	if (window->credit >= pace) {
		window->credit = 0;
		window->cwnd++;
	}
	window->credit += acked;
	window->cwnd += window->credit / pace;
	window->credit %= pace;
}

void window_used(struct window *window, uint32_t in_flight, uint32_t una, uint32_t next)
{
	bool limited = in_flight >= window->cwnd;

	if (una >= window->used_until || limited ||
		(!window->limited && next - una > window->used)) {
		window->limited = limited;
		window->used = next - una;
		window->used_until = next;
	}
}

void window_restart(struct window *window, uint64_t idle_us, uint32_t rto_us)
{
	uint32_t least = window->cwnd < WINDOW_INITIAL ? window->cwnd : WINDOW_INITIAL;
	uint32_t known = window->cwnd - window->cwnd / 4;

	if (window->ssthresh < known)
		window->ssthresh = known;
	while (idle_us > rto_us && window->cwnd > least) {
		idle_us -= rto_us;
		window->cwnd /= 2;
	}
	if (window->cwnd < least)
		window->cwnd = least;
}

static uint32_t newreno_reduce(struct window *window, uint64_t now_ns)
{
	(void)now_ns;
	return window->cwnd / 2 > 2 ? window->cwnd / 2 : 2;
}

static void newreno_avoid(struct window *window, uint32_t acked, uint64_t now_ns)
{
	(void)now_ns;
	window_increase(window, window->cwnd, acked);
}

static void newreno_forget(struct window *window)
{
	(void)window;
}

const struct growth newreno = {newreno_reduce, newreno_avoid, newreno_forget};
