/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas in etcd ("ledger.etcd"). Limiters draw units there before they spend them (etcd/etcd.h).
 * The drawn units are the share that the limiter's ledger begins with (limiter_set_share()). The
 * packet path is the same as without etcd: it has units or it has none.
 *
 * At its start, each limiter queries the units that it has ever drawn in this period. From then on
 * the root of the quota tree draws for the group, and the others get units from it. A tree in two
 * parts has two roots. A limiter that has waited too long draws for itself: its root is fenced, or
 * cut off from etcd. Drawn amounts are cumulative, so repeated or late answers change nothing.
 *
 * While etcd does not answer, limiters spend the units that they hold. A limiter is fenced when
 * another process has started with its name. It never draws again, and spends the units that it
 * holds.
 *
 * Control, except budget_shares_prepare() and budget_shares_free().
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

/* State of each policy that draws; sorted by name. */
struct budget_shares {
	struct budget_share *at;
	unsigned n;
};

enum etcd_share_state {
	DRAW_CONNECTING, /* etcd has not answered yet */
	DRAW_CONNECTED,
	DRAW_AWAY, /* etcd does not answer any more */
	DRAW_FENCED,
};

/* State for operators. */
struct etcd_share_view {
	enum etcd_share_state state;
	bool logged_in;  /* with the configured user */
	const char *why; /* last error, or "" */
};

struct budget_share_view {
	const char *name; /* name in etcd */
	unsigned policy;
	bool known; /* the next five members are valid */
	uint64_t period, total, drawn, left, as_of_ns;
	bool asked; /* an answer is pending */
	int error;  /* result of the last answer: 0 or a negative errno */
};

/* Prepares the state for n policies. Returns 0 or -ENOMEM. Any thread. */
int budget_shares_prepare(const struct policy *policies, unsigned n, struct budget_shares *out);
void budget_shares_free(struct budget_shares *budget_shares);

/*
 * Checks the password file, which must belong to root or to that user. Returns 0, or a negative
 * errno, reported.
 */
int etcd_share_check(
	const struct ledger_config *ledger, uid_t user, const struct complaint_sink *to);

/*
 * Does nothing without "ledger.etcd". Returns 0, the error of etcd_share_check(), or -ENOMEM; etcd
 * can be down.
 */
int etcd_share_start(struct instance *inst);
void etcd_share_stop(struct instance *inst);

/* Exchanges the state for the one that was prepared for new policies. */
void etcd_share_exchange(struct instance *inst, struct budget_shares *budget_shares);

/*
 * etcd_share_fd() becomes readable when etcd_share_look() has work, or is -1. etcd_share_next() is
 * the time of other work.
 */
int etcd_share_fd(const struct instance *inst);
uint64_t etcd_share_next(const struct instance *inst);

/* Takes answers, and sends requests that are due. Returns true if units have arrived. */
bool etcd_share_look(struct instance *inst, uint64_t now_ns);

/* Returns false without "ledger.etcd". */
bool etcd_share_view(const struct instance *inst, struct etcd_share_view *view);

/*
 * Number of policies that draw, and the state of each. etcd_share_budget_of() finds one by the
 * policy's index; false: it does not draw.
 */
unsigned etcd_share_budgets(const struct instance *inst);
struct budget_share_view etcd_share_budget(const struct instance *inst, unsigned i);
bool etcd_share_budget_of(
	const struct instance *inst, unsigned policy, struct budget_share_view *view);

/* --- size of a share -------------------------------------------------------------------------- */

/*
 * Number of units to draw of a quota in etcd (lib/io/etcd): the amount that the group spends until
 * the next draw. It is no more, because units of a limiter that dies are missing until it is back.
 * So it is at most a hundredth of the quota, and near its end a part of the rest.
 *
 * Pure; control.
 */

struct etcd_share_need {
	uint64_t total;  /* quota: units a period */
	uint64_t left;   /* units of the quota that are not drawn */
	uint64_t held;   /* units that the group has drawn and not spent */
	uint64_t pace;   /* spending rate of the group, in 1/1000 units a second */
	uint64_t chunk;  /* smallest amount worth a draw */
	uint64_t packet; /* units to pass one packet */
};

/* Returns the amount that the group should hold: at least a packet's. */
uint64_t etcd_share_stock(const struct etcd_share_need *need);

/* Returns the units to draw now; 0: enough is held. Can be more than there are. */
uint64_t share_size(const struct etcd_share_need *need);

#endif
