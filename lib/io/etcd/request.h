/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests to etcd and their answers, for callers of etcd.h and the layers below it.
 */
#ifndef WEIR_ETCD_REQUEST_H
#define WEIR_ETCD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETCD_NAME_MAX 80  /* bytes of a budget's or limiter's name, with the terminator */
#define ETCD_WHY_MAX  256 /* bytes of an error text, with the terminator */

struct etcd_params {
	const char *const *endpoints; /* "http://192.0.2.1:2379"; tried in this order */
	unsigned n_endpoints;
	const char *prefix;                         /* "/weir" */
	const char *limiter;                        /* our name */
	uint64_t epoch;                             /* larger than in any earlier start */
	const char *ca_file, *cert_file, *key_file; /* TLS; NULL: none */
	const char *user, *password_file;           /* for etcd; NULL: no login (login.h) */
	unsigned timeout_ms;                        /* per request */
};

struct etcd_draw {
	char budget[ETCD_NAME_MAX];
	uint64_t period;
	uint64_t total; /* configured quota, used if etcd has none */
	/*
	 * Units to draw in addition to `drawn` of the last answer; 0: only reads. Fewer if not
	 * enough are left. After an error, a repeated request returns the units that might have
	 * been drawn meanwhile, and does not draw them twice.
	 */
	uint64_t units;
};

struct etcd_answer {
	char budget[ETCD_NAME_MAX];
	uint64_t period;
	/*
	 * Result of the draw. The numbers below are valid only for 0.
	 *
	 *   0             success
	 *   -ESTALE       fenced: a newer start has this limiter's name; no draw can succeed again
	 *   -ENETUNREACH, -ETIMEDOUT  no answer: the draw might have succeeded; repeat it
	 *   -EACCES       the login failed, or one is necessary; affects all budgets
	 *   -EPERM        the user has no right to this budget's keys
	 *   -EAGAIN       others drew first, too many times
	 *   -EPROTO       not an answer of etcd v3, or a quota that is not a number
	 *   -ENOMEM
	 */
	int result;
	char why[ETCD_WHY_MAX]; /* error text for the log, if result is not 0 */
	bool logged_in;         /* the request carried a token */
	uint64_t total;         /* in force */
	uint64_t drawn;         /* by this limiter in this period */
	uint64_t left;          /* not drawn by any limiter */
};

#endif
