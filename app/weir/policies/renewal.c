/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Renews the workers' lease of hard limits (base/expiry.h).
 */
#include "renewal.h"

#include <inttypes.h>

#include <rte_common.h>

#include "base/time.h"
#include "instance.h"
#include "event.h"
#include "kernel_lines.h"
#include "policy/kind.h"
#include "tick.h"

void renewal_start(struct instance *inst)
{
	struct renewal *renewal = &inst->renewal;
	struct expiry *kernel = kernel_lines_lease(inst);
	const unsigned __int128 lease_ns = inst->config->ledger.lease_ns;
	uint64_t now = tick_now();

	*renewal = (struct renewal){0};
	if (kernel)
		expiry_init(kernel, 0, UINT64_MAX);
	if (!inst->config->ledger.store[0] || inst->config->ledger.lease_ns == 0)
		return;
	/* Without a lease (a single limiter) nothing ends, but a worker's own stall is detected. */
	renewal->span = 2 * (uint64_t)(lease_ns * inst->clock.hz / SECOND_NS);
	renewal->until = now + renewal->span / 2;
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		expiry_init(&inst->workers[w].expiry, renewal->until, renewal->span);
	if (kernel)
		expiry_init(kernel, renewal->until, renewal->span);
}

/* Returns the tick at which the first limit ends if no more messages arrive. */
static uint64_t first_end(const struct instance *inst, uint64_t now)
{
	uint64_t left_ns = expiry_time(
		limiter_lease_ends(inst->limiter), control_now(), inst->config->ledger.lease_ns);
	unsigned __int128 ticks = (unsigned __int128)left_ns * inst->clock.hz / SECOND_NS;

	return now + RTE_MIN((uint64_t)ticks, inst->renewal.span / 2);
}

static void shorten_lease(struct expiry *expiry, uint64_t end)
{
	uint64_t present = expiry_until(expiry);

	if (present != 0 && expiry_next(present, end, false) != present)
		(void)expiry_set(expiry, present, end); /* fails if the worker has seen the end */
}

void renewal_shorten(struct instance *inst)
{
	struct renewal *renewal = &inst->renewal;
	struct expiry *kernel = kernel_lines_lease(inst);
	uint64_t end;

	if (renewal->span == 0)
		return;
	end = first_end(inst, tick_now());
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		shorten_lease(&inst->workers[w].expiry, end);
	if (kernel)
		shorten_lease(kernel, end);
}

static void publish_again(struct instance *inst, struct worker *worker)
{
	const unsigned *hard = inst->sourced + inst->n_sourced;

	for (unsigned i = 0; i < inst->n_hard; i++) {
		if (worker)
			limit_ring_forget(&worker->limit_ring, hard[i]);
		dirty_mark(&inst->dirty, hard[i]);
	}
}

/*
 * Marks hard limits as ended since a tick: shared buckets used the unreserved share from then
 * on.
 */
static void limits_ended(struct instance *inst, uint64_t since)
{
	const unsigned *hard = inst->sourced + inst->n_sourced;

	for (unsigned i = 0; i < inst->n_hard; i++) {
		struct engine_slot *slot = &inst->engine.slots[hard[i]];

		if (inst->engine.shared_buckets && slot->ending && !slot->ended)
			slot->ended = since;
	}
	publish_again(inst, NULL);
}

/*
 * Returns false if the worker has not taken all limits, or has not seen the end of its lease yet.
 */
static bool renew_worker(struct instance *inst, struct worker *worker, uint64_t end, uint64_t now)
{
	bool all_taken = instance_has_published(inst, worker->index) &&
			 limit_ring_is_taken(&worker->limit_ring);
	uint64_t present = expiry_until(&worker->expiry), next = end;
	const uint64_t bit = UINT64_C(1) << worker->index;

	/* Once, however long it takes until they are renewed. */
	if (present == 0 && !(inst->renewal.logged & bit)) {
		event(LIMITS_ENDED, event_count("cpu", worker->cpu));
		inst->renewal.logged |= bit;
	}
	if (present != 0 && expiry_is_past(&worker->expiry, now))
		return false;
	if (present != 0)
		next = expiry_next(present, end, all_taken);
	else if (!all_taken)
		return false;
	if (next != present && !expiry_set(&worker->expiry, present, next))
		return false;
	inst->renewal.until = RTE_MAX(inst->renewal.until, next);
	if (present == 0) {
		publish_again(inst, worker);
		inst->renewal.logged &= ~bit;
		event(LIMITS_RENEWED, event_count("cpu", worker->cpu));
	}
	return all_taken;
}

/*
 * Kernel CPUs use a new limit immediately, so their lease is renewed when all limits are published.
 */
static void renew_kernel(struct instance *inst, struct expiry *kernel, uint64_t end)
{
	struct renewal *renewal = &inst->renewal;
	uint64_t present = expiry_until(kernel), next = end;
	bool all_taken = dirty_is_empty(&inst->dirty);

	if (!renewal->kernel_ended)
		next = expiry_next(present, end, all_taken);
	else if (!all_taken)
		return;
	(void)expiry_set(kernel, present, next); /* only this thread sets it */
	renewal->kernel_ended = false;
	renewal->until = RTE_MAX(renewal->until, next);
}

void renewal_run(struct instance *inst)
{
	struct renewal *renewal = &inst->renewal;
	struct expiry *kernel = kernel_lines_lease(inst);
	uint64_t now = tick_now(), end;
	unsigned __int128 late;

	if (renewal->span == 0)
		return;
	/* Checks the end itself, because the kernel's CPUs cannot report it. */
	if (kernel && !renewal->kernel_ended && expiry_is_past(kernel, now)) {
		renewal->kernel_ended = true;
		limits_ended(inst, expiry_until(kernel));
	}
	/* Control ran after all limits had ended, so workers used the unreserved share. */
	if (renewal->until != 0 && (int64_t)(now - renewal->until) >= 0) {
		limits_ended(inst, renewal->until);
		renewal->late++;
		late = now - renewal->until;
		event(RENEWAL_LATE, event_count("ms", (uint64_t)(late * 1000 / inst->clock.hz)));
		renewal->until = 0;
	}
	end = first_end(inst, now);
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		(void)renew_worker(inst, &inst->workers[w], end, now);
	if (kernel)
		renew_kernel(inst, kernel, end);
}

bool renewal_waits(const struct instance *inst)
{
	for (unsigned w = 0; inst->renewal.span && w < inst->config->n_workers; w++)
		if (expiry_until(&inst->workers[w].expiry) == 0 ||
			!limit_ring_is_taken(&inst->workers[w].limit_ring))
			return true;
	return false;
}
