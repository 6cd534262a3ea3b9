/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts the limits that a limiter has decided into the profiles of its workers. The appliance,
 * the simulator and the replay of captures are three drivers of this engine. In the appliance
 * workers are threads, and receive profiles through a ring. In the other two, workers are only
 * states, and the engine changes them itself.
 *
 * A policy is identified by its slot, its place in each worker's memory, which it keeps while it
 * exists. Pure: no clock, socket or thread of its own. Called by the control thread, unless a
 * comment allows others.
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

/* Memory of one worker, by slot. */
struct engine_worker {
	struct policy_state *states;
	struct flow_sample **samples; /* by slot; NULL: not sampled */
	struct shaper *shaper;        /* needed if packets wait and the engine changes states */
	void *shaper_memory;
	struct engine *engine; /* set together with shaper */
};

/* Division of a policy over the workers, and its sampling. Zeroed before use. */
struct engine_slot {
	struct share *shares; /* n_workers; NULL: drawn from a shared bucket */
	uint64_t measured_ns;
	uint64_t packets;                      /* arrived until measured_ns */
	uint64_t passed_packets, passed_bytes; /* last reported, see police_passed() */
	struct sampling sampling;
	uint64_t shared_published; /* tick of the shared bucket's last change, if timed; or 0 */
	bool held;      /* passes nothing yet: workers might still use the slot's previous policy */
	bool kernel;    /* the kernel's CPUs have lines too; set before engine_begin() */
	uint8_t ending; /* part of the shared limit that ends with the lease, as last published */
	/*
	 * Tick at which the `ending` part of the limit ended on all workers, which enforce the rest
	 * since then. engine_enforce() accounts for that time. 0: not ended.
	 */
	uint64_t ended;
	bool restarts; /* the shared bucket starts again, because its clock was set back */
	/* Set by the driver: line of the policy's trials in which workers count packets, or 0. */
	uint8_t trial;
};

/*
 * Callbacks of a driver whose workers are threads. All NULL: the engine changes states immediately.
 */
struct engine_driver {
	void *context;
	/* Adds driver data to a profile. Not called if workers draw from a shared bucket. */
	void (*join)(void *context, uint32_t slot, struct limit_profile *profile);
	/* Called after a worker's state has started with a profile. */
	void (*begun)(void *context, unsigned worker, const struct limit_profile *profile);
	/* Sends a profile to a worker, now or later. */
	void (*publish)(void *context, unsigned worker, const struct limit_profile *profile);
};

struct engine {
	unsigned n_workers; /* at most CONFIG_WORKERS_MAX */
	/*
	 * CPUs of the kernel that also act as workers, for some policies only. They follow the
	 * other workers in arrays by worker, and draw from shared buckets.
	 */
	unsigned n_cpus;
	/* Number of slots. Arrays by slot have room for trial_lines(n_slots). */
	uint32_t n_slots;
	uint32_t frame; /* bytes that the largest packet can cost a policy */
	struct engine_worker *workers;
	struct engine_slot *slots;
	struct police_totals *totals;         /* by slot, engine_lines() for each */
	struct shared_bucket *shared_buckets; /* by slot; NULL: a single line */
	struct engine_driver driver;
	uint64_t *flows; /* engine_lines() × FLOW_SLOTS: samples of the policy that is measured */
	struct sampling_budget budget;
	uint64_t budget_ns;            /* start of its round */
	const struct policy *policies; /* by slot, if the engine changes states itself */
};

/* The limit of the policy in a slot, for a counter of hz ticks a second. */
struct engine_limit {
	const struct policy *policy;
	uint32_t slot;
	uint64_t hz;
	uint8_t clock;            /* times that the ticks started again, with the clock set back */
	struct limiter_view view; /* from engine_view() */
};

/* The limit of a policy's trial, for the line that counts it. */
struct engine_trial {
	struct policy policy;
	struct engine_limit limit; /* belongs to `policy` */
};

/* Returns the most lines (states) of a policy: one for each worker and each CPU of the kernel. */
static inline unsigned engine_lines(const struct engine *engine)
{
	return engine->n_workers + engine->n_cpus;
}

