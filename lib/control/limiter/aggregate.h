/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/control/limiter: the state of a limiter.
 */
#ifndef WEIR_LIMITER_AGGREGATE_H
#define WEIR_LIMITER_AGGREGATE_H

#include "base/bitmap.h"
#include "allocate/demand.h"
#include "allocate/history.h"
#include "limiter/limiter.h"

struct aggregate {
	struct limiter_policy policy;
	uint64_t hold_until_ns;
	uint64_t measured_ns, next_ns;
	uint64_t starves_until_ns; /* flows here lose all packets, see least_limit() */
	uint64_t arrived_bytes, dropped_packets; /* at measured_ns */
	struct demand demand;
	double old_part;                /* part of old flows in the sample that was last seen */
	struct steady_rate demand_slow; /* smoothed like the flows' rates */
	double asked;                   /* the demand that was allocated by */
	struct history *history;        /* NULL before the first byte, or if it remembers nothing */
	double queue;                   /* bytes in the virtual one, see aggregate.c */
	struct flow_rates *flows;       /* n_workers; NULL before the first byte */
	unsigned n_flows;
	struct allocate_state state;
	double share; /* bytes per second of the limit to be divided, see levels.c */
	double held;  /* hard: the ledger's amount, of the limit and not of the share */
	double wanted, wanted_burst; /* hard: the allocator's last targets for the ledger */
	bool target_moved;           /* with the last answer */
	unsigned level;              /* in struct levels, or LEVEL_NONE */
	double pressure; /* a level's: part of the intervals in which packets were dropped */
	double claimed;  /* the demand that is sent to peers */
	bool parent;     /* has children */
	double effective_limit;
	double global_demand, global_weight;
	unsigned lost;           /* peers that did not count in the last interval */
	uint8_t ending;          /* part of the limit and the burst, see struct limiter_view */
	uint64_t above_since_ns; /* see limiter_overshoot_since() */
	uint64_t withheld;       /* bytes of a hard limit's burst, for offers */
	uint64_t lends_from_ns;  /* until then offers of an earlier start can be accepted */
	/* Indices in lib/control/conserve (the burst's, if it has an account) and in budget. */
	unsigned rate_account, burst_account, unit_account;
};

/*
 * Part of an old value that is kept over an interval; for most policies it is the same in a tick.
 */
struct keeps {
	double per_second, interval_s;
	double keep, slow;
	double quick_s; /* length of the memory of `keep` */
};

struct levels;

#define LEVEL_NONE UINT_MAX

/* True if limiters may lend tokens of the policy. */
static inline bool aggregate_lends(const struct aggregate *a)
{
	return a->policy.lends && a->level == LEVEL_NONE && !a->parent;
}

struct limiter {
	unsigned n, n_policies, n_workers;
	uint64_t started_ns, ticked_ns, tick_ns, next_ns;
	uint64_t gossip_tick_ns, gossip_ns; /* see gossip_clock(); its next tick */
	bool speaks;                        /* we send demands, on which peers can rely */
	bool skips_idle;
	struct gossip *gossip;
	struct aggregate *aggregates;
	uint64_t *active, *changed; /* a bit a policy */
	double *flow_scratch;       /* n_workers × FLOW_SLOTS */
	struct keeps keeps;
	struct gossip_params gossip_params; /* without the borrowed arrays */
	struct agree *agree;
	bool terms_stale; /* the terms sent to peers are outdated: there was no memory */
	struct book_identity identity_reported;
	uint64_t watched;          /* gossip_changes() of when peers were last looked at, */
	bool watches;              /* if they ever were */
	struct conserve *conserve; /* NULL: there has never been a hard limit */
	struct budget *budget;     /* NULL: there has never been one that counts units */
	struct levels *levels;     /* NULL: no policy is below another */
	struct limiter_ledger ledger;
	uint64_t founders; /* hash of the founders of the ledger, see terms_that_move() */
	bool incomplete;   /* see limiter_set_complete() */
	const struct roster *roster;
	unsigned self;
	unsigned silent;           /* lost peers at the last tick; for allocators without gossip */
	uint64_t now_ns, lease_ns; /* the last call's; when a hard limit falls by itself */
	struct timekeeper keeper;  /* used without a budget */
	uint64_t budget_ns;        /* when budgets are to be ticked */
	uint64_t asked;            /* agree_changes() at the last requests to neighbours */
	struct loan *loan;         /* NULL: no loans */
	struct limiter_buckets buckets;
	uint64_t look_ns, looked_ns; /* next and last limiter_look() */
	unsigned look_from;          /* policy where it begins */
	bool lends, lends_hard;      /* any policy does; with a hard limit */
	uint64_t commit_ns;        /* no grant is committed before: policies may have left offers */
	double overshoot_alarm;    /* see struct limiter_params */
	bool left, returns;        /* see limiter_leave() */
	struct exchange *exchange; /* NULL: no set of members */
	uint64_t *member_epochs;   /* n: peers' at the last requests for their sets */
	uint64_t members_watched;  /* gossip_changes() of when peers were last looked at */
	struct limiter_closure closure; /* limiter_closure() adds the rest */
	uint64_t closures;              /* number of both books that it covers */
	uint64_t held_until_ns;
};

