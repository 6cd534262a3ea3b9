/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Records of policies that this limiter does not have any more.
 */
#include "ledger_unused.h"

#include <string.h>

#include "base/time.h"
#include "event.h"
#include "instance.h"
#include "limiter/limiter.h"
#include "policy/period.h"

/* True if the period of that number has ended. See limiter_policy.period_length. */
static bool period_is_over(const struct budget_period *period, int64_t wall_s)
{
	struct policy policy = {.period = PERIOD_FIXED, .period_ns = period->length - PERIOD_FIXED};

	if (period->length == 0 || period->number == 0 || wall_s == TIME_UNKNOWN)
		return false;
	if (period->length == PERIOD_MONTH)
		policy = (struct policy){.period = PERIOD_MONTH};
	return period_number(&policy, wall_s) > period->number;
}

static bool may_end(void *context, const struct limiter_unused *unused)
{
	return unused->untouched || period_is_over(&unused->period, *(const int64_t *)context);
}

void ledger_unused_end(struct instance *inst, uint64_t now_ns)
{
	int64_t wall_s = limiter_wall_s(inst->limiter, now_ns);
	unsigned n = limiter_forget(inst->limiter, may_end, &wall_s);

	if (n > 0)
		event(LEDGER_ENDED, event_count("records", n));
}

struct request {
	const char *name;
	struct ledger_forgotten forgotten;
};

static bool may_forget(void *context, const struct limiter_unused *unused)
{
	struct request *request = context;

	if (request->name && strcmp(request->name, unused->name) != 0)
		return false;
	request->forgotten.in_use += unused->in_use;
	return !unused->in_use;
}

struct ledger_forgotten ledger_forget(struct instance *inst, const char *name, int64_t uid)
{
	struct request request = {.name = name};

	request.forgotten.n = limiter_forget(inst->limiter, may_forget, &request);
	request.forgotten.unused = limiter_unused(inst->limiter);
	if (request.forgotten.n > 0)
		event(LEDGER_FORGOTTEN, event_count("records", request.forgotten.n),
			event_word("of", name ? name : "all unused names"),
			event_count("uid", (uint64_t)uid));
	return request.forgotten;
}
