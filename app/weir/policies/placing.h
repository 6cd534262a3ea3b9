/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placed policies, whose sources are assigned to workers: the state of each, and its rounds. A
 * round is measured while every bucket is on its wanted worker. Then owners are requested to move
 * some buckets, and the next round begins when they have moved. It also begins if they could not
 * move for long, or if the policy has changed. Then the buckets stay where they are, and the owners
 * get a new request. Control.
 */
#ifndef WEIR_APP_PLACING_H
#define WEIR_APP_PLACING_H

#include <stdbool.h>
#include <stdint.h>

#include "rebalance.h"
#include "parts.h"
#include "reta.h"
#include "shape/delay.h"

struct instance;
struct rx_rings;
struct shaped_steering;

/* Largest number of placed policies that stay: each takes tens of kilobytes. */
#define PLACINGS_MOST 1024

/* One owner of a receive queue on which the policy's packets can arrive. */
struct placing_ring {
	struct steering *steering;
	struct reta *reta;
};

/* Measurements of one worker. Sums at the begin of the round [0] and at the last look [1]. */
struct placing_worker {
	struct shaped_steering *seat; /* state of the worker */
	struct delay_sum delay[2], reach[2], late[2];
	uint64_t packets[2], busy[2]; /* all policies: packets received, and their cycles */
	uint64_t handing[2];          /* cycles to hand out packets that other workers decide */
	struct rebalance_worker seen; /* result of the last round */
};

struct placing {
	struct placing *next; /* next policy in force; in no order */
	uint32_t slot;
	struct reta_target reta_target;
	struct rebalance rebalance;
	struct rebalance_seen seen;       /* result of the last round */
	double rates[CONFIG_WORKERS_MAX]; /* in the last round: units a second, by worker */
	bool measures;                    /* true: a round is under way; false: buckets move */
	uint64_t waits;                   /* checks for moved buckets since the last round */
	bool changed;                     /* its policy changed since the last round */
	uint64_t began_ns, due_ns;
	uint64_t bytes[2][RETA_SIZE],
		count[2][RETA_SIZE]; /* at the begin of the round, and at the last look */
	unsigned n_workers, n_rx_rings;
	struct placing_worker *workers;
	struct placing_ring *rings;
};

struct placings {
	struct placing **slots; /* by slot; NULL: its policy is not placed */
	struct placing *first;  /* policies in force, in no order */
	unsigned room;          /* policies that can be prepared, beyond those that stay */
	uint64_t next_ns;       /* time of the next look */
};

/* State of a placed policy in its slot, in `placings` of struct instance. */
extern const struct policy_part placing_part;

/* Start-up module, which stops before the rings. Returns 0 or -ENOMEM; then nothing is left. */
int placings_start(struct instance *inst);
void placings_stop(struct instance *inst);

/* Returns the placing of the policy in a slot, or NULL. */
struct placing *placing_of(const struct instance *inst, uint32_t slot);

/* Runs a round that is due, if any. placings_next() returns the time of the next one. */
void placings_look(struct instance *inst, uint64_t now);
uint64_t placings_next(const struct instance *inst);

/* Counts of one policy: buckets that are not on their wanted worker, held packets, and so on. */
struct placing_counts {
	unsigned away;              /* buckets of all owners */
	unsigned kept;              /* packets that owners hold back, of any policy */
	uint64_t moved, called_off; /* buckets, and moves; of all policies of its owners */
};
struct placing_counts placing_counts(const struct placing *placing);

#endif
