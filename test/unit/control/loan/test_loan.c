/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans. Groups of drawn parameters lend over a network that loses, repeats and reorders
 * messages, while limiters restart. One bucket with the sum of all limits and bursts must accept
 * every packet that the group passes. Buckets and accepted offers in flight must never hold more
 * than the bursts, and tokens given must never exceed tokens taken.
 *
 * WEIR_LOAN_SEEDS=N runs N seeds instead of 60.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "base/time.h"
#include "loan/loan.h"
#include "loan/loan_message.h"

#define SITES_MOST  6
#define FLYING_MOST 256
#define POLICY_ID   77
#define STEP_NS     (SECOND_NS / 1000)
#define LOOK_STEPS  5
#define LIMIT       1000000 /* bytes per second of a group, where it does not matter */
#define STEPS       4000
#define NANO        ((int64_t)SECOND_NS) /* parts of a byte in a bucket */

struct flying {
	uint64_t at_ns;
	unsigned from, to;
	uint64_t sent_step; /* when the tokens of an offer were taken */
	size_t len;
	uint8_t bytes[LOAN_MESSAGE_MAX];
};

struct site {
	struct world *world;
	struct loan *loan;
	int64_t tokens, burst; /* parts of a byte */
	uint64_t rate, demand; /* bytes per second */
	uint64_t refilled_ns;
	uint32_t session;
	uint64_t requested_ns; /* time of the newest request; 0: none */
};

/* Settings of the network, and counts of a run. */
struct world {
	struct site sites[SITES_MOST];
	unsigned n;
	struct prng prng;
	uint64_t now_ns, delay_ns, spread_ns;
	bool requests_fly; /* requests arrive immediately, so a round trip is one flight */
	unsigned loss, twice, restarts; /* percent; restarts: of 10,000 steps */
	struct flying flying[FLYING_MOST];
	unsigned n_flying;
	int64_t central, central_burst; /* the bucket that the group is compared with */
	uint64_t central_rate;
	unsigned pulses; /* percent of the time in which each site sends; 0: drawn demands */
	uint64_t taken, given, passed, messages, requests;
	uint32_t numbers[SITES_MOST]; /* newest lie of each peer */
	uint64_t step, offer_step;    /* now, and when the offer that is delivered was sent */
	int64_t held[STEPS + 1]; /* bytes in buckets and in accepted offers under way, by step */
};

static void refill(struct site *site)
{
	uint64_t now = site->world->now_ns;

	site->tokens += (int64_t)(site->rate * (now - site->refilled_ns));
	if (site->tokens > site->burst)
		site->tokens = site->burst;
	site->refilled_ns = now;
}

static uint64_t site_spare(void *context, unsigned policy, unsigned peer)
{
	const struct site *site = context, *other = &site->world->sites[peer];

	return other->rate > other->demand ? other->rate - other->demand : 0;
}

static struct loan_lender site_lender(void *context, unsigned policy)
{
	struct site *site = context;

	refill(site);
	return (struct loan_lender){
		{(uint64_t)(site->tokens / NANO), (uint64_t)(site->burst / NANO), site->rate, 0},
		site->demand, 0};
}

static struct loan_taken site_take(void *context, unsigned policy, uint64_t keep, uint64_t most)
{
	struct site *site = context;
	uint64_t level, room, bytes = 0;

	refill(site);
	level = (uint64_t)(site->tokens / NANO);
	room = (uint64_t)((site->burst - site->tokens) / NANO);
	if (level > keep)
		bytes = level - keep < most ? level - keep : most;
	site->world->taken += bytes;
	site->tokens -= (int64_t)bytes * NANO;
	return (struct loan_taken){bytes, room, site->rate};
}

static uint64_t site_give(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	struct site *site = context;
	uint64_t room;

	refill(site);
	room = (uint64_t)((site->burst - site->tokens) / NANO);
	bytes = bytes < room ? bytes : room;
	site->tokens += (int64_t)bytes * NANO;
	site->world->given += bytes;
	for (uint64_t k = site->world->offer_step; k < site->world->step; k++)
		site->world->held[k] += (int64_t)bytes;
	return bytes;
}

static struct loan_calls calls_of(struct site *site)
{
	return (struct loan_calls){site, site_spare, site_lender, site_take, site_give};
}

