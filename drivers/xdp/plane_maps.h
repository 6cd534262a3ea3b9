/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the kernel's data plane (plane.bpf.h) and the process behind it share. To the process each
 * CPU of the kernel is one more worker: a line of a policy here is a struct policy_state, what they
 * all draw from a struct shared_bucket, and what they have seen of its flows a struct flow_sample,
 * member by member; only the program knows them by these names, as it can include none of those.
 */
#ifndef WEIR_DRIVERS_PLANE_MAPS_H
#define WEIR_DRIVERS_PLANE_MAPS_H

#include <linux/types.h>

/* The deciders of a policy's packets; above PLANE_HELD the CPU samples them, in line place - 3. */
enum {
	PLANE_WORKERS,       /* workers, which an AF_XDP socket brings them to; */
	PLANE_WORKERS_ALONE, /* and while they are away they pass nobody, as it is never exceeded */
	PLANE_HELD,          /* the program */
	PLANE_SAMPLED,
};

/* struct policy_state: the CPU's, but for `owner` and `place`, which are control's. */
struct plane_line {
	__u64 tokens;
	__u32 owner, fraction;
	__u64 place; /* the tick of the last refill, of a bucket that is refilled */
	__u64 limit[2];
	__u64 bytes, dropped_bytes;
	__u32 packets, dropped_packets;
};

/* struct shared_bucket_profile */
struct plane_profile {
	__u64 start_low, start_high, since, rate, burst;
	__u32 quantum, least;
};

/* struct shared_bucket */
struct plane_bucket {
	__u64 allow_at, written;
	struct plane_profile profiles[2];
	__u8 to_line[16];
};

#define PLANE_FLOWS 32

/* struct flow_sample */
struct plane_sample {
	__u64 slot[PLANE_FLOWS];
	__u8 score[PLANE_FLOWS];
};

/*
 * Workers' ticks by CLOCK_BOOTTIME, written by control: `ticks` at `ns`, and as many 2^-28 of
 * one a nanosecond. While it is written `begun` is ahead of `done`.
 */
struct plane_clock {
	__u32 begun, done;
	__u64 ns, ticks, rate;
	__u32 never; /* what is not understood could be of a limit that is never exceeded */
	__u8 to_line[28];
};

#define PLANE_CLOCK_SHIFT 28

#endif
