/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lines of the policies whose packets the kernel decides (drivers/xdp/plane.h).
 */
#include "kernel_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/counter.h"
#include "base/expiry.h"
#include "base/time.h"
#include "event.h"
#include "instance.h"
#include "plane.h"
#include "police/extended.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "tick.h"

/* A lease ends early by 1/EARLY of its time: more than the error of the TSC's rate. */
#define EARLY 1000

struct kernel_lines {
	uint32_t *sample_of; /* by slot, or PLANE_UNSAMPLED */
	uint32_t *free;      /* samples without a policy */
	uint8_t *ending; /* by slot: part of its present or next limit that ends with the lease */
	uint64_t *whole; /* by slot: whole rate of a bucket that earns only a part of it, or 0 */
	uint8_t *soft;   /* by slot, for workers: ending part of soft limits; atomics only */
	unsigned n_free;
};

/*
 * Returns true if the kernel has lines of the policy, also if workers decide its packets (trials).
 */
static bool has_lines(const struct policy *policy)
{
	return policy_is_one_bucket(policy);
}

/* Returns true if its packets must not pass undecided. Packets that are only counted can. */
static bool must_be_held(const struct policy *policy)
{
	return policy_is_never_exceeded(policy) && policy->action != ACTION_COUNT;
}

/* Makes a CPU decide its packets of the policy, or leave them to workers. */
static void hold_line(struct instance *inst, unsigned cpu, uint32_t slot,
	const struct policy *policy, bool kernel)
{
	if (kernel && !policy_needs_worker(policy))
		plane_hold(inst->plane, cpu, slot, inst->kernel_lines->sample_of[slot]);
	else
		plane_leave(inst->plane, cpu, slot, must_be_held(policy));
}

static void hold_lines(
	struct instance *inst, uint32_t slot, const struct policy *policy, bool kernel)
{
	for (unsigned cpu = 0; cpu < inst->engine.n_cpus; cpu++)
		hold_line(inst, cpu, slot, policy, kernel);
}

/* Prepares a plain line: the action for exceeding packets matters only to the kernel. */
static void prepare_line(struct instance *inst, unsigned cpu, const struct policy *policy,
	const struct limit_profile *profile, uint32_t sample)
{
	unsigned flags = POLICE_SIMPLE | (policy->weigh_tcp_only ? POLICE_TCP_ONLY : 0);
	struct engine_worker *mine = &inst->engine.workers[inst->engine.n_workers + cpu];

	mine->states[profile->policy] = (struct policy_state){.limit = profile->meter.bucket};
	token_bucket_set_owner(&mine->states[profile->policy].bucket,
		police_owner(flags, profile->sample_shift, policy->accounting));
	mine->samples[profile->policy] = NULL;
	if (sample == PLANE_UNSAMPLED)
		return;
	mine->samples[profile->policy] = plane_sample_of(inst->plane, cpu, sample);
	memset(mine->samples[profile->policy], 0, sizeof(struct flow_sample));
}

static int kernel_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct kernel_lines *lines = inst->kernel_lines;
	struct limit_profile profile;
	uint32_t sample = PLANE_UNSAMPLED;
	int ret = 0;

	if (!inst->plane)
		return 0;
	hold_lines(inst, slot, policy, false);
	*plane_book(inst->plane, slot) = (struct plane_book){0};
	memcpy(plane_book(inst->plane, slot)->name, policy->name, sizeof(policy->name));
	if (has_lines(policy) && policy_samples_flows(policy) && lines->n_free > 0)
		sample = lines->free[--lines->n_free];
	if (has_lines(policy) && policy_samples_flows(policy))
		lines->sample_of[slot] = sample;
	if (!has_lines(policy) || (policy_samples_flows(policy) && sample == PLANE_UNSAMPLED))
		return 0;
	ret = policy_whole_profile(inst, policy, slot, hz, &profile);
	for (unsigned cpu = 0; ret == 0 && cpu < inst->engine.n_cpus; cpu++)
		prepare_line(inst, cpu, policy, &profile, sample);
	inst->engine.slots[slot].kernel = ret == 0;
	return ret;
}