static void start_site(struct world *w, unsigned i)
{
	const uint64_t id = POLICY_ID;
	struct loan_params params = {.n = w->n,
		.self = i,
		.session = (uint32_t)prng_next(&w->prng),
		.policies = &id,
		.n_policies = 1};

	w->sites[i].session = params.session;
	loan_destroy(w->sites[i].loan);
	w->sites[i].loan = NULL;
	assert_int_equal(loan_create(&params, &w->sites[i].loan), 0);
	w->sites[i].requested_ns = 0;
}

static void end_world(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		loan_destroy(w->sites[i].loan);
}

/* Two requests of a site are a round trip apart, or the shortest time until one is lost. */
static void check_request(struct world *w, unsigned from)
{
	uint64_t *requested = &w->sites[from].requested_ns;
	uint64_t least = w->requests_fly ? w->delay_ns : 2 * w->delay_ns;

	least = least < LOAN_WAIT_MIN_NS ? least : LOAN_WAIT_MIN_NS;
	assert_true(loan_is_short(w->sites[from].loan));
	assert_true(*requested == 0 || w->now_ns - *requested >= least);
	*requested = w->now_ns;
	w->requests++;
}

static void send_message(
	struct world *w, unsigned from, unsigned to, const uint8_t *bytes, size_t len)
{
	unsigned copies = 1 + prng_percent(&w->prng, w->twice);

	w->messages++;
	if (bytes[1] == LOAN_REQUEST)
		check_request(w, from);
	if (prng_percent(&w->prng, w->loss))
		return;
	for (unsigned i = 0; i < copies && w->n_flying < FLYING_MOST; i++) {
		struct flying *flying = &w->flying[w->n_flying++];

		flying->at_ns = w->now_ns + w->delay_ns + prng_within(&w->prng, w->spread_ns + 1);
		if (w->requests_fly && bytes[1] == LOAN_REQUEST)
			flying->at_ns = w->now_ns;
		flying->from = from;
		flying->to = to;
		flying->sent_step = w->step;
		flying->len = len;
		memcpy(flying->bytes, bytes, len);
	}
}

static void send_all(struct world *w, unsigned i)
{
	struct loan_calls calls = calls_of(&w->sites[i]);
	uint8_t buf[LOAN_MESSAGE_MAX];
	unsigned to = 0;
	size_t len;

	while ((len = loan_send(w->sites[i].loan, &calls, w->now_ns, buf, LOAN_MESSAGE_MAX, &to)) >
		0)
		send_message(w, i, to, buf, len);
}

static void deliver(struct world *w)
{
	for (unsigned k = 0; k < w->n_flying;) {
		struct flying flying = w->flying[k];
		struct loan_calls calls = calls_of(&w->sites[flying.to]);

		if (flying.at_ns > w->now_ns) {
			k++;
			continue;
		}
		w->flying[k] = w->flying[--w->n_flying];
		w->offer_step = flying.sent_step;
		assert_int_equal(loan_receive(w->sites[flying.to].loan, &calls, w->now_ns,
					 flying.from, flying.bytes, flying.len),
			0);
		send_all(w, flying.to);
	}
}

/* Packets of a site in one step, and the bucket that must accept them. */
static void police_site(struct world *w, struct site *site)
{
	uint64_t arriving = site->demand / 1000;

	refill(site);
	while (arriving > 0) {
		uint64_t size = 64 + prng_below(&w->prng, 1437);

		/* A packet that is larger than the rest arrives with a chance of rest / size. */
		if (size > arriving && prng_within(&w->prng, size) >= arriving)
			break;
		arriving -= size < arriving ? size : arriving;
		if (site->tokens < (int64_t)size * NANO)
			continue;
		site->tokens -= (int64_t)size * NANO;
		w->central -= (int64_t)size * NANO;
		w->passed += size;
		assert_true(w->central >= 0);
	}
}

static void look(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		struct site *site = &w->sites[i];

		struct loan_bucket bucket;

		refill(site);
		bucket = (struct loan_bucket){(uint64_t)(site->tokens / NANO),
			(uint64_t)(site->burst / NANO), site->rate, w->central_rate};
		loan_level(site->loan, 0, &bucket, w->now_ns);
		send_all(w, i);
	}
}

static void step(struct world *w, uint64_t k)
{
	w->step = k;
	w->now_ns += STEP_NS;
	w->central += (int64_t)(w->central_rate * STEP_NS);
	if (w->central > w->central_burst)
		w->central = w->central_burst;
	deliver(w);
	for (unsigned i = 0; i < w->n; i++) {
		police_site(w, &w->sites[i]);
		if (prng_below(&w->prng, 10000) < w->restarts)
			start_site(w, i);
	}
	if (k % LOOK_STEPS == 0)
		look(w);
	for (unsigned i = 0; i < w->n; i++)
		w->held[k] += w->sites[i].tokens / NANO;
	assert_true(w->given <= w->taken);
}

