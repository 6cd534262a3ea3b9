/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How units are drawn (etcd.h has the keys). All four are read at one revision; then, in one
 * transaction, what was read must still be so, and both counters are set. Whatever is lost on the
 * way, the request or the answer, is found by reading again: what a draw aims at is a number of
 * units that this limiter has drawn in all, and nobody else changes that.
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
	char token[DRAW_TOKEN_MAX]; /* what the fence has while it is ours */
	bool claimed, fenced;
	struct prng prng;
};

/* What whoever draws knows of a budget. */
struct drawn {
	bool known;
	uint64_t period, units;
};

/* 0 or -EINVAL. `lot` tells this session from others of the same epoch. */
int allocation_session_init(struct allocation_session *allocation_session, struct http *http,
	const struct etcd_params *params, uint64_t lot);

/* Does it, with as many requests as it takes. `drawn` is kept for the budget's next draw. */
void draw(struct allocation_session *allocation_session, const struct etcd_draw *what,
	struct drawn *drawn, struct etcd_answer *answer);

#endif
