/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Maps that the XDP data plane (plane.bpf.h) and its process share. For the process, each CPU of
 * the kernel is one more worker. A policy has a struct shared_bucket for all CPUs, and a struct
 * flow_sample and a line for each. The line is a struct policy_state, member by member: the program
 * has another name for it, because it cannot include that one.
 */
#ifndef WEIR_DRIVERS_PLANE_MAPS_H
#define WEIR_DRIVERS_PLANE_MAPS_H

#include <linux/types.h>

/*
 * The layout of the maps that outlive a process: the structs below, struct plane_book, and the
 * meaning of their fields. Any change needs another number, which is in the name of the map of
 * books (at most 15 characters). test/unit/check_layout.py compares them.
 */
#define PLANE_LAYOUT "plane_books_1"

/*
 * The deciders of a policy's packets. From PLANE_SAMPLED on, the CPU also samples flows; the number
 * of its sample is the value less PLANE_SAMPLED.
 */
enum {
	/* An empty line: workers. While they are away no packet passes, as for a hard limit. */
	PLANE_WORKERS_ALONE,
	PLANE_WORKERS, /* workers, through an AF_XDP socket */
	PLANE_HELD,    /* the program, without samples */
	PLANE_SAMPLED,
};

/*
 * struct policy_state. The CPU writes it, except `owner`, `terms` and `place`, which control
 * writes. The bucket earns no tokens, so its fraction is unused and has the terms, see
 * PLANE_ENDING.
 */
struct plane_line {
	__u64 tokens;
	__u32 owner, terms;
	__u64 place; /* its decider, as above; in struct policy_state: tick of a refill */
	__u64 over_packets, over_bytes;
	__u64 bytes, dropped_bytes;
	__u32 packets, dropped_packets;
};

/*
 * Terms, from the lowest bits. First, the part of a limit that ends with its lease, as in
 * base/expiry.h. Then log2 of the parts of a packet, if packets are counted. Then the handling of
 * nonconforming packets. PLANE_MARKS: with a DSCP, or PLANE_ECN. PLANE_SOFT: the lease is the
 * membership.
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

/*
 * The workers' clock: `ticks` at CLOCK_BOOTTIME `ns`, and its rate in 2^-28 ticks per nanosecond.
 */
struct plane_time {
	__u64 ns, ticks, rate;
};

/*
 * Control writes the entry of times[] that is not in force, and then increments `written`, whose
 * lowest bit selects the entry. So one entry is always complete, even if control is killed. Limits
 * that control does not renew end by this clock. `until` and `span` are a struct expiry, of all
 * CPUs. member_until and member_span are one for soft limits, a part of which ends when peers
 * consider this limiter lost.
 */
struct plane_clock {
	__u32 written;
	__u32 all_soft; /* no hard limit: packets that are not parsed pass without workers */
	struct plane_time times[2];
	__u8 apart[8];
	__u64 until, span;
	__u64 member_until, member_span;
	__u8 to_line[32];
};

#define PLANE_CLOCK_SHIFT 28

#endif
