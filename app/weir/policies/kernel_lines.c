/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "kernel_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "event.h"
#include "instance.h"
#include "plane.h"
#include "police/extended.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "tick.h"

struct kernel_lines {
	uint32_t *sample_of; /* by slot, or PLANE_UNSAMPLED */
	uint32_t *free;      /* samples that no policy has */
	unsigned n_free;
};

static uint32_t take_sample(struct kernel_lines *lines)
{
	return lines->n_free ? lines->free[--lines->n_free] : PLANE_UNSAMPLED;
}

static void give_sample(struct kernel_lines *lines, uint32_t slot)
{
	if (lines->sample_of[slot] != PLANE_UNSAMPLED)
		lines->free[lines->n_free++] = lines->sample_of[slot];
	lines->sample_of[slot] = PLANE_UNSAMPLED;
}

/* Whether the kernel has lines of it: also while it leaves its packets to workers, for a trial. */
static bool has_lines(const struct policy *policy)
{
	return policy_is_simple(policy) && !policy_is_never_exceeded(policy);
}

static void prepare_line(struct instance *inst, unsigned cpu, const struct policy *policy,
	const struct limit_profile *profile, uint32_t sample)
{
	const struct policy_start start = {.now = tick_now(), .hz = tick_hz()};
	struct engine_worker *mine = &inst->engine.workers[inst->engine.n_workers + cpu];

	policy_state_init(&mine->states[profile->policy], NULL, policy, profile, &start);
	mine->samples[profile->policy] = NULL;
	if (sample == PLANE_UNSAMPLED)
		return;
	mine->samples[profile->policy] = plane_sample_of(inst->plane, cpu, sample);
	memset(mine->samples[profile->policy], 0, sizeof(struct flow_sample));
}

static int kernel_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct limit_profile profile;
	uint32_t sample = PLANE_UNSAMPLED;
	int ret = 0;

	if (!inst->plane)
		return 0;
	plane_leave(inst->plane, slot, policy_is_never_exceeded(policy));
	if (has_lines(policy) && policy_samples_flows(policy))
		sample = inst->kernel_lines->sample_of[slot] = take_sample(inst->kernel_lines);
	if (!has_lines(policy) || (policy_samples_flows(policy) && sample == PLANE_UNSAMPLED))
		return 0;
	ret = policy_whole_profile(inst, policy, slot, hz, &profile);
	for (unsigned cpu = 0; ret == 0 && cpu < inst->engine.n_cpus; cpu++)
		prepare_line(inst, cpu, policy, &profile, sample);
	inst->engine.slots[slot].kernel = ret == 0;
	*plane_book(inst->plane, slot) = (struct plane_book){0};
	memcpy(plane_book(inst->plane, slot)->name, policy->name, sizeof(policy->name));
	return ret;
}

static void decide_in(struct instance *inst, unsigned cpu, uint32_t slot)
{
	plane_hold(inst->plane, cpu, slot, inst->kernel_lines->sample_of[slot]);
}

static void kernel_change(struct instance *inst, unsigned policy)
{
	uint32_t slot = inst->slots.of[policy];
	const struct policy *now = &inst->policies[policy];

	if (!inst->plane)
		return;
	if (!inst->engine.slots[slot].kernel || policy_needs_worker(now))
		plane_leave(inst->plane, slot, policy_is_never_exceeded(now));
	else
		for (unsigned cpu = 0; cpu < inst->engine.n_cpus; cpu++)
			decide_in(inst, cpu, slot);
}

static void kernel_remove(struct instance *inst, uint32_t slot)
{
	if (!inst->plane)
		return;
	for (unsigned w = inst->engine.n_workers; w < engine_lines(&inst->engine); w++) {
		memset(&inst->engine.workers[w].states[slot], 0, sizeof(struct policy_state));
		inst->engine.workers[w].samples[slot] = NULL;
	}
	plane_book(inst->plane, slot)->name[0] = '\0';
	give_sample(inst->kernel_lines, slot);
}

const struct policy_part kernel_part = {
	.prepare = kernel_prepare,
	.change = kernel_change,
	.remove = kernel_remove,
};

unsigned kernel_lines_cpus(const struct instance *inst)
{
	return inst->plane ? plane_cpus(inst->plane) : 0;
}

struct shared_bucket *kernel_lines_buckets(const struct instance *inst)
{
	return plane_buckets(inst->plane);
}

static int make_samples(struct instance *inst)
{
	struct kernel_lines *lines = inst->kernel_lines;

	lines->sample_of = malloc(inst->slots.capacity * sizeof(*lines->sample_of));
	lines->free = malloc(PLANE_SAMPLES * sizeof(*lines->free));
	if (!lines->sample_of || !lines->free)
		return -ENOMEM;
	memset(lines->sample_of, 0xff, inst->slots.capacity * sizeof(*lines->sample_of));
	for (uint32_t i = 0; i < PLANE_SAMPLES; i++)
		lines->free[lines->n_free++] = PLANE_SAMPLES - 1 - i;
	return 0;
}