/*
 * Scale of rates: limits below one unit a second keep 20 bits, and no limit has 2^43 units a
 * second.
 */
#define RATE_FINER ((double)(1 << 20))

/* Returns the part of a limiter's local limit that ends with its lease. */
static uint8_t ending_of(
	const struct instance *inst, const struct policy *policy, const struct limiter_view *view)
{
	unsigned n = inst->config->gossip.n_roster;
	uint8_t ending;

	if (policy_is_hard(policy))
		return view->ending;
	if (!policy->allocator->gossips || n < 2)
		return 0;
	ending = expiry_ending((uint64_t)(view->local_limit * RATE_FINER),
		(uint64_t)(view->limit / n * RATE_FINER));
	/* A part always remains, however many limiters there are, or the wire would be closed. */
	return ending < EXPIRY_PARTS ? ending : EXPIRY_PARTS - 1;
}

static void set_soft(struct instance *inst, uint32_t slot, uint8_t ending)
{
	__atomic_store_n(&inst->kernel_lines->soft[slot], ending, __ATOMIC_RELAXED);
}

static void kernel_change(struct instance *inst, unsigned policy)
{
	uint32_t slot = inst->slots.of[policy];

	if (inst->plane)
		hold_lines(inst, slot, &inst->policies[policy], inst->engine.slots[slot].kernel);
}

static void add_book(struct plane_book *book, const struct plane_book *more)
{
	book->passed_packets += more->passed_packets;
	book->passed_bytes += more->passed_bytes;
	book->dropped_packets += more->dropped_packets;
	book->dropped_bytes += more->dropped_bytes;
	book->over_packets += more->over_packets;
	book->over_bytes += more->over_bytes;
}

/* Saves the sum of both slots, for the next process too. Called when no CPU uses the old slot. */
static void kernel_moved(struct instance *inst, uint32_t from, uint32_t to)
{
	struct plane_book sum;

	if (!inst->plane)
		return;
	sum = *plane_book(inst->plane, to);
	add_book(&sum, plane_book(inst->plane, from));
	for (unsigned w = inst->engine.n_workers; w < engine_lines_of(&inst->engine, from); w++) {
		const struct police_totals *packets = engine_totals_of(&inst->engine, from, w);
		const struct policy_state *state = &inst->engine.workers[w].states[from];
		uint64_t dropped_bytes = counter_read(&state->dropped_bytes);

		sum.passed_packets += packets->packets - packets->dropped_packets;
		sum.passed_bytes += counter_read(&state->bytes) - dropped_bytes;
		sum.dropped_packets += packets->dropped_packets;
		sum.dropped_bytes += dropped_bytes;
		sum.over_packets += counter_read(&state->over.packets);
		sum.over_bytes += counter_read(&state->over.bytes);
	}
	*plane_book(inst->plane, to) = sum;
	plane_book(inst->plane, from)->name[0] = '\0';
}

static void kernel_remove(struct instance *inst, uint32_t slot)
{
	struct kernel_lines *lines = inst->kernel_lines;

	if (!inst->plane)
		return;
	for (unsigned w = inst->engine.n_workers; w < engine_lines(&inst->engine); w++) {
		memset(&inst->engine.workers[w].states[slot], 0, sizeof(struct policy_state));
		inst->engine.workers[w].samples[slot] = NULL;
	}
	set_soft(inst, slot, 0);
	inst->engine.shared_buckets[slot] = (struct shared_bucket){0};
	plane_book(inst->plane, slot)->name[0] = '\0';
	if (lines->sample_of[slot] != PLANE_UNSAMPLED)
		lines->free[lines->n_free++] = lines->sample_of[slot];
	lines->sample_of[slot] = PLANE_UNSAMPLED;
}

