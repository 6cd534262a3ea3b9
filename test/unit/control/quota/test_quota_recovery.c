/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Records saved before units are used or granted. A limiter's balance when it restarts from such a
 * record, without one, or in a period that is still unknown.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "quota_pair.h"

END_POINTER(quota_destroy, struct quota_node *)

static struct quota_node *restored_quota_node(const void *record, size_t len, uint64_t period)
{
	struct quota_params params = {
		.share = 100,
		.period = period,
		.recovering = true, /* ignored when there is a record */
		.n_edges = 1,
		.epoch = 2,
		.durable = true,
		.chunk = 16,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
	};
	struct quota_node *q;

	assert_int_equal(quota_restore(&params, record, len, SECOND, &q), 0);
	return q;
}

/*
 * Units received in a period without a record, and confirmed before a crash. The neighbour only
 * repeats the grants on request, so the limiter sends a request when that period begins again.
 */
TEST(test_crash_in_new_period)
{
	ENDED_BY(pair_free)
	struct pair p = {.a = make_quota_node(100, true, 16, THETA, SECOND),
		.b = make_quota_node(90, false, 0, THETA, SECOND),
		.now = SECOND};
	char record[4096];
	size_t len;

	assert_int_equal(quota_spend(p.a, 1, p.now), -EAGAIN);
	assert_int_equal(quota_save(p.a, record, &len), 0);
	/* The format on disks: future versions must read it. */
	assert_memory_equal(record, "ewqutav1", 8);
	quota_committed(p.a);
	assert_int_equal(quota_period(p.a, 2, 100, p.now), 0);
	assert_int_equal(quota_period(p.b, 2, 90, p.now), 0);
	assert_int_equal(quota_spend(p.a, 140, p.now), -EAGAIN);
	talk_quota_pair(&p, false);
	tick_quota(p.b, p.now += SECOND);
	talk_quota_pair(&p, false);
	assert_true(quota_view(p.a, p.now).balance >= 140);
	assert_int_equal(quota_edge(p.b, 0).in_flight, 0);
	quota_destroy(p.a);
	p.a = restored_quota_node(record, len, 1);
	assert_int_equal(quota_view(p.a, p.now).period, 1);
	quota_link(p.a, 0, true, 1000);
	assert_int_equal(quota_period(p.a, 2, 100, p.now), 0);
	for (unsigned i = 0; i < 3; i++) {
		tick_quota(p.a, p.now += SECOND);
		tick_quota(p.b, p.now);
		talk_quota_pair(&p, false);
	}
	assert_int_equal(quota_view(p.a, p.now).balance + quota_view(p.b, p.now).balance, 190);
}

/* With a disk no unit is used before a record counts it as spent; a crash forgets none. */
TEST(test_durable)
{
	ENDED_BY(quota_destroy_at)
	struct quota_node *q = make_quota_node(100, true, 16, THETA, SECOND);
	char record[4096];
	uint64_t used = 0;
	size_t len;

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN);
	for (unsigned i = 0; i < 20; i++) {
		while (quota_spend(q, 1, SECOND) == 0)
			used++;
		assert_int_equal(used == 0, i == 0);
		assert_int_equal(quota_save(q, record, &len), 0);
		assert_int_equal(quota_save(q, record, &len), -EBUSY);
		if (i == 3)
			break;
		quota_committed(q);
	}
	quota_destroy(q);
	q = restored_quota_node(record, len, 1);
	assert_true(quota_view(q, SECOND).spent >= used);
	assert_int_equal(quota_view(q, SECOND).balance + (int64_t)quota_view(q, SECOND).spent, 100);
	quota_destroy(q);
	/*
	 * A record of an earlier period has no effect here; one of a later period keeps the node
	 * there.
	 */
	q = restored_quota_node(record, len, 2);
	assert_int_equal(quota_view(q, SECOND).balance, 100);
	quota_destroy(q);
	q = restored_quota_node(record, len, 0);
	assert_int_equal(quota_view(q, SECOND).period, 1);
	assert_true(quota_view(q, SECOND).balance < 100);
}

