/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/confirm.h"

#include <errno.h>

bool confirm_waits(const struct confirm *confirm)
{
	return confirm->until_ns > 0;
}

int confirm_may_change(const struct confirm *confirm, uint64_t within_ns)
{
	if (confirm_waits(confirm))
		return -EBUSY;
	return within_ns > 0 && confirm->good == 0 ? -ENOENT : 0;
}

void confirm_change(struct confirm *confirm, uint64_t number, uint64_t now_ns, uint64_t within_ns)
{
	confirm->running = number;
	confirm->until_ns = within_ns > 0 ? now_ns + within_ns : 0;
	if (within_ns == 0)
		confirm->good = number;
}

int confirm_accept(struct confirm *confirm)
{
	if (!confirm_waits(confirm))
		return -ENOENT;
	confirm->until_ns = 0;
	confirm->good = confirm->running;
	return 0;
}

bool confirm_due(const struct confirm *confirm, uint64_t now_ns)
{
	return confirm_waits(confirm) && now_ns >= confirm->until_ns;
}

uint64_t confirm_left_ns(const struct confirm *confirm, uint64_t now_ns)
{
	return confirm->until_ns > now_ns ? confirm->until_ns - now_ns : 0;
}

void confirm_undone(struct confirm *confirm)
{
	confirm->until_ns = 0;
	confirm->running = confirm->good;
}
