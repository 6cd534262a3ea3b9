/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of lib/control/conserve share.
 */
#ifndef WEIR_CONSERVE_PRIVATE_H
#define WEIR_CONSERVE_PRIVATE_H

#include "base/queue.h"
#include "conserve/conserve.h"

/* Less than one in so many of an equal part is kept by everybody, for a first packet. */
#define FLOOR_PART 100

/* What is smaller than this part of an equal part is not moved: each move is a write to a disk. */
#define GRAIN_PART 256

/* Epochs of ledgers in one start: one that is forgotten and comes again needs another. */
#define EPOCH_BITS 20

/* A statement is renewed so many times a lease. */
#define RENEWALS 4

/* One policy over one edge. */
struct account_edge {
	struct gdrl_neighbour neighbour; /* heard.q is what is missing there, with a target */
	double asked;                    /* by a neighbour in need, as long as it is fresh */
	bool in_debt;                    /* that neighbour */
	uint64_t sent_ns;
	double sent_q;
	uint64_t told, promised; /* granted and promised, as of the last conserve_save() */
	bool due;                /* to be told, and in the queue for that */
};

/* One policy. */
struct account {
	struct conserve_policy policy;
	struct ledger *ledger;
	struct gdrl_measure measure; /* with a target, that is the demand */
	uint64_t floor, grain;
	uint64_t headroom; /* kept from being promised, for what is about to be given */
	unsigned index;
	bool gone, saving;
	bool queued;    /* among the unsettled ones */
	bool heard;     /* among those of which there was news */
	bool forgotten; /* goes at the end of an update */
	struct account_edge edges[];
};

/* One neighbour. */
struct link {
	unsigned peer; /* index in the roster */
	uint64_t heard_ns, sent_ns;
	struct queue due; /* accounts to be told of */
	unsigned cursor;  /* account that the next look at all begins with */
	unsigned letters; /* since the last tick */
	bool alive, in_use;
};

struct conserve {
	struct conserve_params params; /* without policies and records */
	struct overlay *overlay;
	unsigned position, n_edges, degree; /* degree: edges in use */
	bool mesh;
	uint64_t fingerprint; /* of the edges */
	uint64_t next_epoch;
	struct link *links; /* n_edges */
	unsigned *edge_of;  /* by index in the roster, or n_edges */
	uint64_t *dead;
	uint64_t *amounts; /* n_edges */
	struct gdrl_neighbour *neighbours;
	unsigned n_policies, n;    /* n: with those that are gone, which come last */
	struct account **accounts; /* n, policies by their index */
	struct account **by_id;    /* n, sorted */
	uint8_t *record;           /* room for one */
	unsigned sending;          /* edge that conserve_send() is at */
	struct queue news;         /* accounts of which something has been heard */
	bool looks;                /* at all, since the last tick: time has made some due */
	bool promises;             /* as leases last */
	unsigned per_letter;       /* statements; 0 before the first letter */
	struct queue unsettled;    /* accounts */
	unsigned n_saving;         /* of these, the first ones */
	struct conserve_counters counters;
};

/* Makes an account; a record restores it. 0 or a negative errno. */
int account_create(struct conserve *c, const struct conserve_policy *policy,
	const struct conserve_record *record, bool blank, uint64_t now_ns, struct account **out);
void account_destroy(struct account *a);

/* Another limit or mover; -EOVERFLOW. */
int account_set(const struct conserve *c, struct account *a, const struct conserve_policy *policy);

/* Nothing of it has ever been anywhere else: one made anew would be the same. */
bool account_untouched(const struct conserve *c, const struct account *a);

struct account *account_find(const struct conserve *c, uint32_t id);

/* The same of n that are sorted. */
struct account *accounts_find(struct account *const *by_id, unsigned n, uint32_t id);

/* Sorts `by_id`. */
void accounts_sort(struct account **by_id, unsigned n);

/* To be called after all that may have changed an account's ledger: it is settled in its turn. */
void account_changed(struct conserve *c, struct account *a);

/* A neighbour is to hear of it at once. */
void account_due(struct conserve *c, struct account *a, unsigned edge);

/* After a start or an update: what is new is due, and all have their index. */
void accounts_begin(struct conserve *c);

/* Whether so many policies are told often enough for a lease to go on. */
bool conserve_leases_last(const struct conserve *c);

/* One step of one policy: debts, what was adopted, and what others are to have more of. */
void account_move(struct conserve *c, struct account *a, uint64_t now_ns);

/* What is stated of it beside the ledger's statement. */
struct gdrl_statement account_state(const struct conserve *c, const struct account *a);

/*
 * What each neighbour is asked for: by one in debt or below half of his floor, or, where not all
 * are neighbours, by one who is asked and has nothing. He asks for less than he is asked, so that
 * two do not ask each other for ever. A debt is paid of everything, others of what is above the
 * floor.
 */
uint64_t account_asks(const struct conserve *c, const struct account *a);

static inline uint64_t account_held(const struct account *a)
{
	int64_t balance = ledger_balance(a->ledger);

	return balance > 0 ? (uint64_t)balance : 0;
}

#endif
