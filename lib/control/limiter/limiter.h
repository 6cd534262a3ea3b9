/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter's brain: measurements and datagrams in, local limits and datagrams out. A pure state
 * machine: it knows no clock, socket, thread or packet, and the same calls give the same answers.
 * The appliance drives it from the control thread, a simulator from virtual time. One thread.
 */
#ifndef WEIR_LIMITER_LIMITER_H
#define WEIR_LIMITER_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agree/agree.h"
#include "allocate/allocate.h"
#include "budget/budget.h"
#include "conserve/conserve.h"
#include "gossip/gossip.h"
#include "loan/loan.h"

/*
 * The burst is shared as the limit is, which keeps the aggregate's bound of r·t + b. Below six
 * full-sized packets a bucket stops flows instead of limiting them: a flow that loses one of six
 * still hears of it from those behind. More would be felt where many limiters idle: their buckets
 * are full, and a demand that moves to them finds them all.
 */
#define LIMITER_BURST_FLOOR UINT64_C(9084)

enum limiter_guarantee {
	LIMITER_SOFT,      /* exceeded while news travels */
	LIMITER_CONSERVED, /* never: see conserve/conserve.h, also of its buckets */
};

/* A limit and a burst, as struct limiter_policy has them. */
struct limiter_terms {
	uint64_t limit_bps;
	uint32_t limit_s;
	uint64_t burst_bytes;
};

struct limiter_policy {
	/* See struct book_name. The name is borrowed as long as the limiter has the policy. */
	uint64_t id, check;
	const char *name;
	const struct allocator *allocator;
	uint64_t limit_bps;           /* over all limiters: bit/s, or eighths of units in limit_s */
	uint32_t limit_s;             /* seconds; 0: one. What is conserved is whole units in it */
	uint64_t burst_bytes;         /* over all limiters */
	uint64_t interval_ns;         /* estimate interval */
	double keep_per_second;       /* see demand_keep() */
	uint64_t history_ns, step_ns; /* of an allocator that remembers; see demand/history.h */
	uint64_t burst_floor;         /* a bucket below it stops flows; 0: six full-sized packets */
	uint32_t packet;              /* what a full-sized packet takes; 0: 1514 bytes */
	enum limiter_guarantee guarantee;
	const struct gdrl_indicator *indicator; /* conserved: GDRL, not the allocator */
	double eta;                             /* see struct gdrl_self */
	/*
	 * With an allocator that counts units (allocator->counts_units): see struct budget_policy.
	 * The limit and the burst above are what passes when there are none left, limit/N each.
	 */
	uint64_t total, period, chunk;
	bool undated; /* which period it is is not known yet */
	bool drawn;
	/*
	 * What the brain does not go by, and all limiters must have been told alike: hashes, of
	 * what the limit counts, and of how long a period is.
	 */
	uint32_t counts, accounting;
	uint64_t period_length;
	/*
	 * The limit and the burst above are what holds now. What peers are compared by is what
	 * they were told in the end: the limit for when no other one holds (of 0 bit/s: there is no
	 * other one), a hash of the times of other limits, and a hash of a limit that an operator
	 * has put in the place of all these for a while; 0: none. Peers come to other limits
	 * within a moment of each other, and that is no difference.
	 */
	struct limiter_terms plain;
	uint64_t schedule, override;
	/*
	 * A child of another policy has that one's id: then what the allocator divides is no more
	 * than this has of its parent now, see limiter/levels.c. Weight 0 is 1; guaranteed_bps is
	 * in limit_s. `own`: not all packets of a parent are its children's. What peers are
	 * compared by is whose child it was configured to be, also where it has no part of that
	 * one's limit. That is `below`, the id with its lowest bit set, or 0.
	 */
	bool child, own;
	bool waits; /* its packets do, until all above let them pass */
	uint64_t below;
	uint64_t parent;
	uint32_t weight;
	uint64_t guaranteed_bps;
	bool lends;      /* its limiters may lend each other tokens, see limiter_look() */
	uint64_t second; /* a digest of what is beside the limit: a peak; 0: nothing */
};

