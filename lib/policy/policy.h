/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One policy as configured: its packets, its limit, and the treatment of packets that exceed it.
 * Plain data, immutable once loaded. Any thread.
 */
#ifndef WEIR_POLICY_POLICY_H
#define WEIR_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include <netinet/in.h>

#include "meter/meter.h"
#include "meter/phantom.h"

#define CONFIG_NAME_MAX  64                     /* bytes of a name, with the terminator */
#define CONFIG_BURST_MAX (4ULL << 30)           /* bytes */
#define CONFIG_COUNT_MAX 1000000000ULL          /* packets or flows: of a burst, and per second */
#define CONFIG_TOTAL_MAX 1000000000000000000ULL /* units per period: 1000PB */

#define CONFIG_ANY (-1) /* match: wire, vlan or dscp not given */

#define POLICY_NO_PARENT   (-1)
#define POLICY_LEVELS_MOST 4 /* policies of a lineage, including the one that matches */
#define POLICY_WEIGHT_MOST 1000

enum direction { DIRECTION_ANY, DIRECTION_A_TO_B, DIRECTION_B_TO_A };

/* Bytes of a packet that are charged. */
enum accounting {
	ACCOUNTING_L2,   /* the frame as received, without its FCS */
	ACCOUNTING_L3,   /* the frame less its Ethernet and VLAN headers */
	ACCOUNTING_WIRE, /* L2 and 24 bytes: FCS 4, preamble 8, inter-frame gap 12 */
};

/* Treatment of a packet that exceeds the limit. */
enum action {
	ACTION_DROP,
	ACTION_MARK,  /* passes, marked; dropped if it cannot be marked */
	ACTION_COUNT, /* passes unchanged, only counted (shadow mode) */
	ACTION_SHAPE, /* waits until it conforms */
	ACTION_PASS,  /* for a colour: passes unchanged, like a conforming packet */
};

/* "unparsed": treatment of packets that the parser does not understand. */
enum unparsed_action {
	UNPARSED_STRICT, /* belong to the strictest policy that they might match */
	UNPARSED_DROP,
	UNPARSED_PASS, /* matched without ports and protocol */
};

/* Packet that is dropped, or marked, when too many wait. */
enum shape_drop {
	SHAPE_DROP_TAIL,  /* the arriving packet, when the queue is full */
	SHAPE_DROP_CODEL, /* also packets after long waits persist (RFC 8289) */
};

/* "shape": queue of ACTION_SHAPE. */
struct shape_config {
	uint64_t delay_ns; /* longest wait; the queue holds so much time at the limit */
	uint64_t bytes;    /* most bytes in each worker's queue; 0: delay_ns alone bounds it */
	enum shape_drop drop;
	uint64_t target_ns, interval_ns; /* CoDel parameters */
	bool ecn;                        /* CoDel marks ECN-capable packets, drops others */
};

/* Property of a packet that selects its class. */
enum classes_by {
	CLASSES_BY_FLOW, /* each flow is a class, while there are enough classes */
	CLASSES_BY_DSCP,
};

/* "classes": share a limit, with the meter "phantom". */
struct classes_config {
	enum classes_by by;
	unsigned n;                     /* a power of two */
	uint8_t weights[PHANTOM_DSCPS]; /* CLASSES_BY_DSCP: weight of each DSCP, at least 1 */
};

/* Prefix lengths that group sources which burst together; full length: each source is a group. */
struct place_key {
	uint8_t v4, v6;
};

/* "place": assigns the sources of a policy with an objective to workers. */
struct place_config {
	struct place_key key;
	uint64_t round_ns; /* interval between evaluations of the last decision */
	bool concentrate;  /* on the fewest workers that meet the objective; false: on all */
	bool max_min;      /* makes the smallest part largest; false: equalizes worker loads */
	bool correlate;    /* spreads sources of one key over workers; false: random */
};

/* Quantity that a limit counts. */
enum counting {
	COUNT_BYTES,   /* bytes that "accounting" selects */
	COUNT_PACKETS, /* each packet counts 1 */
	COUNT_FLOWS,   /* TCP SYN, first packet of a UDP flow; other packets count 0 */
};

/* Guarantee of a limit while messages between limiters travel. */
enum guarantee {
	GUARANTEE_SOFT, /* can be exceeded for a while */
	GUARANTEE_HARD, /* hard limit: the ledger moves parts; with "gdrl" always */
};

/* Limits whose unused tokens the limiters of a group lend each other. */
enum loans { LOANS_NONE, LOANS_SOFT, LOANS_ALL };

/* Period after which a quota starts again. Each period has a number, by the wall clock in UTC. */
enum period {
	PERIOD_NONE,  /* never: a prepaid quota */
	PERIOD_FIXED, /* policy.period_ns, counted from 1970 */
	PERIOD_MONTH, /* calendar month */
};

#define MARK_ECN (-1) /* policy.mark: ECN congestion experienced */

/*
 * "trial": another limit, counted in addition to the enforced one. Complete: includes inherited
 * values.
 */
struct trial_config {
	bool set; /* false: the policy has none */
	enum meter_kind meter;
	uint64_t limit_bps; /* see policy.limit_bps */
	uint32_t limit_s;
	uint64_t burst_bytes, window_ns;
	struct classes_config classes;
};

/* A limit, as in struct policy, and the depth of its bucket. */
struct limit_terms {
	uint64_t limit_bps;
	uint32_t limit_s;
	uint64_t burst_bytes;
};

#define COLOUR_DSCPS 64

/* Treatment of packets of one colour; never ACTION_SHAPE. */
struct colour_action {
	enum action action;
	int mark; /* see policy.mark */
};

