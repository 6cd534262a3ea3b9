/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The account that fills a credit, at a limiter without peers. All of a quota is available and no
 * more. Units that are not durable yet are requested again, a period leaves nothing to the next,
 * and unused units are returned.
 */
#include "check.h"
#include "scope.h"

#include "allocate/allocate.h"
#include "base/prng.h"
#include "base/time.h"
#include "engine/credit_account.h"
#include "engine/profile.h"
#include "group/roster.h"

#define WORKERS  2
#define TOTAL    UINT64_C(10000000)
#define PERIOD   60 /* seconds */
#define START_NS (1000 * PERIOD * SECOND_NS)
#define CHUNK    UINT64_C(65536)
#define PACKET   UINT64_C(1500)

struct world {
	struct policy policy;
	struct roster *roster;
	struct credit credit;
	struct credit_account account;
	struct credit_owner owner;
	uint64_t now_ns; /* both its clock and the wall clock */
};

static void world_open(struct world *w, enum period period, bool durable)
{
	const uint32_t id = 1;
	struct limiter_policy policy;
	struct limiter_params params = {
		.gossip = {.epoch = 1,
			.branching = 1,
			.timeout_ns = SECOND_NS,
			.datagram_max = 1400},
		.policies = &policy,
		.n_policies = 1,
		.n_workers = WORKERS,
		.ledger = {.durable = durable,
			.epoch = 1,
			.lease_ns = SECOND_NS,
			.timeout_ns = SECOND_NS},
	};

	*w = (struct world){.now_ns = START_NS,
		.policy = {.name = "p",
			.allocator = allocator_find("quota"),
			.meter = METER_CREDIT,
			.total = TOTAL,
			.period = period,
			.period_ns = PERIOD * SECOND_NS,
			.interval_ns = 50 * MS_NS,
			.chunk = CHUNK}};
	policy = limit_profile_policy(&w->policy, START_NS / SECOND_NS);
	assert_int_equal(roster_create(&id, 1, &w->roster), 0);
	params.gossip.roster = w->roster;
	w->owner = (struct credit_owner){.policy = &w->policy, .n_workers = WORKERS};
	assert_int_equal(limiter_create(&params, w->now_ns, &w->owner.limiter), 0);
	w->account.credit = &w->credit;
	credit_account_begin(&w->account, &w->owner, w->now_ns);
}

static void world_close(struct world *w)
{
	limiter_destroy(w->owner.limiter);
	roster_destroy(w->roster);
}

static struct quota_view view_of(const struct world *w)
{
	struct quota_view view;

	assert_true(credit_account_view(w->owner.limiter, 0, w->now_ns, &view));
	return view;
}

static struct credit_news look(struct world *w)
{
	w->now_ns += CREDIT_LOOK_NS;
	return credit_account_look(
		&w->account, &w->owner, (int64_t)(w->now_ns / SECOND_NS), w->now_ns);
}

static void commit(struct world *w)
{
	if (limiter_save(w->owner.limiter, NULL, NULL) == 0)
		limiter_committed(w->owner.limiter, w->now_ns);
}

/* Packets of a worker that holds nothing, between two looks; returns the paid units. */
static uint64_t take_packets(struct world *w, unsigned packets)
{
	uint64_t paid = 0;

	for (unsigned i = 0; i < packets; i++)
		paid += credit_take(&w->credit, w->account.generation, PACKET, 0);
	return paid;
}

static uint64_t use_up(struct world *w, unsigned packets, unsigned looks)
{
	uint64_t paid = 0;

	for (unsigned i = 0; i < looks; i++) {
		look(w);
		commit(w);
		credit_account_retry(&w->account, &w->owner, w->now_ns);
		paid += take_packets(w, packets);
	}
	return paid;
}