/* The id under which the burst of a conserved policy moves, where the allocator divides it. */
uint64_t limiter_burst_id(uint64_t id);

/* What a record is of; ids of two kinds may be the same. */
enum limiter_record_kind {
	LIMITER_RATES = 1, /* a conserved policy's */
	LIMITER_UNITS = 2, /* a budget's */
};

struct limiter_record {
	enum limiter_record_kind kind;
	uint64_t id;
	const void *at;
	size_t len;
};

/* What limiters with a conserved policy or a budget need; see conserve_params, budget_params. */
struct limiter_ledger {
	struct overlay_params overlay;        /* conserved; the roster is filled in here */
	const struct limiter_record *records; /* only during limiter_create() */
	unsigned n_records;
	bool recovering, durable;
	struct book_identity identity; /* unknown only where it is recovering */
	uint64_t epoch, lease_ns;
	uint32_t drift_ppm;
	unsigned promise;
	unsigned tree_degree;
	uint64_t timeout_ns; /* of the tree's neighbours */
	uint32_t word;       /* see struct book_params */
	uint64_t proof_ns;   /* see struct book_params */
};

/* A record of a policy that this limiter does not have any more. */
struct limiter_unused {
	enum limiter_record_kind kind;
	const char *name;
	bool untouched;              /* a new one would be the same */
	bool in_use;                 /* a neighbour has reported that it has the policy */
	struct budget_period period; /* zero unless its kind is LIMITER_UNITS */
};

typedef int (*limiter_write)(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len);

/*
 * The buckets of the policies, by index, for token loans, as in lib/control/loan. With `withhold`
 * the bucket is shallower by the bytes taken, until the next limit is published. until_ns is by the
 * clock of all calls.
 */
struct limiter_buckets {
	void *context;
	struct loan_bucket (*look)(void *context, unsigned policy);
	struct loan_taken (*take)(
		void *context, unsigned policy, uint64_t keep, uint64_t most, bool withhold);
	uint64_t (*give)(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns);
};

struct limiter_params {
	struct gossip_params gossip; /* tick_ns, n_policies and policies are filled in here */
	const struct limiter_policy *policies;
	unsigned n_policies;
	unsigned n_workers; /* flow samples of a policy, one a worker */
	bool skips_idle;    /* limiter_wake() is called for every policy with arrivals */
	struct limiter_ledger ledger;
	struct limiter_buckets buckets; /* all NULL: this limiter takes no part in loans */
	double overshoot_alarm; /* part of a limit, see struct limiter_overshoot; 0: no alarm */
};

/* What the workers have counted of one policy since they started. */
struct limiter_sample {
	uint64_t arrived_bytes;
	uint64_t dropped_packets;
	const uint64_t *slots; /* n_workers × FLOW_SLOTS, see flow_slot_read() */
	uint64_t backlog; /* bytes: the most that waited at once since the last one; 0: unknown */
};

/* Fills in the sample of a policy, as of now. */
typedef void (*limiter_measure)(void *context, unsigned policy, struct limiter_sample *sample);

/* What a limiter thinks of one policy; rates in bytes per second. */
struct limiter_view {
	double limit; /* configured */
	double share; /* what it may have of that now, as its parent is shared; without one all */
	double effective_limit; /* of the share, less 1/N for each lost peer */
	double local_limit;
	double drain; /* GTB: what others take from our bucket beyond the limit */
	double drop;  /* part of the arrivals that a meter that drops at random is to drop */
	uint64_t local_burst; /* bytes */
	uint8_t ending; /* the part of both that ends at limiter_lease_ends(); see base/expiry.h */
	double demand, weight;               /* the demand as the allocator averages it */
	double global_demand, global_weight; /* with our own */
	unsigned lost; /* peers that do not count: of a policy that does not gossip, silent ones */
	unsigned flows;
	double flow_rate;
	enum allocate_regime regime;
};

