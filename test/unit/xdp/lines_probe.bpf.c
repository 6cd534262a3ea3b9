// SPDX-License-Identifier: BSD-3-Clause
/* Copyright (c) 2026 The Weir authors
 *
 * A program for tests that returns the result of the XDP program's classifier for a frame.
 */
#include "classify.bpf.h"

#include "lines_probe.h"

/* Like the maps of the XDP data plane, whose inner map is replaced while packets arrive. */
struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct classify_line));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lines_probe);
} probe SEC(".maps");

/* Parses and classifies the frame. Writes its result into `probe`. */
SEC("xdp.frags")
int probe_frame(struct xdp_md *ctx)
{
	__u32 only = 0;
	void *lines = bpf_map_lookup_elem(&tables, &only);
	struct lines_probe *out = bpf_map_lookup_elem(&probe, &only);
	struct plane_facts facts;

	if (!lines || !out)
		return XDP_ABORTED;
	facts.wire = out->wire;
	facts.direction = (__u8)out->direction;
	out->parsed = plane_parse(ctx, &facts);
	out->answer = out->parsed == PLANE_ASIDE ? LINES_ASIDE : lines_classify(lines, &facts);
	out->facts = facts;
	return XDP_PASS;
}

/* Does nothing, to measure the cost of an empty program. */
SEC("xdp.frags")
int probe_nothing(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

const char probe_license[] SEC("license") = "Dual BSD/GPL";
