/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The near end of the wire, for xdp_source.c. Sends every frame out of one interface, or frees it
 * immediately, so that the cost of making frames can be separated from that of their path.
 *
 * It also paces, because the kernel makes all frames in one call. Frames are made in batches, with
 * softirqs disabled from the first to the last; the first waits until its batch is due.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
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

/* Does not update checksums, because nothing on the path checks them. */
static __always_inline void aim_frame(struct xdp_md *ctx)
{
	__u64 lot = variables.sent * 0x9e3779b97f4a7c15ULL;
	__u8 *frame = (void *)(long)ctx->data;
	__u32 which;

	lot = (lot ^ lot >> 32) * 0xd6e8feb86659fd93ULL;
	which = (lot >> 32) * constants.addresses >> 32;
	variables.first += which == 0;
	if (frame + XDP_SOURCE_DST6 + sizeof(__u32) > (__u8 *)(long)ctx->data_end)
		return;
	*(__u32 *)(frame + (constants.ipv6 ? XDP_SOURCE_DST6 : XDP_SOURCE_DST4)) = bpf_htonl(
		constants.first + which * constants.step);
}

SEC("xdp")
int source(struct xdp_md *ctx)
{
	if (constants.batch_ns && variables.sent % XDP_SOURCE_BATCH == 0)
		wait_until_due();
	if (constants.addresses > 1)
		aim_frame(ctx);
	variables.sent++;
	return constants.interface ? bpf_redirect(constants.interface, 0) : XDP_DROP;
}

char licence[] SEC("license") = "Dual BSD/GPL";