TEST(test_all_of_it_and_no_more)
{
	for (unsigned durable = 0; durable < 2; durable++) {
		struct quota_view view;
		struct world w;

		world_open(&w, PERIOD_NONE, durable);
		assert_in_range(use_up(&w, 20, 2000), TOTAL - PACKET + 1, TOTAL);
		/* A refusal is an answer: units are requested again only at the next look. */
		assert_true(look(&w).asked);
		assert_false(credit_account_retry(&w.account, &w.owner, w.now_ns));
		view = view_of(&w);
		assert_int_equal(view.spent - view.prepaid - credit_left(&w.credit),
			TOTAL / PACKET * PACKET);
		world_close(&w);
	}
}

static void check_spent(const struct world *w, uint64_t paid)
{
	struct quota_view view = view_of(w);

	assert_int_equal(view.spent - view.prepaid - credit_left(&w->credit), paid);
}

/* The rate is that of packets: it is 0 before the first, however many units are prefetched. */
TEST(test_rate_is_of_packets)
{
	for (uint64_t seed = 1; seed <= 16; seed++) {
		uint64_t paid = 0, begun;
		double rate;
		struct prng prng;
		struct world w;

		prng_seed(&prng, seed);
		world_open(&w, PERIOD_NONE, seed & 1);
		assert_int_equal(use_up(&w, 0, 100 + (unsigned)(prng_next(&prng) % 1000)), 0);
		assert_true(credit_left(&w.credit) > 0);
		assert_int_equal(view_of(&w).rate, 0);
		assert_int_equal(view_of(&w).pace, 0);
		check_spent(&w, 0);
		begun = w.now_ns;
		for (unsigned i = 0; i < 1000; i++)
			paid += use_up(&w, prng_next(&prng) % 4 == 0, 1);
		check_spent(&w, paid);
		rate = (double)paid * SECOND_NS / (double)(w.now_ns - begun);
		/* Leases are taken as a whole. */
		assert_true(fabs((double)view_of(&w).rate / 1000 - rate) <
			    0.25 * rate + (double)CHUNK / 4);
		assert_true(view_of(&w).rate > 0);
		world_close(&w);
	}
}

/* With a disk units are available only once they are durable, and then immediately. */
TEST(test_waits_for_the_disk)
{
	ENDED_BY(world_close) struct world w;

	world_open(&w, PERIOD_NONE, true);
	assert_true(look(&w).asked);
	assert_int_equal(credit_left(&w.credit), 0);
	assert_true(w.account.asked > 0);
	credit_account_retry(&w.account, &w.owner, w.now_ns);
	assert_int_equal(credit_left(&w.credit), 0);
	commit(&w);
	assert_true(credit_account_retry(&w.account, &w.owner, w.now_ns));
	assert_true(credit_left(&w.credit) >= CHUNK);
	assert_false(credit_account_retry(&w.account, &w.owner, w.now_ns));
}

/*
 * After a long time without traffic, the request has expired. Then the initial prefetch is
 * requested again.
 */
TEST(test_requests_again)
{
	ENDED_BY(world_close) struct world w;

	world_open(&w, PERIOD_NONE, true);
	for (unsigned i = 0; i < SECOND_NS / CREDIT_LOOK_NS; i++)
		look(&w);
	assert_int_equal(credit_left(&w.credit), 0);
	commit(&w);
	credit_account_retry(&w.account, &w.owner, w.now_ns);
	assert_true(credit_left(&w.credit) >= CHUNK);
}

TEST(test_period_turns)
{
	struct credit_news news;
	ENDED_BY(world_close) struct world w;
	uint64_t left;

	world_open(&w, PERIOD_FIXED, false);
	assert_in_range(use_up(&w, 20, 2000), TOTAL - PACKET + 1, TOTAL);
	credit_put(&w.credit, 2 * PACKET); /* so that some units are void */
	left = credit_left(&w.credit);
	w.now_ns = START_NS + PERIOD * SECOND_NS - CREDIT_LOOK_NS;
	news = look(&w);
	assert_true(news.turned && news.changed);
	assert_int_equal(news.unused, left);
	assert_int_equal(w.account.generation, 1);
	assert_int_equal(credit_take(&w.credit, 0, PACKET, 0), 0);
	assert_in_range(take_packets(&w, 20) + use_up(&w, 20, 2000), TOTAL - PACKET + 1, TOTAL);
	/* A wall clock that is set back begins no period. */
	w.now_ns -= PERIOD * SECOND_NS;
	assert_false(look(&w).turned);
}

