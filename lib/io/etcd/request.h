/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is asked of etcd and what it answers, for callers of etcd.h and the layers below it.
 */
#ifndef WEIR_ETCD_REQUEST_H
#define WEIR_ETCD_REQUEST_H

#include <stdbool.h>
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
	const char *user, *password_file;           /* etcd's; NULL: nobody logs in (login.h) */
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
	 * -EACCES (the login was refused, or one is needed: of all budgets); -EPERM (the user has
	 * no right to this one's keys);
	 * -EAGAIN (others drew first, too many times); -EPROTO (what answered was no etcd v3, or
	 * not understood: a total that is no number); -ENOMEM. The numbers below hold only for 0.
	 */
	int result;
	char why[ETCD_WHY_MAX]; /* in words, for the log, when it is not 0 */
	bool logged_in;         /* it was asked with a token */
	uint64_t total;         /* in force */
	uint64_t drawn;         /* by this limiter in this period, ever */
	uint64_t left;          /* of the total, drawn by nobody */
};

#endif
