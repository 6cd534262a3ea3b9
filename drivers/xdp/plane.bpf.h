/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The packet path in the kernel: finds a packet's policy, and whether it conforms. Each CPU has its
 * own line per policy, and draws quanta from the bucket that all CPUs share, like a worker. So most
 * packets take one line, without an atomic operation and without the time. Workers decide packets
 * that the program does not understand.
 */
#ifndef WEIR_DRIVERS_PLANE_BPF_H
#define WEIR_DRIVERS_PLANE_BPF_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "base/expiry.h"
#include "flow/flow_sample.h"
#include "meter/bucket_core.h"
#include "packet/flow_mix.h"
#include "packet/mark_core.h"
#include "police/owner_word.h"

#include "bypass_maps.h"
#include "classify.bpf.h"
#include "plane_maps.h"

/* The part of a soft limit's burst that does not expire, as in police/expire.h. */
#define LEAST_BYTES   9084
#define LEAST_PACKETS 6

/* Values of policy/policy.h. */
#define ACCOUNT_L3   1
#define ACCOUNT_WIRE 2
#define WIRE_BYTES   24
#define PROTO_IPIP   4
#define PROTO_TCP    6
#define PROTO_UDP    17
#define PROTO_IPV6   41
#define PROTO_GRE    47

/* Most attempts if other CPUs take tokens at the same time, or control changes the limit. */
#define TAKE_TRIES 8
#define READ_TRIES 4

/* The process sets max_entries when it loads the program: numbers of policies and CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plane_line);
} plane_lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shared_bucket);
} plane_buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_sample);
} plane_samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plane_clock);
} plane_clocks SEC(".maps");

/*
 * The classifier in force; if none, no packet is understood. All classifiers have the same size,
 * which the process sets. So the compiler inlines a lookup, which saves a third of the time to
 * classify.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, 64);
		});
} plane_tables SEC(".maps");

/* The last two are for packets that workers decide; see PLANE_WORKERS. */
enum plane_verdict { PLANE_PASSES, PLANE_UNMATCHED, PLANE_DROPS, PLANE_ASKS, PLANE_ASKS_ALONE };

/* Like struct police_end. */
struct plane_end {
	__u64 least; /* units */
	__u8 parts;  /* part of the limit that ends, or 0 */
};

static __always_inline volatile struct plane_clock *find_clock(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&plane_clocks, &only);
}

/* Computes the workers' tick. Returns false if control keeps changing the clock. */
static __always_inline bool tick_of_kernel(volatile struct plane_clock *clock, __u64 *tick)
{
	for (int i = 0; i < READ_TRIES; i++) {
		__u32 seen = clock->written;
		volatile struct plane_time *from;
		__u64 elapsed, ticks;

		from = &clock->times[seen & 1];
		elapsed = bpf_ktime_get_boot_ns() - from->ns;
		ticks = ((elapsed >> 32) * from->rate << (32 - PLANE_CLOCK_SHIFT)) +
			((__u32)elapsed * from->rate >> PLANE_CLOCK_SHIFT);
		*tick = from->ticks + ticks;
		if (clock->written == seen)
			return true;
	}
	return false;
}

/* Like shared_bucket_read(). */
static __always_inline bool read_profile(
	volatile struct shared_bucket *bucket, struct shared_bucket_profile *profile)
{
	for (int i = 0; i < READ_TRIES; i++) {
		__u64 seen = bucket->written;
		volatile struct shared_bucket_profile *from = &bucket->profiles[seen & 1];

		profile->start_low = from->start_low;
		profile->start_high = from->start_high;
		profile->since = from->since;
		profile->rate = from->rate;
		profile->burst = from->burst;
		profile->quantum = from->quantum;
		profile->least = from->least;
		if (bucket->written == seen)
			return true;
	}
	return false;
}

/* The part of the burst that does not expire. A hard limit has none. */
static __always_inline __u64 least_burst(__u32 terms)
{
	if (!(terms & PLANE_SOFT))
		return 0;
	if (!(terms & PLANE_PACKETS))
		return LEAST_BYTES;
	return (__u64)LEAST_PACKETS << (terms >> PLANE_UNIT_SHIFT & PLANE_UNIT_MASK);
}

