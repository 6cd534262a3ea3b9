/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A typical limiter for XDP: a token bucket for each IPv4 destination, and a redirect to the other
 * port. Weir is compared with it (tools/benchmark/kernel.py). So it has only the necessary parts,
 * and nothing that slows it.
 *
 * A bucket has a spin lock instead of a copy for each CPU: one limit must hold over all queues, and
 * thus CPUs, that receive its packets. An uncontended lock costs an atomic exchange.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "xdp_bucket.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, XDP_BUCKETS);
	__type(key, __u32); /* destination, in network byte order */
	__type(value, struct xdp_bucket);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* interface of the other port */
} other_port SEC(".maps");

static __always_inline int xdp_bucket_conforms(struct xdp_bucket *bucket, __u64 now, __u64 cost)
{
	__u64 tokens, elapsed;
	int pass;

	bpf_spin_lock(&bucket->lock);
	/* A later packet of another CPU can be here first: then nothing is credited. */
	elapsed = now > bucket->last ? now - bucket->last : 0;
	tokens = bucket->burst;
	if (elapsed < bucket->full_ns) {
		tokens = bucket->tokens + elapsed * bucket->rate;
		if (tokens > bucket->burst)
			tokens = bucket->burst;
	}
	bucket->last += elapsed;
	pass = tokens >= cost;
	bucket->tokens = pass ? tokens - cost : tokens;
	bucket->passed += pass;
	bucket->dropped += !pass;
	bpf_spin_unlock(&bucket->lock);
	return pass;
}

SEC("xdp")
int limit(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ether = data;
	struct iphdr *ip = data + sizeof(*ether);
	struct xdp_bucket *bucket;
	__u64 cost;

	if (data + sizeof(*ether) + sizeof(*ip) > end || ether->h_proto != bpf_htons(ETH_P_IP))
		return bpf_redirect_map(&other_port, 0, XDP_DROP);
	bucket = bpf_map_lookup_elem(&buckets, &ip->daddr);
	cost = (__u64)(end - data - sizeof(*ether)) << XDP_TOKEN_SHIFT;
	if (bucket && !xdp_bucket_conforms(bucket, bpf_ktime_get_ns(), cost))
		return XDP_DROP;
	return bpf_redirect_map(&other_port, 0, XDP_DROP);
}

/* Without a limit: the least cost of forwarding in XDP. */
SEC("xdp")
int forward(struct xdp_md *ctx)
{
	(void)ctx;
	return bpf_redirect_map(&other_port, 0, XDP_DROP);
}

/* The far end of the wire. */
SEC("xdp")
int sink(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_DROP;
}

char licence[] SEC("license") = "Dual BSD/GPL";
