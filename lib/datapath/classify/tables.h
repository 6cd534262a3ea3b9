/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The tables that control builds (build.c) and workers read (classify.c). Private to this folder.
 *
 * The lookup tables return a "start". It is a policy if the prefix is the only condition, so most
 * packets need no more than the lookup. Or it is the first rule of a chain. Policies that share a
 * prefix are a run of rules in order of precedence. Each rule has the start for packets that it
 * does not match: the next rule of its run, or the start of the enclosing prefix. So a worker falls
 * back to the enclosing prefix by following the chain.
 */
#ifndef WEIR_CLASSIFY_TABLES_H
#define WEIR_CLASSIFY_TABLES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "classify/classify.h"
#include "classify/fib4.h"
#include "classify/lpm6.h"

#define BURST_MAX 64
#define RULES_MAX (1u << 21)
#define VLANS     4096

/*
 * A start: a policy, START_NONE ("search the next table"), or START_CHAIN's bits and the index of a
 * rule. The upper two bits are equal in each, as lpm.h requires.
 */
#define START_CHAIN (3u << 30)
#define START_NONE  UINT32_MAX
static_assert(START_NONE == CLASSIFY_NONE, "without a match in any table there is no policy");
static_assert(RULES_MAX <= 1u << 29, "a chain is never START_NONE, and a policy never a chain");

static inline bool start_is_chain(uint32_t start)
{
	return start >> 29 == START_CHAIN >> 29;
}

/*
 * The cheap conditions in one word, so that one mask and one comparison check all of them. A packet
 * that is not IP has protocol 0 and KEY_DSCP_NOT_IP, which no policy can name.
 */
#define KEY_DSCP_SHIFT      16
#define KEY_DIRECTION_SHIFT 24
#define KEY_PROTO_SHIFT     32
#define KEY_WIRE_SHIFT      40
#define KEY_VLAN_MASK       UINT64_C(0xffff)
#define KEY_DSCP_MASK       (UINT64_C(0xff) << KEY_DSCP_SHIFT)
#define KEY_DIRECTION_MASK  (UINT64_C(0xff) << KEY_DIRECTION_SHIFT)
#define KEY_PROTO_MASK      (UINT64_C(0xff) << KEY_PROTO_SHIFT)
#define KEY_WIRE_MASK       (UINT64_C(0xffffff) << KEY_WIRE_SHIFT)
#define KEY_DSCP_NOT_IP     0xff

/* Fields that differ between the packets of a burst. */
#define KEY_PACKET_MASK (KEY_VLAN_MASK | KEY_DSCP_MASK | KEY_PROTO_MASK)

/* One cache line. */
struct rule {
	uint64_t key;  /* mask already applied */
	uint64_t mask; /* 0: every packet */
	uint32_t policy;
	uint32_t next;                        /* start if the rule does not match */
	struct port_range src_port, dst_port; /* 0 to 65535: any, also without ports */
	uint64_t src[2], src_mask[2];         /* in the packet's byte order; no mask: any source */
};
static_assert(sizeof(struct rule) == 64, "a rule is a cache line");

/* Returns whether a rule has no conditions. Its policy is then the start; no chain has the rule. */
static inline bool rule_asks_nothing(const struct rule *rule)
{
	return rule->mask == 0 && rule->src_port.first == 0 && rule->dst_port.first == 0 &&
	       (rule->src_mask[0] | rule->src_mask[1]) == 0;
}

/* Longest prefix → start, for one of a packet's two addresses. */
struct table {
	struct fib4 *v4; /* NULL if no policy needs it */
	struct lpm6 *v6;
	uint32_t root4, root6;    /* starts of addresses outside all prefixes */
	uint32_t otherwise;       /* START_NONE; if `last`, classifier.any */
	bool last;                /* no more to check if it has no start */
	enum direction direction; /* the only one that has policies, or DIRECTION_ANY */
	bool used;                /* has any rule */
};

/* Strictness of a policy, higher is stricter. */
struct strictness {
	uint32_t answer;         /* policy value that the tables return */
	uint32_t opens, carries; /* for packets that can begin a flow; for others */
};

struct classifier {
	struct table dst;  /* policies with a destination */
	struct table src;  /* policies with a source only */
	uint32_t *by_vlan; /* starts of policies with neither; NULL if none names a VLAN */
	uint32_t any;      /* start of policies with neither, without a VLAN */
	bool any_alike;    /* `any` depends on no field that differs within a burst */
	bool wants_l2_len; /* some policy charges packets without their L2 header */
	struct rule *rules;
	uint32_t n_rules;
	struct strictness *strictness; /* one per policy, sorted by answer */
	uint32_t n_strictness;
	enum unparsed_action unparsed;
	uint32_t drops; /* bitmap: wires that drop packets without a policy */
};

/* Computes the strictness of all policies. Returns 0 or -ENOMEM. Control. */
int strictness_make(const struct policy *policies, const uint32_t *answers, uint32_t n, int socket,
	struct classifier *classifier);

/* Returns whether packets of this direction must be looked up in a table. */
static inline bool table_applies(const struct table *table, enum direction direction)
{
	return table->used && (table->direction == DIRECTION_ANY || table->direction == direction);
}

#endif
