/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The far end of a wire, for plane.py. Counts frames by the last bits of their IPv4 destination.
 * For each, a bucket that leaks at a rate keeps the most that it ever held. That maximum is the
 * burst that a limit of this rate has passed, over all windows.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define ENDS    4
#define DST     33             /* byte of the frame */
#define BYTE    8000000000ULL  /* in 1/10^9 bit, so that bit/s times ns needs no division */
#define LONGEST 10000000000ULL /* ns without a frame; leaking for longer could overflow */

struct far_end {
	struct bpf_spin_lock lock;
	__u32 unused;
	__u64 rate; /* bit/s; written from user space */
	__u64 packets, bytes, last, held, most;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDS);
	__type(key, __u32);
	__type(value, struct far_end);
} far_ends SEC(".maps");

SEC("xdp")
int take(struct xdp_md *ctx)
{
	const __u8 *frame = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u64 now = bpf_ktime_get_boot_ns(), elapsed;
	struct far_end *at;
	__u32 which;

	if (frame + DST + 1 > end || frame[12] != 8)
		return XDP_DROP;
	which = frame[DST] % ENDS;
	at = bpf_map_lookup_elem(&far_ends, &which);
	if (!at)
		return XDP_DROP;
	bpf_spin_lock(&at->lock);
	elapsed = now > at->last ? now - at->last : 0;
	elapsed = elapsed < LONGEST ? elapsed * at->rate : ~0ULL;
	at->held = (at->held > elapsed ? at->held - elapsed : 0) + (end - frame) * BYTE;
	at->most = at->most > at->held ? at->most : at->held;
	at->last = now > at->last ? now : at->last;
	at->packets++;
	at->bytes += end - frame;
	bpf_spin_unlock(&at->lock);
	return XDP_DROP;
}

char licence[] SEC("license") = "Dual BSD/GPL";