/*
 * Computes the part of a limit that has expired by tick *now, if control has not renewed its lease.
 * Then sets *now to the tick of a clock that has been slower by that part since the end. To be
 * called before the limit is read, because a limit published after an end allows for it. Returns
 * false if the clock was set back, so the state of a hard limit is unknown.
 */
static __always_inline bool look_at_lease(volatile struct plane_clock *clock,
	const struct plane_line *line, __u64 *now, struct plane_end *end)
{
	__u32 terms = *(volatile __u32 *)&line->terms, soft = terms & PLANE_SOFT;
	__u64 until, since;
	__u8 ending = terms & PLANE_ENDING;

	until = soft ? clock->member_until : clock->until;
	since = *now - until;
	*end = (struct plane_end){0};
	if (ending == 0 || until - *now - 1 < (soft ? clock->member_span : clock->span))
		return true;
	if ((__s64)since < 0)
		return soft;
	*end = (struct plane_end){least_burst(terms), ending};
	*now = until + expiry_left(since, ending);
	return true;
}

/* Like shared_bucket_settle(). Returns false if other CPUs keep changing the bucket. */
static __always_inline bool settle_bucket(
	volatile struct shared_bucket *bucket, const struct gcra_now *instant)
{
	__u64 seen = bucket->state.allow_at;

	for (int i = 0; i < TAKE_TRIES; i++) {
		__u64 was = seen,
		      settled = instant->at - (__u64)gcra_tokens(&(struct gcra){seen}, instant);

		if (settled == was)
			return true;
		seen = __sync_val_compare_and_swap(&bucket->state.allow_at, was, settled);
		if (seen == was)
			return true;
	}
	return false;
}

/* Like shared_bucket_take_at(), but returns 0 if other CPUs keep changing the bucket. */
static __always_inline __u64 take_from(volatile struct shared_bucket *bucket,
	const struct shared_bucket_profile *profile, __u64 need, const struct gcra_now *instant,
	__u64 lot)
{
	__u64 seen = bucket->state.allow_at;

	for (int i = 0; i < TAKE_TRIES; i++) {
		__s64 tokens = gcra_tokens(&(struct gcra){seen}, instant);
		__u64 taken = shared_bucket_part(
			profile, tokens > 0 ? (__u64)tokens : 0, need << GCRA_SHIFT, lot);
		__u64 was = seen;

		if (taken == 0)
			return 0;
		seen = __sync_val_compare_and_swap(
			&bucket->state.allow_at, was, instant->at - (__u64)tokens + taken);
		if (seen == was)
			return taken >> GCRA_SHIFT;
	}
	return 0;
}

/*
 * Draws units for a line from its slot's bucket. Out of line, because a quantum lasts for many
 * packets. If other CPUs keep changing the bucket, it gives up, which can refuse a packet but never
 * pass one too many.
 */
__noinline __u64 plane_draw(const struct plane_line *line, __u32 slot, __u64 units)
{
	volatile struct shared_bucket *bucket = bpf_map_lookup_elem(&plane_buckets, &slot);
	volatile struct plane_clock *clock = find_clock();
	struct shared_bucket_profile profile;
	struct gcra_profile limit;
	struct gcra_now instant, left;
	struct plane_end end;
	__u64 now, at;

	if (!line || !bucket || !clock || !tick_of_kernel(clock, &now))
		return 0;
	at = now;
	if (!look_at_lease(clock, line, &at, &end) || !read_profile(bucket, &profile))
		return 0;
	limit = shared_bucket_limit(&profile);
	instant = shared_bucket_slowed(&limit, at, now);
	if (end.parts) {
		left = instant;
		left.burst = shared_bucket_left(limit.burst, end.parts, end.least);
		if (!settle_bucket(bucket, &left))
			return 0;
	}
	return take_from(bucket, &profile, units, &instant, shared_bucket_lot(&profile, at));
}

/*
 * A hash of the flow, with other values than packet_hash(), spread as by workers. Packets other
 * than IP are one flow.
 */
static __always_inline __u32 flow_hash(const struct plane_facts *facts)
{
	const __u64 *src = facts->src, *dst = facts->dst;
	__u32 ports = (__u32)facts->src_port << 16 | facts->dst_port, hash;
	__u64 h = hash_step(0, src[0]);

	h = hash_step(h, src[1]);
	h = hash_step(h, dst[0]);
	h = hash_step(h, dst[1]);
	hash = hash_end(hash_step(h, (__u64)facts->proto << 32 | ports));
	hash *= POLICE_WEYL;
	return hash ^ hash >> 16;
}

