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
struct expiry;
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
	uint64_t over_packets, over_bytes; /* of those passed, what did not conform */
};

/* What the kernel does with the packets of a policy for a former process. */
struct plane_former {
	struct plane_book book; /* and what it has counted by now */
	uint64_t held;          /* units that its CPUs have taken of its bucket, and not spent */
	bool current;           /* its program can still be attached, and count */
};

/*
 * Room for policies in so many slots, and for classifiers of so many lines. The maps that previous
 * processes have left in the directory can be adopted, until plane_forget_former(). The maps are
 * made by the first program that plane_share() is told of, before it is loaded, and are those of
 * all. plane_map() after each has been loaded. The directory's name has to last. Return 0 or a
 * negative errno; plane_destroy() is due in either case. Main thread.
 */
int plane_create(unsigned slots, uint32_t lines, const char *directory, struct plane **plane);
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
 * What a CPU has of the policy in a slot it decides from now on, and samples flows of it, unless
 * `sample` is PLANE_UNSAMPLED; or leaves to workers, and while they are away it is lost if `never`,
 * as its limit is never exceeded, and not only counted. To be said after whatever else has written
 * that line, of which it takes a word (see plane_maps.h).
 */
#define PLANE_UNSAMPLED UINT32_MAX
void plane_hold(struct plane *plane, unsigned cpu, uint32_t slot, uint32_t sample);
void plane_leave(struct plane *plane, unsigned cpu, uint32_t slot, bool never);

/* What a policy counts, and does with what does not conform: before it is decided by a CPU. */
void plane_set_terms(struct plane *plane, unsigned cpu, uint32_t slot, const struct policy *policy);

/* What ends of the limit of a CPU's line when its lease does; see base/expiry.h. */
void plane_set_ending(struct plane *plane, unsigned cpu, uint32_t slot, uint8_t ending);
uint8_t plane_ending(const struct plane *plane, unsigned cpu, uint32_t slot);

/*
 * The leases, of all CPUs: that of conserved limits, and that of all others, which lasts while the
 * group counts this limiter in. Nothing lasts before they are set. CPUs look at them, and do not
 * write them.
 */
struct expiry *plane_lease(struct plane *plane);
struct expiry *plane_membership(struct plane *plane);

/* As plane_leave() of packets that only workers can understand. */
void plane_leave_unknown(struct plane *plane, bool never);

/*
 * Reads the state that previous processes have left of the policy in the i-th slot of all their
 * generations; nothing, with an empty name, if the slot has no policy. -ENOENT behind the last one.
 * A generation has the maps of one process. Several exist if starts were killed during a takeover.
 * The current ones, so many, have a program that is attached, or are the last one.
 */
int plane_look_back(const struct plane *plane, unsigned i, struct plane_former *former);
unsigned plane_n_current(const struct plane *plane);

/*
 * Returns the reason why maps of a previous process were not adopted, as words after "the maps":
 * another layout, or a value that no process can have written. NULL: all were adopted.
 */
const char *plane_refused(const struct plane *plane);

/*
 * Takes out of the bucket there, which its programs may still draw from, half of what it has, and
 * from then on it earns no more than `rate` (of meter/token_bucket.h); or takes all, and for a
 * while there is no more. As of the moment at which those programs are by their own clock, also
 * where that goes slower as a limit has ended. Returns units.
 */
uint64_t plane_take_half(struct plane *plane, unsigned i, uint64_t rate);
uint64_t plane_take_all(struct plane *plane, unsigned i);

/*
 * From plane_begin_books() on plane_book() leads to a copy of all books, for the counts of the
 * current generations. plane_forget_former() pins it, without these generations. Until then, and if
 * the kernel refuses that, the pins lead to these generations and to the books without them.
 */
void plane_begin_books(struct plane *plane);
void plane_forget_former(struct plane *plane);

/* A slot's book, which is its owner's to write. */
struct plane_book *plane_book(struct plane *plane, uint32_t slot);

/*
 * Returns when no CPU runs a program any more that another one has taken the place of: what that
 * has counted then stays. Waits for the kernel, some milliseconds.
 */
void plane_await_former(void);

/*
 * Pins for the next process: aside, its own maps and the current generations; then both exchanged
 * in one step for those that are there. A second exchange takes the first one back. plane_keep()
 * does both and removes the old pins. 0 or a negative errno.
 */
int plane_keep_aside(const struct plane *plane);
int plane_swap(const struct plane *plane);
void plane_drop_aside(const struct plane *plane);
int plane_keep(const struct plane *plane);

/* Whether a name in that directory is of what is kept; and removes it, or another that is left. */
bool plane_is_kept(const char *name);
void plane_unkeep(const char *path);

/* Returns true if all maps that plane_keep() kept are still there. */
bool plane_is_whole(const struct plane *plane);

/* At CLOCK_BOOTTIME `ns` it is that tick, of hz a second. */
void plane_tell_time(struct plane *plane, uint64_t ns, uint64_t tick, uint64_t hz);

/*
 * Packets are policies' by this classifier from now on, whose answers are slots; when it returns,
 * none is by the former one. Waits for the kernel, some milliseconds. 0, or a negative errno, and
 * then all packets are workers'; -E2BIG if it has more lines than there is room for.
 */
int plane_publish(struct plane *plane, const struct classifier *classifier);

#endif
