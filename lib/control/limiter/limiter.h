/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter: measurements and datagrams in, local limits and datagrams out. A pure state
 * machine without a clock, socket, thread or packet: the same calls give the same answers. The
 * appliance drives it from the control thread, a simulator from virtual time. One thread.
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
#include "members/exchange.h"

/*
 * The burst is shared as the limit is, which keeps the aggregate's bound of r·t + b. Below six
 * full-sized packets a bucket stops flows instead of limiting them: a flow that loses one of six
 * still detects the loss from those after it. A larger floor would be felt where many limiters
 * idle: their buckets are full, and a demand that moves to them finds them all.
 */
#define LIMITER_BURST_FLOOR UINT64_C(9084)

enum limiter_guarantee {
	LIMITER_SOFT, /* exceeded while news travels */
	LIMITER_HARD, /* never: see conserve/conserve.h, also of its buckets */
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
	uint32_t limit_s;             /* seconds; 0: one. A hard limit is whole units in it */
	uint64_t burst_bytes;         /* over all limiters */
	uint64_t interval_ns;         /* estimate interval */
	double keep_per_second;       /* see demand_keep() */
	uint64_t history_ns, step_ns; /* for an allocator that remembers; see allocate/history.h */
	uint64_t burst_floor;         /* a bucket below it stops flows; 0: six full-sized packets */
	uint32_t packet;              /* size of a full-sized packet; 0: 1514 bytes */
	enum limiter_guarantee guarantee;
	const struct gdrl_indicator *indicator; /* hard: GDRL, not the allocator */
	double eta;                             /* see struct gdrl_self */
	/*
	 * With an allocator that counts units (allocator->counts_units): see struct budget_policy.
	 * The limit and the burst above hold when there are none left, limit/N each.
	 */
	uint64_t total, period, chunk;
	bool undated; /* the present period is unknown yet */
	bool drawn;
	/*
	 * Settings that lib/control does not use, and all limiters must share: hashes, of the kind
	 * of units of the limit, and of the length of a period.
	 */
	uint32_t counts, accounting;
	uint64_t period_length;
	/*
	 * The limit and the burst above hold now. Peers are compared by the settings below, because
	 * they switch to another limit at slightly different times. `plain` is the limit without
	 * another one in force (0 bit/s: no other one is in force). `schedule` is a hash of the
	 * times of other limits. `override` is a hash of an operator's temporary limit that
	 * replaces all these; 0: none.
	 */
	struct limiter_terms plain;
	uint64_t schedule, override;
	/*
	 * A child of another policy has its id as `parent`: then the allocator divides no more than
	 * the child's present part of its parent, see limiter/levels.c. Weight 0 is 1;
	 * guaranteed_bps is in limit_s. `own`: not all packets of a parent are its children's.
	 * Peers are compared by the configured parent, even if the child has no part of its limit.
	 * That is `below`, the id with its lowest bit set, or 0.
	 */
	bool child, own;
	bool waits; /* its packets wait until all above let them pass */
	uint64_t below;
	uint64_t parent;
	uint32_t weight;
	uint64_t guaranteed_bps;
	bool lends;      /* its limiters may lend each other tokens, see limiter_look() */
	uint64_t second; /* a digest of settings next to the limit: a peak; 0: nothing */
};

/* Kind of a record; ids of two kinds may be the same. */
enum limiter_record_kind {
	LIMITER_RATES = 1, /* a hard limit's */
	LIMITER_UNITS = 2, /* a budget's */
};

struct limiter_record {
	enum limiter_record_kind kind;
	uint64_t id;
	const void *at;
	size_t len;
};

/* Settings for a hard limit or a budget; see conserve_params, budget_params. */
struct limiter_ledger {
	struct overlay_params overlay;        /* hard limits; the roster is filled in here */
	const struct book_member *members;    /* for limiter_create(), see limiter_regroup() */
	const struct limiter_record *records; /* only during limiter_create() */
	unsigned n_records;
	bool recovering, durable;
	struct book_identity identity; /* unknown only where it is recovering */
	uint64_t epoch, lease_ns;
	uint32_t drift_ppm;
	unsigned promise;
	unsigned tree_degree;
	uint64_t timeout_ns; /* for the tree's neighbours */
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
	double overshoot_alarm;  /* part of a limit, see struct limiter_overshoot; 0: no alarm */
	struct members *members; /* to be exchanged with the peers, borrowed; NULL: none */
};

