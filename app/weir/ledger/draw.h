/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Totals that live in etcd ("ledger.etcd"): what limiters spend of a quota they have drawn there
 * before (etcd/etcd.h), and what has been drawn is the share that the brain's ledger begins with
 * (limiter_set_share()). All that passes packets is as without etcd: it has units or it has none.
 *
 * Each limiter asks at its start what it has ever drawn in this period. From then on the root of
 * the quota tree draws for the group, as units reach the others from it; of a tree in two parts
 * each has a root. Whoever waits in vain draws for itself: then the root is fenced, or cut off from
 * etcd. What was drawn is cumulative, so that an answer that comes twice, or late, changes nothing.
 *
 * While etcd does not answer, what is held is spent. A limiter that is fenced (another process has
 * been started with its name) draws no more, for good, and spends what it holds.
 *
 * Control, but for drawings_prepare() and drawings_free().
 */
#ifndef WEIR_APP_DRAW_H
#define WEIR_APP_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct box;
struct drawing;
struct policy;

/* What is known of each policy that is drawn; sorted. */
struct drawings {
	struct drawing *at;
	unsigned n;
};

enum draw_state {
	DRAW_CONNECTING, /* etcd has not answered yet */
	DRAW_CONNECTED,
	DRAW_AWAY, /* it does not answer any more */
	DRAW_FENCED,
};

/* As an operator may see it. */
struct draw_view {
	enum draw_state state;
	const char *why; /* what last went wrong, or "" */
};

struct drawing_view {
	const char *name; /* in etcd */
	unsigned policy;
	bool known; /* what follows is, but for the error */
	uint64_t period, total, drawn, left, as_of_ns;
	bool asked; /* an answer is awaited */
	int error;  /* of the last one, negative; 0: it went well */
};

/* For n policies; 0 or -ENOMEM. Any thread. */
int drawings_prepare(const struct policy *policies, unsigned n, struct drawings *out);
void drawings_free(struct drawings *drawings);

/* Nothing without "ledger.etcd". 0 or -ENOMEM; etcd need not be there. */
int draw_start(struct box *box);
void draw_stop(struct box *box);

/* The policies are others now, for which these were prepared; takes the former ones in exchange. */
void draw_exchange(struct box *box, struct drawings *drawings);

/* What becomes readable when draw_look() has something to do, or -1; and when else it has. */
int draw_fd(const struct box *box);
uint64_t draw_next(const struct box *box);

/* Takes answers, and asks for what is due. True if units have come. */
bool draw_look(struct box *box, uint64_t now_ns);

/* False without "ledger.etcd". */
bool draw_view(const struct box *box, struct draw_view *view);

/* How many policies are drawn; each of them; and the one of an index, false if it is not. */
unsigned draw_budgets(const struct box *box);
struct drawing_view draw_budget(const struct box *box, unsigned i);
bool draw_budget_of(const struct box *box, unsigned policy, struct drawing_view *view);

#endif