/* Prefetched units without traffic are returned if they are most of the balance. */
TEST(test_parks)
{
	ENDED_BY(world_close) struct world w;

	world_open(&w, PERIOD_NONE, false);
	use_up(&w, 20, 2000);
	credit_account_return(&w.account, &w.owner);
	assert_int_equal(credit_left(&w.credit), 0);
	assert_int_equal(view_of(&w).spent, TOTAL / PACKET * PACKET);
	world_close(&w);

	world_open(&w, PERIOD_NONE, false);
	look(&w);
	assert_int_equal(w.account.lease.left, credit_left(&w.credit));
	assert_true(credit_account_is_active(&w.account, w.now_ns));
	limiter_spend(w.owner.limiter, 0, TOTAL - 2 * CHUNK + 1, w.now_ns);
	assert_true(credit_left(&w.credit) > 0);
	for (unsigned i = 0; i < 2 * SECOND_NS / CREDIT_LOOK_NS; i++)
		look(&w);
	assert_false(credit_account_is_active(&w.account, w.now_ns));
	assert_true(w.account.parked);
	assert_false(look(&w).asked);
	assert_int_equal(credit_left(&w.credit), 0);
	assert_int_equal(view_of(&w).spent, TOTAL - 2 * CHUNK + 1);
	take_packets(&w, 1);
	look(&w);
	assert_false(w.account.parked);
	assert_true(credit_left(&w.credit) >= PACKET);
}

/* All workers together may hold a 65,536th of the total; another total has another quantum. */
TEST(test_quantum)
{
	struct limit_profile profile = {0};
	ENDED_BY(world_close) struct world w;

	world_open(&w, PERIOD_NONE, false);
	credit_account_join(&w.account, &profile);
	assert_ptr_equal(profile.meter.credit.credit, &w.credit);
	assert_int_equal(profile.meter.credit.quantum, TOTAL / 65536 / WORKERS);
	assert_false(look(&w).changed);
	w.policy.total = 10 * TOTAL;
	assert_true(look(&w).changed);
	credit_account_join(&w.account, &profile);
	assert_int_equal(profile.meter.credit.quantum, 10 * TOTAL / 65536 / WORKERS);
	w.policy.count = COUNT_PACKETS;
	look(&w);
	assert_int_equal(w.account.quantum, 64);
}

/* The initial prefetch: the amount that all workers may hold, some packets, or a chunk. */
TEST(test_least)
{
	static const struct {
		enum counting count;
		uint64_t total, chunk, least;
	} rows[] = {
		{COUNT_BYTES, TOTAL, CHUNK, CHUNK},
		{COUNT_BYTES, TOTAL, 0, 6056},
		{COUNT_BYTES, TOTAL, 6057, 6057},
		{COUNT_BYTES, UINT64_C(1) << 40, CHUNK, WORKERS * CHUNK},
		{COUNT_PACKETS, UINT64_C(65536) * 100, 0, 100},
		{COUNT_PACKETS, 65536, 0, 4},
		{COUNT_PACKETS, UINT64_C(1) << 40, 0, WORKERS * 64},
		{COUNT_FLOWS, UINT64_C(1) << 40, 129, 129},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;

		world_open(&w, PERIOD_NONE, false);
		w.policy.count = rows[i].count;
		w.policy.total = rows[i].total;
		w.policy.chunk = rows[i].chunk;
		credit_account_begin(&w.account, &w.owner, w.now_ns);
		assert_int_equal(w.account.lease.least, rows[i].least);
		world_close(&w);
	}
}

