/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter of the simulation: weir's control logic (lib/control/limiter) and packet decisions
 * (lib/datapath/police), driven by its engine, on a clock of its own.
 */
#ifndef WEIR_SIM_NODE_H
#define WEIR_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/expiry.h"
#include "base/time.h"
#include "engine/credit_account.h"
#include "engine/engine.h"
#include "limiter/limiter.h"
#include "police/policy_state.h"
#include "shape/delay.h"
#include "shape/shape.h"
#include "world/disk.h"
#include "sim.h"

#define NODE_HZ     UINT64_C(1000000000)    /* a node's clock ticks in nanoseconds */
#define CLOCK_START UINT64_C(1000000000000) /* so that no offset makes a clock negative */

struct node {
	unsigned index;
	struct limiter *limiter; /* NULL: crashed */
	struct policy *policies; /* policies of its file; NULL: the scenario has them */
	bool reloads;            /* its file has changed, and control has not read it yet */
	bool paused;
	uint64_t resume_ns;    /* time of the valid event while paused */
	uint64_t secret;       /* secret of its tables of sources */
	uint64_t next_tick_ns; /* time of the valid event; events from before a restart are not */
	uint64_t starts;       /* starts so far; the epoch of its ledgers */
	bool committing;
	struct disk disk;
	struct held {
		uint8_t *buf;
		size_t len;
	} * held; /* datagrams that wait while it is paused */
	unsigned n_held;
	struct engine engine;
	struct credit_states totals; /* without accounts: no policy has a quota */
	uint64_t look_ns;            /* time of the valid event for `totals`; 0: none */
	uint64_t *release_ns;        /* by worker: time of the valid event; 0: nothing waits */
	struct enforced *enforced;   /* n_policies: by its meters */
	struct expiry expiry;        /* end of the leases; its workers read it */
	uint64_t ended;   /* tick of their end that control has not handled yet; 0: none */
	struct sim *sim;  /* for calls from its limiter */
	uint64_t loan_ns; /* time of the scheduled look at buckets */
};

int nodes_create(struct sim *sim);
void nodes_free(struct sim *sim);

/*
 * Starts a limiter that is down, as a process that has run for age_ns. Returns 0 or a negative
 * errno.
 */
int node_start(struct sim *sim, struct node *node, uint64_t age_ns);

/*
 * Changes the limit of a policy in the limiter's file. It reloads now, or when its control thread
 * continues.
 */
void node_change_limit(
	struct sim *sim, struct node *node, unsigned policy, const struct limit_terms *terms);

/* Returns the policies of its file. */
const struct policy *node_policies(const struct node *node);

/* Crashes the limiter: its waiting packets and unsent messages are lost. */
void node_crash(struct sim *sim, struct node *node);

/*
 * Stalls its control thread: limits stay until their leases end, datagrams wait, and packets are
 * metered. Overlapping pauses last until the end of the later one.
 */
void node_pause(struct sim *sim, struct node *node, uint64_t for_ns);

/* A simnet_receive of a struct sim: takes a datagram for limiter `to`. */
bool node_receive(void *world, unsigned from, unsigned to, uint8_t *buf, size_t len);

enum passage { PASSAGE_PASSES, PASSAGE_DROPPED, PASSAGE_WAITS };

/*
 * Decides a packet (frame_len with its Ethernet header); a crashed limiter drops it. The node owns
 * a packet that waits, until sim->released announces that node_release() can take it; `waiting` is
 * a member of it. A mark changes packet->ecn.
 */
enum passage node_police(struct sim *sim, struct node *node, unsigned policy, struct packet *packet,
	const uint8_t *data, uint32_t frame_len, struct shape_packet *waiting);

/* Takes at most n packets that waited and are due; call node_leaves() for each. */
unsigned node_release(
	struct sim *sim, struct node *node, unsigned worker, struct shape_packet **out, unsigned n);

/* Returns true if such a packet leaves; false: it is dropped. */
bool node_leaves(struct sim *sim, struct node *node, unsigned worker, unsigned policy,
	const struct shape_packet *waiting);

/* Adds the delays of a shaped policy's packets since the limiter started; none if it is down. */
void node_delays(const struct node *node, unsigned policy, struct delay_sum *sum);

/* Takes at most n waiting packets, due or not. node_waiting() returns their number. */
unsigned node_flush(struct node *node, struct shape_packet **out, unsigned n);
uint64_t node_waiting(const struct node *node);

/* Sums the counts of a policy's trials at all limiters, also before they crashed. */
void nodes_tried(const struct sim *sim, unsigned policy, struct policy_totals *totals);

/* Returns the number of peers that a limiter reads per tick: the work that grows with the group. */
double nodes_looks(const struct sim *sim);

/*
 * Overshoot meters: notes a change of sim->enforced, compares the bound of a limiter, and adds the
 * means to a summary. A bound below the truth fails the run.
 */
void overshoot_note(struct sim *sim, unsigned policy);
void overshoot_check(struct sim *sim, const struct node *node, unsigned policy);
void overshoot_put(const struct sim *sim, unsigned policy, json_t *out);

void node_view(const struct node *node, unsigned policy, struct limiter_view *view);

/* Token loans of a simulated limiter. */

/* True if the scenario has loans, and a policy that lends. */
bool node_lends(const struct sim *sim);

/* The buckets of a limiter, for limiter_create(); all NULL without loans. */
struct limiter_buckets node_buckets(struct sim *sim, struct node *node);

/* Schedules the limiter's next look at its buckets, if there is to be one. */
void node_await_look(struct sim *sim, struct node *node);

/* Bytes lent and borrowed by all limiters, previous starts included. */
struct loan_totals nodes_loans(const struct sim *sim, unsigned policy);

/* Messages of loans by all limiters, previous starts included. */
struct loan_counters nodes_loan_messages(const struct sim *sim);

/* Adds the totals of a limiter that is about to crash. */
void node_keep_loans(struct sim *sim, const struct node *node);

/*
 * Limits that the meters of a node enforce. They are its limiter's limits, or the rest of a hard
 * limit when a lease ends while the control thread stalls (base/expiry.h). Checks that the sum over
 * all nodes never exceeds a hard limit.
 */

/* Returns the limiter's present limit, and counts it as enforced. */
struct engine_limit node_limit_of(struct sim *sim, struct node *node, unsigned p);

/* Enforces the limiter's present limit. */
void node_enforce(struct sim *sim, struct node *node, unsigned p);

/* Notes the largest and smallest limit of a policy, after a change. */
void node_limits_in_force(struct sim *sim, unsigned p);

/* Enforces the limits that have changed. */
void node_enforce_changes(struct sim *sim, struct node *node);

/* The meters are gone: they enforce nothing. */
void node_enforce_nothing(struct sim *sim, struct node *node);

/* Starts the leases of a limiter that has just started. */
void node_lease_start(struct sim *sim, struct node *node);

/* Renews the leases after each call of the limiter, when the meters enforce its limits. */
void node_lease_renew(struct sim *sim, struct node *node);

/* The control thread stalls from now on: schedules the end of the leases. */
void node_lease_run_out(struct sim *sim, struct node *node);

/* Has sim->released called when packets that wait on a worker can leave. */
void node_await_release(struct sim *sim, struct node *node, unsigned worker);

#endif
