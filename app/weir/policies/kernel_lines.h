/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lines of the policies whose packets the kernel decides (drivers/xdp/plane.h). Each kernel CPU has
 * lines, like a worker; the engine numbers the CPUs after the workers. Control.
 */
#ifndef WEIR_APP_KERNEL_LINES_H
#define WEIR_APP_KERNEL_LINES_H

#include <stdint.h>

#include "clock.h"
#include "parts.h"

struct expiry;
struct instance;
struct limit_profile;
struct limiter_view;
struct shared_bucket;

extern const struct policy_part kernel_part;

/*
 * Makes the kernel's CPUs workers of the engine. Called after engine_init() and before the first
 * policy. Does nothing without a port of the kernel's. Returns 0 or -ENOMEM; kernel_lines_stop() is
 * due in either case.
 */
int kernel_lines_start(struct instance *inst);
void kernel_lines_stop(struct instance *inst);

/* Returns the number of kernel CPUs that have lines. */
unsigned kernel_lines_cpus(const struct instance *inst);

/* Returns the shared buckets of workers and these CPUs, by slot. */
struct shared_bucket *kernel_lines_buckets(const struct instance *inst);

/* Called when a CPU's line gets its first profile, or another one, for its sampling. */
void kernel_lines_begun(struct instance *inst, unsigned cpu, const struct limit_profile *profile);
void kernel_lines_set_limit(
	struct instance *inst, unsigned cpu, const struct limit_profile *profile);

/* Called before the limit of a policy changes to the one of this view. */
void kernel_lines_before(struct instance *inst, unsigned policy, const struct limiter_view *view);

/* Returns the lease of soft limits, which CPUs and workers share; or NULL. */
const struct expiry *kernel_lines_membership(const struct instance *inst);

/*
 * Returns the part of each soft limit that ends with the lease, by slot, for the workers; or NULL.
 */
const uint8_t *kernel_lines_soft_ending(const struct instance *inst);

/* Returns the lease of the CPUs' hard limits, or NULL. Only the caller writes it. */
struct expiry *kernel_lines_lease(const struct instance *inst);

/*
 * Extends the lease of soft limits after gossip was sent to the peers at a tick. Peers count this
 * limiter as lost after their timeout without a message. They leave it the Nth part of each soft
 * limit (section 5.6 of "Cloud Control with Distributed Rate Limiting"). The CPUs pass no more than
 * that once the process has stopped sending for so long.
 */
void kernel_lines_spoke(struct instance *inst, uint64_t tick);

/*
 * Take over the state of a previous process, by the policies' names: the contents of its buckets
 * and its counts. Call kernel_lines_adopt() before this process's programs are attached, and
 * kernel_lines_settle() after. In between, the buckets of each process earn half of a limit. That
 * remains so if this process ends there. kernel_lines_settle() waits some milliseconds for the
 * kernel, until the old programs count nothing more.
 */
void kernel_lines_adopt(struct instance *inst);
void kernel_lines_settle(struct instance *inst);

/* Gives the kernel the current classifier; logs an event if that fails. */
void kernel_lines_publish(struct instance *inst);

/* Gives the kernel the time of the workers' clock. Due every second. */
void kernel_lines_publish_time(struct instance *inst);

/*
 * Called immediately after a change of the clock. Buckets restart if CPUs have already used later
 * times than the clock now has.
 */
void kernel_lines_clock(struct instance *inst, enum tsc_news news);

#endif
