/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A congestion window in segments, and its growth by NewReno and CUBIC.
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

/*
 * CUBIC (RFC 9438) in integers, with the rounding of Linux, which matters at windows of a few
 * segments: W(t) = origin + C (t - K)^3 with C = 0.4, beta = 717/1024. It is never slower than a
 * NewReno with the same beta. Without HyStart: slow start ends with a loss.
 */
#define BETA       717
#define ONE        1024
#define SECOND     1024                /* time is counted in 2^-10 s */
#define OFFS_MAX   (UINT64_C(1) << 20) /* 17 minutes: its cube still fits */
#define RENO_ACKS  15 /* eighths of a window per increase: 8 (1 + beta) / 3 (1 - beta) */
#define COMPUTE_NS (UINT64_C(28000000)) /* `pace` is kept so long if the window does not change */

/* Returns the largest integer whose cube is at most x. */
static uint32_t cube_root(uint64_t x)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 20; bit; bit >>= 1) {
		uint64_t r = root | bit;

		if (r * r * r <= x)
			root = r;
	}
	return (uint32_t)root;
}

static uint32_t cubic_reduce(struct window *window, uint64_t now_ns)
{
	struct cubic *c = &window->cubic;
	uint32_t to = (uint32_t)((uint64_t)window->cwnd * BETA / ONE);

	(void)now_ns;
	c->epoch_ns = 0;
	/* Fast convergence: a flow with two losses in a row leaves room for a new one. */
	if (window->cwnd < c->max)
		c->max = (uint32_t)((uint64_t)window->cwnd * (ONE + BETA) / (2 * ONE));
	else
		c->max = window->cwnd;
	return to > 2 ? to : 2;
}

/* Returns W(t) one round trip from now. */
static uint32_t cubic_target(const struct cubic *c, uint32_t least_rtt_us, uint64_t now_ns)
{
	uint64_t us = (now_ns - c->epoch_ns) / 1000 + least_rtt_us;
	uint64_t t = us * SECOND / 1000000;
	uint64_t offs = t < c->k ? c->k - t : t - c->k;
	uint64_t delta;

	offs = offs < OFFS_MAX ? offs : OFFS_MAX;
	delta = (offs * offs * offs / 5 * 2) >> 30; /* C = 2 / 5 */
	return (uint32_t)(t < c->k ? c->origin - delta : c->origin + delta);
}

static void set_pace(struct window *window, uint64_t now_ns)
{
	struct cubic *c = &window->cubic;
	uint32_t to = cubic_target(c, window->least_rtt_us, now_ns);

	if (to > window->cwnd && to < UINT32_C(1) << 31)
		c->pace = window->cwnd / (to - window->cwnd);
	else
		c->pace = 100 * window->cwnd; /* nearly constant */
	/* Before the first loss, at least 5 % per round trip. */
	if (c->max == 0 && c->pace > 20)
		c->pace = 20;
}

/* Keeps the window from growing more slowly than NewReno's. */
static void keep_up(struct window *window)
{
	struct cubic *c = &window->cubic;
	uint32_t step = window->cwnd * RENO_ACKS / 8;

	while (c->acked > step) {
		c->acked -= step;
		c->reno++;
	}
	if (c->reno > window->cwnd && window->cwnd / (c->reno - window->cwnd) < c->pace)
		c->pace = window->cwnd / (c->reno - window->cwnd);
}

static void cubic_avoid(struct window *window, uint32_t acked, uint64_t now_ns)
{
	struct cubic *c = &window->cubic;

	c->acked += acked;
	if (c->computed_cwnd != window->cwnd || now_ns - c->computed_ns > COMPUTE_NS) {
		c->computed_cwnd = window->cwnd;
		c->computed_ns = now_ns;
		if (c->epoch_ns == 0) {
			c->epoch_ns = now_ns ? now_ns : 1;
			c->acked = acked;
			c->reno = window->cwnd;
			c->origin = window->cwnd > c->max ? window->cwnd : c->max;
			/* K^3 = (origin - cwnd) / C, in (2^-10 s)^3; 1 / C = 5 / 2 */
			c->k = cube_root((((uint64_t)(c->origin - window->cwnd) * 5) << 30) / 2);
		}
		set_pace(window, now_ns);
		keep_up(window);
		if (c->pace < 2) /* at most half as fast as slow start */
			c->pace = 2;
	}
	window_increase(window, c->pace, acked);
}

static void cubic_forget(struct window *window)
{
	window->cubic = (struct cubic){0};
}

const struct growth cubic = {cubic_reduce, cubic_avoid, cubic_forget};
