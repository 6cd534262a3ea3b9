/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the source of packets and its BPF program agree on.
 */
#ifndef WEIR_BENCH_XDP_SOURCE_H
#define WEIR_BENCH_XDP_SOURCE_H

#include <linux/types.h>

#define XDP_SOURCE_BATCH 64
#define XDP_SOURCE_LOOKS 1000000 /* at the clock, at most, before a batch */

struct xdp_source_constants {
	__u32 interface; /* 0: nowhere */
	__u32 unused;
	__u64 batch_ns;   /* between batches; 0: as many as go */
	__u64 idle_below; /* ns between two looks at the clock; beyond it an interrupt came */
};

struct xdp_source_variables {
	__u64 sent;    /* packets */
	__u64 due;     /* ns: when the next batch is */
	__u64 idle_ns; /* spent waiting for that */
};

#endif
