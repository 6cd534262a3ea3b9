/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What drives a limiter's workers by what the limiter has decided: from its view of a policy to the
 * profile of each worker. The appliance, the simulator and the replay of captures are three drivers
 * of this one engine. In the appliance workers are threads, which are told of a profile by a ring;
 * in the others they are states alone, which the engine changes itself.
 *
 * A policy is known here by its slot, its place in each worker's memory, which it keeps while it
 * lives. Pure: no clock, socket or thread of its own. One thread, control's, unless it is said.
 */
#ifndef WEIR_ENGINE_ENGINE_H
#define WEIR_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/profile.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"
#include "meter/shared_bucket.h"
#include "meter/shares.h"
#include "police/policy_state.h"
#include "policy/config.h"

struct shaper;

/* One worker's memory, by slot. */
struct engine_worker {
	struct policy_state *states;
	struct flow_sample **samples; /* of the policies that are sampled, else NULL */
	struct shaper *shaper;        /* where the engine changes states itself, and packets wait */
	void *shaper_memory;
	struct engine *engine; /* likewise */
};

/* How a policy is divided over the workers, and how often they sample it. Zeroed before use. */
struct engine_slot {
	struct share
		*shares; /* n_workers, where they do not draw from a shared bucket; else NULL */
	uint64_t measured_ns;
	uint64_t packets;                      /* that had arrived by then */
	uint64_t passed_packets, passed_bytes; /* as last said, see police_passed() */
	struct sampling sampling;
	uint64_t
		shared_told; /* tick at which a policy_is_timed() had another shared bucket, or 0 */
	bool held;      /* passes nothing yet, as workers may still be at what was in its place */
	bool kernel;    /* the kernel's CPUs have lines of it, too; set before engine_begin() */
	uint8_t ending; /* of the shared bucket's limit, as last told */
	/*
	 * Tick at which that part of it ended on all workers, and since when they go by the rest:
	 * engine_enforce() makes it up. 0: it has not.
	 */
	uint64_t ended;
	bool restarts; /* the shared bucket begins anew, as its clock was set back */
	/* The driver's: which line of the policy's trials workers have packets counted in, or 0. */
	uint8_t trial;
};

/* What a driver adds whose workers are threads. All NULL: states are changed at once. */
struct engine_driver {
	void *context;
	/* Adds to a profile what the engine does not know of; not where workers borrow. */
	void (*join)(void *context, uint32_t slot, struct limit_profile *profile);
	/* A worker's state has begun with a profile. */
	void (*begun)(void *context, unsigned worker, const struct limit_profile *profile);
	/* Tells a worker, now or later. */
	void (*tell)(void *context, unsigned worker, const struct limit_profile *profile);
};

struct engine {
	unsigned n_workers; /* at most CONFIG_WORKERS_MAX */
	/*
	 * CPUs of the kernel that are workers, too, but of some policies only: those behind the
	 * others in what is by worker. They draw from shared buckets.
	 */
	unsigned n_cpus;
	/* There is room for so many policies, and in what is by slot for trial_lines() of it. */
	uint32_t n_slots;
	uint32_t frame; /* bytes that the largest packet may cost a policy */
	struct engine_worker *workers;
	struct engine_slot *slots;
	struct police_totals *totals;         /* by slot, engine_lines() of each */
	struct shared_bucket *shared_buckets; /* by slot, if there are several lines; else NULL */
	struct engine_driver driver;
	uint64_t *flows; /* engine_lines() × FLOW_SLOTS: one policy's samples, being measured */
	struct sampling_budget budget;
	uint64_t budget_ns;            /* when its round began */
	const struct policy *policies; /* by slot, where the engine changes states itself */
};

/* What the policy in a slot may pass, on a counter of hz ticks a second. */
struct engine_limit {
	const struct policy *policy;
	uint32_t slot;
	uint64_t hz;
	uint8_t clock;            /* how often ticks have begun anew, as their clock was set back */
	struct limiter_view view; /* of engine_view() */
};

