/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a run of torture_rates.c is made of, and what is checked of it after each event. Private to
 * torture.
 */
#ifndef WEIR_SIM_TORTURE_WORLD_H
#define WEIR_SIM_TORTURE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "conserve/conserve.h"
#include "world/disk.h"
#include "world/simnet.h"
#include "torture_run.h"

#define MS      UINT64_C(1000000)
#define SECOND  (1000 * MS)
#define MILLION 1000000
#define RATE    0 /* accounts: by their index */
#define BURST   1
#define BOTH    2
#define ROOM    1200
#define LATE    32 /* messages that come again much later */
#define HEAL    4  /* of a run, the last part in so many */
#define NANO    UINT64_C(1000000000)

typedef unsigned __int128 level_t; /* bytes of 10^-9 */

/* What happens to a box by its own doing. */
enum happening { TICK, TAKEN, WRITTEN, LEASE, UP };

struct bucket {
	level_t level, most;
	uint64_t rate, at_ns;
};

struct rates_node {
	struct conserve
		*c; /* of one that is down: what would be restored; NULL: nothing is known */
	bool up, lost;
	unsigned life; /* events of an earlier one are void */
	uint64_t clock, pace;
	uint64_t tick_ns;
	struct disk disk; /* has all records of a round, or none */
	bool saving, written, taken, taking;
	uint64_t taking_since, saved_at; /* numbers of takings */
	uint64_t enforced[BOTH], until;  /* by its clock */
	uint64_t limit, limit_taken;
	uint64_t debt;
	struct bucket bucket;
};

struct message {
	unsigned from, to;
	size_t len;
	uint8_t bytes[ROOM];
};

struct world {
	const struct torture_case *c;
	struct torture_result *result;
	struct prng prng;
	struct events events;
	struct simnet net;
	uint64_t end, epoch, limit, burst, lease;
	uint32_t ids[TORTURE_LIMITERS];
	struct rates_node boxes[TORTURE_LIMITERS];
	bool sides[TORTURE_LIMITERS];
	struct conserve_params params;
	struct bucket bound;
	struct message late[LATE];
	double demands[BOTH][TORTURE_LIMITERS];
	unsigned accounts; /* BOTH, where bursts have one */
	unsigned loss;     /* in 100 */
	unsigned n;
	bool falls, forgets, calm, whole[BOTH];
	bool hoards; /* nobody admits anything, until all do at once */
	const struct gdrl_indicator *indicator;
};

/* What a box's clock shows. */
static inline uint64_t world_clock(const struct world *w, const struct rates_node *box)
{
	return box->clock + (uint64_t)((level_t)w->events.now_ns * box->pace / MILLION);
}

/* What there is of an account's kind, and what of it may be used at a box now. */
uint64_t world_total(const struct world *w, unsigned account);
uint64_t world_usable(const struct world *w, const struct rates_node *box, unsigned account);

/* A rate that rises brings room, not tokens; one that falls takes what does not fit any more. */
void bucket_set(struct bucket *b, uint64_t now, uint64_t rate, uint64_t most);

/* Admits all that a box's bucket has, of what one bucket for all has. */
void world_spend(struct world *w, struct rates_node *box);

/* Complain of a sum that is too large; of books that are not right. */
void world_check_sums(struct world *w);
void world_check_books(struct world *w, struct rates_node *box);

/* Whether everything is somewhere: once, between two moves, and at the end. */
void world_look_for_rest(struct world *w);
void world_check_end(struct world *w);

#endif
