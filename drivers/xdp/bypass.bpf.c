// SPDX-License-Identifier: BSD-3-Clause
/* Copyright (c) 2026 The Weir authors
 *
 * A wire that outlives its process: each packet of one port goes to Weir while who serves its queue
 * comes round, and else straight to the partner port; unless the kernel is to decide, and can.
 *
 * Nobody tells the time to the kernel: a worker that has turned since it was last looked at is
 * there, and one that has not turned is for as long as the lease. So the worker reads no clock for
 * it, and a wire that was idle for an hour is not taken for a dead one.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bypass_maps.h"
#include "plane.bpf.h"

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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BYPASS_COUNTS);
	__type(key, __u32);
	__type(value, struct bypass_count);
} counts SEC(".maps");

const volatile struct bypass_setup setup = {};

/* Set by the last step of a start. Until then the port's packets are the host's, as before it. */
volatile __u32 in_force;

/* Bytes of the longest frame that the partner takes, as control has seen it; 0: it takes none. */
volatile __u32 frame_max = 0xffffffff;

/* Each CPU with a packet writes it. Two CPUs at a time can only renew a lease twice. */
volatile struct bypass_seen seen[BYPASS_WORKERS];

static bool comes_round(__u32 worker, __u64 now)
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

/* A flow's packets may be any worker's, where the socket spreads them. */
static bool all_come_round(__u64 now)
{
	for (__u32 i = 0; i < BYPASS_WORKERS && i < setup.workers; i++)
		if (!comes_round(i, now))
			return false;
	return true;
}

/* The kernel's coarse clock advances with the jiffies, and reading it is a call. */
static bool is_served(__u32 queue)
{
	__u64 now = bpf_jiffies64();

	if (!setup.sockets)
		return all_come_round(now);
	return queue < BYPASS_QUEUES && comes_round(setup.worker_of[queue], now);
}

static __always_inline struct bypass_count *count_of_port(void)
{
	__u32 key = BYPASS_COUNTED;

	return bpf_map_lookup_elem(&counts, &key);
}

/* The partner has none of its packets. */
static int lose_unsent(struct bypass_count *count)
{
	if (count)
		count->unsent++;
	return XDP_DROP;
}

/* An interface that is gone has left the map. */
static __always_inline int to_partner(struct bypass_count *count)
{
	if (bpf_redirect_map(&partner, 0, XDP_DROP) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return lose_unsent(count);
}

/* Bytes of the longest frame that the partner takes now. While Weir is away, the kernel has it. */
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

/* What the kernel has decided. */
static __always_inline int enact_verdict(enum plane_verdict verdict)
{
	struct bypass_count *count = count_of_port();

	if (!count)
		return XDP_ABORTED; /* cannot be */
	if (verdict == PLANE_DROPS) {
		count->dropped++;
		return XDP_DROP;
	}
	count->passed++;
	count->unmatched += verdict == PLANE_UNMATCHED;
	return to_partner(count);
}

/* While nobody serves it. */
static __always_inline int go_unserved(struct xdp_md *ctx, bool never)
{
	if (setup.fail == BYPASS_CLOSED || (setup.fail == BYPASS_LAST_LIMITS && never))
		return lose_packet();
	return go_past(ctx);
}

/* Sockets of a process that has died leave their map by themselves, before its lease is over. */
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
		verdict = plane_judge(ctx, &setup, most);
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

/* No other place shows the packets that a driver does not send. */
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
 * The kernel refuses a packet to an interface that is down, or whose MTU has just become smaller.
 * It refuses those to sockets here, too, but counts them itself.
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
