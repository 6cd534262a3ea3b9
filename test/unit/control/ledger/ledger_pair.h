/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ledgers of neighbours, which receive each other's statements when a test delivers them.
 */
#ifndef WEIR_TEST_LEDGER_PAIR_H
#define WEIR_TEST_LEDGER_PAIR_H

#include "check.h"

#include "ledger/ledger.h"

#define S     UINT64_C(1000000000)
#define LEASE (3 * S)
#define DRIFT 200       /* ppm */
#define BEGIN (100 * S) /* on every clock, unless stated otherwise */

static inline struct ledger_params params_of(uint64_t share, uint32_t n_edges)
{
	return (struct ledger_params){.share = share,
		.n_edges = n_edges,
		.friend = n_edges ? 0 : LEDGER_NOBODY,
		.lease_ns = LEASE,
		.drift_ppm = DRIFT,
		.epoch = 7};
}

static inline struct ledger *ledger_of(uint64_t share, uint32_t n_edges)
{
	struct ledger_params params = params_of(share, n_edges);
	struct ledger *l;

	assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	return l;
}

static inline struct ledger *recovering_of(uint64_t share, uint32_t n_edges, uint64_t epoch)
{
	struct ledger_params params = params_of(share, n_edges);
	struct ledger *l;

	params.recovering = true;
	params.epoch = epoch;
	assert_int_equal(ledger_create(&params, BEGIN, &l), 0);
	return l;
}

static inline void save_test_ledger(struct ledger *l)
{
	assert_int_equal(ledger_save(l, NULL, NULL), 0);
	ledger_committed(l);
}

/* Commits, and writes the record. */
static inline void keep_test_record(struct ledger *l, uint8_t record[512], size_t *len)
{
	assert_true(ledger_record_size(l) <= 512);
	assert_int_equal(ledger_save(l, record, len), 0);
	ledger_committed(l);
}

/* Loses the state for good. */
static inline void lose_test_ledger(struct ledger *l)
{
	ledger_lose(l);
	ledger_loss_committed(l);
}

static inline struct ledger_statement statement_of_edge(
	struct ledger *l, uint32_t edge, uint64_t now_ns)
{
	struct ledger_statement s;

	ledger_state(l, edge, now_ns, &s);
	return s;
}

/* Delivers the present statement of one ledger to the other. */
static inline enum ledger_verdict tell_other_ledger(
	struct ledger *from, uint32_t edge, struct ledger *to, uint32_t there, uint64_t now_ns)
{
	struct ledger_statement s = statement_of_edge(from, edge, now_ns);

	return ledger_receive(to, there, now_ns, &s);
}

/* The second of two statements denies the record of the other ledger. */
static inline void deny_other_ledger(
	struct ledger *from, struct ledger *to, uint64_t first_ns, uint64_t second_ns)
{
	assert_int_equal(tell_other_ledger(from, 0, to, 0, first_ns), LEDGER_INVALID);
	assert_int_equal(tell_other_ledger(from, 0, to, 0, second_ns), LEDGER_DENIED);
}

/* Commits and delivers statements on both sides until nothing is new. */
static inline void agree_on_edge(
	struct ledger *a, uint32_t at_a, struct ledger *b, uint32_t at_b, uint64_t now_ns)
{
	for (int i = 0; i < 4; i++) {
		if (!ledger_recovering(a))
			save_test_ledger(a);
		tell_other_ledger(a, at_a, b, at_b, now_ns + i);
		if (!ledger_recovering(b))
			save_test_ledger(b);
		tell_other_ledger(b, at_b, a, at_a, now_ns + i);
	}
}

static inline uint64_t patience_of_lease(void)
{
	return (LEASE * (1000000 + DRIFT) + 1000000 - DRIFT - 1) / (1000000 - DRIFT);
}

/*
 * Ledger a has promised the amount, of its 100, to b. Both have received statements, b last at
 * BEGIN + S.
 */
static inline void promised_pair(struct ledger **a, struct ledger **b, uint64_t amount)
{
	*a = ledger_of(100, 1);
	*b = ledger_of(0, 1);
	tell_other_ledger(*b, 0, *a, 0, BEGIN);
	assert_int_equal(ledger_promise(*a, amount), 0);
	save_test_ledger(*a);
	tell_other_ledger(*a, 0, *b, 0, BEGIN + S);
}

static inline struct ledger *restarted_ledger(struct ledger *l, uint64_t epoch)
{
	struct ledger_params params = params_of(0, 1);
	struct ledger *again;
	uint8_t record[512];
	size_t len;

	params.epoch = epoch;
	assert_int_equal(ledger_save(l, record, &len), 0);
	assert_int_equal(ledger_restore(&params, record, len, BEGIN, &again), 0);
	ledger_destroy(l);
	return again;
}

#endif