/* What the trial of a policy may pass, as engine_limit of the line that it counts in. */
struct engine_trial {
	struct policy policy;
	struct engine_limit limit; /* of it */
};

/* Lines that a policy has at most: one for each worker, and for each of the kernel's CPUs. */
static inline unsigned engine_lines(const struct engine *engine)
{
	return engine->n_workers + engine->n_cpus;
}

/* Those that the policy in a slot has. Any thread. */
static inline unsigned engine_lines_of(const struct engine *engine, uint32_t slot)
{
	return engine->n_workers + (engine->slots[slot].kernel ? engine->n_cpus : 0);
}

/* Returns the packets of the policy in a slot on a worker, folded by counts.c. */
static inline struct police_totals *engine_totals_of(
	const struct engine *engine, uint32_t slot, unsigned worker)
{
	return &engine->totals[(size_t)slot * engine_lines(engine) + worker];
}

/*
 * Zeroed before, but for the members whose memory is the driver's: slots, totals, shared buckets
 * and what is in workers[]. Returns 0 or -ENOMEM; engine_free() is due in either case.
 */
int engine_init(struct engine *engine, unsigned n_workers, unsigned n_cpus);
void engine_free(struct engine *engine);

/*
 * Returns the policies for a limiter of a group with these loans, to be freed with free(), or NULL;
 * see limit_profile_policy().
 */
struct limiter_policy *engine_limiter_policies(
	const struct policy *policies, unsigned n, enum loans loans, int64_t unix_s);

/* Whether workers draw from one shared bucket what packets of the policy need. Any thread. */
bool engine_is_borrowed(const struct engine *engine, const struct policy *policy);

/* Fills in limit->view: what the limiter, which knows the policy by an index, lets it pass now. */
void engine_view(const struct engine *engine, const struct limiter *limiter, unsigned index,
	struct engine_limit *limit);

/*
 * The trial of a limit's policy, if the policy has one that counts: its part of the trial's limit
 * and burst is the part that it has of its own, which adds up over limiters as that does. That is
 * not what its allocator would give it by the trial's limit. Returns whether there is one.
 */
bool engine_trial(
	const struct engine *engine, const struct engine_limit *limit, struct engine_trial *trial);

/*
 * The profile of a worker that gets a part of the limit, (0 to 1], without what the driver joins.
 * Returns 0, or a negative errno as limit_profile_init() does. Any thread.
 */
int engine_profile(const struct engine *engine, const struct engine_limit *limit, double part,
	struct limit_profile *profile);

/*
 * The policy in a slot begins with that limit at tick `now`, on workers that have its state already
 * and cannot come by it yet: with its burst, or as if that had just been `spent`. What it has
 * counted is nothing, and was measured at now_ns. Returns 0, or the negative errno of a limit that
 * no meter can express, and then the states are as they were.
 */
int engine_begin(struct engine *engine, const struct engine_limit *limit, uint64_t now,
	uint64_t now_ns, bool spent);

/*
 * Its trial begins, of which engine_begin() sees to that of a policy that begins itself. With its
 * whole burst, as what it is to tell is what passes in the long run.
 */
int engine_begin_trial(
	struct engine *engine, const struct engine_limit *limit, uint64_t now, uint64_t now_ns);

/*
 * The workers have that limit, and its trial's: a shared bucket from tick `now` on, and so do
 * states that the engine changes itself. Returns 0, or the negative errno of a limit that no meter
 * can express, which leaves the old one in force.
 */
int engine_enforce(struct engine *engine, const struct engine_limit *limit, uint64_t now);

/*
 * What engine_enforce() tells one worker, for a driver that has yet to tell it. Returns 0 or a
 * negative errno, as that.
 */
int engine_worker_profile(const struct engine *engine, const struct engine_limit *limit,
	unsigned worker, struct limit_profile *profile);

#endif
