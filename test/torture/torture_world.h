/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State of a run of torture_rates.c, and the checks after each event. Private to torture.
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
#define LATE       32           /* messages that are repeated much later */
#define HEAL       4            /* 1 / the last part of a run, without faults */
#define DISK_NS    (2 * SECOND) /* most that a write takes without faults */
#define WHOLE      256
#define STALL_ODDS 3000 /* steps, after one of which a thread is stopped */
#define NANO       UINT64_C(1000000000)

/*
 * After the end of faults, messages of a neighbour arrive within a quarter of a lease. All is
 * normal four exchanges later. In these, limiters learn the ledger's identity and their demands,
 * and edges of a limiter without memory are closed. Then promised amounts are taken back, and
 * inherited amounts are returned. Each step needs a repeated statement, a tick, and a commit by
 * disk and workers.
 *
 * From then to the end, at least PASSES percent of the limit passes on average. At times a part of
 * it is in flight from one limiter to another, or waits for the disk there.
 */
#define EXCHANGES   4
#define REPEAT_NS   SECOND
#define TICK_MOST   (3 * SECOND / 2)
#define EXCHANGE_NS (REPEAT_NS + TICK_MOST + DISK_NS + 20 * MS + 31 * MS)
#define PASSES      90

/* A lease that ends within this part of one has ended for control, as in lib/control/limiter. */
#define LEASE_AHEAD 16

typedef unsigned __int128 level_t; /* 10^-9 bytes */

/* Events at one limiter. */
enum happening { TICK, TAKEN, WRITTEN, LEASE, UP, EXPIRES, CONTROL_WAKES, WORKERS_WAKE };

/* Limits that control publishes to the workers, and the part that ends with the lease. */
struct told {
	uint64_t amounts[BOTH], burst;
	uint64_t limit; /* limit of all limiters, as applied here */
	uint64_t least; /* limit by which it divides the burst */
	uint8_t ending; /* part of all amounts that ends */
};

struct bucket {
	level_t level, most;
	uint64_t rate, at_ns;
};

struct rates_node {
	struct conserve *c; /* if down: state for a restore; NULL: no state */
	bool up, lost;
	bool aged;               /* lost, with an earlier commit on its disk */
	struct disk past, later; /* an earlier commit; and the newest when it started with that */
	unsigned life;           /* events of an earlier life are void */
	uint64_t clock, pace;
	uint64_t tick_ns;
	struct disk disk; /* has all records of a round, or none */
	bool saving, written, taken, taking;
	uint64_t taking_since, saved_at; /* numbers of takings */
	struct told told, enforced;      /* published last; enforced by the workers */
	struct expiry expiry;            /* the workers', by the limiter's clock */
	uint64_t expires;                /* time of the event that checks it, or 0 */
	uint64_t limit, limit_taken;
	uint64_t control_wakes, workers_wake; /* threads that are stopped until then, or 0 */
	bool pending;                         /* control has saved, and has not yet published */
	bool told_unseen; /* limits were published while the workers were stopped */
	struct world *world;
	struct loan *loan;   /* NULL: no loans */
	uint64_t withheld;   /* depth that the bucket does not have */
	uint64_t lends_from; /* by the limiter's clock */
	uint64_t looked_ns;  /* newest time that control has read for loans */
	struct told was;     /* limits that count as well, until: */
	uint64_t was_until_ns;
	uint64_t debt;
	bool virgin;                     /* joined, and has held nothing yet */
	uint32_t set;                    /* joiners, a bit for each limiter */
	uint32_t sets[TORTURE_LIMITERS]; /* newest sets reported to this start, and if so */
	bool reported[TORTURE_LIMITERS];
	struct book_member members[TORTURE_LIMITERS]; /* its roster at the start */
	unsigned part; /* usable part of its amount, in 1 / WHOLE: its parent is shared */
	struct bucket bucket;
};