static void begin_world(struct world *w)
{
	w->now_ns = SECOND_NS;
	for (unsigned i = 0; i < w->n; i++) {
		struct site *site = &w->sites[i];

		site->world = w;
		site->tokens = site->burst;
		site->refilled_ns = w->now_ns;
		w->central_rate += site->rate;
		w->central_burst += site->burst;
		start_site(w, i);
	}
	w->central = w->central_burst;
}

/* Half of the sites are idle or nearly so, a quarter wants more than it has. */
static void draw_demand(struct world *w)
{
	for (unsigned i = 0; w->pulses && i < w->n; i++)
		w->sites[i].demand = prng_percent(&w->prng, w->pulses) ? 20 * w->sites[i].rate : 0;
	if (w->pulses)
		return;
	for (unsigned i = 0; i < w->n; i++) {
		static const double most[] = {0, 0.1, 1.0, 10.0};
		double factor = most[prng_below(&w->prng, 4)] * prng_unit(&w->prng);

		w->sites[i].demand = (uint64_t)((double)w->sites[i].rate * factor);
	}
}

/* Checks that tokens in buckets and in flight never exceed the sum of the bursts. */
static void check_held(const struct world *w)
{
	for (unsigned k = 0; k < STEPS; k++)
		assert_true(w->held[k] <= w->central_burst / NANO);
}

/* Buckets fill within a flight of a message, and are emptied within a few steps. */
static void draw_pulses(struct world *w)
{
	w->pulses = 10 + prng_below(&w->prng, 50);
	w->delay_ns = (20 + prng_within(&w->prng, 100)) * STEP_NS;
	w->requests_fly = true;
	w->loss = 0;
	for (unsigned i = 0; i < w->n; i++)
		w->sites[i].rate = (uint64_t)(w->sites[i].burst / NANO) *
				   (10 + prng_within(&w->prng, 90));
}

static void run_seed(uint64_t seed, struct world *w)
{
	unsigned period; /* steps between changes of the demand */

	*w = (struct world){0};
	prng_seed(&w->prng, seed);
	w->n = 2 + prng_below(&w->prng, prng_percent(&w->prng, 50) ? 2 : SITES_MOST - 1);
	w->delay_ns = 100000 + prng_within(&w->prng, 60 * STEP_NS);
	w->spread_ns = prng_percent(&w->prng, 50) ? prng_within(&w->prng, 100 * STEP_NS) : 0;
	w->loss = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 30) : 0;
	w->twice = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 50) : 0;
	w->restarts = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 20) : 0;
	for (unsigned i = 0; i < w->n; i++) {
		w->sites[i].rate = 20000 + prng_within(&w->prng, 2000000);
		w->sites[i].burst = (int64_t)(9000 + prng_within(&w->prng, w->sites[i].rate / 4)) *
				    NANO;
	}
	if (prng_percent(&w->prng, 50))
		draw_pulses(w);
	period = prng_percent(&w->prng, 50) ? 500 : 5 + prng_below(&w->prng, 60);
	begin_world(w);
	for (uint64_t k = 0; k < STEPS; k++) {
		if (k % period == 0)
			draw_demand(w);
		step(w, k);
	}
	check_held(w);
	end_world(w);
}

TEST(test_group_stays_within_one_bucket)
{
	const char *option = getenv("WEIR_LOAN_SEEDS");
	unsigned seeds = option ? (unsigned)atoi(option) : ROUNDS(60);
	uint64_t given = 0, lost = 0;
	ENDED_BY(free_at) struct world *w = malloc(sizeof(*w));

	assert_non_null(w);
	for (unsigned seed = 1; seed <= seeds; seed++) {
		run_seed(seed, w);
		given += w->given;
		lost += w->taken - w->given;
	}
	/* Loans took place, and some were lost, or the worlds test nothing. */
	assert_true(given > 1000 * seeds);
	assert_true(lost > 0);
}