__noinline int plane_sample(__u32 line, __u32 hash, __u64 bytes)
{
	struct flow_sample *sample = bpf_map_lookup_elem(&plane_samples, &line);

	if (sample)
		flow_sample_add(sample, hash, bytes);
	return 0;
}

static __always_inline __u32 plane_cost(__u32 owner, const struct plane_facts *facts)
{
	if (police_owner_accounting(owner) == ACCOUNT_L3)
		return facts->len - facts->l2_len - facts->padding;
	return facts->len + (police_owner_accounting(owner) == ACCOUNT_WIRE ? WIRE_BYTES : 0);
}

/* police_borrow() and the meter. Returns whether so many bytes, or parts of a packet, conform. */
static __always_inline bool plane_conforms(struct plane_line *line, __u32 slot, __u64 parts)
{
	__u64 held = line->tokens >> TOKEN_BYTE;
	bool conforms;

	if (held < parts)
		held += plane_draw(line, slot, parts - held);
	conforms = held >= parts;
	line->tokens = (held - (conforms ? parts : 0)) << TOKEN_BYTE;
	return conforms;
}

/* Like mark_ipv4(). */
static __always_inline bool mark_ipv4(__u8 *ip, __u32 mark)
{
	__u16 before = load_be16(ip), checksum = load_be16(ip + 10);
	__u8 class;

	if (!mark_class(ip[1], mark == PLANE_ECN, mark, &class))
		return false;
	if (class == ip[1])
		return true;
	ip[1] = class;
	*(__u16 *)(ip + 10) = bpf_htons(checksum_update(checksum, before, load_be16(ip)));
	return true;
}

/* Like mark_ipv6(). */
static __always_inline bool mark_ipv6(__u8 *ip, __u32 mark)
{
	__u16 word = load_be16(ip);
	__u8 class;

	if (!mark_class(word >> 4 & 0xff, mark == PLANE_ECN, mark, &class))
		return false;
	*(__u16 *)ip = bpf_htons((word & 0xf00f) | (__u16)(class << 4));
	return true;
}

/* mark_frame() for a frame that was parsed. Out of line, because few packets are marked. */
__noinline int plane_mark(struct xdp_md *ctx, __u32 l2_len, __u32 mark)
{
	__u8 *ip = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	ip += l2_len & 0x1f;
	if (ip + IPV4_LEN > end)
		return 0;
	if (ip[0] >> 4 == 4)
		return mark_ipv4(ip, mark);
	return ip + IPV6_LEN <= end && mark_ipv6(ip, mark);
}

/* Returns whether a packet passes although it does not conform. */
static __always_inline bool passes_over(
	struct xdp_md *ctx, const struct plane_facts *facts, __u32 terms)
{
	if (terms & PLANE_MARKS)
		return facts->family &&
		       plane_mark(ctx, facts->l2_len, terms >> PLANE_MARK_SHIFT & PLANE_MARK_MASK);
	return terms & PLANE_COUNTS;
}

/* Like police_enact(): counts a packet and returns its verdict. */
static __always_inline enum plane_verdict plane_enact(
	struct plane_line *line, __u64 cost, bool conforms, bool over)
{
	line->bytes += cost;
	line->packets++;
	if (conforms)
		return PLANE_PASSES;
	if (over) {
		line->over_packets++;
		line->over_bytes += cost;
		return PLANE_PASSES;
	}
	line->dropped_bytes += cost;
	line->dropped_packets++;
	return PLANE_DROPS;
}

static __always_inline enum plane_verdict ask_of_unknown(void)
{
	const volatile struct plane_clock *clock = find_clock();

	return clock && clock->all_soft ? PLANE_ASKS : PLANE_ASKS_ALONE;
}

static __always_inline enum plane_verdict plane_police(
	struct xdp_md *ctx, const struct plane_facts *facts, __u32 slot, __u32 slots)
{
	__u32 at = bpf_get_smp_processor_id() * slots + slot, owner, terms, cost;
	struct plane_line *line = bpf_map_lookup_elem(&plane_lines, &at);
	__u64 place;
	bool conforms;

