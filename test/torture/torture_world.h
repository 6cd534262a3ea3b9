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

#include "base/expiry.h"
#include "base/prng.h"
#include "conserve/conserve.h"
#include "world/disk.h"
#include "world/simnet.h"
#include "torture_run.h"

#define MS         UINT64_C(1000000)
#define SECOND     (1000 * MS)
#define MILLION    1000000
#define RATE       0 /* accounts: by their index */
#define BURST      1
#define BOTH       2
#define ROOM       1200
#define LATE       32           /* messages that come again much later */
#define HEAL       4            /* of a run, the last part in so many */
#define DISK_NS    (2 * SECOND) /* that a write takes at most, while all is well */
#define WHOLE      256
#define STALL_ODDS 3000 /* of steps, after which a thread stands still */
#define NANO       UINT64_C(1000000000)

/*
 * When all faults are over a neighbour is heard again within a quarter of a lease. Four exchanges
 * later all is as it was: it is learnt which ledger it is, and how loud to ask; the edges of one
 * without memory are closed; what it was promised is taken back; and what was inherited is given.
 * Each takes a statement's repetition, a tick, and a commit by disk and workers. From then on at
 * least so many in 100 of the limit pass, in the mean until the end: at times some of it is on its
 * way from one limiter to another, or on its way to the disk there.
 */
#define EXCHANGES   4
#define REPEAT_NS   SECOND
#define TICK_MOST   (3 * SECOND / 2)
#define EXCHANGE_NS (REPEAT_NS + TICK_MOST + DISK_NS + 20 * MS + 31 * MS)
#define PASSES      90

/* A lease that ends within this part of one has ended for control, as in lib/control/limiter. */
#define LEASE_AHEAD 16

typedef unsigned __int128 level_t; /* bytes of 10^-9 */

/* What happens to a box by its own doing. */
enum happening { TICK, TAKEN, WRITTEN, LEASE, UP, EXPIRES, CONTROL_WAKES, WORKERS_WAKE };

/* What control tells the workers of: limits, until when they hold, and what ends of each then. */
struct told {
	uint64_t amounts[BOTH], burst;
	uint64_t limit; /* of all limiters, as this box knew it, */
	uint64_t least; /* and the one that it went by */
	uint8_t ending; /* part of all that ends */
};

struct bucket {
	level_t level, most;
	uint64_t rate, at_ns;
};

struct rates_node {
	struct conserve
		*c; /* of one that is down: what would be restored; NULL: nothing is known */
	bool up, lost;
	bool aged;               /* lost, with an earlier commit on its disk */
	struct disk past, later; /* an earlier commit; and the newest when it started with that */
	unsigned life;           /* events of an earlier one are void */
	uint64_t clock, pace;
	uint64_t tick_ns;
	struct disk disk; /* has all records of a round, or none */
	bool saving, written, taken, taking;
	uint64_t taking_since, saved_at; /* numbers of takings */
	struct told told, enforced;      /* what was told last; what the workers let pass */
	struct expiry expiry;            /* the workers', by the box's clock */
	uint64_t expires;                /* time of the event that looks at it, or 0 */
	uint64_t limit, limit_taken;
	uint64_t control_wakes, workers_wake; /* threads that stand still until then, or 0 */
	bool pending;     /* control has saved, and has yet to tell the workers */
	bool told_unseen; /* workers that stand still were told */
	struct world *world;
	struct loan *loan;   /* NULL: no loans */
	uint64_t withheld;   /* depth that the bucket does not have */
	uint64_t lends_from; /* by the box's clock */
	uint64_t looked_ns;  /* newest time that control has read for loans */
	struct told was;     /* limits that count as well, until: */
	uint64_t was_until_ns;
	uint64_t debt;
	unsigned
		part; /* of WHOLE: what it may have now of what it holds, as its parent is shared */
	struct bucket bucket;
};

