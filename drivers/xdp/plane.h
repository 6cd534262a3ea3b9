/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel's data plane from the side of the process: memory that programs before ports
 * (plane.bpf.h) and control have in common. To control each of the kernel's CPUs is one more
 * worker, with lines of policies, samples of their flows and buckets as workers have them; only
 * that nobody tells it of limits but by these. Control thread, unless it is said.
 */
#ifndef WEIR_DRIVERS_PLANE_H
#define WEIR_DRIVERS_PLANE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"

struct bypass_bpf;
struct classifier;
struct flow_sample;
struct plane;
struct policy_state;
struct shared_bucket;

/* Flows of so many policies can be sampled. */
#define PLANE_SAMPLES 8192

/* Whose a slot is, and what it had counted when this process took over. Control's. */
struct plane_book {
	char name[CONFIG_NAME_MAX]; /* "": nobody's */
	uint64_t passed_packets, passed_bytes, dropped_packets, dropped_bytes;
};

/* What the kernel does with the packets of a policy for a former process. */
struct plane_former {
	struct plane_book book; /* and what it has counted by now */
	uint64_t level;         /* units that its bucket has, and its CPUs */
};

/*
 * Room for policies in so many slots; what a former process has left in the directory can be
 * adopted, until plane_keep(). The maps are made by the first program that plane_share() is told
 * of, before it is loaded, and are those of all. plane_map() after each has been loaded. Return 0
 * or a negative errno; plane_destroy() is due in either case. Main thread.
 */
int plane_create(unsigned slots, const char *directory, struct plane **plane);
int plane_share(struct plane *plane, struct bypass_bpf *program);
int plane_map(struct plane *plane, struct bypass_bpf *program);
void plane_destroy(struct plane *plane);

unsigned plane_slots(const struct plane *plane);
unsigned plane_cpus(const struct plane *plane);

/* A CPU's lines, by slot, and all buckets: of slots, and twice as many of trials. Any thread. */
struct policy_state *plane_lines(struct plane *plane, unsigned cpu);
struct shared_bucket *plane_buckets(struct plane *plane);

/* A CPU's sample of the flows of whoever has this one of PLANE_SAMPLES. Any thread. */
struct flow_sample *plane_sample_of(struct plane *plane, unsigned cpu, unsigned sample);

/*
 * The policy in a slot is decided by a CPU from now on, and its flows sampled, unless `sample` is
 * PLANE_UNSAMPLED; or by workers, and while they are away it is lost if `never`, as its limit is
 * never exceeded.
 */
#define PLANE_UNSAMPLED UINT32_MAX
void plane_hold(struct plane *plane, unsigned cpu, uint32_t slot, uint32_t sample);
void plane_leave(struct plane *plane, uint32_t slot, bool never);

/* As plane_leave() of packets that only workers can understand. */
void plane_leave_unknown(struct plane *plane, bool never);

/*
 * What a former process has left of the policy in its i-th slot, as of a tick; nothing, with an
 * empty name, where that is nobody's. -ENOENT behind its last slot, or where there is none.
 */
int plane_look_back(
	const struct plane *plane, unsigned i, uint64_t tick, struct plane_former *former);

/* A slot's book, which is its owner's to write. */
struct plane_book *plane_book(struct plane *plane, uint32_t slot);

/* Leaves all this in the directory for the next process, in place of what is there. */
int plane_keep(struct plane *plane, const char *directory);

/* At CLOCK_BOOTTIME `ns` it is that tick, of hz a second. */
void plane_tell_time(struct plane *plane, uint64_t ns, uint64_t tick, uint64_t hz);

/*
 * Packets are policies' by this classifier from now on, whose answers are slots; when it returns,
 * none is by the former one. Waits for the kernel, some milliseconds. 0, or a negative errno, and
 * then all packets are workers'.
 */
int plane_publish(struct plane *plane, const struct classifier *classifier);

#endif