/* Returns the number of lines of the policy in a slot. Any thread. */
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
 * Allocates workers[] and flows[]. The structure is zeroed before, except for members whose memory
 * belongs to the driver: slots, totals, shared buckets and the contents of workers[]. Returns 0 or
 * -ENOMEM; call engine_free() in both cases.
 */
int engine_init(struct engine *engine, unsigned n_workers, unsigned n_cpus);
void engine_free(struct engine *engine);

/*
 * Returns the policies for a limiter of a group with these loans, to be freed with free(), or NULL;
 * see limit_profile_policy().
 */
struct limiter_policy *engine_limiter_policies(
	const struct policy *policies, unsigned n, enum loans loans, int64_t unix_s);

/* Returns true if workers draw tokens for the policy from one shared bucket. Any thread. */
bool engine_is_borrowed(const struct engine *engine, const struct policy *policy);

/* Sets limit->view to the limit that applies now. `index` is the policy's index in the limiter. */
void engine_view(const struct engine *engine, const struct limiter *limiter, unsigned index,
	struct engine_limit *limit);

/*
 * Fills in the trial of a limit's policy. Its part of the trial's limit and burst equals the
 * policy's part of its own. Such parts add up over all limiters, but the allocator might divide the
 * trial's limit differently. Returns false if the policy has no trial, or none that counts.
 */
bool engine_trial(
	const struct engine *engine, const struct engine_limit *limit, struct engine_trial *trial);

/*
 * Builds the profile of a worker with a part, (0 to 1], of the limit, without the driver's data.
 * Returns 0, or a negative errno from limit_profile_init(). Any thread.
 */
int engine_profile(const struct engine *engine, const struct engine_limit *limit, double part,
	struct limit_profile *profile);

/*
 * Starts the policy in a slot with a limit at tick `now`, on workers that have its state but no
 * packets for it yet. With `spent` its bucket is empty, otherwise full. Counts start at 0, measured
 * at now_ns. Returns 0, or a negative errno if no meter can express the limit; then the states do
 * not change.
 */
int engine_begin(struct engine *engine, const struct engine_limit *limit, uint64_t now,
	uint64_t now_ns, bool spent);

/*
 * Starts the trial of a policy. engine_begin() calls this for a new policy. The bucket is full,
 * because the trial shows the traffic that passes in the long run.
 */
int engine_begin_trial(
	struct engine *engine, const struct engine_limit *limit, uint64_t now, uint64_t now_ns);

/*
 * Publishes a limit and that of its trial to the workers. Shared buckets, and states that the
 * engine changes itself, have it from tick `now` on. Returns 0, or a negative errno if no meter can
 * express the limit; then the old one stays in force.
 */
int engine_enforce(struct engine *engine, const struct engine_limit *limit, uint64_t now);

/*
 * Returns in *profile the profile that engine_enforce() sends to one worker, for a driver that
 * sends it later. Returns 0 or a negative errno, like engine_enforce().
 */
int engine_worker_profile(const struct engine *engine, const struct engine_limit *limit,
	unsigned worker, struct limit_profile *profile);

/* --- loans ------------------------------------------------------------------------------------ */

/* Token loans (lib/control/loan) and the shared buckets that workers draw from. */

/* A shared bucket at one tick of a counter of hz ticks a second. */
struct lending_place {
	const struct engine *engine;
	uint32_t slot;
	uint64_t now, hz;
};

/* The bucket of all workers; the rate is rounded up. Control. */
struct loan_bucket lending_look(const struct lending_place *place);

/* See struct limiter_buckets. The rate is rounded up. Control; takes effect for all workers. */
struct loan_taken lending_take(
	const struct lending_place *place, uint64_t keep, uint64_t most, bool withhold);

/*
 * Adds at most *bytes and sets *bytes to the bytes added; see shared_bucket_give(). The caller
 * reads lending_seen() first, then its clocks, and repeats this if lending_give() returns false.
 * Control.
 */
uint64_t lending_seen(const struct lending_place *place);
bool lending_give(const struct lending_place *place, uint64_t seen, uint64_t *bytes);

#endif