/* What passes since w->live_ns, if all limiters are offered more than they may admit. */
struct passed {
	uint64_t rate; /* now */
	level_t sum;   /* in units times nanoseconds */
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
	uint64_t end, calm_ns, live_ns, epoch, limit, burst, lease;
	uint32_t ids[TORTURE_LIMITERS];
	struct rates_node boxes[TORTURE_LIMITERS];
	const struct rates_node *dead; /* for good, or NULL */
	bool sides[TORTURE_LIMITERS];
	struct conserve_params params;
	struct bucket bound;
	struct message late[LATE];
	struct message
		former[LATE]; /* of an earlier life of the ledger, by whoever has this dice: */
	struct prng taper, loaner, ager;
	uint64_t loan_delay_ns; /* of a message of loans at most */
	double demands[BOTH][TORTURE_LIMITERS];
	struct passed passed[BOTH];
	uint64_t passed_at;
	unsigned accounts; /* BOTH, where bursts have one */
	unsigned loss;     /* in 100 */
	unsigned n;
	bool falls, forgets, calm, whole[BOTH];
	bool ages;                /* disks go back to an earlier commit */
	struct rates_node *flips; /* a box that sends damaged numbers, or NULL */
	bool hoards;              /* nobody admits anything, until all do at once */
	const struct gdrl_indicator *indicator;
};

/* Makes the tape of a former life; and plays a message of it, now and then, to whom it was for. */
void tape_record(struct world *w);
void tape_play(struct world *w);

/* What a box's clock shows. */
static inline uint64_t world_clock(const struct world *w, const struct rates_node *box)
{
	return box->clock + (uint64_t)((level_t)w->events.now_ns * box->pace / MILLION);
}

/* All units of an account's kind, and what of them may be used at a box now. */
uint64_t world_total(const struct world *w, unsigned account);
uint64_t world_usable(const struct world *w, const struct rates_node *box, unsigned account);

/* What the workers let pass now: those who stand still nothing. */
uint64_t world_enforced(const struct rates_node *box, unsigned account);

/* Fills in the limits of a box as of now. Returns the time of its clock at which they end. */
uint64_t world_tell(const struct world *w, const struct rates_node *box, struct told *told);

/* Puts the limits of the workers in force from `at` on, without the withheld depth. */
void world_enforce(struct rates_node *box, uint64_t at);

/* True if limiters lend. */
static inline bool world_loans_lend(const struct world *w)
{
	return w->c->guarantee == TORTURE_LOANS;
}

/* Loans, see torture_loans.c. world_loans_send(): as conserve_send(). */
void world_loans_start(struct world *w, struct rates_node *box);
void world_loans_look(struct world *w, struct rates_node *box);
bool world_loans_hold_grants(const struct world *w, const struct rates_node *box);
size_t world_loans_send(struct rates_node *box, struct message *message);
void world_loans_hear(
	struct world *w, struct rates_node *box, unsigned from, const uint8_t *bytes, size_t len);
void world_loans_check(struct world *w);
void world_loans_check_end(struct world *w);
void world_loans_free(struct world *w);

/* A rate that rises brings room, not tokens; one that falls takes what does not fit any more. */
void bucket_set(struct bucket *b, uint64_t now, uint64_t rate, uint64_t most);

/* Admits all that a box's bucket has, of what one bucket for all has. */
void world_spend(struct world *w, struct rates_node *box);

/* Complain of a sum that is too large; of books that are not right. */
void world_check_sums(struct world *w);
void world_check_books(struct world *w, struct rates_node *box);

/* What the workers let pass, after each event: for world_check_end(). */
void world_count_passed(struct world *w);

/* Whether everything is somewhere: once, between two moves, and at the end; and passes. */
void world_look_for_rest(struct world *w);
void world_check_end(struct world *w);

/* What each limiter believes, on standard error. */
void world_print_beliefs(const struct world *w);

#endif
