/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Totals that live in etcd (v3, by its JSON gateway), so that no limiter owns the money. A limiter
 * draws units from a total as it needs them; all that it has ever drawn in a period is a number in
 * etcd, cumulative as in the ledger, so that an answer that is lost is found again by asking.
 *
 *     PREFIX/limiters/LIMITER               the fencing token: the epoch of its newest start, 16
 *                                           hexadecimal digits, and a number drawn by lot, so that
 *                                           of two copies of one store only one can draw
 *     PREFIX/budgets/BUDGET/total           units a period, if it is to differ from the
 *                                           configured one: for operators to set
 *     PREFIX/budgets/BUDGET/PERIOD/drawn            by all
 *     PREFIX/budgets/BUDGET/PERIOD/drawn/LIMITER    by this one
 *
 * Each draw is one transaction: it succeeds only if the epoch is still the drawer's own and what
 * was drawn is still what it had read, so the sum of what all have drawn never exceeds the total,
 * and a limiter that has been started elsewhere under the same name cannot draw any more.
 *
 * Totals and what was drawn are plain decimal numbers, without a newline. A name has no slash.
 *
 * A thread of its own talks HTTP (libcurl); whoever draws never waits. All calls from one thread,
 * which is the first of the process to use libcurl.
 */
#ifndef WEIR_ETCD_ETCD_H
#define WEIR_ETCD_ETCD_H

#include <stddef.h>
#include <stdint.h>

#define ETCD_NAME_MAX 80  /* bytes of a budget's or limiter's name, with the terminator */
#define ETCD_WHY_MAX  256 /* bytes of what went wrong, with the terminator */

struct etcd_params {
	const char *const *endpoints; /* "http://192.0.2.1:2379"; tried one after the other */
	unsigned n_endpoints;
	const char *prefix;  /* "/weir" */
	const char *limiter; /* this one's name */
	uint64_t epoch;      /* of this start: larger than that of any earlier one */
	const char *ca_file, *cert_file, *key_file; /* TLS; NULL: none */
	unsigned timeout_ms;                        /* of one request */
};

struct etcd_draw {
	char budget[ETCD_NAME_MAX];
	uint64_t period;
	uint64_t total; /* as configured: of a budget for which nobody has set one in etcd */
	/*
	 * Wanted beyond what has been drawn, 0: only to know; fewer if there are not as many. What
	 * has been drawn is what the last answer said: so whoever asks again after an error gets
	 * what may have been drawn meanwhile, and not twice as much.
	 */
	uint64_t units;
};

struct etcd_answer {
	char budget[ETCD_NAME_MAX];
	uint64_t period;
	/*
	 * 0; -ESTALE (fenced: a newer start has this limiter's name; draws are over for good);
	 * -ENETUNREACH, -ETIMEDOUT (nobody answered: it may have been done or not, ask again);
	 * -EAGAIN (others drew first, too many times); -EPROTO (what answered was no etcd v3, or
	 * not understood: a total that is no number); -ENOMEM. The numbers below hold only for 0.
	 */
	int result;
	char why[ETCD_WHY_MAX]; /* in words, for the log, when it is not 0 */
	uint64_t total;         /* in force */
	uint64_t drawn;         /* by this limiter in this period, ever */
	uint64_t left;          /* of the total, drawn by nobody */
};

struct etcd;

/*
 * Starts the thread; the epoch is claimed before the first draw. What params points at is copied.
 * 0, -EINVAL, -ENOMEM or another of the system's.
 */
int etcd_open(const struct etcd_params *params, struct etcd **out);

/* A request under way is given up, within a second. NULL is fine. */
void etcd_close(struct etcd *etcd);

/*
 * Asks; one draw of a budget at a time, in the order of asking. 0; -EBUSY (that budget's last is
 * not answered yet, or the answer not fetched); -EINVAL (its name) or -ENOMEM.
 */
int etcd_draw(struct etcd *etcd, const struct etcd_draw *draw);

/* Readable when there are answers; the next one: 0, or -EAGAIN. */
int etcd_fd(const struct etcd *etcd);
int etcd_answer(struct etcd *etcd, struct etcd_answer *answer);

#endif