/* One busy site and three idle ones pass as much as one bucket; without loans, a quarter. */
TEST(test_unused_tokens_are_used)
{
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));
	uint64_t steps = STEPS;

	assert_non_null(w);
	w->n = 4;
	w->delay_ns = 10 * STEP_NS;
	prng_seed(&w->prng, 1);
	for (unsigned i = 0; i < w->n; i++) {
		w->sites[i].rate = 312500;
		w->sites[i].burst = 78125 * NANO;
	}
	w->sites[2].demand = 2000000;
	begin_world(w);
	for (uint64_t k = 0; k < steps; k++)
		step(w, k);
	assert_true(w->passed > 1250000 * (steps / 1000) * 95 / 100);
	/* At most one request a round trip, and one offer for each. */
	assert_true(w->requests <= steps / 20 + 1);
	assert_true(w->messages <= 2 * w->requests);
	assert_int_equal(w->sites[0].loan && loan_totals(w->sites[0].loan, 0).borrowed, 0);
	assert_true(loan_totals(w->sites[2].loan, 0).borrowed == w->given);
	end_world(w);
}

/* While all buckets are more than half full there is no message. */
TEST(test_silent_without_need)
{
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->n = 5;
	w->delay_ns = STEP_NS;
	prng_seed(&w->prng, 2);
	for (unsigned i = 0; i < w->n; i++) {
		w->sites[i].rate = 1000000;
		w->sites[i].demand = 800000;
		w->sites[i].burst = 100000 * NANO;
	}
	begin_world(w);
	for (uint64_t k = 0; k < 2000; k++)
		step(w, k);
	assert_int_equal(w->messages, 0);
	end_world(w);
}

/* A peer that gossip reports as busy gets no request, however short the limiter is. */
TEST(test_requests_only_peers_with_spare)
{
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->n = 3;
	prng_seed(&w->prng, 3);
	for (unsigned i = 0; i < w->n; i++) {
		w->sites[i].rate = 100000;
		w->sites[i].demand = 150000;
		w->sites[i].burst = 20000 * NANO;
	}
	begin_world(w);
	for (uint64_t k = 0; k < 2000; k++)
		step(w, k);
	assert_true(loan_is_short(w->sites[1].loan));
	assert_int_equal(w->messages, 0);
	end_world(w);
}

/* A request for 10,000 bytes that a borrower with this session and number has sent. */
static size_t write_request(uint8_t *buf, uint32_t session, uint32_t number)
{
	struct loan_message request = {.kind = LOAN_REQUEST,
		.session = session,
		.number = number,
		.round_us = 1000,
		.n = 1,
		.entries = {{POLICY_ID, {.bytes = 10000, .room = 100000}}}};

	return loan_message_write(&request, buf);
}

/* Site 1 has 8,000 of 20,000 bytes, and sites 0 and 2 have unused limit. */
static struct world *new_trio(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->n = 3;
	prng_seed(&w->prng, 9);
	for (unsigned i = 0; i < w->n; i++)
		w->sites[i].burst = 20000 * NANO;
	w->sites[0].rate = w->sites[1].rate = w->sites[2].rate = 1000;
	begin_world(w);
	return w;
}

static void set_level(struct world *w, uint64_t level)
{
	w->sites[1].tokens = (int64_t)level * NANO;
	loan_level(w->sites[1].loan, 0, &(struct loan_bucket){level, 20000, 0, LIMIT}, w->now_ns);
}

/* Site 1 sends a request to one of the others. Returns its index. */
static unsigned request_someone(struct world *w)
{
	struct loan_calls calls = calls_of(&w->sites[1]);
	uint8_t buf[LOAN_MESSAGE_MAX];
	unsigned peer = 9;

	assert_true(
		loan_send(w->sites[1].loan, &calls, w->now_ns, buf, LOAN_MESSAGE_MAX, &peer) > 0);
	return peer;
}

/*
 * An offer of 10,000 bytes by a full lender that has filled by 10,001 bytes in this time. Returns
 * the bytes that site 1 accepts.
 */
static uint64_t offer_after(struct world *w, unsigned from, uint32_t number, unsigned ms)
{
	struct loan_calls calls = calls_of(&w->sites[1]);
	struct loan_message offer = {.kind = LOAN_OFFER,
		.session = w->sites[1].session,
		.number = number,
		.n = 1,
		.entries = {{POLICY_ID, {10000, 0, 10000000 / ms}}}};
	uint8_t buf[LOAN_MESSAGE_MAX];
	uint64_t before = w->given;

	assert_int_equal(loan_receive(w->sites[1].loan, &calls, w->now_ns, from, buf,
				 loan_message_write(&offer, buf)),
		0);
	return w->given - before;
}