/*
 * The sum of the local limits of a soft limit over the group, bytes per second. Workers enforce a
 * local limit milliseconds after control has decided it. See doc/design/overshoot.md.
 */
struct limiter_overshoot {
	bool known;          /* false for a hard limit, and with an estimator without reports */
	uint64_t at_ns;      /* a moment not long ago, by the clock of all calls */
	double bound;        /* the sum at that moment was not larger, without unheard peers */
	double estimate;     /* sum of the newest reports */
	unsigned unheard;    /* peers without a report of that moment */
	double unheard_most; /* their sum was not larger: the limit for each */
};

struct limiter;

/* Starts at limit/N for each policy. Returns 0, -EINVAL or -ENOMEM. */
int limiter_create(const struct limiter_params *params, uint64_t now_ns, struct limiter **out);
void limiter_destroy(struct limiter *limiter);

/*
 * A ledger for a limiter that was created without one (its epoch was 0), before the
 * limiter_update() that brings the first policies that need one: the records until that has
 * returned. All zero takes it back, if that has failed.
 */
void limiter_give_ledger(struct limiter *limiter, const struct limiter_ledger *ledger);

#define LIMITER_ADDED GOSSIP_ADDED

/*
 * Other policies from now on, n of them, and of each the index that it has had, or LIMITER_ADDED:
 * measurements are asked for by the new indices from now on. One that goes on keeps all that is
 * known of it; of another limit it has the same part, and with another allocator it begins anew.
 * One that is added begins at limit/N, and its counts at 0; of one that is gone the peers are told
 * that nothing is asked for here. When all is as it was nothing changes. Returns 0; -EINVAL (an
 * index is of another name, or two names are the same) or -ENOMEM, and nothing has changed. Not
 * between the limiter_send() calls of one tick.
 */
int limiter_update(struct limiter *limiter, const struct limiter_policy *policies, unsigned n,
	const unsigned *from, uint64_t now_ns);

/* Another limit that holds from now on for a policy, and the hash of the operator's; 0: none. */
struct limiter_change_terms {
	unsigned policy;
	struct limiter_terms terms;
	uint64_t override;
};

/*
 * Other limits from now on, of n policies by their index, each named once: all as limiter_update()
 * does it, with all else of the policies as it is. What is conserved stays so while peers come to
 * the same limits or to others; see conserve/conserve.h. In another time than before only what is
 * not conserved. 0; -EINVAL, -EOVERFLOW or -ENOMEM, and nothing has changed. Not between the
 * limiter_send() calls of one tick.
 */
int limiter_set_terms(struct limiter *limiter, const struct limiter_change_terms *changes,
	unsigned n, uint64_t now_ns);

/*
 * When limiter_tick() wants to be called next: a tick, or a lease that ends. May be earlier than it
 * was after every other call.
 */
uint64_t limiter_next(const struct limiter *limiter);

/*
 * Until when the limits of limiter_view() hold, by the clock of all these calls, though nothing
 * more is heard or asked; UINT64_MAX: for ever. Of each limit only `ending` does not hold beyond
 * that. What ends within a 16th of a lease is not in them any more, so that a caller that is in
 * time has always told of less before it ends.
 */
uint64_t limiter_lease_ends(const struct limiter *limiter);

/*
 * Ends the estimate interval of every policy that is due: measures, allocates, and chooses the
 * peers to tell. Late calls are right, with the time that has really passed; early ones do nothing.
 * Returns true when a local limit changed.
 */
bool limiter_tick(struct limiter *limiter, uint64_t now_ns, limiter_measure measure, void *context);

/* Time between two looks at the buckets. */
#define LIMITER_LOOK_NS UINT64_C(5000000)

/* Time of the next limiter_look(), or UINT64_MAX without loans or while all policies idle. */
uint64_t limiter_next_look(const struct limiter *limiter);