/* The workers' counts of one policy since they started. */
struct limiter_sample {
	uint64_t arrived_bytes;
	uint64_t dropped_packets;
	const uint64_t *slots; /* n_workers × FLOW_SLOTS, see flow_slot_read() */
	uint64_t backlog;      /* bytes: most that waited together since the last one; 0: unknown */
};

/* Fills in the sample of a policy, as of now. */
typedef void (*limiter_measure)(void *context, unsigned policy, struct limiter_sample *sample);

/* A limiter's view of one policy; rates in bytes per second. */
struct limiter_view {
	double limit;           /* configured */
	double share;           /* part of that in its parent's present division; without one all */
	double effective_limit; /* the share, less 1/N for each lost peer */
	double local_limit;
	double drain; /* GTB: rate that others take from our bucket beyond the limit */
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
	double bound;        /* the sum at that moment was not larger, without unreported peers */
	double estimate;     /* sum of the newest reports */
	unsigned unreported; /* peers without a report of that moment */
	double unreported_most; /* their sum was not larger: the limit for each */
};

struct limiter;

/* Starts at limit/N for each policy. Returns 0, -EINVAL or -ENOMEM. */
int limiter_create(const struct limiter_params *params, uint64_t now_ns, struct limiter **out);
void limiter_destroy(struct limiter *limiter);

/*
 * A ledger for a limiter that was created without one (its epoch was 0). Call it before the
 * limiter_update() that brings the first policies that need one; the records are borrowed until
 * that has returned. An all-zero ledger takes it back, if that has failed.
 */
void limiter_give_ledger(struct limiter *limiter, const struct limiter_ledger *ledger);

#define LIMITER_ADDED GOSSIP_ADDED

/*
 * Replaces the policies by n others, with the index that each has had, or LIMITER_ADDED.
 * Measurements are requested by the new indices from now on. A policy that continues keeps all its
 * state; with another limit it has the same part, and with another allocator it starts again. An
 * added one begins at limit/N, and its counts at 0. For one that is gone the peers receive that
 * there is no demand here. If all is as it was nothing changes. Returns 0; or -EINVAL (an index is
 * of another name, or two names are the same) or -ENOMEM, without any change. Not between the
 * limiter_send() calls of one tick.
 */
int limiter_update(struct limiter *limiter, const struct limiter_policy *policies, unsigned n,
	const unsigned *from, uint64_t now_ns);

/*
 * Continues with another roster, which has our id at index `self`, and with keys made for it, like
 * gossip_regroup(). Peers that stay notice nothing. Policies keep their estimates and the state of
 * their allocators. The next limiter_tick() decides all limits with the new number of limiters, of
 * which each new one is lost: it leaves limit/N to it.
 *
 * Limiters can do this at different times. Local limits add up to no more than the limit then, if
 * the group keeps this order. An added limiter starts when all others have its roster. A removed
 * one stops, or enforces limits of 0, before the first other continues without it. With a tree,
 * wait for a limiter_timeout() after a removal before the next limiter starts.
 *
 * With a hard limit, even an earlier one, limiters can only join: see book_regroup(). `members`
 * are those of the roster, borrowed for the call; NULL: all are founders of the ledger. With them,
 * a limiter whose accounts all recover can also learn that it has joined, or of other founders.
 *
 * Returns 0: the previous roster and keys are not used any more, the caller frees them. Otherwise
 * nothing has changed: -ENOTSUP (quotas, even earlier ones; hard limits, and the change is no
 * join), and the errors of gossip_regroup(). Allowed at any time between other calls.
 */
int limiter_regroup(struct limiter *limiter, const struct roster *roster,
	const struct book_member *members, unsigned self, struct keyring *keyring, uint64_t now_ns);

/*
 * Sets if the roster has all members of the group: the limiters of it have all confirmed it. Until
 * then no account that has lost its memory, or has joined, ends its recovery. True at first.
 */
