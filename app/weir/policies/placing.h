/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placed policies, whose sources are given to workers: what each has beside its slot, and a round
 * of it every so often. A round is measured while every bucket is where it is wanted; then owners
 * are asked to move some, and the next one begins when they have; or when they could not for long,
 * or the policy has changed: with the buckets where they are, and owners are asked again. Control,
 * but for placing_prepare(), which is as tenant_prepare() is.
 */
#ifndef WEIR_APP_PLACING_H
#define WEIR_APP_PLACING_H

#include <stdbool.h>
#include <stdint.h>

#include "fitting.h"
#include "seats.h"
#include "shape/delay.h"

struct box;
struct lanes;
struct policy;
struct shaped_seat;

/* Policies that are, but for those that leave: each takes tens of kilobytes. */
#define PLACINGS_MOST 1024

/* One owner of a receive queue by which the policy's packets may come. */
struct placing_lane {
	struct usher *usher;
	struct owner_seats *seats;
};

/* What is known of one worker. Sums as of the round's begin, and as last looked at. */
struct placing_worker {
	struct shaped_seat *seat; /* the worker's */
	struct delay_sum delay[2], reach[2], late[2];
	uint64_t packets[2], busy[2]; /* of all policies: received, and cycles that it took */
	uint64_t handing[2];          /* cycles that it took to hand out others' packets */
	struct fitting_worker seen;   /* in the last round */
};

struct placing {
	struct placing *next; /* in force; in no order */
	uint32_t slot;
	struct seating seating;
	struct fitting fitting;
	struct fitting_seen seen;         /* the last round */
	double rates[CONFIG_WORKERS_MAX]; /* of it: units a second, by worker */
	bool measures;                    /* a round is under way; else buckets move */
	uint64_t waits;                   /* for these, since the last round */
	bool changed;                     /* its policy has, since the last round */
	uint64_t began_ns, due_ns;
	uint64_t bytes[2][SEATS],
		count[2][SEATS]; /* as of the round's begin, and as last looked at */
	unsigned n_workers, n_lanes;
	struct placing_worker *workers;
	struct placing_lane *lanes;
};

/* Room for the policy in a free slot, if it is placed and this box has lanes. 0 or -ENOMEM. */
int placing_prepare(struct box *box, const struct policy *policy, uint32_t slot);

/* A policy that is in a slot prepared for it: its sources go to the worker that has least to do. */
void placing_begin(struct box *box, unsigned policy);

/* Another objective or other switches. */
void placing_change(struct box *box, unsigned policy);

/*
 * The policy of a slot leaves: nothing of it moves any more, once all owners have been quiescent;
 * and then, whether what was moving has arrived, which it does by itself.
 */
void placing_leave(struct box *box, uint32_t slot);
bool placing_is_done(const struct box *box, uint32_t slot);

/* Nobody is at it any more, or ever was. */
void placing_remove(struct box *box, uint32_t slot);

/* A round that is due by now, if there is any; and when the next one is. */
void placings_look(struct box *box, uint64_t now);
uint64_t placings_next(const struct box *box);

/* Of one policy: buckets that are not where they are wanted, packets kept back, and so on. */
struct placing_counts {
	unsigned away;              /* buckets of all owners */
	unsigned kept;              /* packets that owners keep back, of whatever policy */
	uint64_t moved, called_off; /* buckets, and moves; of all policies of its owners */
};
struct placing_counts placing_counts(const struct placing *placing);

#endif