/* Returns the seconds to which limit_bps refers. Any thread. */
static inline uint32_t limiter_time(const struct limiter_policy *policy)
{
	return policy->limit_s ? policy->limit_s : 1;
}

/* Bytes per second over all limiters, and bytes below which no bucket is made. */
static inline double limiter_policy_rate(const struct limiter_policy *policy)
{
	return (double)policy->limit_bps / 8 / limiter_time(policy);
}

uint64_t policy_burst_floor(const struct limiter_policy *policy);

/*
 * Policies below others; see levels.c. levels_create() gets all policies. It returns 0, with *out
 * NULL if no policy has a parent. It returns -ENOMEM, or -EINVAL for a parent that is not another
 * policy. Then levels_index() links them with the limiter's aggregates. At each tick, levels_tick()
 * finds shares before any allocation. The function levels_wanted() returns the demand of a parent's
 * children on it here.
 */
int levels_create(const struct limiter_policy *policies, unsigned n, struct levels **out);
void levels_destroy(struct levels *levels);
void levels_index(struct limiter *l);
void levels_tick(struct limiter *l);
double levels_wanted(const struct limiter *l, const struct aggregate *a);

/* Returns the demand at the end of an interval, with room to grow where it is held back. */
double levels_claim(const struct limiter *l, struct aggregate *a, const struct allocate_input *in);

/* Returns true if its demand is sent to peers. */
static inline bool aggregate_gossips(const struct aggregate *a)
{
	return a->policy.allocator->gossips || a->level != LEVEL_NONE;
}

/* Bytes per second that a policy begins with at a limiter of n. */
double limiter_first_limit(const struct limiter_policy *policy, unsigned n);
double limiter_first_burst(const struct limiter_policy *policy, unsigned n); /* bytes */

/* A policy of a limiter of n that has just begun to enforce it: limit/N. */
void aggregate_init(
	struct aggregate *a, const struct limiter_policy *policy, unsigned n, uint64_t now_ns);

/*
 * Makes up for the intervals in which a policy was idle: all that ended with the last tick, or
 * before.
 */
void aggregate_catch_up(struct aggregate *a, uint64_t ticked_ns);

/* Returns true if the burst of a policy has an account of its own. */
static inline bool aggregate_has_burst_account(const struct limiter_policy *policy)
{
	return policy->guarantee == LIMITER_HARD && policy->allocator->remembers;
}

/* Returns the bytes of a hard limit's bucket here, including the part withheld for offers. */
uint64_t aggregate_whole_burst(const struct limiter *l, const struct aggregate *a);

/* Returns the depth of the bucket here in bytes. */
uint64_t aggregate_burst(const struct limiter *l, const struct aggregate *a);

/* Fills in the data of the past for an allocator that remembers; see aggregate.c. */
void aggregate_remember(const struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, struct allocate_input *in, uint64_t now_ns);

/* Returns true if something of the past will still be forgotten, and so change the next answer. */
bool aggregate_remembers(const struct aggregate *a, uint64_t now_ns);
void aggregate_forget(struct aggregate *a);

/* Policies with hard limits; see rates.c. */
static inline bool aggregate_hard(const struct aggregate *a)
{
	return a->policy.guarantee == LIMITER_HARD;
}

/*
 * Key of a policy in gossip and loans. It is of the whole hash, so that policies with one id and
 * different names share nothing there.
 */
static inline uint64_t limiter_key(const struct limiter_policy *policy)
{
	return policy->id ^ policy->check;
}

/*
 * Another roster for the accounts, in two steps: only the first can fail. After it, call one of the
 * others. See limiter_regroup().
 */
struct rates_regrouping {
	struct book_member *members;
	struct book_regrouping book;
	struct conserve *renewed; /* accounts to replace the present ones, which hold nothing */
};

int limiter_rates_regroup_begin(struct limiter *l, const struct roster *roster,
	const struct book_member *members, unsigned self, uint64_t now_ns,
	struct rates_regrouping *r);
void limiter_rates_regroup_cancel(struct rates_regrouping *r);
void limiter_rates_regroup_commit(struct limiter *l, const struct roster *roster, unsigned self,
	uint64_t now_ns, struct rates_regrouping *r);

int limiter_rates_set(struct limiter *l, const struct limiter_policy *policies, unsigned n,
	struct book_record *records, unsigned n_records, uint64_t now_ns);