void limiter_set_complete(struct limiter *limiter, bool complete);

/* Another limit that holds from now on for a policy, and the hash of the operator's; 0: none. */
struct limiter_change_terms {
	unsigned policy;
	struct limiter_terms terms;
	uint64_t override;
};

/*
 * Sets other limits of n policies by their index, each named once, like a limiter_update() that
 * leaves the rest of the policies. Hard limits stay so while peers come to the same limits or
 * to others; see conserve/conserve.h. Only soft limits can be in another time
 * than before. Returns 0; or -EINVAL, -EOVERFLOW or -ENOMEM, without any change. Not between the
 * limiter_send() calls of one tick.
 */
int limiter_set_terms(struct limiter *limiter, const struct limiter_change_terms *changes,
	unsigned n, uint64_t now_ns);

/*
 * Returns when to call limiter_tick() next: a tick, one of gossip, or a lease that ends. It can be
 * earlier after every other call.
 */
uint64_t limiter_next(const struct limiter *limiter);

/*
 * Returns until when the limits of limiter_view() hold, by the clock of all these calls, without
 * any more messages; UINT64_MAX: for ever. Only the part `ending` of each limit ends then. Limits
 * exclude any part that ends within a 16th of a lease, so that a caller that is in time always
 * publishes a lower limit before the end.
 */
uint64_t limiter_lease_ends(const struct limiter *limiter);

/* Returns true if a limiter_tick() now would measure policies, not only gossip or end a lease. */
bool limiter_measures(const struct limiter *limiter, uint64_t now_ns);

/*
 * Ends the estimate interval of every policy that is due: measures, allocates, and chooses the
 * peers to send to. Late calls are right, with the time that has really passed; early ones do
 * nothing. Returns true when a local limit changed.
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
 * Marks, before a tick, that bytes of a policy have arrived since the last one. With `skips_idle`,
 * ticks leave out a policy without demand, at no cost, until this or news of a peer wakes it. Its
 * decision then is the one that it would have made if active, except that a demand of less than a
 * byte in a quarter of an hour is none. Does nothing for an active policy.
 */
void limiter_wake(struct limiter *limiter, unsigned policy);

/*
 * Returns the next policy from `from` on whose local limit, drain or drop has changed since its
 * last return here, or n_policies. Each is returned once; at first all are.
 */
unsigned limiter_next_change(struct limiter *limiter, unsigned from);

/*
 * See gossip_send() and gossip_receive(). The caller reads the time after the datagram. With
 * hard limits and budgets there may also be something to send, and limits may have changed,
 * after limiter_receive() and limiter_committed().
 */
size_t limiter_send(struct limiter *limiter, uint8_t *buf, unsigned *peer);
enum gossip_verdict limiter_receive(
	struct limiter *limiter, uint64_t now_ns, uint8_t *buf, size_t len);

/*
 * Units of a budget, for the packet path to spend: see budget_spend() and the other functions
 * there, by the policy's index. Call limiter_send() after each except limiter_refund().
 * limiter_period() begins another period; -EINVAL for one that is not later. limiter_next() can be
 * earlier after each.
 */
int limiter_spend(struct limiter *limiter, unsigned policy, uint64_t units, uint64_t now_ns);
int limiter_prefetch(struct limiter *limiter, unsigned policy, uint64_t units, uint64_t now_ns);
void limiter_refund(struct limiter *limiter, unsigned policy, uint64_t units);
void limiter_forgo(struct limiter *limiter, unsigned policy);
int limiter_period(struct limiter *limiter, unsigned policy, uint64_t period, uint64_t now_ns);
int limiter_set_share(struct limiter *limiter, unsigned policy, uint64_t share, uint64_t now_ns);

/*
 * The time that determines periods and times of day. If there are budgets or schedules, call
 * limiter_clock() often with both clocks. See budget_clock() and agree_clock(): peers compare the
 * wall clock. limiter_wall_s() returns the time since 1970, or TIME_UNKNOWN (base/time.h), always
 * before the first limiter_clock(). With budgets it is the group's time. Without any it is our own,
 * as far as that is plausible: limiter_timekeeper(). Call limiter_remembers() with the time of a
 * ledger's records: the time of budgets is not earlier.
 */
