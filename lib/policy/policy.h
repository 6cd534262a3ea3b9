/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One policy as it was configured: which packets are its own, what they may do, and what becomes of
 * those that may not. Plain data, which nobody changes once it is loaded. Any thread.
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
#define CONFIG_COUNT_MAX 1000000000ULL          /* packets or flows: of a burst, and a second */
#define CONFIG_TOTAL_MAX 1000000000000000000ULL /* units a period: 1000PB */

#define CONFIG_ANY (-1) /* match: wire, vlan or dscp not named */

#define POLICY_NO_PARENT   (-1)
#define POLICY_LEVELS_MOST 4 /* policies of a lineage, the one that matches included */
#define POLICY_WEIGHT_MOST 1000

enum direction { DIRECTION_ANY, DIRECTION_A_TO_B, DIRECTION_B_TO_A };

/* Which bytes of a packet are charged. */
enum accounting {
	ACCOUNTING_L2,   /* the frame as received, without its FCS */
	ACCOUNTING_L3,   /* the frame less its Ethernet and VLAN headers */
	ACCOUNTING_WIRE, /* L2 and 24 bytes: FCS 4, preamble 8, inter-frame gap 12 */
};

/* What happens to a packet that does not conform. */
enum action {
	ACTION_DROP,
	ACTION_MARK,  /* passes, marked; what cannot be marked is dropped */
	ACTION_COUNT, /* passes untouched: only counted (shadow mode) */
	ACTION_SHAPE, /* waits until it conforms */
	ACTION_PASS,  /* of a colour: passes untouched, as what conforms */
};

/* "unparsed": what becomes of packets of which it is not known what they are. */
enum unparsed_action {
	UNPARSED_STRICT, /* the strictest policy that they could be of has them */
	UNPARSED_DROP,
	UNPARSED_PASS, /* they have the policy that matches what is known: no ports, no protocol */
};

/* Which packet is dropped, or marked, when too many wait. */
enum shape_drop {
	SHAPE_DROP_TAIL,  /* what comes when the queue is full */
	SHAPE_DROP_CODEL, /* also what has waited too long for a while (RFC 8289) */
};

/* "shape": how packets of ACTION_SHAPE wait. */
struct shape_config {
	uint64_t delay_ns; /* that a packet may wait: bounds the queue to so much of the limit */
	uint64_t bytes; /* that may wait on each worker, whatever the delay; 0: as delay_ns says */
	enum shape_drop drop;
	uint64_t target_ns, interval_ns; /* CoDel's */
	bool ecn;                        /* CoDel marks what allows it, instead of dropping */
};

/* What of a packet says which class it is of. */
enum classes_by {
	CLASSES_BY_FLOW, /* each flow is one, as long as there are enough */
	CLASSES_BY_DSCP,
};

/* "classes": who share a limit, with the meter "phantom". */
struct classes_config {
	enum classes_by by;
	unsigned n;                     /* a power of two */
	uint8_t weights[PHANTOM_DSCPS]; /* CLASSES_BY_DSCP: of each DSCP, at least 1 */
};

/* Bits of an address whose sources burst together; all of it: each source by itself. */
struct place_key {
	uint8_t v4, v6;
};

/* "place": how the sources of a policy with an objective are given to workers. */
struct place_config {
	struct place_key key;
	uint64_t round_ns; /* between looks at what became of the last decision */
	bool concentrate;  /* on the fewest workers that keep the objective; else on all */
	bool max_min;      /* the smallest part as large as can be; else equal loads of workers */
	bool correlate;    /* sources of one key on different workers; else by lot */
};

/* What a limit counts. */
enum counting {
	COUNT_BYTES,   /* as "accounting" says */
	COUNT_PACKETS, /* each packet is one */
	COUNT_FLOWS,   /* TCP SYN, first packet of a UDP flow; other packets cost nothing */
};

/* What of a limit holds while news travels. */
enum guarantee {
	GUARANTEE_SOFT,      /* exceeded for a while */
	GUARANTEE_CONSERVED, /* never: parts move through the ledger; of "gdrl" always */
};

/* Limits whose unused tokens the limiters of a group lend each other. */
enum loans { LOANS_NONE, LOANS_SOFT, LOANS_ALL };

/* How often a budget begins anew; each period has a number, by the wall clock in UTC. */
enum period {
	PERIOD_NONE,  /* never: a prepaid amount */
	PERIOD_FIXED, /* policy.period_ns from 1970 on */
	PERIOD_MONTH, /* of the calendar */
};

#define MARK_ECN (-1) /* policy.mark: congestion experienced */

/* "trial": another limit that is counted beside the enforced one. Whole, what it inherits too. */
struct trial_config {
	bool set; /* false: the policy has none */
	enum meter_kind meter;
	uint64_t limit_bps; /* as the policy's */
	uint32_t limit_s;
	uint64_t burst_bytes, window_ns;
	struct classes_config classes;
};

/* A limit, as struct policy has it, and the depth of its bucket. */
struct limit_terms {
	uint64_t limit_bps;
	uint32_t limit_s;
	uint64_t burst_bytes;
};

#define COLOUR_DSCPS 64

/* What becomes of packets of a colour: never ACTION_SHAPE. */
struct colour_action {
	enum action action;
	int mark; /* as policy.mark */
};