/* Passed but unused units become free again, at most as many as have passed. */
TEST(test_refund)
{
	ENDED_BY(quota_destroy_at)
	struct quota_node *q = make_quota_node(100, true, 16, THETA, SECOND);
	char record[4096];
	size_t len;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(quota_spend(q, 30, SECOND), i == 0 ? -EAGAIN : 0);
		assert_int_equal(quota_save(q, record, &len), 0);
		quota_committed(q);
	}
	/* Also while a record that counts them as spent is being saved. */
	assert_int_equal(quota_spend(q, 20, SECOND), -EAGAIN);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_refund(q, 10);
	assert_int_equal(quota_view(q, SECOND).spent, 20);
	assert_int_equal(quota_view(q, SECOND).prepaid, 0);
	assert_int_equal(quota_view(q, SECOND).balance, 80);
	quota_committed(q);
	assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN); /* not before the next record */
	quota_refund(q, 1000);
	assert_int_equal(quota_view(q, SECOND).spent, 0);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_destroy(q);
	q = restored_quota_node(record, len, 1);
	assert_int_equal(quota_view(q, SECOND).balance, 100);
}

/* If saving a record fails, no unit may be used, and the next record includes all. */
TEST(test_save_failed)
{
	ENDED_BY(quota_destroy_at)
	struct quota_node *q = make_quota_node(100, true, 16, THETA, SECOND);
	char record[4096];
	size_t len;

	assert_int_equal(quota_spend(q, 30, SECOND), -EAGAIN);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_save_failed(q);
	assert_int_equal(quota_spend(q, 30, SECOND), -EAGAIN);
	assert_true(quota_uncommitted(q));
	assert_int_equal(quota_view(q, SECOND).spent, 30);
	assert_int_equal(quota_save(q, record, &len), 0);
	quota_committed(q);
	assert_int_equal(quota_spend(q, 30, SECOND), 0);
}

/* A grant is sent after its record is durable, not before, also at the second attempt. */
TEST(test_save_of_grant_failed)
{
	ENDED_BY(pair_free)
	struct pair p = {.a = make_quota_node(0, false, 0, THETA, SECOND),
		.b = make_quota_node(90, true, 16, THETA, SECOND),
		.now = SECOND};
	struct quota_message m;
	char record[4096];
	size_t len;

	assert_int_equal(quota_spend(p.a, 40, p.now), -EAGAIN);
	assert_true(quota_next_to(p.a, p.now, 0, &m));
	assert_true(quota_receive(p.b, 0, &m, p.now));
	assert_true(quota_edge(p.b, 0).granted >= 40);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(quota_uncommitted(p.b));
		assert_false(quota_next_to(p.b, p.now, 0, &m));
		assert_int_equal(quota_save(p.b, record, &len), 0);
		assert_false(quota_next_to(p.b, p.now, 0, &m));
		if (i < 2)
			quota_save_failed(p.b);
		else
			quota_committed(p.b);
	}
	assert_false(quota_uncommitted(p.b));
	assert_true(quota_next_to(p.b, p.now, 0, &m));
	assert_int_equal(m.statement.granted, quota_edge(p.b, 0).granted);
}

/* Units saved as spent ahead of traffic stay usable, in any state of their record. */
TEST(test_units_ahead)
{
	struct quota_node *q = make_quota_node(100, true, 0, THETA, SECOND);
	char record[4096];
	size_t len;

	quota_link(q, 0, false, 0);
	for (unsigned units = 30; units <= 40; units += 10) {
		assert_int_equal(quota_spend(q, units, SECOND), -EAGAIN);
		assert_int_equal(quota_view(q, SECOND).prepaid, units);
		assert_int_equal(quota_view(q, SECOND).remaining, 100);
		assert_false(quota_view(q, SECOND).waiting);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(quota_save(q, record, &len), 0);
		assert_int_equal(quota_view(q, SECOND).remaining, 100);
		if (i < 2)
			quota_save_failed(q);
		else
			quota_committed(q);
		assert_int_equal(quota_view(q, SECOND).remaining, 100);
	}
	assert_int_equal(quota_view(q, SECOND).prepaid, 40);
	assert_int_equal(quota_spend(q, 40, SECOND), 0);
	assert_int_equal(quota_view(q, SECOND).remaining, 60);
	assert_int_equal(quota_view(q, SECOND).prepaid, 0);
	assert_int_equal(quota_view(q, SECOND).spent, 40);
	quota_destroy(q);
	/* A chunk at a time, or an eighth of the free units. */
	for (unsigned total = 100; total <= 200; total += 100) {
		q = make_quota_node(total, true, 16, THETA, SECOND);
		assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN);
		assert_int_equal(quota_view(q, SECOND).prepaid, total == 200 ? 16 : 100 / 8);
		quota_destroy(q);
	}
}

static void save_quota_node(struct quota_node *q)
{
	char record[4096];
	size_t len;

	if (!quota_uncommitted(q))
		return;
	assert_int_equal(quota_save(q, record, &len), 0); /* nothing to save yet */
	quota_committed(q);
}