/* An offer of a huge number of bytes for the newest request. */
static void offer_lie(struct world *w, unsigned from)
{
	struct loan_calls calls = calls_of(&w->sites[1]);
	struct loan_message offer = {.kind = LOAN_OFFER,
		.session = w->sites[1].session,
		.n = 1,
		.entries = {{POLICY_ID, {UINT64_MAX / 2, UINT64_MAX, 0}}}};
	uint8_t buf[LOAN_MESSAGE_MAX];

	offer.number = ++w->numbers[from];
	assert_int_equal(loan_receive(w->sites[1].loan, &calls, w->now_ns, from, buf,
				 loan_message_write(&offer, buf)),
		0);
}

static uint64_t offer_overflown(struct world *w, unsigned from, uint32_t number)
{
	return offer_after(w, from, number, 10);
}

/* An offer counts once, and only for the start and the number of the newest request. */
TEST(test_offers_count_once)
{
	static const struct {
		bool restarts, late,
			again; /* again: another request is sent before the offer comes */
		uint64_t given;
	} cases[] = {{false, false, false, 10000}, {true, false, true, 0}, {false, true, true, 0},
		{false, true, false, 0}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct world *w = new_trio();
		uint32_t session = w->sites[1].session;
		unsigned peer;

		set_level(w, 8000);
		peer = request_someone(w);
		w->now_ns += cases[i].late ? LOAN_WAIT_FIRST_NS : 10 * STEP_NS;
		if (cases[i].restarts)
			start_site(w, 1);
		set_level(w, 8000);
		while (cases[i].again && request_someone(w) != peer) {
			w->now_ns += LOAN_WAIT_MAX_NS; /* the other peer does not answer */
			set_level(w, 8000);
		}
		w->sites[1].session = session;
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(offer_after(w, peer, 1, cases[i].late ? 250 : 10),
				k == 0 ? cases[i].given : 0);
		end_world(w);
		free(w);
	}
}

/* A peer offers far more than the limit in each round trip. A limiter borrows no more than it. */
TEST(test_lies_are_limited)
{
	const uint64_t limit = 3000, seconds = 10;
	ENDED_BY(free_at) struct world *w = new_trio();

	for (uint64_t k = 0; k < seconds * 100; k++) {
		struct loan_bucket bucket = {0, 20000, 0, limit};
		unsigned peer;

		w->sites[1].tokens = 0;
		loan_level(w->sites[1].loan, 0, &bucket, w->now_ns);
		peer = request_someone(w);
		w->now_ns += 10 * STEP_NS;
		offer_lie(w, peer);
		w->now_ns += LOAN_PAUSE_MAX_NS; /* until it may send a request again */
	}
	assert_true(w->given >= limit * seconds);
	/* The second that it may borrow at a time, and a byte of rounding for each offer. */
	assert_true(
		w->given <= limit * (w->now_ns - SECOND_NS) / SECOND_NS + limit + seconds * 100);
	end_world(w);
}

/*
 * A peer that never answers costs less and less time, so a limiter borrows from others. When the
 * peer answers again, it gets as many requests as before.
 */
TEST(test_silent_peer)
{
	const uint64_t minute = 60 * SECOND_NS;
	ENDED_BY(free_at) struct world *w = new_trio();
	unsigned requests[2][3] = {0};

	for (unsigned answers = 0; answers < 2; answers++) {
		uint64_t end_ns = w->now_ns + 5 * minute;

		while (w->now_ns < end_ns) {
			struct loan_calls calls = calls_of(&w->sites[1]);
			uint8_t buf[LOAN_MESSAGE_MAX];
			unsigned peer;

			set_level(w, 0);
			w->now_ns += 10 * STEP_NS;
			if (loan_send(w->sites[1].loan, &calls, w->now_ns, buf, LOAN_MESSAGE_MAX,
				    &peer) == 0)
				continue;
			requests[answers][peer]++;
			w->numbers[peer]++;
			if (peer == 0 && !answers)
				continue;
			w->now_ns += 10 * STEP_NS;
			assert_int_equal(offer_after(w, peer, w->numbers[peer], 10), 10000);
		}
	}
	assert_in_range(requests[0][0], 10, 30);
	assert_true(requests[0][2] > 0.85 * 5 * minute / (20 * STEP_NS));
	assert_true(requests[1][0] > 0.4 * requests[1][2]);
	end_world(w);
}

