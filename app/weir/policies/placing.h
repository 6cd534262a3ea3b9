/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placed policies, whose sources are given to workers: what each has beside its slot, and a round
 * of it every so often. A round is measured while every bucket is where it is wanted; then owners
 * are asked to move some, and the next one begins when they have; or when they could not for long,
 * or the policy has changed: with the buckets where they are, and owners are asked again. Control.
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

/* Policies that are, but for those that leave: each takes tens of kilobytes. */
#define PLACINGS_MOST 1024

/* One owner of a receive queue by which the policy's packets may come. */
struct placing_ring {
	struct steering *steering;
	struct reta *reta;
};

/* What is known of one worker. Sums as of the round's begin, and as last looked at. */
struct placing_worker {
	struct shaped_steering *seat; /* the worker's */
	struct delay_sum delay[2], reach[2], late[2];
	uint64_t packets[2], busy[2]; /* of all policies: received, and cycles that it took */
	uint64_t handing[2];          /* cycles that it took to hand out others' packets */
	struct rebalance_worker seen; /* in the last round */
};

struct placing {
	struct placing *next; /* in force; in no order */
	uint32_t slot;
	struct reta_target reta_target;
	struct rebalance rebalance;
	struct rebalance_seen seen;       /* the last round */
	double rates[CONFIG_WORKERS_MAX]; /* of it: units a second, by worker */
	bool measures;                    /* a round is under way; else buckets move */
	uint64_t waits;                   /* for these, since the last round */
	bool changed;                     /* its policy has, since the last round */
	uint64_t began_ns, due_ns;
	uint64_t bytes[2][RETA_SIZE],
		count[2][RETA_SIZE]; /* as of the round's begin, and as last looked at */
	unsigned n_workers, n_rx_rings;
	struct placing_worker *workers;
	struct placing_ring *rings;
};

struct placings {
	struct placing **slots; /* of the policy in a slot that is placed, else NULL */
	struct placing *first;  /* of those in force, in no order */
	unsigned room;          /* more that may be prepared beside those that stay */
	uint64_t next_ns;       /* when they are looked at next */
};

/* What a placed policy keeps beside its slot, all of them in `placings` of struct instance. */
extern const struct policy_part placing_part;

/* The module of start-up, whose stop is before the rings': 0 or -ENOMEM; then nothing is left. */
int placings_start(struct instance *inst);
void placings_stop(struct instance *inst);

/* Finds that of the policy in a slot, or NULL. */
struct placing *placing_of(const struct instance *inst, uint32_t slot);

/* A round that is due by now, if there is any; and when the next one is. */
void placings_look(struct instance *inst, uint64_t now);
uint64_t placings_next(const struct instance *inst);

/*
 * Counts of one policy: buckets that are not where they are wanted, packets kept back, and so on.
 */
struct placing_counts {
	unsigned away;              /* buckets of all owners */
	unsigned kept;              /* packets that owners keep back, of whatever policy */
	uint64_t moved, called_off; /* buckets, and moves; of all policies of its owners */
};
struct placing_counts placing_counts(const struct placing *placing);

#endif
