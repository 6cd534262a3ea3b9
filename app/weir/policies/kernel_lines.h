/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose packets the kernel decides (drivers/xdp/plane.h): each of its CPUs has a line of
 * them, as workers have, behind those of the workers. Control.
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
 * Between the engine's engine_init() and the first policy: the kernel's CPUs are workers of it.
 * Nothing, where no port is the kernel's. 0 or -ENOMEM; kernel_lines_stop() is due in either case.
 */
int kernel_lines_start(struct instance *inst);
void kernel_lines_stop(struct instance *inst);

/* CPUs of the kernel that have lines. */
unsigned kernel_lines_cpus(const struct instance *inst);

/* The buckets that workers and these CPUs draw from, by slot. */
struct shared_bucket *kernel_lines_buckets(const struct instance *inst);

/* A CPU's line has begun with a profile, or has another limit, of which it needs the sampling. */
void kernel_lines_begun(struct instance *inst, unsigned cpu, const struct limit_profile *profile);
void kernel_lines_tell(struct instance *inst, unsigned cpu, const struct limit_profile *profile);

/* Before the limit of a policy becomes the one of this view. */
void kernel_lines_before(struct instance *inst, unsigned policy, const struct limiter_view *view);

/* The lease of limits that may be exceeded, of CPUs and workers alike; or NULL. */
const struct expiry *kernel_lines_membership(const struct instance *inst);

/* By slot, what ends of limits that may be exceeded, for workers as for CPUs; or NULL. */
const uint8_t *kernel_lines_soft_ending(const struct instance *inst);

/* The lease of its CPUs, which nobody writes but who calls this; or NULL. */
struct expiry *kernel_lines_lease(const struct instance *inst);

/*
 * Peers have been spoken to, at a tick. They take this limiter for lost when they have not heard it
 * for their timeout, and leave it the Nth part of soft limits (section 5.6 of "Cloud Control with
 * Distributed Rate Limiting"): more its CPUs do not pass from then on, if nobody speaks for them.
 */
void kernel_lines_spoke(struct instance *inst, uint64_t tick);

/*
 * Before this process's programs take over, and after: buckets have what those of a former process
 * have left, and what it counted is counted on. By the policies' names. In between, and if there is
 * no after, both earn half of a limit each. The latter waits for the kernel, some milliseconds,
 * until nothing is added any more.
 */
void kernel_lines_adopt(struct instance *inst);
void kernel_lines_settle(struct instance *inst);

/* The box's classifier is the kernel's from now on; an event if it cannot be. */
void kernel_lines_publish(struct instance *inst);

/* What the kernel needs to know of the workers' clock; due every second. */
void kernel_lines_tell_time(struct instance *inst);

/* And when there is news of it, at once: buckets whose time CPUs have had before begin anew. */
void kernel_lines_clock(struct instance *inst, enum tsc_news news);

#endif