const struct policy_part kernel_part = {
	.prepare = kernel_prepare,
	.change = kernel_change,
	.moved = kernel_moved,
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

int kernel_lines_start(struct instance *inst)
{
	const size_t slots = inst->slots.capacity;
	struct kernel_lines *lines;

	if (!inst->plane)
		return 0;
	lines = inst->kernel_lines = calloc(1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	lines->sample_of = malloc(slots * sizeof(*lines->sample_of));
	lines->free = malloc(PLANE_SAMPLES * sizeof(*lines->free));
	lines->ending = calloc(slots, sizeof(*lines->ending));
	lines->soft = calloc(slots, sizeof(*lines->soft));
	lines->whole = calloc(slots, sizeof(*lines->whole));
	if (!lines->sample_of || !lines->free || !lines->ending || !lines->soft || !lines->whole)
		return -ENOMEM;
	memset(lines->sample_of, 0xff, slots * sizeof(*lines->sample_of));
	for (uint32_t i = 0; i < PLANE_SAMPLES; i++)
		lines->free[lines->n_free++] = PLANE_SAMPLES - 1 - i;
	expiry_init(plane_membership(inst->plane), 0, UINT64_MAX);
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
	free(inst->kernel_lines->ending);
	free(inst->kernel_lines->soft);
	free(inst->kernel_lines->whole);
	free(inst->kernel_lines);
	inst->kernel_lines = NULL;
}

void kernel_lines_begun(struct instance *inst, unsigned cpu, const struct limit_profile *profile)
{
	unsigned index = inst->slots.policy[profile->policy];
	const struct policy *policy = &inst->policies[index];
	struct limiter_view view;

	limiter_view(inst->limiter, index, &view);
	inst->kernel_lines->ending[profile->policy] = ending_of(inst, policy, &view);
	if (!policy_is_hard(policy))
		set_soft(inst, profile->policy, inst->kernel_lines->ending[profile->policy]);
	plane_lines(inst->plane, cpu)[profile->policy].over = (struct police_over){0};
	plane_set_terms(inst->plane, cpu, profile->policy, policy);
	plane_set_ending(
		inst->plane, cpu, profile->policy, inst->kernel_lines->ending[profile->policy]);
	hold_line(inst, cpu, profile->policy, policy, true);
}

void kernel_lines_set_limit(
	struct instance *inst, unsigned cpu, const struct limit_profile *profile)
{
	struct policy_state *line = &plane_lines(inst->plane, cpu)[profile->policy];
	uint8_t ending = inst->kernel_lines->ending[profile->policy];

	if (plane_ending(inst->plane, cpu, profile->policy) != ending)
		plane_set_ending(inst->plane, cpu, profile->policy, ending);
	if (inst->kernel_lines->soft[profile->policy] > ending)
		set_soft(inst, profile->policy, ending);
	if (police_shift(line) != profile->sample_shift)
		token_bucket_set_owner(
			&line->bucket, police_owner(police_flags(line), profile->sample_shift,
					       police_accounting(line)));
}

/*
 * Raises the ending part before the limit changes. In between, a CPU can use either limit, and for
 * ever if the process ends there. With the larger ending part, neither limit leaves more than the
 * unreserved share, or than the part that peers leave it.
 */
void kernel_lines_before(struct instance *inst, unsigned policy, const struct limiter_view *view)
{
	uint32_t slot = inst->slots.of[policy];
	uint8_t ending;

	if (!inst->plane || !inst->engine.slots[slot].kernel)
		return;
	ending = inst->kernel_lines->ending[slot] = ending_of(inst, &inst->policies[policy], view);
	if (!policy_is_hard(&inst->policies[policy]) && inst->kernel_lines->soft[slot] < ending)
		set_soft(inst, slot, ending);
	for (unsigned cpu = 0; cpu < inst->engine.n_cpus; cpu++)
		if (plane_ending(inst->plane, cpu, slot) < ending)
			plane_set_ending(inst->plane, cpu, slot, ending);
}

const struct expiry *kernel_lines_membership(const struct instance *inst)
{
	return inst->plane ? plane_membership(inst->plane) : NULL;
}

const uint8_t *kernel_lines_soft_ending(const struct instance *inst)
{
	return inst->kernel_lines ? inst->kernel_lines->soft : NULL;
}

struct expiry *kernel_lines_lease(const struct instance *inst)
{
	return inst->plane ? plane_lease(inst->plane) : NULL;
}

void kernel_lines_spoke(struct instance *inst, uint64_t tick)
{
	uint64_t timeout_ns, ticks;
	struct expiry *membership;

	if (!inst->plane || inst->config->gossip.n_roster < 2)
		return;
	timeout_ns = limiter_timeout(inst->limiter);
	ticks = (uint64_t)((unsigned __int128)timeout_ns * inst->clock.hz / SECOND_NS);
	membership = plane_membership(inst->plane);
	/* The end comes first: until it is set, the span ends nothing. No other thread sets it. */
	(void)expiry_set(membership, expiry_until(membership), tick + ticks - ticks / EARLY);
	__atomic_store_n(&membership->span, 2 * ticks, __ATOMIC_RELEASE);
}

/* Policy of a previous process, in its i-th slot. */
struct inherited {
	unsigned i;
	uint32_t slot;
	struct plane_previous previous;
};

/* Calls take() for each inherited policy that still exists. */
static void each_inherited(struct instance *inst,
	void (*take)(struct instance *inst, const struct inherited *inherited))
{
	struct inherited inherited = {0};

	for (; plane_look_back(inst->plane, inherited.i, &inherited.previous) == 0; inherited.i++) {
		unsigned policy = policy_names_find(inst->names, inherited.previous.book.name);

		if (inherited.previous.book.name[0] == '\0' || policy >= inst->n_policies)
			continue;
		inherited.slot = inst->slots.of[policy];
		take(inst, &inherited);
	}
}

static void set_rate(struct shared_bucket *shared, uint64_t rate, uint64_t now)
{
	struct shared_bucket_profile profile = shared_bucket_read(shared);

	profile.rate = rate;
	shared_bucket_change(shared, &profile, now);
}

static void give_units(struct instance *inst, uint32_t slot, uint64_t units)
{
	/* leftover units of hard limits can be promised by now, and are dropped */
	if (!policy_is_never_exceeded(&inst->policies[inst->slots.policy[slot]]))
		__atomic_fetch_sub(&inst->engine.shared_buckets[slot].state.allow_at,
			units << GCRA_SHIFT, __ATOMIC_RELAXED);
}

static void adopt_counts(struct instance *inst, const struct inherited *inherited)
{
	struct plane_book *book = plane_book(inst->plane, inherited->slot);

	add_book(book, &inherited->previous.book);
	inst->carried_over[inherited->slot].before = (struct policy_totals){
		.passed_packets = book->passed_packets,
		.passed_bytes = book->passed_bytes,
		.dropped_packets = book->dropped_packets,
		.dropped_bytes = book->dropped_bytes,
		.over_packets = book->over_packets,
		.over_bytes = book->over_bytes,
	};
}

static void empty_bucket(struct instance *inst, uint32_t slot, uint64_t now)
{
	struct shared_bucket *shared = &inst->engine.shared_buckets[slot];

	__atomic_store_n(
		&shared->state.allow_at, shared_bucket_time(shared, now), __ATOMIC_RELAXED);
	for (unsigned w = inst->engine.n_workers; w < engine_lines(&inst->engine); w++)
		inst->engine.workers[w].states[slot].bucket.tokens = 0;
}

/* Returns the rate of each bucket that can be drawn from until the takeover is settled. */
static uint64_t part_of(const struct instance *inst, uint64_t rate)
{
	return rate / (plane_n_current(inst->plane) + 1);
}

/*
 * Called before the first inherited policy of this name is adopted: a policy that was just moving
 * has two.
 */
static void begin_inheriting(struct instance *inst, uint32_t slot)
{
	struct shared_bucket *shared = &inst->engine.shared_buckets[slot];
	uint64_t *whole = &inst->kernel_lines->whole[slot], now = tick_now();

	if (*whole)
		return;
	*whole = shared_bucket_read(shared).rate;
	set_rate(shared, part_of(inst, *whole), now);
	empty_bucket(inst, slot, now);
}

/*
 * Shares the tokens and the rate of a bucket with the previous process. Until the takeover is
 * settled, packets draw from two buckets. Each has half of the tokens and earns half of the limit.
 * So both together never exceed one limit, and neither runs empty because of the other. If this
 * process ends here, both continue that way. Killed starts leave more buckets, and each earns a
 * smaller part. A generation that is not current has only counts, and all of them.
 */
static void adopt_policy(struct instance *inst, const struct inherited *inherited)
{
	uint32_t slot = inherited->slot;

	if (!inherited->previous.current)
		adopt_counts(inst, inherited);
	if (!inherited->previous.current || !inst->engine.slots[slot].kernel)
		return;
	begin_inheriting(inst, slot);
	give_units(inst, slot,
		plane_take_half(
			inst->plane, inherited->i, part_of(inst, inst->kernel_lines->whole[slot])));
}

/* Called when the previous programs are detached. */
static void settle_policy(struct instance *inst, const struct inherited *inherited)
{
	struct shared_bucket *shared = &inst->engine.shared_buckets[inherited->slot];
	uint64_t *whole = &inst->kernel_lines->whole[inherited->slot];

	if (!inherited->previous.current || !inst->engine.slots[inherited->slot].kernel)
		return;
	give_units(inst, inherited->slot, plane_take_all(inst->plane, inherited->i));
	if (*whole)
		set_rate(shared, *whole, tick_now());
	*whole = 0;
}

static void close_policy(struct instance *inst, const struct inherited *inherited)
{
	if (!inherited->previous.current)
		return;
	adopt_counts(inst, inherited);
	if (inst->engine.slots[inherited->slot].kernel)
		give_units(inst, inherited->slot, inherited->previous.held);
}

void kernel_lines_adopt(struct instance *inst)
{
	uint64_t now;

	if (!inst->plane)
		return;
	each_inherited(inst, adopt_policy);
	if (!plane_refused(inst->plane))
		return;
	event(PLANE_NOT_INHERITED, event_word("why", plane_refused(inst->plane)));
	/* Previous programs might just have passed a burst of each policy, which cannot be read. */
	now = tick_now();
	for (unsigned i = 0; i < inst->n_policies; i++)
		if (inst->engine.slots[inst->slots.of[i]].kernel)
			empty_bucket(inst, inst->slots.of[i], now);
}

void kernel_lines_settle(struct instance *inst)
{
	if (!inst->plane)
		return;
	each_inherited(inst, settle_policy);
	plane_await_previous();
	plane_begin_books(inst->plane);
	each_inherited(inst, close_policy);
	plane_forget_previous(inst->plane);
}

void kernel_lines_publish(struct instance *inst)
{
	bool never = false;
	int ret;

	if (!inst->plane)
		return;
	for (unsigned i = 0; i < inst->n_policies; i++)
		never |= must_be_held(&inst->policies[i]);
	plane_leave_unknown(inst->plane, never);
	ret = plane_publish(inst->plane, inst->classifier);
	if (ret == -E2BIG)
		event(PLANE_FAILED,
			event_word("why", "it has more lines than there is room for until a "
					  "restart, which makes more"));
	else if (ret)
		event(PLANE_FAILED, event_word("why", strerror(-ret)));
}

void kernel_lines_publish_time(struct instance *inst)
{
	const struct tsc_clock *clock = &inst->clock;

	if (inst->plane)
		plane_set_time(inst->plane, clock->last.ns, clock->last.tsc, clock->hz);
}

/* CPUs derive ticks from CLOCK_BOOTTIME, so they are where the TSC would be without the jump. */
void kernel_lines_clock(struct instance *inst, enum tsc_news news)
{
	const bool back = news == TSC_SET_BACK || (news == TSC_JUMPED && inst->clock.jumped_ns < 0);

	if (!inst->plane)
		return;
	/* The next rounds of publish() restart the buckets. Hard limits are closed until then. */
	for (unsigned i = 0; back && i < inst->n_policies; i++) {
		uint32_t slot = inst->slots.of[i];
		struct shared_bucket_profile profile;

		if (!inst->engine.slots[slot].kernel)
			continue;
		if (must_be_held(&inst->policies[i])) { /* empty at any time of any clock */
			profile = shared_bucket_read(&inst->engine.shared_buckets[slot]);
			profile.rate = profile.burst = 0;
			shared_bucket_write(&inst->engine.shared_buckets[slot], &profile);
		}
		inst->engine.slots[slot].restarts = true;
		dirty_mark(&inst->dirty, slot);
	}
	kernel_lines_publish_time(inst);
}