/* Tokens that a bucket has been given are no room for the next overflow. */
TEST(test_room_counts_once)
{
	ENDED_BY(free_at) struct world *w = new_trio();
	unsigned first, second;

	/* An overflow of 10,001 bytes, and 12,000 bytes of room. */
	set_level(w, 8000);
	first = request_someone(w);
	w->now_ns += 10 * STEP_NS;
	assert_int_equal(offer_overflown(w, first, 1), 10000);
	/* The next request counts the bytes given, before any report: room 2,000. */
	second = request_someone(w);
	assert_true(first != second);
	w->now_ns += 10 * STEP_NS;
	set_level(w, 0);
	assert_int_equal(offer_overflown(w, second, 1), 10000 - 10001 + 2000 - 2);
	end_world(w);
}

/* A bucket that may have filled since the last report has less room. */
TEST(test_refill_is_no_room)
{
	ENDED_BY(free_at) struct world *w = new_trio();
	unsigned peer;

	loan_level(
		w->sites[1].loan, 0, &(struct loan_bucket){8000, 20000, 500000, LIMIT}, w->now_ns);
	peer = request_someone(w);
	w->now_ns += 10 * STEP_NS;
	w->sites[1].tokens = 0;
	assert_int_equal(offer_overflown(w, peer, 1), 10000 - 10001 + 12000 - 5001);
	end_world(w);
}

/* Site 1 lends 5,000 bytes to site 0. */
static void lend_5000(struct world *w, uint32_t number)
{
	struct loan_calls calls = calls_of(&w->sites[1]);
	struct loan_message request = {.kind = LOAN_REQUEST,
		.number = number,
		.n = 1,
		.round_us = 1300000,
		.wait_us = UINT32_MAX,
		.entries = {{POLICY_ID, {.bytes = 5000}}}};
	uint8_t buf[LOAN_MESSAGE_MAX];
	uint64_t before = w->taken;
	unsigned peer;

	assert_int_equal(loan_receive(w->sites[1].loan, &calls, w->now_ns, 0, buf,
				 loan_message_write(&request, buf)),
		0);
	assert_true(
		loan_send(w->sites[1].loan, &calls, w->now_ns, buf, LOAN_MESSAGE_MAX, &peer) > 0);
	assert_int_equal(w->taken - before, 5000);
}

/* A borrower's own loans, before its request or after it, may still be in flight. */
TEST(test_lent_bytes_are_no_room)
{
	static const struct {
		unsigned before, after;
		uint64_t given;
	} cases[] = {{0, 0, 10000}, {1, 0, 6998}, {6, 0, 6998}, {0, 1, 0}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct world *w = new_trio();
		unsigned peer;

		for (unsigned k = 0; k < cases[i].before; k++) {
			w->now_ns += SECOND_NS; /* earlier loans have arrived */
			set_level(w, 20000);
			lend_5000(w, k + 1);
		}
		set_level(w, 8000);
		peer = request_someone(w);
		w->now_ns += 5 * STEP_NS;
		if (cases[i].after) {
			set_level(w, 15000);
			lend_5000(w, 1);
		}
		set_level(w, 8000);
		w->now_ns += 5 * STEP_NS;
		assert_near((double)offer_overflown(w, peer, 1), (double)cases[i].given, 50);
		end_world(w);
		free(w);
	}
}

/* A lender answers each number of a session once, and an old number never. */
TEST(test_repeated_requests_take_once)
{
	static const struct {
		uint32_t session, number;
		bool offers;
	} requests[] = {{5, 1, true}, {5, 1, false}, {5, 3, true}, {5, 2, false}, {6, 1, true},
		{6, 1, false}, {5, UINT32_MAX, true}, {5, 0, true}, {5, UINT32_MAX, false}};
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));
	uint8_t buf[LOAN_MESSAGE_MAX];
	struct loan_calls calls;
	unsigned to;

	assert_non_null(w);
	w->n = 2;
	prng_seed(&w->prng, 7);
	w->sites[0].rate = 10000000;
	w->sites[0].burst = w->sites[1].burst = 1000000 * NANO;
	begin_world(w);
	calls = calls_of(&w->sites[0]);
	for (size_t i = 0; i < COUNT(requests); i++) {
		uint64_t before = w->taken;
		size_t len = write_request(buf, requests[i].session, requests[i].number);

		assert_int_equal(loan_receive(w->sites[0].loan, &calls, w->now_ns, 1, buf, len), 0);
		len = loan_send(w->sites[0].loan, &calls, w->now_ns, buf, LOAN_MESSAGE_MAX, &to);
		assert_int_equal(len > 0, requests[i].offers);
		assert_int_equal(w->taken - before, requests[i].offers ? 10000 : 0);
	}
	end_world(w);
}

