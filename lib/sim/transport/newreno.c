/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "transport/window.h"

static uint32_t reduce(struct window *window, uint64_t now_ns)
{
	(void)now_ns;
	return window->cwnd / 2 > 2 ? window->cwnd / 2 : 2;
}

static void avoid(struct window *window, uint32_t acked, uint64_t now_ns)
{
	(void)now_ns;
	window_increase(window, window->cwnd, acked);
}

static void forget(struct window *window)
{
	(void)window;
}

const struct growth newreno = {reduce, avoid, forget};