int kernel_lines_start(struct instance *inst)
{
	if (!inst->plane)
		return 0;
	inst->kernel_lines = calloc(1, sizeof(*inst->kernel_lines));
	if (!inst->kernel_lines || make_samples(inst))
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < inst->engine.n_cpus; cpu++) {
		struct engine_worker *mine = &inst->engine.workers[inst->engine.n_workers + cpu];

		mine->states = plane_lines(inst->plane, cpu);
		mine->samples = calloc(inst->slots.capacity, sizeof(*mine->samples));
		if (!mine->samples)
			return -ENOMEM;
	}
	return 0;
}

void kernel_lines_stop(struct instance *inst)
{
	for (unsigned w = inst->engine.n_workers;
		inst->engine.workers && w < engine_lines(&inst->engine); w++)
		free(inst->engine.workers[w].samples);
	if (!inst->kernel_lines)
		return;
	free(inst->kernel_lines->sample_of);
	free(inst->kernel_lines->free);
	free(inst->kernel_lines);
	inst->kernel_lines = NULL;
}

void kernel_lines_begun(struct instance *inst, unsigned cpu, const struct limit_profile *profile)
{
	const struct policy *policy = &inst->policies[inst->slots.policy[profile->policy]];

	if (!policy_needs_worker(policy))
		decide_in(inst, cpu, profile->policy);
}

void kernel_lines_tell(struct instance *inst, unsigned cpu, const struct limit_profile *profile)
{
	struct policy_state *line = &plane_lines(inst->plane, cpu)[profile->policy];

	if (police_shift(line) != profile->sample_shift)
		token_bucket_set_owner(
			&line->bucket, police_owner(police_flags(line), profile->sample_shift,
					       police_accounting(line)));
}

/* What is left of a burst is not more than a whole one, and nobody holds any of it. */
static void adopt_level(struct instance *inst, uint32_t slot, uint64_t level)
{
	struct shared_bucket *shared = &inst->engine.shared_buckets[slot];
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	uint64_t tokens = level << GCRA_SHIFT;

	tokens = tokens < profile.burst ? tokens : profile.burst;
	__atomic_store_n(&shared->state.allow_at, shared_bucket_time(shared, tick_now()) - tokens,
		__ATOMIC_RELAXED);
	for (unsigned w = inst->engine.n_workers; w < engine_lines(&inst->engine); w++)
		inst->engine.workers[w].states[slot].bucket.tokens = 0;
}

static void adopt_counts(struct instance *inst, uint32_t slot, const struct plane_book *former)
{
	struct plane_book *book = plane_book(inst->plane, slot);

	memcpy(book, former, sizeof(*book));
	inst->carried_over[slot].before = (struct policy_totals){
		.passed_packets = book->passed_packets,
		.passed_bytes = book->passed_bytes,
		.dropped_packets = book->dropped_packets,
		.dropped_bytes = book->dropped_bytes,
	};
}

/* Calls what is to be done with each policy that a former process had, and the kernel has now. */
static void each_former(struct instance *inst,
	void (*take)(struct instance *inst, uint32_t slot, const struct plane_former *former))
{
	struct plane_former former;

	if (!inst->plane)
		return;
	for (unsigned i = 0; plane_look_back(inst->plane, i, tick_now(), &former) == 0; i++) {
		unsigned policy = policy_names_find(inst->names, former.book.name);

		if (former.book.name[0] && policy < inst->n_policies &&
			inst->engine.slots[inst->slots.of[policy]].kernel)
			take(inst, inst->slots.of[policy], &former);
	}
}

static void adopt_policy(struct instance *inst, uint32_t slot, const struct plane_former *former)
{
	adopt_level(inst, slot, former->level);
	adopt_counts(inst, slot, &former->book);
}

static void settle_policy(struct instance *inst, uint32_t slot, const struct plane_former *former)
{
	uint64_t more = former->book.passed_bytes - plane_book(inst->plane, slot)->passed_bytes;

	__atomic_fetch_add(&inst->engine.shared_buckets[slot].state.allow_at, more << GCRA_SHIFT,
		__ATOMIC_RELAXED);
	adopt_counts(inst, slot, &former->book);
}

void kernel_lines_adopt(struct instance *inst)
{
	each_former(inst, adopt_policy);
}

void kernel_lines_settle(struct instance *inst)
{
	each_former(inst, settle_policy);
}

void kernel_lines_publish(struct instance *inst)
{
	bool never = false;
	int ret;

	if (!inst->plane)
		return;
	for (unsigned i = 0; i < inst->n_policies; i++)
		never |= policy_is_never_exceeded(&inst->policies[i]);
	plane_leave_unknown(inst->plane, never);
	ret = plane_publish(inst->plane, inst->classifier);
	if (ret)
		event(PLANE_FAILED, event_word("why", strerror(-ret)));
}

void kernel_lines_tell_time(struct instance *inst)
{
	const struct tsc_clock *clock = &inst->clock;

	if (inst->plane)
		plane_tell_time(inst->plane, clock->last.ns, clock->last.tsc, clock->hz);
}
