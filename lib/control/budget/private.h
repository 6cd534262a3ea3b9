/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of lib/control/budget share.
 */
#ifndef WEIR_BUDGET_PRIVATE_H
#define WEIR_BUDGET_PRIVATE_H

#include "base/prng.h"
#include "base/queue.h"
#include "budget/budget.h"
#include "group/overlay.h"

/* Epochs of ledgers in one start: one that is forgotten and comes again needs another. */
#define EPOCH_BITS 20

/* One policy. */
struct pot {
	struct budget_policy policy;
	struct quota_node *quota;
	uint64_t next_ns; /* when it is to be ticked */
	uint64_t news_ns; /* neighbours are not to be told what is left here before */
	bool gone, saving, stirred;
	bool queued;    /* among the unsettled ones */
	bool forgotten; /* goes at the end of an update */
	bool marked;    /* the record says that it is blank */
	bool unknown; /* blank, and what was drawn for it is not known: neither speaks nor hears */
};

/* The way to a root, as a neighbour says it, or as ours; see tree.c. */
struct route {
	unsigned root;  /* position */
	uint64_t epoch; /* of the root's start, and */
	uint32_t seq;   /* a number that it raises */
	uint16_t rank;  /* edges to it */
};

/* What a letter says about the tree. */
struct tree_word {
	struct route route;
	uint8_t flags;         /* of enum tree_flag */
	uint64_t epoch, stamp; /* of the sender: letters are ordered by these */
	uint64_t echo_epoch;   /* newest letter of the other, */
	uint64_t echo_stamp;   /* and when it was sent; */
	uint64_t echo_ns;      /* it was heard so long ago */
};

enum tree_flag {
	TREE_PARENT = 1, /* you are my parent */
	TREE_JOIN = 2,   /* I would be your child */
	TREE_CHILD = 4,  /* you may be, or are, mine */
	TREE_FULL = 8,   /* I have no room for any more */
	TREE_FLAGS = 15,
};

/* One neighbour. */
struct link {
	unsigned peer; /* index in the roster */
	struct tree_word said;
	bool known; /* it has said something, and was heard since it was last taken for dead */
	uint64_t heard_ns, sent_ns;
	uint64_t stamp;  /* of our newest letter */
	uint64_t echoed; /* newest stamp of ours that it has echoed */
	uint64_t round_trip_ns;
	bool child; /* there is a place for it among ours, whether it has taken it or not */
	bool linked;
	bool due;         /* it is to be told at once */
	uint64_t vain_ns; /* not to be tried before, as that was in vain */
	unsigned vain;
};

struct budget {
	struct budget_params params; /* without what was borrowed */
	struct overlay *overlay;
	unsigned position, n_edges;
	uint64_t fingerprint; /* of the edges */
	uint64_t next_epoch;  /* of a ledger */
	struct link *links;   /* n_edges */
	unsigned *edge_of;    /* by index in the roster, or n_edges */
	unsigned *index_of;   /* by position */

	uint64_t epoch; /* of our letters */
	struct route
		*feasible; /* by the root's position: the least of the newest that we have said */
	struct route route;
	unsigned parent, wish; /* edges, or n_edges */
	uint64_t wish_until_ns;
	uint64_t wave_ns;    /* when a root raises its number */
	uint64_t fresh_ns;   /* when that number was last news */
	uint64_t improve_ns; /* not to look for a nearer parent before */
	uint64_t beat_ns;
	struct prng prng;

	unsigned n_policies, n; /* n: with those that are gone, which come last */
	struct pot **pots;      /* n, policies by their index */
	struct pot **by_id;     /* n, sorted */
	struct pot **stirred;   /* those that may have something to say */
	unsigned n_stirred;
	uint64_t next_ns;       /* when budget_tick() has something to do */
	uint8_t *record;        /* room for one */
	unsigned sending;       /* edge that budget_send() is at */
	struct queue unsettled; /* pots */
	unsigned n_saving;      /* of these, the first ones */
	struct budget_counters counters;
};

/* pot.c. Makes one; a record restores it. 0 or a negative errno. */
int pot_create(struct budget *b, const struct budget_policy *policy,
	const struct budget_record *record, bool blank, uint64_t now_ns, struct pot **out);
void pot_destroy(struct pot *pot);

/* A policy that is gone, of which there is a record. */
int pot_create_gone(
	struct budget *b, const struct budget_record *record, uint64_t now_ns, struct pot **out);

/* This limiter's part of a total. */
uint64_t pot_share(const struct budget *b, const struct budget_policy *policy);

/* Another total; whether that fits, and what it says then. */
bool pot_fits(const struct budget *b, const struct pot *pot, const struct budget_policy *policy);
void pot_set(
	struct budget *b, struct pot *pot, const struct budget_policy *policy, uint64_t now_ns);
int pot_set_drawn(struct budget *b, struct pot *pot, uint64_t share, uint64_t now_ns);
int pot_period(struct budget *b, struct pot *pot, uint64_t period, uint64_t now_ns);

/* Nothing of it has ever been spent or been anywhere else: one made anew would be the same. */
bool pot_untouched(const struct budget *b, const struct pot *pot);

/* It may have something to say, and is to be ticked at once; pot_stir() does that, too. */
void pot_speaks(struct budget *b, struct pot *pot);
void pot_stir(struct budget *b, struct pot *pot, uint64_t now_ns);

/* After all that may have changed what is to be saved: it is settled in its turn. */
void pot_changed(struct budget *b, struct pot *pot);

/* Whether there is something to save; the record; and its end. */
bool pot_unsettled(const struct budget *b, const struct pot *pot);
void pot_settled(struct pot *pot, bool durable);
int pot_save(struct budget *b, struct pot *pot, size_t *len);

struct pot *pot_find(const struct budget *b, uint32_t id);

/* The same of n that are sorted. */
struct pot *pots_find(struct pot *const *by_id, unsigned n, uint32_t id);
void pots_sort(struct pot **by_id, unsigned n);

/* tree.c */
void tree_begin(struct budget *b, uint64_t now_ns);
uint64_t tree_tick(struct budget *b, uint64_t now_ns);

/* Whether an edge is to hear of the tree now; and what, once it does. */
bool tree_speaks(const struct budget *b, unsigned edge, uint64_t now_ns);
struct tree_word tree_say(struct budget *b, unsigned edge, uint64_t now_ns);
void tree_hear(struct budget *b, unsigned edge, const struct tree_word *word, uint64_t now_ns);

/* Whether it has been heard lately. */
bool tree_alive(const struct budget *b, unsigned edge, uint64_t now_ns);

/* What is thought to be behind an edge of which nothing is known. */
uint64_t tree_guess(const struct budget *b, const struct pot *pot);

#endif
