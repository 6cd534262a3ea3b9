/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the kernel's data plane (plane.bpf.h) and the process behind it share. To the process each
 * CPU of the kernel is one more worker. A policy has a struct shared_bucket for all CPUs, and a
 * struct flow_sample and a line for each. The line is a struct policy_state, member by member: the
 * program has another name for it, because it cannot include that one.
 */
#ifndef WEIR_DRIVERS_PLANE_MAPS_H
#define WEIR_DRIVERS_PLANE_MAPS_H

#include <linux/types.h>

/*
 * The layout of the maps that outlive a process: the structs below, struct plane_book, and the
 * meaning of their fields. A change of any of it needs another number, which is in the name of the
 * map of books (at most 15 characters). test/unit/check_layout.py compares them.
 */
#define PLANE_LAYOUT "plane_books_1"

/* The deciders of a policy's packets; above PLANE_HELD the CPU samples them, in line place - 3. */
enum {
	/* An empty line: workers, and while they are away nothing passes, as of a hard limit; */
	PLANE_WORKERS_ALONE,
	PLANE_WORKERS, /* workers, which an AF_XDP socket brings them to; */
	PLANE_HELD,    /* the program */
	PLANE_SAMPLED,
};

/*
 * struct policy_state: the CPU's, but for `owner`, `terms` and `place`, which are control's. A
 * bucket that earns nothing has no fraction: there are the terms, see PLANE_ENDING.
 */
struct plane_line {
	__u64 tokens;
	__u32 owner, terms;
	__u64 place; /* the tick of the last refill, of a bucket that is refilled */
	__u64 over_packets, over_bytes;
	__u64 bytes, dropped_bytes;
	__u32 packets, dropped_packets;
};

/*
 * Terms, from below: what ends of a limit with its lease, as base/expiry.h has it; of how many
 * parts, as a power of two, a packet is, where packets are counted; and what is done with what does
 * not conform. PLANE_MARKS: with a DSCP, or PLANE_ECN. PLANE_SOFT: its lease is the membership.
 */
#define PLANE_ENDING     0xffU
#define PLANE_UNIT_SHIFT 8
#define PLANE_UNIT_MASK  0x1fU
#define PLANE_PACKETS    (1U << 13)
#define PLANE_COUNTS     (1U << 14)
#define PLANE_MARKS      (1U << 15)
#define PLANE_MARK_SHIFT 16
#define PLANE_MARK_MASK  0xffU
#define PLANE_ECN        0xffU
#define PLANE_SOFT       (1U << 24)

/* Workers' ticks by CLOCK_BOOTTIME: `ticks` at `ns`, and as many 2^-28 of one a nanosecond. */
struct plane_time {
	__u64 ns, ticks, rate;
};

/*
 * Written by control beside the one in force, which an even count leads to the first of: so one of
 * both is whole wherever control is killed. By it limits end that control does not renew: `until`
 * and `span` are a struct expiry, of all CPUs; and the other two are one for soft limits, of which
 * a part ends when peers take this limiter for lost.
 */
struct plane_clock {
	__u32 written;
	__u32 all_soft; /* no hard limit: packets that are not understood pass without workers */
	struct plane_time times[2];
	__u8 apart[8];
	__u64 until, span;
	__u64 member_until, member_span;
	__u8 to_line[32];
};

#define PLANE_CLOCK_SHIFT 28

#endif
