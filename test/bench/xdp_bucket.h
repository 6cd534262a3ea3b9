/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the XDP token bucket and its loader.
 */
#ifndef WEIR_BENCH_XDP_BUCKET_H
#define WEIR_BENCH_XDP_BUCKET_H

#include <linux/bpf.h>

#define XDP_BUCKETS     1024
#define XDP_TOKEN_SHIFT 32 /* a token is 2^-32 bytes */

struct xdp_bucket {
	struct bpf_spin_lock lock;
	__u32 unused;
	__u64 tokens;  /* changes with every packet */
	__u64 last;    /* ns; also written with every packet, like the next two */
	__u64 passed;  /* packets */
	__u64 dropped; /* packets */
	__u64 rate;    /* tokens a ns; constant from here on */
	__u64 burst;   /* tokens */
	__u64 full_ns; /* ns until an empty bucket is full */
};

#endif
