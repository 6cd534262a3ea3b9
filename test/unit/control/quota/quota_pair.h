/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two limiters that share a quota, and their messages until neither has another one.
 */
#ifndef WEIR_TEST_QUOTA_PAIR_H
#define WEIR_TEST_QUOTA_PAIR_H

#include "check.h"

#include "quota/quota.h"

#define THETA (4 * MS)

/* Two limiters and the edge between them. */
struct pair {
	struct quota_node *a, *b;
	uint64_t now;
	unsigned messages;
};

/* The time of the next tick is always later than now. */
static inline void tick_quota(struct quota_node *q, uint64_t now)
{
	assert_true(quota_tick(q, now) > now);
}

static inline struct quota_node *make_quota_node(
	uint64_t share, bool durable, uint64_t chunk, uint64_t theta, uint64_t now)
{
	struct quota_params params = {
		.share = share,
		.period = 1,
		.n_edges = 1,
		.epoch = 1,
		.durable = durable,
		.chunk = chunk,
		.theta_ns = theta,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
		.seed = 3,
	};
	struct quota_node *q;

	assert_int_equal(quota_create(&params, now, &q), 0);
	quota_link(q, 0, true, 1000);
	return q;
}

static inline struct pair slow_pair_of(uint64_t a, uint64_t b, uint64_t theta)
{
	return (struct pair){.a = make_quota_node(a, false, 0, theta, SECOND),
		.b = make_quota_node(b, false, 0, theta, SECOND),
		.now = SECOND};
}

static inline struct pair pair_of(uint64_t a, uint64_t b)
{
	return slow_pair_of(a, b, THETA);
}

static inline void pair_free(struct pair *p)
{
	quota_destroy(p->a);
	quota_destroy(p->b);
}

/* Delivers messages until there are no more; if `deaf`, one limiter receives none. */
static inline void talk_quota_pair(struct pair *p, bool deaf)
{
	struct quota_message m;
	uint32_t edge;
	bool more = true;

	while (more) {
		more = false;
		p->now += MS;
		while (quota_next(p->a, p->now, &edge, &m)) {
			p->messages++;
			more = true;
			if (!deaf)
				assert_true(quota_receive(p->b, 0, &m, p->now));
		}
		while (quota_next(p->b, p->now, &edge, &m)) {
			p->messages++;
			more = true;
			assert_true(quota_receive(p->a, 0, &m, p->now));
		}
	}
}

#endif