/* Any change of a message's length is found; no bytes crash the reader. */
TEST(test_malformed)
{
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));
	uint8_t buf[LOAN_MESSAGE_MAX] = {0};
	struct loan_calls calls;
	size_t len;

	assert_non_null(w);
	w->n = 2;
	prng_seed(&w->prng, 4);
	begin_world(w);
	calls = calls_of(&w->sites[0]);
	len = write_request(buf, 1, 1);
	for (size_t cut = 0; cut < LOAN_MESSAGE_MAX; cut++)
		assert_int_equal(loan_receive(w->sites[0].loan, &calls, w->now_ns, 1, buf, cut),
			cut == len ? 0 : -EINVAL);
	assert_int_equal(loan_receive(w->sites[0].loan, &calls, w->now_ns, 0, buf, len), -EINVAL);
	assert_int_equal(loan_receive(w->sites[0].loan, &calls, w->now_ns, 2, buf, len), -EINVAL);
	for (unsigned k = 0; k < 20000; k++) {
		for (size_t i = 0; i < sizeof(buf); i++)
			buf[i] = (uint8_t)prng_next(&w->prng);
		buf[0] = LOAN_MESSAGE;
		buf[1] = (uint8_t)(1 + k % 2);
		buf[2] = 0;
		buf[3] = (uint8_t)(k % 40);
		(void)loan_receive(w->sites[0].loan, &calls, w->now_ns, 1, buf,
			20 + (size_t)(k % 40) * (k % 2 ? 28 : 20));
	}
	end_world(w);
}

/* Messages fit into the given room; without room for one policy there is no message. */
TEST(test_room_of_messages)
{
	static const struct {
		size_t room, len;
	} cases[] = {{LOAN_MESSAGE_MAX, 20 + 32 * 24}, {LOAN_MESSAGE_MAX - 1, 20 + 31 * 24},
		{84, 20 + 2 * 24}, {LOAN_MESSAGE_MIN, 20 + 24}, {LOAN_MESSAGE_MIN - 1, 0}};
	uint64_t ids[40];
	struct world w = {.n = 2};
	struct loan_calls calls = calls_of(&w.sites[0]);
	struct loan_params params = {.n = 2, .policies = ids, .n_policies = 40};

	w.sites[0].world = &w;
	w.sites[1].rate = 1000;
	for (uint32_t i = 0; i < params.n_policies; i++)
		ids[i] = i;
	for (size_t k = 0; k < COUNT(cases); k++) {
		uint8_t buf[LOAN_MESSAGE_MAX];
		struct loan *loan;
		unsigned peer;

		assert_int_equal(loan_create(&params, &loan), 0);
		for (unsigned i = 0; i < params.n_policies; i++)
			loan_level(loan, i, &(struct loan_bucket){0, 10000, 0, LIMIT}, 1);
		assert_int_equal(
			loan_send(loan, &calls, 1, buf, cases[k].room, &peer), cases[k].len);
		loan_destroy(loan);
	}
}

/* A reload keeps the totals of the policies that stay, and forgets which were short. */
TEST(test_update)
{
	const uint64_t ids[] = {1, 2}, next[] = {3, 2}, same[] = {4, 4};
	const unsigned from[] = {UINT32_MAX, 1};
	struct loan_params params = {.n = 2, .policies = ids, .n_policies = 2, .session = 1};
	struct world *w = calloc(1, sizeof(*w));
	struct loan_calls calls;
	struct loan_message request = {.kind = LOAN_REQUEST,
		.number = 1,
		.round_us = 1000000,
		.n = 1,
		.entries = {{2, {.bytes = 500, .room = 10000}}}};
	struct loan_change change = {0};
	uint8_t buf[LOAN_MESSAGE_MAX];
	struct loan *loan;
	unsigned to;

	assert_non_null(w);
	w->n = 2;
	w->sites[0] = (struct site){
		.world = w, .burst = 10000 * NANO, .tokens = 10000 * NANO, .rate = 1000};
	calls = calls_of(&w->sites[0]);
	assert_int_equal(loan_create(&params, &loan), 0);
	assert_int_equal(
		loan_receive(loan, &calls, 1, 1, buf, loan_message_write(&request, buf)), 0);
	assert_true(loan_send(loan, &calls, 1, buf, LOAN_MESSAGE_MAX, &to) > 0);
	assert_int_equal(loan_totals(loan, 1).lent, 500);
	loan_level(loan, 0, &(struct loan_bucket){0, 1000, 0, LIMIT}, 1);
	assert_true(loan_is_short(loan));
	assert_int_equal(loan_change_begin(loan, same, 2, from, &change), -EINVAL);
	loan_change_cancel(&change);
	assert_int_equal(loan_change_begin(loan, next, 2, from, &change), 0);
	assert_true(loan_is_short(loan));
	loan_change_commit(loan, &change);
	assert_false(loan_is_short(loan));
	assert_int_equal(loan_totals(loan, 0).lent, 0);
	assert_int_equal(loan_totals(loan, 1).lent, 500);
	loan_destroy(loan);
	free(w);
	params.self = 2;
	assert_int_equal(loan_create(&params, &loan), -EINVAL);
}

