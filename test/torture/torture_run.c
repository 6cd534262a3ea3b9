/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "torture_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"

unsigned torture_victim(const struct torture_case *c, uint64_t calm_ns, uint64_t *when_ns)
{
	struct prng prng;

	if (!c->death)
		return TORTURE_LIMITERS;
	prng_seed(&prng, ~c->seed);
	*when_ns = prng_within(&prng, calm_ns);
	return prng_below(&prng, c->limiters);
}

void torture_complain(struct torture_result *result, const char *format, ...)
{
	va_list args;

	if (result->violated)
		return;
	result->violated = true;
	va_start(args, format);
	vsnprintf(result->what, sizeof(result->what), format, args);
	va_end(args);
}

void torture_failed(struct torture_result *result, const char *call, int ret)
{
	if (ret == -ENOMEM)
		result->error = true;
	else
		torture_complain(result, "%s: %s", call, strerror(-ret));
}

void torture_play(struct events *events, uint64_t end, void *world, void (*check)(void *world),
	struct torture_result *result)
{
	struct event event;

	while (!result->violated && !result->error && events_take(events, end, &event)) {
		event.fn(world, event.object, event.argument);
		check(world);
		result->error |= events->error != 0;
	}
}