/* "colours", "peak" and "excess": what a meter of METER_COLOURS has beside the limit. */
struct colours_config {
	/*
	 * "peak" or "excess", over all limiters: METER_SPILLS has no limit there. A limiter has the
	 * same part of it as of the limit.
	 */
	struct limit_terms second;
	bool aware;                            /* of the colour that packets come with, */
	uint8_t of_dscp[COLOUR_DSCPS];         /* enum colour: that of their DSCP */
	struct colour_action actions[COLOURS]; /* that of red is the policy's, too */
};

struct prefix {
	uint8_t family;   /* 0: any; 4; 6 */
	uint8_t length;   /* bits */
	uint8_t addr[16]; /* network order; IPv4 in the first four bytes; no host bits */
};

struct port_range {
	uint16_t first, last; /* inclusive; both 0: any, or none at all */
};

struct match {
	int wire; /* index into config.wires or CONFIG_ANY */
	enum direction direction;
	struct prefix src, dst;
	int vlan;      /* outermost VLAN id 0–4094, or CONFIG_ANY */
	int dscp;      /* 0–63, or CONFIG_ANY */
	uint8_t proto; /* transport protocol, or 0: any */
	bool last; /* goes behind all others: what nobody else takes, of the wire that it names */
	struct port_range src_port, dst_port; /* of a protocol that has ports */
};

struct schedule;

struct policy {
	char name[CONFIG_NAME_MAX];
	struct match match; /* the first of them; any takes a packet: policy_match() */
	struct match *more; /* the others, from malloc(); NULL: none */
	unsigned n_more;
	/*
	 * The limit over all limiters: bit/s; of packets or flows eight times their number in
	 * limit_s seconds, which is the time that it was written in, 0 for one second. Not divided,
	 * so that 100/min and 7/h are whole numbers; see policy_rate().
	 */
	uint64_t limit_bps;
	uint32_t limit_s;
	uint64_t burst_bytes; /* bytes (or packets, or flows), over all limiters */
	enum counting count;
	const struct allocator *allocator;
	enum meter_kind meter;
	struct classes_config classes; /* METER_PHANTOM */
	struct colours_config colours; /* METER_COLOURS */
	uint64_t window_ns;            /* fixed-window, hybrid: quota = limit × window */
	uint8_t per_v4, per_v6; /* bits of an address that make a source; both 0: one meter */
	unsigned sources;       /* that a worker's table has room for */
	bool weigh_tcp_only;    /* "weigh": FPS samples TCP flows alone */
	enum action action;
	int mark;                  /* ACTION_MARK: a DSCP 0 to 63, or MARK_ECN */
	struct shape_config shape; /* ACTION_SHAPE */
	uint64_t slo_p99_ns; /* ACTION_SHAPE, "slo": what 99 % of the packets may wait; 0: none */
	struct place_config place; /* of such an objective */
	enum accounting accounting;
	uint64_t interval_ns;   /* estimate interval */
	double keep_per_second; /* "ewma": share of an old value still kept after one second */
	uint64_t history_ns, step_ns; /* allocator adaptor: how far it looks back */
	enum guarantee guarantee;
	const struct gdrl_indicator *indicator; /* allocator gdrl, else NULL */
	double eta;                             /* of it; 0: by the measured slope */
	/*
	 * Allocator quota. The limit is what may pass when the total is spent, 0: nothing; and
	 * what passes neither is the action's.
	 */
	uint64_t total; /* units a period, over all limiters; at most CONFIG_TOTAL_MAX */
	enum period period;
	uint64_t period_ns; /* PERIOD_FIXED: whole seconds */
	uint64_t chunk;     /* units that are saved as spent ahead, at most, and lie ready */
	bool drawn;         /* its shares are drawn from etcd */
	/*
	 * Other limits by time of day and weekday; NULL: there are none. The limit above is for all
	 * other times. What holds by now is no policy's to know: app/weir/reload/timed.h.
	 */
	struct schedule *schedule;
	struct trial_config trial;
	/*
	 * "parent": what its packets are charged to as well, by its index in the same array, and by
	 * how many others above that in turn. What was not loaded is zero, so the index is for who
	 * has asked policy_has_parent().
	 */
	int parent;
	uint8_t above;           /* policies that it is below, its parent the first */
	bool under_conserved;    /* one of those above it is never exceeded */
	bool unmatched;          /* a parent without any match: no packet is its own */
	uint32_t children;       /* policies whose parent it is */
	uint32_t sharers;        /* policies that have a part of its limit, see policy_divider() */
	uint32_t weight;         /* beside others of its parent, at most POLICY_WEIGHT_MOST; 0: 1 */
	uint64_t guaranteed_bps; /* as limit_bps, in limit_s: what it has of its parent first */
};

/*
 * Its matches: at least one, but of a parent that has no packet of its own. A packet that is of any
 * of them is the policy's. Any thread.
 */
static inline unsigned policy_n_matches(const struct policy *policy)
{
	return policy->unmatched ? 0 : 1 + policy->n_more;
}

static inline const struct match *policy_match(const struct policy *policy, unsigned i)
{
	return i == 0 ? &policy->match : &policy->more[i - 1];
}

/* Seconds that limit_bps is of. Any thread. */
static inline uint32_t policy_limit_s(const struct policy *policy)
{
	return policy->limit_s ? policy->limit_s : 1;
}

/* The limit in units (bytes, packets, flows) a second, over all limiters. Any thread. */
static inline double policy_rate(const struct policy *policy)
{
	return (double)policy->limit_bps / 8 / policy_limit_s(policy);
}

/* Whether its headers begin with a source and a destination port. Any thread. */
static inline bool proto_has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_DCCP || proto == IPPROTO_UDPLITE;
}

#endif
