/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the control side builds (build.c) and the workers read (classify.c). Private to this folder.
 *
 * What the lookup tables answer is a "start": a policy, where nothing but the prefix was asked for,
 * so that most packets are done with the lookup; or the first of a chain of rules. Policies that
 * share a prefix are a run of rules in order of precedence, and each rule names the start for what
 * it does not match: the next in its run, or that of the enclosing prefix. So "fall back to the
 * parent" costs the worker nothing but to follow the chain.
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
 * A start: a policy, START_NONE ("ask the next table"), or START_CHAIN's bits and the index of a
 * rule. The upper two bits are alike in each, as lpm.h wants it.
 */
#define START_CHAIN (3u << 30)
#define START_NONE  UINT32_MAX
static_assert(START_NONE == CLASSIFY_NONE, "what no table knows has no policy");
static_assert(RULES_MAX <= 1u << 29, "a chain is never START_NONE, and a policy never a chain");

static inline bool start_is_chain(uint32_t start)
{
	return start >> 29 == START_CHAIN >> 29;
}

/*
 * The cheap conditions side by side in one word, so that one mask and one comparison check them
 * all. A packet that is not IP has a DSCP that no policy can name, and protocol 0, likewise.
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

/* Those that differ between the packets of a burst. */
#define KEY_PACKET_MASK (KEY_VLAN_MASK | KEY_DSCP_MASK | KEY_PROTO_MASK)

/* One cache line. */
struct rule {
	uint64_t key;  /* mask already applied */
	uint64_t mask; /* 0: every packet */
	uint32_t policy;
	uint32_t next;                        /* a start */
	struct port_range src_port, dst_port; /* 0 to 65535: any, and none */
	uint64_t src[2], src_mask[2];         /* in the packet's byte order; no mask: any source */
};
static_assert(sizeof(struct rule) == 64, "a rule is a cache line");

/* Such a rule is never part of a chain: its policy is the start. */
static inline bool rule_asks_nothing(const struct rule *rule)
{
	return rule->mask == 0 && rule->src_port.first == 0 && rule->dst_port.first == 0 &&
	       (rule->src_mask[0] | rule->src_mask[1]) == 0;
}

/* Longest prefix → start, for one of the two addresses of a packet. */
struct table {
	struct fib4 *v4; /* NULL when no policy needs it */
	struct lpm6 *v6;
	uint32_t root4, root6;    /* the start of what is in no prefix of v4, or v6 */
	uint32_t otherwise;       /* START_NONE; if it is the last, classifier.any */
	bool last;                /* nothing else is to be asked for what it has no start for */
	enum direction direction; /* the only one in which it has any policies, or DIRECTION_ANY */
	bool used;                /* has any rule */
};

/* How strict a policy is, the more the higher, with packets that may begin a flow and others. */
struct strictness {
	uint32_t answer;
	uint32_t opens, carries;
};

struct classifier {
	struct table dst;  /* policies that name a destination */
	struct table src;  /* policies that name a source only */
	uint32_t *by_vlan; /* starts of policies that name neither; NULL when none names a VLAN */
	uint32_t any;      /* the start of those without a VLAN either */
	bool any_alike;    /* it depends on nothing that differs between packets of a burst */
	bool wants_l2_len; /* some policy charges packets without their L2 header */
	struct rule *rules;
	uint32_t n_rules;
	struct strictness *strictness; /* of all policies, sorted by answer */
	uint32_t n_strictness;
	enum unparsed_action unparsed;
	uint32_t drops; /* wires on which what no policy takes is dropped, a bit each */
};

/* Fills in how strict policies are. Returns 0 or -ENOMEM. Control. */
int strictness_make(const struct policy *policies, const uint32_t *answers, uint32_t n, int socket,
	struct classifier *classifier);

/* Whether packets of this direction have to be looked up in it. */
static inline bool table_applies(const struct table *table, enum direction direction)
{
	return table->used && (table->direction == DIRECTION_ANY || table->direction == direction);
}

#endif