/*
 * An offer for the order of policies before a reload is dropped, and not used for another policy.
 */
TEST(test_update_drops_offers)
{
	const uint64_t ids[] = {1, 2}, swapped[] = {2, 1};
	const unsigned from[] = {1, 0};
	struct loan_params params = {.n = 2, .policies = ids, .n_policies = 2, .session = 1};
	struct loan_message offer = {.kind = LOAN_OFFER,
		.session = 1,
		.number = 1,
		.n = 1,
		.entries = {{1, {.bytes = 500, .room = 5000}}}};
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));
	struct loan_change change = {0};
	uint8_t buf[LOAN_MESSAGE_MAX];
	struct loan_calls calls;
	struct loan *loan;
	unsigned to;

	assert_non_null(w);
	w->n = 2;
	w->sites[0] = (struct site){.world = w, .burst = 10000 * NANO};
	w->sites[1].rate = 1000;
	calls = calls_of(&w->sites[0]);
	for (unsigned changes = 0; changes < 2; changes++) {
		assert_int_equal(loan_create(&params, &loan), 0);
		loan_level(loan, 0, &(struct loan_bucket){0, 10000, 0, LIMIT}, 1);
		loan_level(loan, 1, &(struct loan_bucket){0, 10000, 0, LIMIT}, 1);
		assert_true(loan_send(loan, &calls, 1, buf, LOAN_MESSAGE_MAX, &to) > 0);
		if (changes) {
			assert_int_equal(loan_change_begin(loan, swapped, 2, from, &change), 0);
			loan_change_commit(loan, &change);
		}
		w->given = 0;
		assert_int_equal(
			loan_receive(loan, &calls, 2, 1, buf, loan_message_write(&offer, buf)), 0);
		assert_int_equal(w->given, changes ? 0 : 500);
		loan_destroy(loan);
	}
}

/*
 * A lender keeps half of its burst, or its use in a round trip if that is more. It declines if the
 * borrower would give up more than half.
 */
TEST(test_lender_keeps)
{
	static const struct {
		uint64_t demand, room;
		uint32_t round_us;
		uint64_t taken;
	} cases[] = {{0, 1000000, 0, 0}, {0, 1000000, 1000000, 50000},
		{400000, 1000000, 50000, 50000}, {400000, 1000000, 200000, 20000},
		{400000, 1000000, 1000000, 0}, {0, 0, 50000, 0}, {0, 4000, 50000, 0},
		{0, 6000, 50000, 50000}};
	struct loan_message request = {
		.kind = LOAN_REQUEST, .n = 1, .entries = {{.policy = POLICY_ID}}};
	ENDED_BY(free_at) struct world *w = calloc(1, sizeof(*w));
	uint8_t buf[LOAN_MESSAGE_MAX];

	assert_non_null(w);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct loan_calls calls = calls_of(&w->sites[0]);
		unsigned to;

		*w = (struct world){.n = 2};
		prng_seed(&w->prng, 8);
		w->sites[0].burst = 100000 * NANO;
		w->sites[0].rate = 1000000;
		w->sites[0].demand = cases[i].demand;
		begin_world(w);
		request.round_us = cases[i].round_us;
		request.entries[0].taken = (struct loan_taken){90000, cases[i].room, 0};
		assert_int_equal(loan_receive(w->sites[0].loan, &calls, w->now_ns, 1, buf,
					 loan_message_write(&request, buf)),
			0);
		assert_true(loan_send(w->sites[0].loan, &calls, w->now_ns, buf, LOAN_MESSAGE_MAX,
				    &to) > 0);
		assert_int_equal(w->taken, cases[i].taken);
		end_world(w);
	}
}
