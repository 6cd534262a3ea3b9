/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The near end of the wire, for xdp_source.c: sends every frame out of one interface, or frees it
 * at once, so that the cost of making frames can be told from the cost of their way.
 *
 * It keeps the pace too, as the kernel makes all frames in one call. Frames come in batches, with
 * softirqs held back from the first to the last; the first waits until its batch is due.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "xdp_source.h"

const volatile struct xdp_source_constants constants;
struct xdp_source_variables variables;

static long read_clock_turn(__u32 turn, void *context)
{
	__u64 *now = context, before = *now;

	(void)turn;
	*now = bpf_ktime_get_ns();
	if (*now - before < constants.idle_below)
		variables.idle_ns += *now - before;
	return *now >= variables.due;
}

static __always_inline void wait_until_due(void)
{
	__u64 now = bpf_ktime_get_ns();

	if (variables.due == 0)
		variables.due = now;
	if (now < variables.due)
		bpf_loop(XDP_SOURCE_LOOKS, read_clock_turn, &now, 0);
	variables.due += constants.batch_ns;
}

SEC("xdp")
int source(struct xdp_md *ctx)
{
	(void)ctx;
	if (constants.batch_ns && variables.sent % XDP_SOURCE_BATCH == 0)
		wait_until_due();
	variables.sent++;
	return constants.interface ? bpf_redirect(constants.interface, 0) : XDP_DROP;
}

char licence[] SEC("license") = "Dual BSD/GPL";