/* Two limiters with empty state send to each other, although neither has anything to save. */
TEST(test_both_recovering)
{
	struct quota_params params = {
		.share = 50,
		.n_edges = 1,
		.epoch = 2,
		.recovering = true,
		.durable = true,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = 4 * MS,
	};
	ENDED_BY(pair_free) struct pair p = {.now = SECOND};

	assert_int_equal(quota_create(&params, p.now, &p.a), 0);
	assert_int_equal(quota_create(&params, p.now, &p.b), 0);
	for (unsigned i = 0; i < 10; i++) {
		save_quota_node(p.a);
		save_quota_node(p.b);
		tick_quota(p.a, p.now);
		tick_quota(p.b, p.now);
		talk_quota_pair(&p, false);
	}
	assert_false(quota_view(p.a, p.now).recovering || quota_view(p.b, p.now).recovering);
}

/*
 * Two limiters that stay recovering, because a third is silent, do not answer each other forever.
 */
TEST(test_recovering_for_long)
{
	struct quota_params params = {
		.share = 50,
		.n_edges = 2,
		.epoch = 2,
		.recovering = true,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND,
	};
	struct quota_message m;
	ENDED_BY(pair_free) struct pair p = {.now = SECOND};

	assert_int_equal(quota_create(&params, p.now, &p.a), 0);
	assert_int_equal(quota_create(&params, p.now, &p.b), 0);
	for (; p.now < 2 * SECOND; p.now += MS) {
		tick_quota(p.a, p.now);
		tick_quota(p.b, p.now);
		p.messages += quota_next_to(p.a, p.now, 0, &m) && quota_receive(p.b, 0, &m, p.now);
		p.messages += quota_next_to(p.b, p.now, 0, &m) && quota_receive(p.a, 0, &m, p.now);
	}
	assert_true(quota_view(p.a, p.now).recovering && quota_view(p.b, p.now).recovering);
	assert_in_range(p.messages, 2, 8);
}

/* While the period is unknown, nothing is held or received; lost state stays lost afterwards. */
TEST(test_undated)
{
	struct quota_params params = {.share = 100,
		.undated = true,
		.recovering = true,
		.epoch = 1,
		.theta_ns = THETA,
		.memory_ns = SECOND,
		.repeat_ns = SECOND};
	struct quota_message message = {.statement = {.epoch = 9, .stamp = 1}};
	ENDED_BY(quota_destroy_at) struct quota_node *q;

	assert_int_equal(quota_create(&params, SECOND, &q), 0);
	assert_int_equal(quota_spend(q, 1, SECOND), -EAGAIN);
	assert_int_equal(quota_set_share(q, 200, SECOND), 0);
	assert_int_equal(quota_period(q, 5, 100, SECOND), 0);
	assert_int_not_equal(quota_spend(q, 1, SECOND), 0);
	assert_int_equal(quota_period(q, 6, 100, SECOND), 0);
	assert_int_equal(quota_spend(q, 100, SECOND), 0);
	quota_destroy(q);
	params.n_edges = 1;
	assert_int_equal(quota_create(&params, SECOND, &q), 0);
	assert_true(quota_receive(q, 0, &message, SECOND)); /* period 0 is of no limiter */
	assert_int_equal(quota_period(q, 5, 100, SECOND), 0);
	assert_true(quota_view(q, SECOND).recovering);
}

#define PROOF_SEEDS 200

/*
 * Two restarted limiters that wait for each other confirm their records, also if first messages are
 * lost.
 */
TEST(test_proof_after_losses)
{
	for (uint64_t seed = 1; seed <= PROOF_SEEDS; seed++) {
		struct quota_node *nodes[2];
		struct prng prng;

		prng_seed(&prng, seed);
		for (unsigned i = 0; i < 2; i++) {
			struct quota_params params = {.share = 100,
				.period = 1,
				.n_edges = 1,
				.epoch = 1,
				.word = 1 + i,
				.proof_until_ns = UINT64_MAX / 2,
				.durable = true,
				.theta_ns = THETA,
				.memory_ns = SECOND,
				.repeat_ns = SECOND};

			assert_int_equal(quota_create(&params, SECOND, &nodes[i]), 0);
			quota_link(nodes[i], 0, true, 100);
		}
		for (uint64_t now = SECOND; now < 20 * SECOND; now += 100 * MS)
			for (unsigned i = 0; i < 2; i++) {
				struct quota_message m;
				uint32_t edge;

				quota_tick(nodes[i], now);
				if (quota_uncommitted(nodes[i])) {
					uint8_t record[1024];
					size_t len;

					assert_int_equal(quota_save(nodes[i], record, &len), 0);
					quota_committed(nodes[i]);
				}
				while (quota_next(nodes[i], now, &edge, &m))
					if (now > 8 * SECOND || prng_percent(&prng, 50))
						quota_receive(nodes[!i], 0, &m, now);
			}
		for (unsigned i = 0; i < 2; i++) {
			assert_false(quota_view(nodes[i], 20 * SECOND).waits);
			quota_destroy(nodes[i]);
		}
	}
}

