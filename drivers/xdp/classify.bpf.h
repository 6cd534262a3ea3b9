/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Maps packets to policies in the kernel, like the workers: by the same tables in the same order
 * (classify/classify.c), with the fields that packet/parse.c would find. If the results might
 * differ, it gives no answer, and a worker decides. For XDP programs; needs Linux 5.18.
 *
 * Loops are calls of bpf_loop(), so the verifier checks the body once, not once per path through
 * it.
 */
#ifndef WEIR_XDP_CLASSIFY_BPF_H
#define WEIR_XDP_CLASSIFY_BPF_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "classify/lines_format.h"
#include "plane_facts.h"

#define CLASSIFY_NONE LINES_NONE

#define RULES_FOLLOWED 64 /* most rules of a chain; a worker decides longer ones */

/* --- parse ----------------------------------------------------------------------------------- */

#define ETHER_LEN 14
#define TAG_LEN   4
#define TAGS_MAX  2
#define IPV4_LEN  20
#define IPV6_LEN  40
#define PORTS_LEN 4

#define PADDED_MOST 46 /* PACKET_PADDED_MOST */

/* The parser's position in a packet: `at` is `off` bytes after the first byte. */
struct plane_cursor {
	void *at, *end;
	__u32 off;
};

static __always_inline __u16 load_be16(const void *at)
{
	return bpf_ntohs(*(const __u16 *)at);
}

