/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the source of packets and its BPF program.
 */
#ifndef WEIR_BENCH_XDP_SOURCE_H
#define WEIR_BENCH_XDP_SOURCE_H

#include <linux/types.h>

#define XDP_SOURCE_BATCH 64
#define XDP_SOURCE_DST4  30 /* bytes before the destination in a frame; for IPv6: */
#define XDP_SOURCE_DST6  38
#define XDP_SOURCE_LOOKS 1000000 /* most reads of the clock before a batch */

struct xdp_source_constants {
	__u32 interface; /* 0: nowhere */
	__u32 unused;
	__u64 batch_ns;   /* between batches; 0: no pause */
	__u64 idle_below; /* ns between two reads of the clock; beyond it an interrupt came */
	/* If several, each packet goes to a random one of so many addresses, `step` apart. */
	__u32 addresses, step;
	__u32 first; /* the first's upper 32 bits, in host order */
	__u32 ipv6;
};

struct xdp_source_variables {
	__u64 sent;    /* packets */
	__u64 first;   /* packets to the first address */
	__u64 due;     /* ns: time of the next batch */
	__u64 idle_ns; /* ns spent waiting for that */
};

#endif