/* Amounts that pass since w->live_ns, if all limiters always have enough traffic. */
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
	const struct rates_node *dead; /* limiter that ended for good, or NULL */
	bool sides[TORTURE_LIMITERS];
	struct conserve_params params;
	struct bucket bound;
	struct message late[LATE];
	struct message previous[LATE]; /* from an earlier ledger instance; replayed by `taper` */
	struct prng taper, loaner, ager, joiner;
	unsigned n_founders;
	bool silent;            /* no limiter reports its set */
	uint64_t loan_delay_ns; /* most delay of a message of loans */
	double demands[BOTH][TORTURE_LIMITERS];
	struct passed passed[BOTH];
	uint64_t passed_at;
	unsigned accounts; /* BOTH, if bursts have an account */
	unsigned loss;     /* in 100 */
	unsigned n;
	bool falls, forgets, calm, whole[BOTH];
	bool ages;                /* disks return to an earlier commit */
	struct rates_node *flips; /* limiter that sends damaged numbers, or NULL */
	bool hoards;              /* no limiter admits anything, until all do together */
	const struct gdrl_indicator *indicator;
};

/* Records the tape of an earlier instance; replays a message of it, sometimes, to its receiver. */
void tape_record(struct world *w);
void tape_play(struct world *w);

/* Returns the time on a limiter's clock. */
static inline uint64_t world_clock(const struct world *w, const struct rates_node *box)
{
	return box->clock + (uint64_t)((level_t)w->events.now_ns * box->pace / MILLION);
}

/* Returns all units of an account's kind, and the part that a limiter can use now. */
uint64_t world_total(const struct world *w, unsigned account);
uint64_t world_usable(const struct world *w, const struct rates_node *box, unsigned account);

/* Returns the amount that the workers enforce now; stopped workers pass nothing. */
uint64_t world_enforced(const struct rates_node *box, unsigned account);

/* Fills in the limits of a limiter as of now. Returns the time of its clock at which they end. */
uint64_t world_tell(const struct world *w, const struct rates_node *box, struct told *told);

/* Enforces the limits of the workers from `at` on, without the withheld depth. */
void world_enforce(struct rates_node *box, uint64_t at);

/* True if limiters lend. */
static inline bool world_loans_lend(const struct world *w)
{
	return w->c->guarantee == TORTURE_LOANS;
}

/* Loans, see torture_loans.c. world_loans_send() is like conserve_send(). */
void world_loans_start(struct world *w, struct rates_node *box);
void world_loans_look(struct world *w, struct rates_node *box);
bool world_loans_hold_grants(const struct world *w, const struct rates_node *box);
size_t world_loans_send(struct rates_node *box, struct message *message);
void world_loans_hear(
	struct world *w, struct rates_node *box, unsigned from, const uint8_t *bytes, size_t len);
void world_loans_check(struct world *w);
void world_loans_check_end(struct world *w);
void world_loans_free(struct world *w);

/*
 * Joins, see torture_joins.c. The first function returns the number of limiters that join, and
 * world_joins_report() reports the set of one limiter to another. The function world_roster() fills
 * in a limiter's roster and its own index in it. The last three translate between numbers of
 * limiters, indices in a roster (TORTURE_LIMITERS: it has no such limiter) and edges.
 */
unsigned world_joins_init(struct world *w);
void world_joins_start(struct world *w, struct rates_node *box, struct conserve_params *params);
void world_joins_report(struct world *w, unsigned from, struct rates_node *box);
void world_joins_tick(struct world *w, struct rates_node *box);
void world_joins_forget(struct world *w, struct rates_node *box);
unsigned world_roster(const struct world *w, const struct rates_node *box,
	struct book_member members[TORTURE_LIMITERS], unsigned *self);
unsigned world_number(const struct world *w, const struct rates_node *box, unsigned index);
unsigned world_index(const struct world *w, const struct rates_node *box, unsigned number);
unsigned world_number_of_edge(const struct world *w, const struct rates_node *box, unsigned edge);

/* Sets rate and depth. More depth adds room, not tokens; less depth drops excess tokens. */
void bucket_set(struct bucket *b, uint64_t now, uint64_t rate, uint64_t most);

/* Admits all tokens of a limiter's bucket, which one bucket for all must have. */
void world_spend(struct world *w, struct rates_node *box);

/* Report a violation: a sum that is too large; books that are not right. */
void world_check_sums(struct world *w);
void world_check_books(struct world *w, struct rates_node *box);

/* Adds up the enforced amounts after each event, for world_check_end(). */
void world_count_passed(struct world *w);

/* Checks that every amount is accounted for, once between two moves and at the end, and passes. */
void world_look_for_rest(struct world *w);
void world_check_end(struct world *w);

/* Prints each limiter's state to standard error. */
void world_print_beliefs(const struct world *w);

#endif
