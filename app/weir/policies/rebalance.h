/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Chooses workers for the buckets of one placed policy: the fewest workers that keep its objective.
 * The online fitting of lib/control/place finds them from measured rounds of packets.
 *
 * All buckets begin on one worker. They spread when a worker's own delay misses the objective, or
 * when its load exceeds its capacity. They gather again when fewer workers have had room, with some
 * to spare, for some rounds. After a gathering without success, the next one waits twice as long.
 *
 * The workers of a limiter draw from one bucket, so packets wait equally long for tokens on any
 * worker. That part of the delay is no reason to spread. A worker adds the time until it sees a
 * packet, and the lateness of its release.
 *
 * Pure, except the memory of a fit. Control.
 */
#ifndef WEIR_APP_REBALANCE_H
#define WEIR_APP_REBALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "place/fit.h"
#include "policy/config.h"
#include "reta.h"

/* Packets that a round should have: fewer give no useful percentile. */
#define REBALANCE_PACKETS 1000

enum rebalance_state {
	REBALANCE_QUIET,   /* too few packets to measure */
	REBALANCE_SETTLED, /* the objective is kept */
	REBALANCE_TRYING,  /* a trial is under way */
	REBALANCE_TOKENS,  /* missed because packets wait for tokens: placement cannot help */
	REBALANCE_FULL,    /* missed, and no other placement is better */
};

struct rebalance_params {
	unsigned n_workers, principles; /* PLACE_CONCENTRATE and so on */
	bool grouped;                   /* neighbouring buckets burst together */
	double slo;                     /* seconds */
};

/* Measurements of one worker in a round. Times are in seconds. */
struct rebalance_worker {
	uint64_t packets; /* packets of this policy that left */
	double p99;       /* 99th percentile of their waiting time */
	double added;     /* delay that the worker itself added */
	double cost;      /* worker's seconds for a unit of this policy; 0: unknown */
	double others;    /* load of other policies' packets, in units of this policy a second */
	double handing;   /* part of its time to hand out packets that others decide */
};

struct rebalance_seen {
	double rates[RETA_SIZE]; /* units a second */
	double batch;            /* units of a packet */
	struct rebalance_worker workers[CONFIG_WORKERS_MAX];
};

struct rebalance {
	struct rebalance_params params;
	enum rebalance_state state;
	uint8_t wanted[RETA_SIZE];
	unsigned used;        /* workers that have buckets */
	unsigned home;        /* worker that is preferred among equals */
	uint64_t rounds;      /* measured rounds */
	uint64_t trials;      /* placements that were tried */
	uint64_t changes;     /* changes of `wanted` */
	unsigned calm;        /* rounds in which fewer workers had room */
	unsigned patience;    /* calm rounds before fewer workers are tried */
	unsigned resting;     /* rounds until the next try after one without success */
	bool gathering;       /* the trial uses fewer workers than before */
	unsigned used_before; /* workers before the trial */

	/* State of a trial. */
	struct place_source sources[RETA_SIZE];
	struct place_broker brokers[CONFIG_WORKERS_MAX];
	struct place_problem problem;
	struct placer placer;
	struct place_fit fit;
};

/*
 * Puts all buckets on worker `first`, which is also preferred among equals later; or on all
 * workers, without PLACE_CONCENTRATE.
 */
void rebalance_init(
	struct rebalance *rebalance, const struct rebalance_params *params, unsigned first);
void rebalance_free(struct rebalance *rebalance);

/* Sets other switches or another objective; the next round uses them. */
void rebalance_change(struct rebalance *rebalance, const struct rebalance_params *params);

/*
 * Evaluates a round in which every bucket was on its wanted worker. Returns true if some are wanted
 * elsewhere now. Without memory, it changes nothing.
 */
bool rebalance_round(struct rebalance *rebalance, const struct rebalance_seen *seen);

const char *rebalance_state_name(enum rebalance_state state);

#endif
