// SPDX-License-Identifier: BSD-3-Clause
/* Copyright (c) 2026 The Weir authors
 *
 * A wire that outlives its process: each packet of one port goes to Weir while who serves its queue
 * comes round, and else straight to the partner port.
 *
 * Nobody tells the time to the kernel: a worker that has turned since it was last looked at is
 * there, and one that has not turned is for as long as the lease. So the worker reads no clock for
 * it, and a wire that was idle for an hour is not taken for a dead one.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bypass_maps.h"

/* By this name, and the version below, net_af_xdp's library knows where its sockets go. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, BYPASS_QUEUES);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} xsks_map SEC(".maps");

__uint(xsk_prog_version, 1) SEC("xdp_metadata");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} partner SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BYPASS_WORKERS);
	__type(key, __u32);
	__type(value, struct bypass_beat);
} beats SEC(".maps");

/* Written by whichever CPU has a packet: the worst of that is a lease that is renewed twice. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BYPASS_WORKERS);
	__type(key, __u32);
	__type(value, struct bypass_seen);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bypass_count);
} counts SEC(".maps");

const volatile struct bypass_setup setup = {};

static bool comes_round(__u32 worker, __u64 now)
{
	struct bypass_beat *beat = bpf_map_lookup_elem(&beats, &worker);
	struct bypass_seen *last = bpf_map_lookup_elem(&seen, &worker);
	__u32 turn;

	if (!beat || !last || *(volatile __u32 *)&beat->leaves)
		return false;
	turn = *(volatile __u32 *)&beat->turn;
	if (turn != last->turn) {
		last->at_ns = now;
		last->turn = turn;
		return true;
	}
	return now - last->at_ns <= setup.lease_ns;
}

/* A flow's packets may be any worker's, where the socket spreads them. */
static bool all_come_round(__u64 now)
{
	for (__u32 i = 0; i < BYPASS_WORKERS && i < setup.workers; i++)
		if (!comes_round(i, now))
			return false;
	return true;
}

static bool is_served(__u32 queue)
{
	__u64 now = bpf_ktime_get_coarse_ns();

	if (!setup.sockets)
		return all_come_round(now);
	return queue < BYPASS_QUEUES && comes_round(setup.worker_of[queue], now);
}

static void count_past(__u64 bytes)
{
	__u32 only = 0;
	struct bypass_count *past = bpf_map_lookup_elem(&counts, &only);

	if (past) {
		past->packets++;
		past->bytes += bytes;
	}
}

/* Sockets of a process that has died leave their map by themselves, before its lease is over. */
SEC("xdp.frags")
int xsk_def_prog(struct xdp_md *ctx)
{
	if (is_served(ctx->rx_queue_index)) {
		if (!setup.sockets)
			return XDP_PASS;
		if (bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_ABORTED) == XDP_REDIRECT)
			return XDP_REDIRECT;
	}
	count_past(bpf_xdp_get_buff_len(ctx));
	return bpf_redirect_map(&partner, 0, XDP_DROP);
}

const char bypass_license[] SEC("license") = "Dual BSD/GPL";