bool limiter_clock(struct limiter *limiter, uint64_t wall_ns, bool synchronised, uint64_t now_ns);
int64_t limiter_wall_s(const struct limiter *limiter, uint64_t now_ns);
const struct timekeeper *limiter_timekeeper(const struct limiter *limiter);
void limiter_remembers(struct limiter *limiter, int64_t wall_s);

/*
 * Commits the grants of hard limits and of budgets, like book_save() and the functions
 * there. For each kind a round ends with the record to which `write` answers more than 0. A caller
 * without a disk gives no `write`. A round ends well when the records are durable and the workers
 * enforce no more than limiter_view() returned at the time of limiter_save(). Call limiter_send()
 * after that; units may be had then.
 */
bool limiter_uncommitted(const struct limiter *limiter);
int limiter_save(struct limiter *limiter, limiter_write write, void *context);
void limiter_committed(struct limiter *limiter, uint64_t now_ns);
void limiter_save_failed(struct limiter *limiter);

/*
 * Returns the identity of the ledger: that of struct limiter_ledger, or the neighbours', once a
 * recovering limiter has received it from them; to be kept then.
 */
struct book_identity limiter_identity(const struct limiter *limiter);

/* State of one limiter of the roster as a neighbour, for both kinds of accounts. */
struct limiter_neighbour {
	bool has_reported;                  /* has sent the identity of its ledger: */
	struct book_identity peer_identity; /* unknown: it has lost its memory */
	bool foreign;                       /* the identity differs from ours */
	uint64_t foreign_messages;          /* messages of another ledger, which were rejected */
	uint64_t invalid;                   /* statements that cannot be true */
	bool twice;                         /* two limiters use its name */
	uint64_t collided; /* statements about a policy of another name with the same id */
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

/* For operators: NULL if no limit was ever hard; an index in it, or LIMITER_ADDED. */
const struct conserve *limiter_conserve(const struct limiter *limiter);
unsigned limiter_conserve_index(const struct limiter *limiter, unsigned policy);
/* The index of its burst, if that has an account of its own. */
unsigned limiter_conserve_burst_index(const struct limiter *limiter, unsigned policy);
const struct budget *limiter_budget(const struct limiter *limiter);
unsigned limiter_budget_index(const struct limiter *limiter, unsigned policy);

void limiter_view(const struct limiter *limiter, unsigned policy, struct limiter_view *view);

/* Returns the values at the last limiter_tick(). */
struct limiter_overshoot limiter_overshoot(const struct limiter *limiter, unsigned policy);

/* Returns the start of the time above 1 + overshoot_alarm limits, or 0. */
uint64_t limiter_overshoot_since(const struct limiter *limiter, unsigned policy);

/* Changes params.overshoot_alarm. With another value, limiter_overshoot_since() starts again. */
void limiter_set_overshoot_alarm(struct limiter *limiter, double part);

/*
 * Returns the peers with a config mismatch: see agree_peer(). The other function returns the name
 * of the first of a difference's settings, of the group or of a policy, and removes it from
 * `things`. It sets `fixed` if that setting cannot change while a limiter runs. Then the difference
 * is not caused by a reload in progress.
 */
const struct agree *limiter_agree(const struct limiter *limiter);
const char *limiter_thing(const struct limiter *limiter, bool group, uint32_t *things, bool *fixed);

/*
 * With `left` this limiter is no member of the group: all its limits are 0, because the others
 * share them without it. Without, it takes part again, from the next limiter_tick() on that decides
 * limits: until then they are those of an earlier roster.
 */
void limiter_leave(struct limiter *limiter, bool left);

/* Returns the exchange of params.members, or NULL. */
struct exchange *limiter_exchange(const struct limiter *limiter);

/* See gossip_rekey(), and limiter_regroup() for keys of another roster. */
struct keyring *limiter_rekey(struct limiter *limiter, struct keyring *keyring);

/* Nanoseconds of silence after which a peer is lost. */
uint64_t limiter_timeout(const struct limiter *limiter);

const struct gossip *limiter_gossip(const struct limiter *limiter);

#endif