/* A credit begins empty, also in memory that held other data before. */
TEST(test_states_begin_empty)
{
	const unsigned n_slots = 3;
	ENDED_BY(credit_states_free) struct credit_states states;
	struct engine engine = {0};

	assert_int_equal(credit_states_alloc(&states, &engine, n_slots), 0);
	for (unsigned i = 0; i <= n_slots; i++) {
		assert_int_equal(credit_left(&states.credits[i]), 0);
		assert_int_equal(credit_wanted(&states.credits[i]), 0);
		assert_null(states.accounts[i].credit);
	}
}

/* Opens a limiter with n quotas, each larger than the one before. */
static void open_totals(struct world *w, struct policy *policies, unsigned n)
{
	struct limiter_policy *limits = test_calloc(n, sizeof(*limits));
	struct limiter_params params = {
		.gossip = {.epoch = 1,
			.branching = 1,
			.timeout_ns = SECOND_NS,
			.datagram_max = 1400},
		.policies = limits,
		.n_policies = n,
		.n_workers = WORKERS,
		.ledger = {.epoch = 1, .lease_ns = SECOND_NS, .timeout_ns = SECOND_NS},
	};
	world_open(w, PERIOD_NONE, false);
	limiter_destroy(w->owner.limiter);
	for (unsigned i = 0; i < n; i++) {
		policies[i] = w->policy;
		policies[i].name[0] = (char)('p' + i);
		policies[i].total = (i + 1) * TOTAL;
		limits[i] = limit_profile_policy(&policies[i], START_NS / SECOND_NS);
	}
	params.gossip.roster = w->roster;
	assert_int_equal(limiter_create(&params, w->now_ns, &w->owner.limiter), 0);
	test_free(limits);
}

/* A slot's profile gets the credit of its account; a slot without an account gets none. */
TEST(test_states_join)
{
	enum { SLOTS = 3 };
	struct policy policies[SLOTS];
	struct credit_states states;
	struct engine engine = {0};
	struct world w;

	open_totals(&w, policies, SLOTS);
	assert_int_equal(credit_states_alloc(&states, &engine, SLOTS), 0);
	assert_ptr_equal(engine.driver.context, &states);
	for (unsigned slot = 0; slot < SLOTS; slot += 2) {
		const struct credit_owner owner = {.limiter = w.owner.limiter,
			.index = slot,
			.policy = &policies[slot],
			.n_workers = WORKERS};
		struct credit_account *account = credit_states_begin(&states, &owner, w.now_ns);

		assert_ptr_equal(account, &states.accounts[slot]);
		assert_ptr_equal(account->credit, &states.credits[slot]);
		assert_int_equal(account->quantum, (slot + 1) * TOTAL / 65536 / WORKERS);
		credit_account_look(account, &owner, TIME_UNKNOWN, w.now_ns + CREDIT_LOOK_NS);
		assert_true(credit_left(&states.credits[slot]) > 0);
	}
	states.accounts[2].generation = 5;
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		struct limit_profile profile, untouched;

		memset(&profile, 0x5a, sizeof(profile));
		memset(&untouched, 0x5a, sizeof(untouched));
		engine.driver.join(engine.driver.context, slot, &profile);
		if (slot == 1) {
			assert_memory_equal(&profile, &untouched, sizeof(profile));
			continue;
		}
		assert_ptr_equal(profile.meter.credit.credit, &states.credits[slot]);
		assert_int_equal(
			profile.meter.credit.quantum, (slot + 1) * TOTAL / 65536 / WORKERS);
		assert_int_equal(profile.meter.credit.generation, slot == 2 ? 5 : 0);
	}
	assert_int_equal(credit_left(&states.credits[1]), 0);
	assert_null(states.accounts[1].credit);
	world_close(&w);
	credit_states_free(&states);
	assert_null(states.credits);
	assert_null(states.accounts);
}