void limiter_rates_index(const struct limiter *l, struct aggregate *a);
bool limiter_rates_refresh(struct limiter *l, uint64_t now_ns); /* true: a limit has changed */
uint64_t limiter_rates_next(const struct limiter *l);           /* when that is due by itself */
void limiter_rates_want(struct limiter *l, struct aggregate *a);
/* Finds the depth that offers withhold now. Returns true if it has changed. */
bool limiter_rates_withhold(struct limiter *l, unsigned policy, uint64_t now_ns);
uint64_t limiter_rates_until(const struct limiter *l, const struct aggregate *a, uint64_t now_ns);
bool limiter_rates_tick(struct limiter *l, uint64_t now_ns);
void limiter_rates_receive(
	struct limiter *l, uint64_t now_ns, const struct gossip_message *message);

/*
 * Settings that all must share; see terms.c. Hashes of the units of a policy's limit, and of the
 * settings without which no share of a hard limit moves; and the exchange of all with peers.
 * `roster` is the hash of the limiters that have a share: for rates the founders.
 */
uint32_t terms_unit(const struct limiter_policy *policy);
uint64_t terms_roster_hash(const uint32_t *ids, unsigned n); /* in any order */
uint64_t terms_that_move(
	const struct limiter *l, uint64_t roster, const struct limiter_policy *policy);
/* Stores the values of a policy that peers compare, by limiter_thing(). Returns their number. */
unsigned terms_of_policy(const struct limiter_policy *policy, uint64_t *values);
int terms_create(struct limiter *l); /* 0 or -ENOMEM */
void terms_set(struct limiter *l, uint64_t now_ns);
void terms_received(struct limiter *l, unsigned peer);
void terms_tick(struct limiter *l, uint64_t now_ns);

/* Policies that count units; see units.c. */
int limiter_units_set(struct limiter *l, const struct limiter_policy *policies, unsigned n,
	struct book_record *records, unsigned n_records, uint64_t now_ns);
void limiter_units_index(const struct limiter *l, struct aggregate *a);
void limiter_units_tick(struct limiter *l, uint64_t now_ns);
void limiter_units_ask(struct limiter *l); /* requests terms from peers with a config mismatch */
void limiter_units_receive(
	struct limiter *l, uint64_t now_ns, const struct gossip_message *message);

/*
 * Both; see accounts.c. Accounts for other policies: 0 or an errno, and nothing has changed;
 * as they were, for the policies that the limiter has; and where each policy's are.
 */
int accounts_set(
	struct limiter *l, const struct limiter_policy *policies, unsigned n, uint64_t now_ns);
void accounts_restore(struct limiter *l, uint64_t now_ns);
void accounts_index(struct limiter *l);
/* Looks for other limiters with our name or that of a neighbour, and closes the accounts. */
void accounts_watch_names(struct limiter *l, uint64_t now_ns);

void accounts_receive(struct limiter *l, uint64_t now_ns, const struct gossip_message *message);
size_t accounts_send(struct limiter *l, uint8_t *buf, unsigned *peer);

/*
 * Token loans; see loans.c. loans_create(): 0 or a negative errno. loans_send() writes the next
 * message into buf and returns its length, or 0. loans_rest(): an idle policy borrows nothing.
 */
int loans_create(struct limiter *l, const struct limiter_params *params, uint64_t now_ns);
void loans_rest(struct limiter *l, unsigned policy, uint64_t now_ns);
void loans_receive(struct limiter *l, uint64_t now_ns, const struct gossip_message *message);
size_t loans_send(struct limiter *l, uint8_t *buf, size_t room, unsigned *peer);

/*
 * Members of the group (members.c), if params.members is set. limiter_members_send() writes a
 * message into buf and returns its length, or 0. limiter_members_regroup() is called before the
 * roster changes; see exchange_regroup(). With an exchange it takes over n epochs, all 0.
 */
int limiter_members_create(struct limiter *l, struct members *members);
void limiter_members_destroy(struct limiter *l);
void limiter_members_tick(struct limiter *l);
bool limiter_members_return(
	struct limiter *l); /* ends a limiter_leave(), once limits are decided */
void limiter_members_receive(struct limiter *l, const struct gossip_message *message);
size_t limiter_members_send(struct limiter *l, uint8_t *buf, size_t room, unsigned *peer);

/*
 * loans_hold_grants() returns true while a part of the ledger's grants may be depth that an offer
 * needs. loans_leave() is called before other policies begin, loans_index() after that.
 */
bool loans_hold_grants(const struct limiter *l);
void loans_leave(struct limiter *l, uint64_t now_ns);
void loans_index(struct limiter *l);

/*
 * Meters local limits, see aggregate.c: all of them when the limiter starts or its policies change,
 * and the limit of an active policy once a tick.
 */
void overshoot_begin(struct limiter *l);
void overshoot_tick(struct limiter *l, unsigned policy, uint64_t now_ns);

/* Nanoseconds of the shortest interval, which is the limiter's tick. */
uint64_t policies_tick(const struct limiter_policy *policies, unsigned n);

#endif
