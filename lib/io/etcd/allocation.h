/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The algorithm for drawing units (etcd.h lists the keys). It reads all four keys at one revision.
 * Then one transaction checks that they are unchanged, and sets both counters. If a request or its
 * answer is lost, reading again shows the result: a draw aims at a total of units drawn by this
 * limiter, and nothing else changes that.
 *
 * One thread.
 */
#ifndef WEIR_ETCD_ALLOCATION_H
#define WEIR_ETCD_ALLOCATION_H

#include "base/prng.h"
#include "etcd/http.h"

#define DRAW_KEY_MAX    640
#define DRAW_PREFIX_MAX 256
#define DRAW_TOKEN_MAX  40

struct allocation_session {
	struct http *http;
	char prefix[DRAW_PREFIX_MAX], limiter[ETCD_NAME_MAX];
	uint64_t epoch;
	char token[DRAW_TOKEN_MAX]; /* value of the fence while it is ours */
	bool claimed, fenced;
	struct prng prng;
};

/* State of a budget at its user. */
struct drawn {
	bool known;
	uint64_t period, units;
};

/*
 * Returns 0 or -EINVAL. `lot` is a random number that distinguishes this session from others of the
 * same epoch.
 */
int allocation_session_init(struct allocation_session *allocation_session, struct http *http,
	const struct etcd_params *params, uint64_t lot);

/*
 * Executes a draw, with as many requests as necessary. `drawn` must be kept for the budget's next
 * draw.
 */
void draw(struct allocation_session *allocation_session, const struct etcd_draw *what,
	struct drawn *drawn, struct etcd_answer *answer);

#endif