	if (!line || slot >= slots)
		return ask_of_unknown();
	place = *(volatile __u64 *)&line->place;
	if (place < PLANE_HELD)
		return place == PLANE_WORKERS ? PLANE_ASKS : PLANE_ASKS_ALONE;
	owner = *(volatile __u32 *)&line->owner;
	terms = *(volatile __u32 *)&line->terms;
	cost = terms & PLANE_PACKETS ? 1 : plane_cost(owner, facts);
	if (police_owner_asides(owner, line->packets) && place >= PLANE_SAMPLED &&
		(!(police_owner_flags(owner) & POLICE_TCP_ONLY) || facts->proto == PROTO_TCP))
		plane_sample(place - PLANE_SAMPLED, flow_hash(facts),
			(__u64)cost << police_owner_shift(owner));
	conforms = plane_conforms(
		line, slot, (__u64)cost << (terms >> PLANE_UNIT_SHIFT & PLANE_UNIT_MASK));
	return plane_enact(line, cost, conforms, !conforms && passes_over(ctx, facts, terms));
}

/* Returns whether a packet could be a tunnel that workers enter. */
static __always_inline bool may_be_tunnel(const struct plane_facts *facts, __u32 vxlan_port)
{
	return facts->proto == PROTO_IPIP || facts->proto == PROTO_IPV6 ||
	       facts->proto == PROTO_GRE ||
	       (facts->proto == PROTO_UDP && facts->dst_port == vxlan_port);
}

#define PROTO_ICMPV6 58

/* fe80::/10 */
static __always_inline bool is_of_link6(__u32 first)
{
	return (first & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000);
}

/*
 * Returns whether a packet belongs to the link, by its addresses: see packet/of_link.c, which also
 * accepts neighbour discovery between others. They are compared as words, because a compiler that
 * sees their bytes would keep each byte separately.
 */
static __always_inline bool is_of_link(const struct plane_facts *facts)
{
	__u32 src = *(const __u32 *)facts->src, dst = *(const __u32 *)facts->dst;

	if (facts->family == FACTS_IPV4) /* 224.0.0.0/24 */
		return (dst & bpf_htonl(0xffffff00)) == bpf_htonl(0xe0000000) || ~dst == 0;
	return (dst & bpf_htonl(0xff0f0000)) == bpf_htonl(0xff020000) || is_of_link6(dst) ||
	       is_of_link6(src);
}

/*
 * Returns the verdict on a packet without a policy. If the wire drops these, workers do it, because
 * they count them and record their senders. While workers are away, the packet is lost.
 */
static __always_inline enum plane_verdict plane_of_nobody(
	void *table, const struct plane_facts *facts)
{
	if (!facts->family || !lines_drop(table, facts->wire) || is_of_link(facts))
		return PLANE_UNMATCHED;
	return facts->proto == PROTO_ICMPV6 ? PLANE_ASKS : PLANE_ASKS_ALONE;
}

/*
 * Makes the compiler keep an object in memory. Otherwise it would spread a packet's facts over the
 * stack, and each path through the parser would write all of them there.
 */
static __always_inline void keep_in_memory(const void *object)
{
	__asm__ volatile("" : : "r"(object) : "memory");
}

/*
 * Returns the verdict on a packet. Frames longer than `most` bytes go to workers, which count them.
 */
static __always_inline enum plane_verdict plane_decide(
	struct xdp_md *ctx, const volatile struct bypass_setup *setup, __u32 most)
{
	struct plane_facts facts = {.wire = setup->wire, .direction = setup->direction};
	__u32 only = 0, slot, slots = setup->slots;
	void *table = bpf_map_lookup_elem(&plane_tables, &only);

	if (!table || plane_parse(ctx, &facts) == PLANE_ASIDE || facts.len > most)
		return ask_of_unknown();
	keep_in_memory(&facts);
	if (setup->enters_tunnels && may_be_tunnel(&facts, setup->vxlan_port))
		return ask_of_unknown();
	slot = lines_classify(table, &facts);
	if (slot == LINES_NONE)
		return plane_of_nobody(table, &facts);
	if (slot == LINES_ASIDE)
		return ask_of_unknown();
	return plane_police(ctx, &facts, slot, slots);
}

#endif
