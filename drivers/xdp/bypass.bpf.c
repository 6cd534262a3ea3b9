// SPDX-License-Identifier: BSD-3-Clause
/* Copyright (c) 2026 The Weir authors
 *
 * A wire that outlives its process. Each packet of a port goes to Weir while the worker of its
 * queue runs its loop, and otherwise directly to the partner port. If the XDP data plane is
 * configured, it decides the packets that it can.
 *
 * A worker is present if its turn has changed since the last packet that checked it, or a packet
 * saw it change at most a lease ago (jiffies). The worker itself reads no clock, and a wire that
 * was idle for an hour is not considered dead.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bypass_maps.h"
#include "plane.bpf.h"

/* The library of net_af_xdp finds the map for its sockets by this name and the version below. */
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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BYPASS_COUNTS);
	__type(key, __u32);
	__type(value, struct bypass_count);
} counts SEC(".maps");

const volatile struct bypass_setup setup = {};

/* Set by the last step of a start. Until then the host receives the port's packets, as before. */
volatile __u32 in_force;

/* Longest frame that the partner accepts, in bytes, set by control; 0: it accepts none. */
volatile __u32 frame_max = 0xffffffff;

/* Each CPU with a packet writes it. Two CPUs at a time can at worst renew a lease twice. */
volatile struct bypass_seen seen[BYPASS_WORKERS];

static bool worker_is_present(__u32 worker, __u64 now)
{
	const struct bypass_beat *beat = bpf_map_lookup_elem(&beats, &worker);
	volatile struct bypass_seen *last;
	__u32 turn;

	if (!beat || worker >= BYPASS_WORKERS || *(volatile __u32 *)&beat->leaves)
		return false;
	last = &seen[worker];
	turn = *(volatile __u32 *)&beat->turn;
	if (turn != last->turn) {
		last->at = now;
		last->turn = turn;
		return true;
	}
	return now - last->at <= setup.lease;
}

/* Without AF_XDP, sockets of the stack spread packets: any worker can have a flow's packets. */
static bool all_are_present(__u64 now)
{
	for (__u32 i = 0; i < BYPASS_WORKERS && i < setup.workers; i++)
		if (!worker_is_present(i, now))
			return false;
	return true;
}

/* Uses the kernel's coarse clock: jiffies. Each read is a call. */
static bool is_served(__u32 queue)
{
	__u64 now = bpf_jiffies64();

	if (!setup.sockets)
		return all_are_present(now);
	return queue < BYPASS_QUEUES && worker_is_present(setup.worker_of[queue], now);
}

static __always_inline struct bypass_count *count_of_port(void)
{
	__u32 key = BYPASS_COUNTED;

	return bpf_map_lookup_elem(&counts, &key);
}

/* Counts a packet that the partner does not send. */
static int lose_unsent(struct bypass_count *count)
{
	if (count)
		count->unsent++;
	return XDP_DROP;
}

/* Sends a packet to the partner. A missing interface is no longer in the map. */
static __always_inline int to_partner(struct bypass_count *count)
{
	if (bpf_redirect_map(&partner, 0, XDP_DROP) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return lose_unsent(count);
}

/*
 * Returns the longest frame in bytes that the partner accepts now. Queries the kernel for it if the
 * queue is not served.
 */
static __always_inline __u32 partner_takes(struct xdp_md *ctx, bool served)
{
	__u32 mtu = 0;

	if (served)
		return frame_max;
	return bpf_check_mtu(ctx, setup.partner, &mtu, 0, 0) < 0 ? 0 : mtu + ETHER_LEN + TAG_LEN;
}

static int go_past(struct xdp_md *ctx)
{
	struct bypass_count *count = count_of_port();

	if (count) {
		count->packets++;
		count->bytes += bpf_xdp_get_buff_len(ctx);
	}
	return to_partner(count);
}

static int lose_packet(void)
{
	struct bypass_count *count = count_of_port();

	if (count)
		count->unserved++;
	return XDP_DROP;
}

/* Carries out a verdict of the XDP data plane. */
static __always_inline int enact_verdict(enum plane_verdict verdict)
{
	struct bypass_count *count = count_of_port();

	if (!count)
		return XDP_ABORTED; /* cannot happen */
	if (verdict == PLANE_DROPS) {
		count->dropped++;
		return XDP_DROP;
	}
	count->passed++;
	count->unmatched += verdict == PLANE_UNMATCHED;
	return to_partner(count);
}

/*
 * Handles a packet while no worker serves its queue. `never`: the verdict was PLANE_ASKS_ALONE, so
 * only a worker could decide.
 */
static __always_inline int go_unserved(struct xdp_md *ctx, bool never)
{
	if (setup.fail == BYPASS_CLOSED || (setup.fail == BYPASS_LAST_LIMITS && never))
		return lose_packet();
	return go_past(ctx);
}

/* When a process dies, the kernel removes its sockets from their map before the lease ends. */
SEC("xdp.frags")
int xsk_def_prog(struct xdp_md *ctx)
{
	enum plane_verdict verdict = PLANE_ASKS;
	__u32 most;
	bool served;

	if (!in_force)
		return XDP_PASS;
	served = is_served(ctx->rx_queue_index);
	most = partner_takes(ctx, served);
	if (!most || (!served && bpf_xdp_get_buff_len(ctx) > most))
		return lose_unsent(count_of_port());
	if (setup.plane && (served || setup.fail == BYPASS_LAST_LIMITS)) {
		verdict = plane_decide(ctx, &setup, most);
		if (verdict < PLANE_ASKS)
			return enact_verdict(verdict);
	}
	if (!served)
		return go_unserved(ctx, verdict == PLANE_ASKS_ALONE);
	if (!setup.sockets)
		return XDP_PASS;
	if (bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_ABORTED) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return go_unserved(ctx, verdict == PLANE_ASKS_ALONE);
}

struct net_device {
	int ifindex;
} __attribute__((preserve_access_index));

/* Counts packets that a driver does not send. No other place shows them. */
SEC("raw_tp/xdp_devmap_xmit")
int see_unsent(struct bpf_raw_tracepoint_args *ctx)
{
	const struct net_device *from = (const struct net_device *)ctx->args[0];
	struct bypass_count *count;
	int drops = (int)ctx->args[3];

	if (drops <= 0 || BPF_CORE_READ(from, ifindex) != (int)setup.interface)
		return 0;
	count = count_of_port();
	if (count)
		count->unsent += (__u64)drops;
	return 0;
}

/*
 * Counts packets that the kernel refuses because the interface is down or its MTU has just become
 * smaller. It also gets refused packets for sockets, but the kernel counts those itself.
 */
SEC("raw_tp/xdp_redirect_err")
int see_refused(struct bpf_raw_tracepoint_args *ctx)
{
	const struct net_device *from = (const struct net_device *)ctx->args[0];

	if ((__u32)ctx->args[4] == BPF_MAP_TYPE_DEVMAP &&
		BPF_CORE_READ(from, ifindex) == (int)setup.interface)
		lose_unsent(count_of_port());
	return 0;
}

const char bypass_license[] SEC("license") = "Dual BSD/GPL";