/* "colours", "peak" and "excess": additional parameters of a meter of METER_COLOURS. */
struct colours_config {
	/*
	 * "peak" or "excess", over all limiters. With METER_SPILLS it has no rate: it gets the
	 * overflow of the first bucket. A limiter has the same part of it as of policy.limit_bps.
	 */
	struct limit_terms second;
	bool aware;                            /* uses the colour of arriving packets */
	uint8_t of_dscp[COLOUR_DSCPS];         /* enum colour of each DSCP */
	struct colour_action actions[COLOURS]; /* red: same as policy.action */
};

struct prefix {
	uint8_t family;   /* 0: any; 4; 6 */
	uint8_t length;   /* bits */
	uint8_t addr[16]; /* network order; IPv4 in the first four bytes; no host bits */
};

struct port_range {
	uint16_t first, last; /* inclusive; both 0: any, or no ports */
};

struct match {
	int wire; /* index into config.wires or CONFIG_ANY */
	enum direction direction;
	struct prefix src, dst;
	int vlan;      /* outermost VLAN id 0–4094, or CONFIG_ANY */
	int dscp;      /* 0–63, or CONFIG_ANY */
	uint8_t proto; /* transport protocol, or 0: any */
	bool last;     /* lowest priority: takes packets of its wire that match no other policy */
	struct port_range src_port, dst_port; /* for protocols with ports */
};

struct schedule;

struct policy {
	char name[CONFIG_NAME_MAX];
	struct match match; /* the first; a packet needs only one of them: see policy_match() */
	struct match *more; /* the others, from malloc(); NULL: none */
	unsigned n_more;
	/*
	 * Limit over all limiters, in bit/s. For packets or flows it is eight times their number in
	 * limit_s seconds. limit_s is the time unit in the configuration; 0 means one second. The
	 * limit is not divided by it, so that 100/min and 7/h are whole numbers. See policy_rate().
	 */
	uint64_t limit_bps;
	uint32_t limit_s;
	uint64_t burst_bytes; /* bytes, packets or flows, over all limiters */
	enum counting count;
	const struct allocator *allocator;
	enum meter_kind meter;
	struct classes_config classes; /* METER_PHANTOM */
	struct colours_config colours; /* METER_COLOURS */
	uint64_t window_ns;            /* fixed-window, hybrid: quota = limit × window */
	uint8_t per_v4, per_v6;        /* prefix length of a source; both 0: one meter for all */
	unsigned sources;              /* size of a worker's table */
	bool weigh_tcp_only;           /* "weigh": FPS samples only TCP flows */
	enum action action;
	int mark;                  /* ACTION_MARK: a DSCP 0 to 63, or MARK_ECN */
	struct shape_config shape; /* ACTION_SHAPE */
	uint64_t slo_p99_ns;       /* "slo": longest wait of 99 % of the packets; 0: none */
	struct place_config place; /* for slo_p99_ns */
	enum accounting accounting;
	uint64_t interval_ns;   /* estimate interval */
	double keep_per_second; /* "ewma": part of an old value that remains after one second */
	uint64_t history_ns, step_ns; /* allocator adaptor: time that it looks back */
	enum guarantee guarantee;
	const struct gdrl_indicator *indicator; /* allocator gdrl; NULL: another allocator */
	double eta;                             /* allocator gdrl; 0: from the measured slope */
	/*
	 * Allocator quota. limit_bps is the rate that passes after the quota is spent; 0: nothing
	 * passes. The action applies to packets that exceed both.
	 */
	uint64_t total; /* units per period, over all limiters; at most CONFIG_TOTAL_MAX */
	enum period period;
	uint64_t period_ns; /* PERIOD_FIXED: whole seconds */
	uint64_t chunk;     /* most units that are saved as spent in advance, as prefetched quota */
	bool drawn;         /* its shares come from etcd */
	/*
	 * Other limits by time of day and weekday; NULL: none. The limit above applies at all other
	 * times. app/weir/reload/timed.h determines the limit that applies now.
	 */
	struct schedule *schedule;
	struct trial_config trial;
	/*
	 * "parent": index, in the same array, of the policy to which packets are also charged. Zero
	 * if not loaded, so check policy_has_parent() first.
	 */
	int parent;
	uint8_t above;           /* number of ancestors */
	bool under_hard;         /* an ancestor's limit is hard */
	bool unmatched;          /* a parent without a match: it has no packets of its own */
	uint32_t children;       /* number of policies with this parent */
	uint32_t sharers;        /* policies with a part of its limit: policy_divider() */
	uint32_t weight;         /* relative to siblings, at most POLICY_WEIGHT_MOST; 0: 1 */
	uint64_t guaranteed_bps; /* per limit_s: guaranteed part of the parent's */
};

/*
 * The matches of a policy. There is at least one, except for a parent without packets of its own. A
 * packet belongs to the policy if it matches any of them. Any thread.
 */
static inline unsigned policy_n_matches(const struct policy *policy)
{
	return policy->unmatched ? 0 : 1 + policy->n_more;
}

static inline const struct match *policy_match(const struct policy *policy, unsigned i)
{
	return i == 0 ? &policy->match : &policy->more[i - 1];
}

/* Returns the time unit of limit_bps, in seconds. Any thread. */
static inline uint32_t policy_limit_s(const struct policy *policy)
{
	return policy->limit_s ? policy->limit_s : 1;
}

/* Returns the limit in units (bytes, packets, flows) per second, over all limiters. Any thread. */
static inline double policy_rate(const struct policy *policy)
{
	return (double)policy->limit_bps / 8 / policy_limit_s(policy);
}

/* Returns true if the protocol's header begins with a source and a destination port. Any thread. */
static inline bool proto_has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_DCCP || proto == IPPROTO_UDPLITE;
}

#endif
