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

#include "allocate/allocate.h"
#include "budget/budget.h"
#include "conserve/conserve.h"
#include "gossip/gossip.h"

enum limiter_guarantee {
	LIMITER_SOFT,      /* exceeded while news travels */
	LIMITER_CONSERVED, /* never: see conserve/conserve.h, also of its buckets */
};

struct limiter_policy {
	uint32_t id; /* FNV-1a of its name */
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
	bool drawn;
};

/* Seconds that its limit_bps is of. Any thread. */
static inline uint32_t limiter_time(const struct limiter_policy *policy)
{
	return policy->limit_s ? policy->limit_s : 1;
}

/*
 * The id under which the burst of a conserved policy moves, where the allocator divides it: that of
 * the name with "/burst" behind it.
 */
uint32_t limiter_burst_id(uint32_t id);

/* What a record is of; ids of two kinds may be the same. */
enum limiter_record_kind {
	LIMITER_RATES = 1, /* a conserved policy's */
	LIMITER_UNITS = 2, /* a budget's */
};

struct limiter_record {
	enum limiter_record_kind kind;
	uint32_t id;
	const void *at;
	size_t len;
};

/* What limiters with a conserved policy or a budget need; see conserve_params, budget_params. */
struct limiter_ledger {
	struct overlay_params overlay;        /* conserved; the roster is filled in here */
	const struct limiter_record *records; /* only during limiter_create() */
	unsigned n_records;
	bool recovering, durable;
	uint64_t epoch, lease_ns;
	uint32_t drift_ppm;
	unsigned promise;
	unsigned tree_degree;
	uint64_t timeout_ns; /* of the tree's neighbours */
};

typedef int (*limiter_write)(
	void *context, enum limiter_record_kind kind, uint32_t id, const void *record, size_t len);

struct limiter_params {
	struct gossip_params gossip; /* tick_ns, n_policies and policies are filled in here */
	const struct limiter_policy *policies;
	unsigned n_policies;
	unsigned n_workers; /* flow samples of a policy, one a worker */
	bool skips_idle;    /* limiter_wake() is called for every policy with arrivals */
	struct limiter_ledger ledger;
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
	double limit, effective_limit; /* configured; less 1/N for each lost peer */
	double local_limit;
	double drain; /* GTB: what others take from our bucket beyond the limit */
	double drop;  /* part of the arrivals that a meter that drops at random is to drop */
	uint64_t local_burst;                /* bytes */
	double demand, weight;               /* the demand as the allocator averages it */
	double global_demand, global_weight; /* with our own */
	unsigned lost; /* peers that do not count: of a policy that does not gossip, silent ones */
	unsigned flows;
	double flow_rate;
	enum allocate_regime regime;
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

/*
 * When limiter_tick() wants to be called next: a tick, or a lease that ends. May be earlier than it
 * was after every other call.
 */
uint64_t limiter_next(const struct limiter *limiter);

/*
 * Ends the estimate interval of every policy that is due: measures, allocates, and chooses the
 * peers to tell. Late calls are right, with the time that has really passed; early ones do nothing.
 * Returns true when a local limit changed.
 */
bool limiter_tick(struct limiter *limiter, uint64_t now_ns, limiter_measure measure, void *context);

/*
 * Says, before a tick, that bytes of a policy have arrived since the last one. With `idles` a
 * policy that nobody asks anything of is left out of the ticks, at no cost, until this or news of a
 * peer wakes it; what it decides then is what it would have decided active, but that a demand of
 * less than a byte in a quarter of an hour is none. (With the estimators tree and push-sum only
 * policies whose allocator does not gossip idle.) Of a policy that is active, nothing.
 */
void limiter_wake(struct limiter *limiter, unsigned policy);

/*
 * The next policy from `from` on whose local limit, drain or drop has changed since it was told
 * here, or n_policies. Each is told once; at first all are.
 */
unsigned limiter_next_change(struct limiter *limiter, unsigned from);

/*
 * See gossip_send() and gossip_receive(). With conserved policies and budgets there may also be
 * something to send, and limits may have changed, after limiter_receive() and limiter_committed().
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
void limiter_refund(struct limiter *limiter, unsigned policy, uint64_t units);
void limiter_forgo(struct limiter *limiter, unsigned policy);
int limiter_period(struct limiter *limiter, unsigned policy, uint64_t period, uint64_t now_ns);
int limiter_set_share(struct limiter *limiter, unsigned policy, uint64_t share, uint64_t now_ns);

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

/* For operators: NULL where no policy was ever conserved; an index in it, or LIMITER_ADDED. */
const struct conserve *limiter_conserve(const struct limiter *limiter);
unsigned limiter_conserve_index(const struct limiter *limiter, unsigned policy);
/* And that of its burst, where that has an account of its own. */
unsigned limiter_conserve_burst_index(const struct limiter *limiter, unsigned policy);
const struct budget *limiter_budget(const struct limiter *limiter);
unsigned limiter_budget_index(const struct limiter *limiter, unsigned policy);

void limiter_view(const struct limiter *limiter, unsigned policy, struct limiter_view *view);

const struct gossip *limiter_gossip(const struct limiter *limiter);

#endif
