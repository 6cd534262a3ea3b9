/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private declarations that the files of a ledger share.
 */
#ifndef WEIR_LEDGER_PRIVATE_H
#define WEIR_LEDGER_PRIVATE_H

#include "base/math.h"
#include "ledger/ledger.h"

#define LEDGER_LIVES 8

/* One start of this limiter, up to the record that the next one began with. */
struct ledger_life {
	uint64_t epoch, count;
	uint32_t word;
};

/* Values that a statement contains only once they are committed; see struct ledger_statement. */
struct ledger_terms {
	uint64_t granted;
	uint64_t promised;
	uint64_t least_epoch;
};

/*
 * `locked` is the most that the neighbour can have received without a new statement, `committed`
 * the amount that the next statement can contain. A stated promise is taken back in two steps, so
 * that the ledger keeps little state. `high` is the most that was promised in the statements from
 * `mark` on. Once the neighbour echoes the mark or later, it uses one of these statements.
 */
struct ledger_edge {
	struct ledger_terms now, saved, committed;
	uint64_t locked; /* most promised in a statement, and not taken back */
	uint64_t mark;   /* 0: the next statement */
	uint64_t high;
	uint64_t sent_stamp; /* stamp of the newest statement */
	uint64_t leased_ns;  /* the promised amount is used until then */
	uint64_t received;
	uint64_t inherited;
	struct {
		uint64_t epoch, stamp; /* newest statement's; epoch 0 and a stamp: recovering */
		uint32_t word;
		uint64_t count;
		uint64_t at_ns;             /* time of receipt */
		uint64_t granted, received; /* by its statement */
		uint64_t promised;          /* to this start of ours, or 0 */
		bool echoed;                /* the newest statement echoes this start of ours */
		bool known;
	} reported;
	struct {
		uint64_t count;
		uint32_t word; /* 0: none */
		bool unproven; /* the first one after a recovery; its record can be old */
	} life;                /* the neighbour's life that we echo */
	struct {
		uint64_t stamp;
		uint32_t word;
	} rival;        /* newest one with the current epoch and another word */
	uint64_t asked; /* a new life replaces it after it echoes a later stamp */
	struct ledger_answer {
		uint64_t epoch, granted, received;
		bool given;
	} answer;    /* newest one to our recovery */
	bool closed; /* while we are recovering: two answers were equal */

	bool was_asked;        /* the neighbour has recovered during this start of ours */
	bool confirmed;        /* see struct ledger_view */
	unsigned denials;      /* statements against our life since the last valid one */
	uint64_t denied_stamp; /* stamp of the newest one */
};

struct ledger {
	uint64_t share, spent;
	int64_t balance; /* share + sum over edges of (received - granted) - spent */
	uint64_t epoch;
	uint64_t first_epoch;  /* the first one of this start or its recovery; 0: unknown */
	uint64_t most;         /* see ledger_raise_most() */
	uint64_t count;        /* newest durable record */
	uint64_t saved_count;  /* newest record that was begun */
	uint64_t denied_epoch; /* newest epoch of ours in the proof that our record is old */
	uint32_t word;
	struct ledger_life lives[LEDGER_LIVES]; /* previous lives, newest first; word 0: none */
	uint64_t lease_ns, patience_ns;
	uint64_t ahead_ns; /* by which a stamp has ever been ahead of the clock, to be larger */
	uint32_t friend;
	uint32_t n_edges;
	uint32_t n_first; /* edges that were not added */
	bool recovering;
	bool incomplete; /* see ledger_set_complete() */
	bool mute;       /* see ledger_is_mute() */
	bool saving;
	bool dirty; /* something has changed since ledger_save() that is to commit */
	struct ledger_edge edges[];
};

/*
 * Returns the most that the neighbour can have received, now or after any later statement with the
 * terms that are committed, being saved, or intended.
 */
static inline uint64_t edge_lock(const struct ledger_edge *e)
{
	return max_u64(max_u64(e->locked, e->committed.promised),
		max_u64(e->saved.promised, e->now.promised));
}

/* Returns true if amounts can be given over an edge, see ledger_add_edge(). */
static inline bool edge_is_met(const struct ledger *l, const struct ledger_edge *e)
{
	return e < l->edges + l->n_first || e->reported.epoch > 0;
}

/* Sets all three terms to the same values, like after a start. */
static inline void edge_commit_all(struct ledger_edge *e, const struct ledger_terms *terms)
{
	e->now = e->saved = e->committed = *terms;
}

/* Returns true if some ledger could make this statement, in any history. */
bool statement_plausible(const struct ledger_statement *s);

/* The neighbour has lost its memory, or we have. */
enum ledger_verdict recovering_asks(
	struct ledger *l, struct ledger_edge *e, uint64_t now_ns, const struct ledger_statement *s);
enum ledger_verdict recovering_receives(
	struct ledger *l, struct ledger_edge *e, uint64_t now_ns, const struct ledger_statement *s);

/* Ends the recovery if all edges are closed. Returns true if it has ended. */
bool recovering_ends(struct ledger *l);

#endif