/*
 * A restarted limiter waits for a neighbour that is in the next period, or still in the last one.
 * That neighbour cannot confirm the record. The limiter waits until the neighbour is silent.
 */
TEST(test_neighbour_in_another_period)
{
	static const uint64_t periods[][2] = {{1, 2}, {1, 9}, {2, 1}}; /* own, neighbour's */

	for (unsigned i = 0; i < COUNT(periods); i++) {
		const struct quota_params params = {.share = 100,
			.period = periods[i][0],
			.n_edges = 1,
			.epoch = 2,
			.word = 1,
			.proof_until_ns = 2 * SECOND,
			.theta_ns = THETA,
			.memory_ns = SECOND,
			.repeat_ns = SECOND};
		ENDED_BY(quota_destroy_at)
		struct quota_node *start, *other = make_quota_node(100, false, 0, THETA, SECOND);
		uint64_t now = SECOND;
		unsigned answers = 0;

		assert_int_equal(quota_create(&params, now, &start), 0);
		quota_link(start, 0, true, 100);
		if (periods[i][1] > 1)
			assert_int_equal(quota_period(other, periods[i][1], 100, now), 0);
		for (; now < 20 * SECOND; now += 100 * MS) {
			struct quota_message m;
			uint32_t edge;

			quota_tick(start, now);
			while (quota_next(start, now, &edge, &m))
				assert_true(quota_receive(other, 0, &m, now));
			if (periods[i][1] < periods[i][0])
				quota_wake_edge(other, 0, false);
			while (quota_next(other, now, &edge, &m)) {
				assert_true(quota_receive(start, 0, &m, now));
				answers++;
			}
			assert_true(quota_view(start, now).waits);
		}
		assert_in_range(answers, 10, periods[i][1] < periods[i][0] ? 200 : 160);
		quota_tick(start, now + 5 * SECOND);
		assert_false(quota_view(start, now + 5 * SECOND).waits);
	}
}

/*
 * A period begins before a limiter has recovered. Another machine with its name can begin it, too.
 * So the limiter waits until its neighbour has confirmed its record, or is silent.
 */
TEST(test_period_after_a_recovery)
{
	enum { CONFIRMS, DENIES, IS_SILENT, NEIGHBOURS };

	for (unsigned i = 0; i < NEIGHBOURS; i++) {
		const struct quota_params params = {.share = 100,
			.period = 1,
			.n_edges = 1,
			.epoch = 2,
			.word = 1,
			.recovering = true,
			.theta_ns = THETA,
			.memory_ns = SECOND,
			.repeat_ns = SECOND};
		ENDED_BY(quota_destroy_at)
		struct quota_node *start, *other = make_quota_node(100, false, 0, THETA, SECOND);
		uint64_t now = SECOND, opened = 0;

		assert_int_equal(quota_create(&params, now, &start), 0);
		quota_link(start, 0, true, 100);
		assert_true(quota_view(start, now).recovering);
		assert_int_equal(quota_period(start, 2, 100, now), 0);
		assert_false(quota_view(start, now).recovering);
		assert_int_equal(quota_spend(start, 1, now), -EAGAIN);
		assert_int_equal(quota_period(other, 2, 100, now), 0);
		for (; now < 20 * SECOND && !opened; now += 100 * MS) {
			struct quota_message m;
			uint32_t edge;

			quota_tick(start, now);
			while (quota_next(start, now, &edge, &m))
				assert_true(quota_receive(other, 0, &m, now));
			while (i != IS_SILENT && quota_next(other, now, &edge, &m)) {
				if (i == DENIES)
					m.statement.known_count = LEDGER_TWICE;
				quota_receive(start, 0, &m, now);
			}
			opened = quota_view(start, now).waits ? 0 : now;
		}
		assert_int_equal(quota_denied(start), i == DENIES ? LEDGER_TWIN : LEDGER_HEARD);
		if (i == DENIES) {
			assert_int_equal(opened, 0);
			continue;
		}
		assert_in_range(opened, i == IS_SILENT ? 5 * SECOND : SECOND,
			i == IS_SILENT ? 6 * SECOND : 2 * SECOND);
		assert_int_equal(quota_spend(start, 100, now), 0);
	}
}