/*
 * Looks at the buckets of the active policies and requests tokens from peers if one is short. Call
 * limiter_send() afterwards, and after every limiter_receive() that returned GOSSIP_MESSAGE.
 */
void limiter_look(struct limiter *limiter, uint64_t now_ns);

/* Bytes lent and borrowed of a policy; and messages. NULL: no loans. */
struct loan_totals limiter_loans(const struct limiter *limiter, unsigned policy);
const struct loan_counters *limiter_loan_counters(const struct limiter *limiter);

/*
 * Says, before a tick, that bytes of a policy have arrived since the last one. With `idles` a
 * policy that nobody asks anything of is left out of the ticks, at no cost, until this or news of a
 * peer wakes it; what it decides then is what it would have decided active, but that a demand of
 * less than a byte in a quarter of an hour is none. (With the estimator tree only
 * policies whose allocator does not gossip idle.) Of a policy that is active, nothing.
 */
void limiter_wake(struct limiter *limiter, unsigned policy);

/*
 * The next policy from `from` on whose local limit, drain or drop has changed since it was told
 * here, or n_policies. Each is told once; at first all are.
 */
unsigned limiter_next_change(struct limiter *limiter, unsigned from);

/*
 * See gossip_send() and gossip_receive(). The caller reads the time after the datagram. With
 * conserved policies and budgets there may also be something to send, and limits may have changed,
 * after limiter_receive() and limiter_committed().
 */
size_t limiter_send(struct limiter *limiter, uint8_t *buf, unsigned *peer);
enum gossip_verdict limiter_receive(
	struct limiter *limiter, uint64_t now_ns, uint8_t *buf, size_t len);

/*
 * Units of a budget, for the packet path to spend: see budget_spend() and its kin, by the policy's
 * index. limiter_send() is to be called after each but limiter_refund(). limiter_period() begins
 * another period; -EINVAL for one that is not later. limiter_next() may be earlier after each.
 */
int limiter_spend(struct limiter *limiter, unsigned policy, uint64_t units, uint64_t now_ns);
int limiter_prefetch(struct limiter *limiter, unsigned policy, uint64_t units, uint64_t now_ns);
void limiter_refund(struct limiter *limiter, unsigned policy, uint64_t units);
void limiter_forgo(struct limiter *limiter, unsigned policy);
int limiter_period(struct limiter *limiter, unsigned policy, uint64_t period, uint64_t now_ns);
int limiter_set_share(struct limiter *limiter, unsigned policy, uint64_t share, uint64_t now_ns);

/*
 * The time, by which periods and times of day turn. limiter_clock() is told what both clocks say
 * now, often, where there are budgets or schedules; see budget_clock(), and agree_clock(): peers
 * compare the wall clock. limiter_wall_s() is the time since 1970, or TIME_UNKNOWN (base/time.h):
 * before the first limiter_clock() always. With budgets it is what the group goes by, and without
 * any our own, as far as it can be believed: limiter_timekeeper(). limiter_remembers(): a ledger is
 * of no earlier time.
 */
bool limiter_clock(struct limiter *limiter, uint64_t wall_ns, bool synchronised, uint64_t now_ns);
int64_t limiter_wall_s(const struct limiter *limiter, uint64_t now_ns);
const struct timekeeper *limiter_timekeeper(const struct limiter *limiter);
void limiter_remembers(struct limiter *limiter, int64_t wall_s);

/*
 * Committing what conserved policies have given away, and budgets too, as book_save() and its kin
 * do: of each kind a round ends with the record to which `write` answers
 * more than 0. A caller without a disk gives no `write`. A round ends well when the records are
 * durable and the workers enforce no more than limiter_view() said at the time of limiter_save().
 * After that limiter_send() is to be called, and units may be had.
 */
