/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the source of packets and its BPF program agree on.
 */
#ifndef WEIR_BENCH_XDP_SOURCE_H
#define WEIR_BENCH_XDP_SOURCE_H

#include <linux/types.h>

#define XDP_SOURCE_BATCH 64
#define XDP_SOURCE_DST4  30 /* bytes before the destination in a frame; of IPv6: */
#define XDP_SOURCE_DST6  38
#define XDP_SOURCE_LOOKS 1000000 /* at the clock, at most, before a batch */

struct xdp_source_constants {
	__u32 interface; /* 0: nowhere */
	__u32 unused;
	__u64 batch_ns;   /* between batches; 0: as many as go */
	__u64 idle_below; /* ns between two looks at the clock; beyond it an interrupt came */
	/* If several, packets go to any of so many addresses, by lot, which are so far apart. */
	__u32 addresses, step;
	__u32 first; /* the first's upper 32 bits, in host order */
	__u32 ipv6;
};

struct xdp_source_variables {
	__u64 sent;    /* packets */
	__u64 first;   /* of these, to the first address */
	__u64 due;     /* ns: when the next batch is */
	__u64 idle_ns; /* spent waiting for that */
};

#endif
