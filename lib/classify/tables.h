/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the control side builds (build.c) and the workers read (classify.c). Private to this folder.
 *
 * Every policy is one rule. Policies that share a prefix are a run of rules in order of precedence;
 * the lookup tables give the first of a run, and each rule names the one to try when it does not
 * match: the next in its run, or the first of the enclosing prefix's run. So "fall back to the
 * parent" costs the worker nothing but to follow the chain.
 */
#ifndef WEIR_CLASSIFY_TABLES_H
#define WEIR_CLASSIFY_TABLES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_lpm.h>
#include <rte_lpm6.h>

#include "classify/classify.h"

#define BURST_MAX 64
#define RULE_NONE UINT32_MAX
#define RULES_MAX (1u << 21) /* rte_lpm6 keeps 21 bits of a next hop; rte_lpm has 24 */
#define VLANS     4096

/*
 * The cheap conditions side by side in one word, so that one mask and one comparison check them
 * all. A packet that is not IP has a DSCP that no policy can name.
 */
#define KEY_DSCP_SHIFT      16
#define KEY_DIRECTION_SHIFT 24
#define KEY_WIRE_SHIFT      32
#define KEY_VLAN_MASK       UINT64_C(0xffff)
#define KEY_DSCP_MASK       (UINT64_C(0xff) << KEY_DSCP_SHIFT)
#define KEY_DIRECTION_MASK  (UINT64_C(0xff) << KEY_DIRECTION_SHIFT)
#define KEY_WIRE_MASK       (UINT64_C(0xffffffff) << KEY_WIRE_SHIFT)
#define KEY_DSCP_NOT_IP     0xff

struct rule {
	uint64_t key;  /* mask already applied */
	uint64_t mask; /* 0: every packet */
	uint32_t policy;
	uint32_t next;   /* RULE_NONE ends the chain */
	uint32_t source; /* index into sources, or RULE_NONE: any */
	uint32_t reserved;
};
static_assert(sizeof(struct rule) == 32, "two rules a cache line");

/* A source prefix as a condition, as two words in the packet's byte order. */
struct source {
	uint64_t addr[2], mask[2];
};

/* Longest prefix → first rule, for one of the two addresses of a packet. */
struct table {
	struct rte_lpm *v4; /* NULL when no policy needs it: it is 64 MB */
	struct rte_lpm6 *v6;
	uint32_t root4, root6; /* the rules of 0.0.0.0/0 and ::/0, or RULE_NONE */
	bool used;             /* has any rule */
};

struct classifier {
	struct table dst;  /* policies that name a destination */
	struct table src;  /* policies that name a source only */
	uint32_t *by_vlan; /* policies that name neither; NULL when none names a VLAN */
	uint32_t any;      /* those without a VLAN either */
	bool per_burst;    /* all conditions are the same for all packets of a burst */
	struct rule *rules;
	struct source *sources;
};

static inline void load_address(const uint8_t *p, uint8_t family, uint64_t out[2])
{
	out[0] = 0;
	out[1] = 0;
	memcpy(out, p, family == PACKET_IPV4 ? 4 : 16);
}

#endif