static __always_inline bool is_tag_type(__u16 type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/* MPLS and PPPoE, which can carry IP. */
static __always_inline bool is_layered_type(__u16 type)
{
	return type == 0x8847 || type == 0x8848 || type == 0x8864;
}

/* Bitmap of IPv6 extension headers; all of them are below 64. */
#define EXTENSION_PROTOS (1ULL << 0 | 1ULL << 43 | 1ULL << 44 | 1ULL << 51 | 1ULL << 60)

static __always_inline bool is_extension_proto(__u8 proto)
{
	return proto < 64 && (EXTENSION_PROTOS >> proto & 1);
}

/* TCP, UDP, DCCP, SCTP, UDP-Lite. */
static __always_inline bool has_ports(__u8 proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

/* Sets the ports if the packet has them. Returns false if the program cannot read them. */
static __always_inline bool parse_ports(
	const struct plane_cursor *transport, __u32 packet_end, struct plane_facts *facts)
{
	const __u16 *ports = transport->at;

	if (!has_ports(facts->proto) || transport->off + PORTS_LEN > packet_end)
		return true;
	if (transport->at + PORTS_LEN > transport->end)
		return false;
	facts->src_port = bpf_ntohs(ports[0]);
	facts->dst_port = bpf_ntohs(ports[1]);
	return true;
}

static __always_inline __u32 least_of(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

/* Sets packet_padding() of a valid packet. */
static __always_inline void note_padding(struct plane_facts *facts, __u32 packet_end)
{
	if (facts->len - facts->l2_len <= PADDED_MOST)
		facts->padding = facts->len - packet_end;
}

static __always_inline enum plane_parsed parse_ipv4(
	struct plane_cursor *cursor, struct plane_facts *facts)
{
	const __u8 *ip = cursor->at;
	__u32 packet_end, header;

	if (cursor->at + IPV4_LEN > cursor->end)
		return PLANE_ASIDE;
	header = (ip[0] & 0xf) * 4;
	packet_end = least_of(facts->len, cursor->off + load_be16(ip + 2));
	if (ip[0] >> 4 != 4 || header < IPV4_LEN || cursor->off + header > packet_end ||
		load_be16(ip + 6) & 0x3fff || ip[9] == 51) /* AH: ports follow it */
		return PLANE_ASIDE;
	note_padding(facts, packet_end);
	facts->family = FACTS_IPV4;
	facts->dscp = ip[1] >> 2;
	facts->proto = ip[9];
	facts->src[0] = 0;
	facts->dst[0] = 0;
	*(__u32 *)&facts->src[0] = *(const __u32 *)(ip + 12);
	*(__u32 *)&facts->dst[0] = *(const __u32 *)(ip + 16);
	cursor->at += header;
	cursor->off += header;
	return parse_ports(cursor, packet_end, facts) ? PLANE_PARSED : PLANE_ASIDE;
}

static __always_inline enum plane_parsed parse_ipv6(
	struct plane_cursor *cursor, struct plane_facts *facts)
{
	const __u8 *ip = cursor->at;
	__u32 packet_end;

	if (cursor->at + IPV6_LEN > cursor->end || ip[0] >> 4 != 6 || is_extension_proto(ip[6]))
		return PLANE_ASIDE;
	facts->family = FACTS_IPV6;
	facts->dscp = load_be16(ip) >> 6 & 0x3f;
	facts->proto = ip[6];
	facts->src[0] = *(const __u64 *)(ip + 8); /* memcpy() would copy bytes */
	facts->src[1] = *(const __u64 *)(ip + 16);
	facts->dst[0] = *(const __u64 *)(ip + 24);
	facts->dst[1] = *(const __u64 *)(ip + 32);
	packet_end = least_of(facts->len, cursor->off + IPV6_LEN + load_be16(ip + 4));
	note_padding(facts, packet_end);
	cursor->at += IPV6_LEN;
	cursor->off += IPV6_LEN;
	return parse_ports(cursor, packet_end, facts) ? PLANE_PARSED : PLANE_ASIDE;
}

/* Skips one tag, if there is one. Returns false if it is cut short. */
static __always_inline bool parse_tag(
	struct plane_cursor *cursor, __u16 *type, struct plane_facts *facts)
{
	if (!is_tag_type(*type))
		return true;
	if (cursor->at + TAG_LEN > cursor->end)
		return false;
	if (facts->vlan == FACTS_NO_VLAN)
		facts->vlan = load_be16(cursor->at) & 0xfff;
	*type = load_be16(cursor->at + 2);
	cursor->at += TAG_LEN;
	cursor->off += TAG_LEN;
	return true;
}

/* Sets all fields of *facts except wire and direction. */
static __always_inline enum plane_parsed plane_parse(struct xdp_md *ctx, struct plane_facts *facts)
{
	struct plane_cursor cursor = {
		.at = (void *)(long)ctx->data, .end = (void *)(long)ctx->data_end};
	__u16 type;

	facts->src[0] = facts->src[1] = facts->dst[0] = facts->dst[1] = 0;
	facts->len = (__u32)bpf_xdp_get_buff_len(ctx);
	facts->vlan = FACTS_NO_VLAN;
	facts->src_port = facts->dst_port = 0;
	facts->family = facts->dscp = facts->proto = 0;
	facts->l2_len = 0;
	facts->padding = 0;
	if (cursor.at + ETHER_LEN > cursor.end)
		return PLANE_ASIDE;
	type = load_be16(cursor.at + ETHER_LEN - 2);
	cursor.at += ETHER_LEN;
	cursor.off = ETHER_LEN;
	if (!parse_tag(&cursor, &type, facts) || !parse_tag(&cursor, &type, facts))
		return PLANE_ASIDE;
	facts->l2_len = (__u16)cursor.off;
	if (type == 0x0800)
		return parse_ipv4(&cursor, facts);
	if (type == 0x86dd)
		return parse_ipv6(&cursor, facts);
	return is_tag_type(type) || is_layered_type(type) ? PLANE_ASIDE : PLANE_NOT_IP;
}

/* --- tables ---------------------------------------------------------------------------------- */

static __always_inline const void *line_at(void *lines, __u32 i)
{
	return bpf_map_lookup_elem(lines, &i);
}

/* Returns word `i` of a part that begins at a line, or LINES_ASIDE if it does not exist. */
static __always_inline __u32 word_at(void *lines, __u32 line, __u32 i)
{
	const __u32 *words = line_at(lines, line + i / 16);

	return words ? words[i % 16] : LINES_ASIDE;
}

static __always_inline __u32 search_few_ranges(void *lines, __u32 line, __u32 addr)
{
	const __u32 *first = line_at(lines, line);
	__u32 i = 0;

	if (!first)
		return LINES_ASIDE;
	for (__u32 step = LINES_FEW / 2; step > 0; step /= 2)
		i += addr >= first[(i + step) % LINES_FEW] ? step : 0;
	return word_at(lines, line + 1, i % LINES_FEW);
}

/*
 * Returns how many of 8 bounds are below the 16 low bits of an address. Each word has four bounds.
 * They are subtracted in 32-bit halves, whose highest bit stays set if there is no borrow.
 */
static __always_inline __u32 bounds_before(const __u64 *bounds, __u32 low)
{
	const __u64 biased = 0x8000800080008000ULL, even = 0x0000ffff0000ffffULL;
	const __u64 guard = 0x8000000080000000ULL, both = low | (__u64)low << 32;
	const __u64 a = bounds[0] ^ biased, b = bounds[1] ^ biased;
	__u64 not_less = 0;

	not_less += (((a & even) | guard) - both & guard) >> 31;
	not_less += (((a >> 16 & even) | guard) - both & guard) >> 31;
	not_less += (((b & even) | guard) - both & guard) >> 31;
	not_less += (((b >> 16 & even) | guard) - both & guard) >> 31;
	return LINES_UNIT_BOUNDS - (__u32)((not_less + (not_less >> 32)) & 0xf);
}

static __always_inline __u32 search_ranges(void *lines, __u32 first, __u32 unit, __u32 low)
{
	const struct classify_line *line = line_at(lines, first + unit / 4);
	const __u32 *words = (const __u32 *)line;
	__u32 behind;

	if (!line)
		return LINES_ASIDE;
	behind = bounds_before(&line->word[unit % 4 * 2 & 6], low);
	return words[(unit % 4 * 4 + 4 + behind) % 16];
}

static __always_inline bool leads_to_table(__u32 entry)
{
	return entry - LINES_TABLE <= LINES_PLACE;
}

static __always_inline __u32 search_entries(void *lines, __u32 first, __u32 addr)
{
	__u32 entry = word_at(lines, first, addr >> 16);

	if (leads_to_table(entry)) {
		entry = word_at(lines, first, (entry & LINES_PLACE) * 4 + (addr >> 8 & 0xff));
		if (leads_to_table(entry))
			entry = word_at(lines, first, (entry & LINES_PLACE) * 4 + (addr & 0xff));
	}
	if (entry - LINES_FURTHER > LINES_PLACE)
		return entry;
	return search_ranges(lines, first, entry & LINES_PLACE, addr & 0xffff);
}

static __always_inline __u32 search_ipv4(void *lines, const struct lines_table *table, __u64 bytes)
{
	const __u32 addr = bpf_ntohl(*(__u32 *)&bytes);

	if (!table->v4)
		return table->root4;
	return table->few ? search_few_ranges(lines, table->v4, addr)
			  : search_entries(lines, table->v4, addr);
}

/* State of a search for an IPv6 address. */
struct search6 {
	void *lines;
	__u64 addr[2];
	__u32 nodes; /* line of the first node */
	__u32 node;
	__u32 start; /* start of the longest prefix so far */
};

/* Sets *start from the slot that has the key, if any. Returns whether one has. */
static __always_inline bool search_bucket(
	const struct lines_bucket *bucket, __u64 high, __u64 low, __u32 *start)
{
	for (__u32 slot = 0; slot < LINES_SLOTS; slot++)
		if (bucket->addr[slot][0] == high && bucket->addr[slot][1] == low) {
			*start = bucket->start[slot];
			return true;
		}
	return false;
}

/* Searches one length. Returns 1 if the search must end, and sets LINES_ASIDE. */
static long search_length(__u32 step, void *context)
{
	struct search6 *search = context;
	const __u32 buckets = search->nodes + LINES_NODES;
	const struct lines_node *node = line_at(search->lines, search->nodes + search->node / 2);
	const struct lines_bucket *bucket;
	__u64 high, low;
	__u32 at;

	(void)step;
	if (!node)
		goto aside;
	node += search->node % 2;
	high = search->addr[0] & node->mask[0];
	low = search->addr[1] & node->mask[1];
	at = node->first + lines_hash6(high, low, node->n_buckets);
	search->node *= 2;
	for (__u32 i = 0; i <= LINES_FURTHER_MAX; i++) {
		bucket = line_at(search->lines, buckets + at);
		if (!bucket)
			break;
		if (search_bucket(bucket, high, low, &search->start)) {
			search->node++;
			return 0;
		}
		at = bucket->further;
		if (!at)
			return 0;
	}
aside:
	search->start = LINES_ASIDE;
	return 1;
}

static __always_inline __u32 search_ipv6(
	void *lines, const struct lines_table *table, const __u64 *addr)
{
	struct search6 search = {
		.lines = lines,
		.addr = {addr[0], addr[1]},
		.nodes = table->v6,
		.node = 1,
		.start = table->root6,
	};

	if (table->v6)
		bpf_loop(table->steps, search_length, &search, 0);
	return search.start;
}

/* --- rules ----------------------------------------------------------------------------------- */

/* State of a walk through a chain of rules. */
struct chain {
	void *lines;
	__u64 key;
	__u64 src[2];
	__u32 rules; /* line of rule 0, which need not exist */
	__u32 start;
	__u16 src_port, dst_port;
};

/* Returns the key as defined in tables.h. */
static __always_inline __u64 facts_key(const struct plane_facts *facts)
{
	const __u64 dscp = facts->family ? facts->dscp : 0xff;

	return facts->vlan | dscp << 16 | (__u64)facts->direction << 24 |
	       (__u64)facts->proto << 32 | (__u64)facts->wire << 40;
}

static __always_inline bool start_leads_to_rule(__u32 start)
{
	return start >> 29 == LINES_CHAIN >> 29;
}

static __always_inline bool rule_takes(const struct lines_rule *rule, const struct chain *chain)
{
	return (chain->key & rule->mask) == rule->key && chain->src_port >= rule->src_first &&
	       chain->src_port <= rule->src_last && chain->dst_port >= rule->dst_first &&
	       chain->dst_port <= rule->dst_last &&
	       (chain->src[0] & rule->src_mask[0]) == rule->src[0] &&
	       (chain->src[1] & rule->src_mask[1]) == rule->src[1];
}

static long follow_rule(__u32 step, void *context)
{
	struct chain *chain = context;
	const struct lines_rule *rule;

	(void)step;
	if (!start_leads_to_rule(chain->start))
		return 1;
	rule = line_at(chain->lines, chain->rules + (chain->start & ~LINES_CHAIN));
	if (!rule) {
		chain->start = LINES_ASIDE;
		return 1;
	}
	chain->start = rule_takes(rule, chain) ? rule->policy : rule->next;
	return 0;
}

/*
 * Follows a start to a policy or to LINES_NONE. The chain is set up only here, because most starts
 * are policies.
 */
static __always_inline __u32 follow_start(void *lines, const struct lines_header *header,
	const struct plane_facts *facts, __u32 start)
{
	struct chain chain;

	if (!start_leads_to_rule(start))
		return start;
	chain = (struct chain){
		.lines = lines,
		.key = facts_key(facts),
		.src = {facts->src[0], facts->src[1]},
		.rules = header->rules - header->first_rule,
		.start = start,
		.src_port = facts->src_port,
		.dst_port = facts->dst_port,
	};
	bpf_loop(RULES_FOLLOWED, follow_rule, &chain, 0);
	return start_leads_to_rule(chain.start) ? LINES_ASIDE : chain.start;
}

static __always_inline __u32 classify_address(void *lines, const struct lines_header *header,
	const struct lines_table *table, const struct plane_facts *facts, const __u64 *addr)
{
	__u32 start = LINES_NONE;

	if (!(table->directions >> facts->direction & 1))
		return LINES_NONE;
	if (facts->family == FACTS_IPV4)
		start = search_ipv4(lines, table, addr[0]);
	else if (facts->family == FACTS_IPV6)
		start = search_ipv6(lines, table, addr);
	return follow_start(lines, header, facts, start);
}

static __always_inline __u32 start_of_vlan(
	void *lines, const struct lines_header *header, __u16 vlan)
{
	return header->by_vlan && vlan < 4096 ? word_at(lines, header->by_vlan, vlan) : header->any;
}

/*
 * Returns the policy of a packet by the lines in a map; CLASSIFY_NONE; or LINES_ASIDE if a worker
 * must decide. *facts must be on the caller's stack.
 */
static __always_inline __u32 lines_classify(void *lines, const struct plane_facts *facts)
{
	const struct lines_header *header = line_at(lines, 0);
	__u32 answer;

	if (!header || header->version != LINES_VERSION)
		return LINES_ASIDE;
	answer = classify_address(lines, header, &header->dst, facts, facts->dst);
	if (answer == LINES_NONE)
		answer = classify_address(lines, header, &header->src, facts, facts->src);
	if (answer == LINES_NONE)
		answer = follow_start(
			lines, header, facts, start_of_vlan(lines, header, facts->vlan));
	return answer;
}

/* Returns whether a wire drops packets without a policy. */
static __always_inline bool lines_drop(void *lines, __u32 wire)
{
	const struct lines_header *header = line_at(lines, 0);

	return header && header->drops >> (wire & 31) & 1;
}

#endif
