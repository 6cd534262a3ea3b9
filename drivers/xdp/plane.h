/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The process's side of the XDP data plane: memory that control and the programs at ports
 * (plane.bpf.h) share. For control, each of the kernel's CPUs is one more worker, with the same
 * lines of policies, samples of their flows, and buckets. But limits are published to it only
 * through these. Control thread, except where noted.
 */
#ifndef WEIR_DRIVERS_PLANE_H
#define WEIR_DRIVERS_PLANE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"

struct bypass_bpf;
struct classifier;
struct expiry;
struct flow_sample;
struct plane;
struct policy_state;
struct shared_bucket;

/* Most policies whose flows can be sampled. */
#define PLANE_SAMPLES 8192

/* The policy of a slot, and its counts when this process took over. Written by control. */
struct plane_book {
	char name[CONFIG_NAME_MAX]; /* "": none */
	uint64_t passed_packets, passed_bytes, dropped_packets, dropped_bytes;
	uint64_t over_packets, over_bytes; /* the nonconforming part of those passed */
};

/* A previous process's state of a policy in the kernel. */
struct plane_previous {
	struct plane_book book; /* counts including those up to now */
	uint64_t held;          /* units that its CPUs have taken from its bucket and not used */
	bool current;           /* its program can still be attached, and count */
};

/*
 * plane_create() makes room for policies in `slots` slots, and for classifiers of `lines` lines.
 * Maps that previous processes have left in the directory can be adopted until
 * plane_forget_previous(). The directory's name must stay valid.
 *
 * plane_share() is called for each program before it is loaded. The first program makes the maps,
 * and all share them. plane_map() is called after each is loaded. All return 0 or a negative errno;
 * plane_destroy() must be called in either case. Main thread.
 */
int plane_create(unsigned slots, uint32_t lines, const char *directory, struct plane **plane);
int plane_share(struct plane *plane, struct bypass_bpf *program);
int plane_map(struct plane *plane, struct bypass_bpf *program);
void plane_destroy(struct plane *plane);

unsigned plane_slots(const struct plane *plane);
unsigned plane_cpus(const struct plane *plane);

/*
 * A CPU's lines, by slot; and all buckets: one per slot, then two per slot for trials. Any thread.
 */
struct policy_state *plane_lines(struct plane *plane, unsigned cpu);
struct shared_bucket *plane_buckets(struct plane *plane);

/* A CPU's flow sample of the policy that has this number, below PLANE_SAMPLES. Any thread. */
struct flow_sample *plane_sample_of(struct plane *plane, unsigned cpu, unsigned sample);

/*
 * plane_hold(): a CPU decides the packets of a slot's policy from now on. It samples their flows,
 * unless `sample` is PLANE_UNSAMPLED. plane_leave(): workers decide them. While workers are away,
 * they are lost if `never`, because the limit is hard; otherwise only counted. To be called after
 * all other writes to that line, because this uses one of its words (see plane_maps.h).
 */
#define PLANE_UNSAMPLED UINT32_MAX
void plane_hold(struct plane *plane, unsigned cpu, uint32_t slot, uint32_t sample);
void plane_leave(struct plane *plane, unsigned cpu, uint32_t slot, bool never);

/* Sets how a policy counts and handles nonconforming packets. Before a CPU decides its packets. */
void plane_set_terms(struct plane *plane, unsigned cpu, uint32_t slot, const struct policy *policy);

/*
 * Sets or reads the part of the limit of a CPU's line that ends with its lease; see base/expiry.h.
 */
void plane_set_ending(struct plane *plane, unsigned cpu, uint32_t slot, uint8_t ending);
uint8_t plane_ending(const struct plane *plane, unsigned cpu, uint32_t slot);

/*
 * The leases of all CPUs: that of hard limits, and that of all others, which lasts while the peers
 * count this limiter as active. No lease is valid before it is set. CPUs only read them.
 */
struct expiry *plane_lease(struct plane *plane);
struct expiry *plane_membership(struct plane *plane);

/* plane_leave() for packets that only workers can parse. */
void plane_leave_unknown(struct plane *plane, bool never);

/*
 * Reads the state that previous processes left of the policy in the i-th slot of all their
 * generations. If the slot has no policy, the name is empty. -ENOENT: i is past the last slot. A
 * generation has the maps of one process. Several exist if starts were killed during a takeover.
 * The current ones, plane_n_current() of them, have a program that is attached, or are the last
 * generation.
 */
int plane_look_back(const struct plane *plane, unsigned i, struct plane_previous *previous);
unsigned plane_n_current(const struct plane *plane);

/*
 * Returns the reason why maps of a previous process were not adopted, as words after "the maps". It
 * is another layout, or a value that no process can have written. NULL: all were adopted.
 */
const char *plane_refused(const struct plane *plane);

/*
 * Takes units from the bucket of slot i of a previous process. Its programs can still draw from it.
 *
 * plane_take_half() takes half of its tokens, and limits its rate to `rate` (in the unit of
 * meter/token_bucket.h). plane_take_all() takes all, and leaves it empty for a while. The time is
 * that of those programs' clock, which is slower after a limit has ended. Returns units.
 */
uint64_t plane_take_half(struct plane *plane, unsigned i, uint64_t rate);
uint64_t plane_take_all(struct plane *plane, unsigned i);

/*
 * From plane_begin_books() on, plane_book() uses a copy of all books, for the counts of the current
 * generations. plane_forget_previous() pins the copy and drops these generations. Until then, and
 * if the kernel refuses that, the pins lead to these generations and to the books without them.
 */
void plane_begin_books(struct plane *plane);
void plane_forget_previous(struct plane *plane);

/* Returns a slot's book, which the slot's owner writes. */
struct plane_book *plane_book(struct plane *plane, uint32_t slot);

/*
 * Returns when no CPU runs a replaced program any more, so its counts are final. Waits for the
 * kernel, some milliseconds.
 */
void plane_await_previous(void);

/*
 * Pin maps for the next process. Return 0 or a negative errno.
 * - plane_keep_aside() pins this process's maps and the current generations in a second directory.
 * - plane_swap() exchanges that directory and the one in use, in one step. A second call undoes
 *   this.
 * - plane_drop_aside() removes the second directory.
 * - plane_keep() does all three.
 */
int plane_keep_aside(const struct plane *plane);
int plane_swap(const struct plane *plane);
void plane_drop_aside(const struct plane *plane);
int plane_keep(const struct plane *plane);

/*
 * plane_is_kept(): whether a name in the directory is that of these pins. plane_unkeep(): removes
 * them, or another pin.
 */
bool plane_is_kept(const char *name);
void plane_unkeep(const char *path);

/* Returns true if all maps pinned by plane_keep() are still there. */
bool plane_is_whole(const struct plane *plane);

/* Publishes the clock: CLOCK_BOOTTIME `ns` is that tick, at hz ticks per second. */
void plane_set_time(struct plane *plane, uint64_t ns, uint64_t tick, uint64_t hz);

/*
 * Publishes a classifier whose answers are slots. When it returns, no CPU uses the previous one.
 * Waits for the kernel, some milliseconds. Returns 0 or a negative errno; after an error, workers
 * decide all packets. -E2BIG: it has more lines than there is room for.
 */
int plane_publish(struct plane *plane, const struct classifier *classifier);

#endif
