/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "transport/window.h"

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
