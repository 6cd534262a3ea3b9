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
 * Control, but for budget_shares_prepare() and budget_shares_free().
 */
#ifndef WEIR_APP_ETCD_SHARE_H
#define WEIR_APP_ETCD_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "policy/complaint.h"

struct instance;
struct budget_share;
struct ledger_config;
struct policy;

/* What is known of each policy that is drawn; sorted. */
struct budget_shares {
	struct budget_share *at;
	unsigned n;
};

enum etcd_share_state {
	DRAW_CONNECTING, /* etcd has not answered yet */
	DRAW_CONNECTED,
	DRAW_AWAY, /* it does not answer any more */
	DRAW_FENCED,
};

/* As an operator may see it. */
struct etcd_share_view {
	enum etcd_share_state state;
	bool logged_in;  /* as the configured user */
	const char *why; /* what last went wrong, or "" */
};

struct budget_share_view {
	const char *name; /* in etcd */
	unsigned policy;
	bool known; /* what follows is, but for the error */
	uint64_t period, total, drawn, left, as_of_ns;
	bool asked; /* an answer is awaited */
	int error;  /* of the last one, negative; 0: it went well */
};

/* For n policies; 0 or -ENOMEM. Any thread. */
int budget_shares_prepare(const struct policy *policies, unsigned n, struct budget_shares *out);
void budget_shares_free(struct budget_shares *budget_shares);

/* Whether it can log in, with a file of root or of that user: 0, or a negative errno, reported. */
int etcd_share_check(
	const struct ledger_config *ledger, uid_t user, const struct complaint_sink *to);

/* Nothing without "ledger.etcd". 0, what etcd_share_check() says, or -ENOMEM; etcd need not be there. */
int etcd_share_start(struct instance *inst);
void etcd_share_stop(struct instance *inst);

/* The policies are others now, for which these were prepared; takes the former ones in exchange. */
void etcd_share_exchange(struct instance *inst, struct budget_shares *budget_shares);

/* What becomes readable when etcd_share_look() has something to do, or -1; and when else it has. */
int etcd_share_fd(const struct instance *inst);
uint64_t etcd_share_next(const struct instance *inst);

/* Takes answers, and asks for what is due. True if units have come. */
bool etcd_share_look(struct instance *inst, uint64_t now_ns);

/* False without "ledger.etcd". */
bool etcd_share_view(const struct instance *inst, struct etcd_share_view *view);

/* How many policies are drawn; each of them; and the one of an index, false if it is not. */
unsigned etcd_share_budgets(const struct instance *inst);
struct budget_share_view etcd_share_budget(const struct instance *inst, unsigned i);
bool etcd_share_budget_of(
	const struct instance *inst, unsigned policy, struct budget_share_view *view);

#endif