bool limiter_uncommitted(const struct limiter *limiter);
int limiter_save(struct limiter *limiter, limiter_write write, void *context);
void limiter_committed(struct limiter *limiter, uint64_t now_ns);
void limiter_save_failed(struct limiter *limiter);

/*
 * The identity of the ledger: that of struct limiter_ledger, or, once a recovering limiter has
 * learnt it of its neighbours, theirs; to be kept then.
 */
struct book_identity limiter_identity(const struct limiter *limiter);

/* What accounts of both kinds know of one limiter of the roster as a neighbour. */
struct limiter_neighbour {
	bool spoke;                /* it has said which ledger it is of: */
	struct book_identity says; /* unknown: it has lost its memory */
	bool foreign;              /* that is another one than ours */
	uint64_t foreign_messages; /* of another ledger, of which nothing was believed */
	uint64_t invalid;          /* statements that cannot be true */
	bool twice;                /* two limiters use its name */
	uint64_t collided;         /* statements about a policy of another name with the same id */
};

/* False for one with whom there is no edge. */
bool limiter_neighbour(
	const struct limiter *limiter, unsigned peer, struct limiter_neighbour *neighbour);

/*
 * State of the records of this limiter. After a closure all accounts recover from their neighbours.
 * While `held`, another limiter uses our name, and they do not begin to.
 */
struct limiter_closure {
	enum book_closure reason; /* newest in this start, or BOOK_OPEN */
	bool closed;              /* accounts still recover from it */
	bool held;
	uint64_t at_ns; /* time of the newest closure */
};

struct limiter_closure limiter_closure(const struct limiter *limiter, uint64_t now_ns);

/* Number of records of policies that this limiter does not have any more. Control. */
unsigned limiter_unused(const struct limiter *limiter);

/*
 * Forgets those for which `may` returns true: the policy starts again if it returns. One that is
 * being saved stays. Returns the number of forgotten ones.
 */
unsigned limiter_forget(struct limiter *limiter,
	bool (*may)(void *context, const struct limiter_unused *unused), void *context);

/* Name of another policy with an account or a record (n) of this one's id, or NULL. */
const char *limiter_name_taken(const struct limiter *limiter, const struct limiter_policy *policy);
bool limiter_record_taken(const struct limiter_record *records, unsigned n,
	const struct limiter_policy *policy, char name[BOOK_NAME_MAX]);

/* For operators: NULL where no policy was ever conserved; an index in it, or LIMITER_ADDED. */
const struct conserve *limiter_conserve(const struct limiter *limiter);
unsigned limiter_conserve_index(const struct limiter *limiter, unsigned policy);
/* And that of its burst, where that has an account of its own. */
unsigned limiter_conserve_burst_index(const struct limiter *limiter, unsigned policy);
const struct budget *limiter_budget(const struct limiter *limiter);
unsigned limiter_budget_index(const struct limiter *limiter, unsigned policy);

void limiter_view(const struct limiter *limiter, unsigned policy, struct limiter_view *view);

/* Returns the values at the last limiter_tick(). */
struct limiter_overshoot limiter_overshoot(const struct limiter *limiter, unsigned policy);

/* Returns the start of the time above 1 + overshoot_alarm limits, or 0. */
uint64_t limiter_overshoot_since(const struct limiter *limiter, unsigned policy);

/*
 * Which peers were told something else: see agree_peer(). limiter_thing() has the name of the first
 * of a difference's things, of the group or of a policy, takes it out of them, and says whether it
 * is fixed: it cannot change while a limiter runs, so that this is no reload under way.
 */
const struct agree *limiter_agree(const struct limiter *limiter);
const char *limiter_thing(bool group, uint32_t *things, bool *fixed);

/* See gossip_rekey(). */
struct keyring *limiter_rekey(struct limiter *limiter, struct keyring *keyring);

/* Nanoseconds after which a peer that has not been heard is lost. */
uint64_t limiter_timeout(const struct limiter *limiter);

const struct gossip *limiter_gossip(const struct limiter *limiter);

#endif
