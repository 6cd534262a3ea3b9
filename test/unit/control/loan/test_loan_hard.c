/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans of hard limits. A model of the ledger moves parts of the limit and the burst between
 * limiters that lend, over a network that loses, repeats, delays and reorders messages. Limiters
 * restart, control stands still, leases end, and clocks have different rates. At all times the
 * tokens in all buckets and the tokens that borrowers will accept must fit into the burst. One
 * bucket with the limit and the burst must accept all bytes that pass.
 *
 * WEIR_LOAN_SEEDS=N runs N seeds instead of 60.
 */
#include "check.h"
#include "scope.h"

#include "base/math.h"
#include "base/prng.h"
#include "base/time.h"
#include "loan/loan.h"
#include "loan/loan_message.h"

#define SITES_MOST     6
#define FLYING_MOST    256
#define TRANSFERS_MOST 64
#define POLICY_ID      77
#define STEP_NS        MS_NS
#define LOOK_STEPS     5
#define STEPS          16000
#define REST_STEPS     4500 /* the last ones, without loans */
#define PARTS          1000 /* in the limit and the burst */
#define NANO           ((int64_t)SECOND_NS)
#define MILLION        1000000

struct flying {
	uint64_t at_ns, sent_step;
	uint64_t stall_ns; /* between the clock that control reads and the move of tokens */
	unsigned from, to;
	size_t len;
	uint8_t bytes[LOAN_MESSAGE_MAX];
};

/* Parts in flight; a grant is not sent before it is committed. */
struct transfer {
	unsigned from, to;
	uint64_t parts, at_step;
	bool committed;
};

struct site {
	struct world *world;
	struct loan *loan;
	int64_t tokens; /* parts of a byte */
	uint64_t parts; /* `promised` ones leave when the lease ends */
	uint64_t promised, lease_ns;
	uint64_t cut;      /* bytes of missing depth */
	uint64_t withheld; /* the same, for control */
	uint64_t refilled_ns, lends_from_ns, looked_ns, pace, base_ns;
	uint64_t paused_until_ns;
	unsigned spends; /* in 1,000 steps */
	bool silent;     /* its lease is not renewed */
};

struct world {
	struct site sites[SITES_MOST];
	unsigned n;
	struct prng prng;
	uint64_t now_ns, delay_ns, spread_ns, lease_ns, rate, burst;
	uint32_t drift_ppm;
	bool requests_fly; /* they arrive immediately, so clocks decide */
	unsigned loss, twice, restarts, pauses, grants;
	struct flying flying[FLYING_MOST];
	unsigned n_flying;
	struct transfer transfers[TRANSFERS_MOST];
	unsigned n_transfers;
	int64_t central;
	uint64_t step, offer_step, loans, lost;
	int64_t held[STEPS + 1];
};

static uint64_t site_clock(const struct site *site)
{
	return site->base_ns +
	       (uint64_t)((unsigned __int128)site->world->now_ns * site->pace / MILLION);
}

static uint64_t entitled(const struct site *site)
{
	return site->world->burst * site->parts / PARTS;
}

static int64_t depth(const struct site *site)
{
	return (int64_t)(entitled(site) - min_u64(site->cut, entitled(site))) * NANO;
}

/* The caller calls this before and after each change of the parts or the depth. */
static void refill(struct site *site)
{
	uint64_t now = site->world->now_ns;

	site->tokens += (int64_t)(site->world->rate * site->parts / PARTS *
				  (now - site->refilled_ns));
	site->refilled_ns = now;
	if (site->tokens > depth(site))
		site->tokens = depth(site);
}

static bool is_paused(const struct site *site)
{
	return site->world->now_ns < site->paused_until_ns;
}

/* Passes all bytes of a bucket. */
static void spend(struct site *site)
{
	int64_t bytes;

	refill(site);
	bytes = site->tokens / NANO;
	site->tokens -= bytes * NANO;
	site->world->central -= bytes * NANO;
	assert_true(site->world->central >= 0);
}

static uint64_t site_spare(void *context, unsigned policy, unsigned peer)
{
	const struct site *site = context;

	return site->world->step + REST_STEPS < STEPS ? 1 + peer : 0;
}

static struct loan_lender site_lender(void *context, unsigned policy)
{
	struct site *site = context;
	uint64_t now = site_clock(site), ends_ns = now + site->world->lease_ns;

	refill(site);
	if (site->promised > 0)
		ends_ns = min_u64(ends_ns, site->lease_ns);
	return (struct loan_lender){
		.bucket = {.burst = now < site->lends_from_ns ? 0 : entitled(site)},
		.ends_ns = ends_ns};
}

static struct loan_taken site_take(void *context, unsigned policy, uint64_t keep, uint64_t most)
{
	struct site *site = context;
	uint64_t level;
	struct loan_taken taken = {.rate = 1};

	refill(site);
	level = (uint64_t)(site->tokens / NANO);
	taken.bytes = level > keep ? min_u64(level - keep, most) : 0;
	site->tokens -= (int64_t)taken.bytes * NANO;
	site->withheld += taken.bytes;
	site->cut += taken.bytes;
	refill(site);
	return taken;
}

static uint64_t site_give(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	struct site *site = context;
	struct world *w = site->world;
	uint64_t ends_ns = site->promised > 0 ? site->lease_ns : UINT64_MAX;

	refill(site);
	if (until_ns == UINT64_MAX || site_clock(site) >= min_u64(until_ns, ends_ns))
		return 0;
	bytes = min_u64(bytes, (uint64_t)((depth(site) - site->tokens) / NANO));
	site->tokens += (int64_t)bytes * NANO;
	w->loans += bytes > 0;
	for (uint64_t k = w->offer_step; k < w->step; k++)
		w->held[k] += (int64_t)bytes;
	return bytes;
}

static struct loan_calls calls_of(struct site *site)
{
	return (struct loan_calls){site, site_spare, site_lender, site_take, site_give};
}

/* Returns a clock value that control read earlier, before a stall of stall_ns. */
static uint64_t read_clock(struct site *site, uint64_t stall_ns)
{
	stall_ns = (uint64_t)((unsigned __int128)stall_ns * site->pace / MILLION);
	site->looked_ns = max_u64(site_clock(site) - stall_ns, site->looked_ns);
	return site->looked_ns;
}

static void start_site(struct world *w, unsigned i)
{
	const uint64_t id = POLICY_ID;
	struct site *site = &w->sites[i];
	struct loan_params params = {.n = w->n,
		.self = i,
		.session = (uint32_t)prng_next(&w->prng),
		.policies = &id,
		.n_policies = 1,
		.drift_ppm = w->drift_ppm};

	loan_destroy(site->loan);
	site->loan = NULL;
	assert_int_equal(loan_create(&params, &site->loan), 0);
	site->tokens = 0;
	site->refilled_ns = w->now_ns;
	site->paused_until_ns = 0;
	site->looked_ns = site_clock(site);
	site->lends_from_ns = site->looked_ns + LOAN_HOLD_MOST_NS;
	site->withheld = site->cut = entitled(site) / 2;
}

static void withhold(struct site *site, uint64_t now_ns)
{
	refill(site);
	site->withheld = now_ns < site->lends_from_ns ? max_u64(site->withheld, entitled(site) / 2)
						      : loan_withheld(site->loan, 0, now_ns);
	site->cut = site->withheld;
	refill(site);
}

static void send_all(struct world *w, unsigned i)
{
	struct loan_calls calls = calls_of(&w->sites[i]);
	struct flying flying = {.sent_step = w->step, .from = i};

	while ((flying.len = loan_send(w->sites[i].loan, &calls, w->sites[i].looked_ns,
			flying.bytes, LOAN_MESSAGE_MAX, &flying.to)) > 0) {
		unsigned copies = 1 + prng_percent(&w->prng, w->twice);

		if (prng_percent(&w->prng, w->loss))
			continue;
		for (; copies > 0 && w->n_flying < FLYING_MOST; copies--) {
			flying.stall_ns = prng_percent(&w->prng, 10)
						  ? prng_within(&w->prng, 500 * STEP_NS)
						  : 0;
			flying.at_ns = w->now_ns + w->delay_ns + flying.stall_ns +
				       prng_within(&w->prng, w->spread_ns + 1);
			if (w->requests_fly && flying.bytes[1] == LOAN_REQUEST)
				flying.at_ns = w->now_ns + flying.stall_ns;
			w->flying[w->n_flying++] = flying;
		}
	}
}

/* Before a loan arrives, the borrower has often passed all its tokens. */
static void receive(struct world *w, const struct flying *flying)
{
	struct site *site = &w->sites[flying->to];
	struct loan_calls calls = calls_of(site);

	w->offer_step = flying->sent_step;
	if (prng_percent(&w->prng, 50))
		spend(site);
	assert_int_equal(loan_receive(site->loan, &calls, read_clock(site, flying->stall_ns),
				 flying->from, flying->bytes, flying->len),
		0);
	send_all(w, flying->to);
}

static void deliver(struct world *w)
{
	for (unsigned k = 0; k < w->n_flying;) {
		struct flying flying = w->flying[k];
		const struct site *site = &w->sites[flying.to];

		if (flying.at_ns > w->now_ns || is_paused(site)) {
			k++;
			continue;
		}
		w->flying[k] = w->flying[--w->n_flying];
		receive(w, &flying);
	}
}

static void crash(struct world *w, unsigned i);

/* The giver's bucket shrinks before the grant is committed, and the commit waits for its offers. */
static void move_transfers(struct world *w)
{
	unsigned crashes = w->n;

	for (unsigned k = 0; k < w->n_transfers;) {
		struct transfer *t = &w->transfers[k];
		struct site *from = &w->sites[t->from];

		if (!t->committed && !is_paused(from) && from->withheld <= entitled(from) / 2) {
			t->committed = true;
			t->at_step = w->step + prng_below(&w->prng, 30);
			if (w->restarts && from->withheld > 0 && prng_percent(&w->prng, 20))
				crashes = t->from;
		}
		if (!t->committed || w->step < t->at_step) {
			k++;
			continue;
		}
		refill(&w->sites[t->to]);
		w->sites[t->to].parts += t->parts;
		w->transfers[k] = w->transfers[--w->n_transfers];
	}
	if (crashes < w->n)
		crash(w, crashes);
}

static void begin_transfer(struct world *w, unsigned from, uint64_t parts, bool committed)
{
	unsigned to = (from + 1 + prng_below(&w->prng, w->n - 1)) % w->n;

	if (w->n_transfers == TRANSFERS_MOST || parts == 0)
		return;
	w->transfers[w->n_transfers++] = (struct transfer){from, to, parts, w->step, committed};
	refill(&w->sites[from]);
	w->sites[from].parts -= parts;
	refill(&w->sites[from]);
}

/* Workers find the end of a lease without control; the backup neighbour inherits. */
static void end_lease(struct world *w, unsigned i)
{
	struct site *site = &w->sites[i];
	uint64_t before = entitled(site), promised = site->promised;

	if (promised == 0 || site_clock(site) < site->lease_ns || w->n_transfers == TRANSFERS_MOST)
		return;
	refill(site);
	site->promised = 0;
	site->cut = before > 0 ? site->cut * (w->burst * (site->parts - promised) / PARTS) / before
			       : site->cut;
	begin_transfer(w, i, promised, true);
}

static void crash(struct world *w, unsigned i)
{
	for (unsigned k = 0; k < w->n_transfers;) {
		struct transfer *t = &w->transfers[k];

		if (t->from != i || t->committed || prng_percent(&w->prng, 50)) {
			k++;
			continue;
		}
		w->sites[i].parts += t->parts; /* no record has the grant */
		w->transfers[k] = w->transfers[--w->n_transfers];
	}
	start_site(w, i);
}

static void move_ledger(struct world *w, unsigned i)
{
	struct site *site = &w->sites[i];
	uint64_t clock = site_clock(site);

	end_lease(w, i);
	if (is_paused(site))
		return;
	if (prng_below(&w->prng, 1000) < w->grants)
		begin_transfer(
			w, i, prng_within(&w->prng, site->parts - site->promised + 1), false);
	if (site->promised == 0 && prng_below(&w->prng, 1000) < 10) {
		site->promised = prng_within(&w->prng, site->parts + 1);
		site->lease_ns = clock + w->lease_ns;
	}
	if (!site->silent && prng_percent(&w->prng, 5))
		site->lease_ns = max_u64(site->lease_ns, clock + w->lease_ns);
}

static void step_site(struct world *w, unsigned i)
{
	struct site *site = &w->sites[i];

	move_ledger(w, i);
	if (prng_below(&w->prng, 1000) < site->spends)
		spend(site);
	if (prng_below(&w->prng, 10000) < w->restarts)
		crash(w, i);
	if (prng_below(&w->prng, 10000) < w->pauses)
		site->paused_until_ns = w->now_ns + prng_within(&w->prng, 2 * SECOND_NS);
	if (is_paused(site) || w->step % LOOK_STEPS != 0)
		return;
	withhold(site, read_clock(site, 0));
	refill(site);
	loan_level(site->loan, 0,
		&(struct loan_bucket){(uint64_t)(site->tokens / NANO),
			(uint64_t)(depth(site) / NANO), w->rate * site->parts / PARTS + 1, w->rate},
		site->looked_ns);
	send_all(w, i);
}

static void draw_demand(struct world *w)
{
	static const unsigned spends[] = {0, 0, 2, 20, 300, 1000};

	for (unsigned i = 0; i < w->n; i++) {
		w->sites[i].spends = spends[prng_below(&w->prng, 6)];
		w->sites[i].silent = prng_percent(&w->prng, 40);
	}
}

static void step(struct world *w)
{
	int64_t tokens = 0;

	w->now_ns += STEP_NS;
	w->central += (int64_t)(w->rate * STEP_NS);
	if (w->central > (int64_t)w->burst * NANO)
		w->central = (int64_t)w->burst * NANO;
	move_transfers(w);
	deliver(w);
	for (unsigned i = 0; i < w->n; i++)
		step_site(w, i);
	for (unsigned i = 0; i < w->n; i++) {
		refill(&w->sites[i]);
		tokens += w->sites[i].tokens;
	}
	assert_true(tokens <= w->central);
	w->held[w->step] += tokens / NANO;
}

static void draw_world(struct world *w, uint64_t seed)
{
	uint64_t left = PARTS;

	*w = (struct world){.now_ns = SECOND_NS};
	prng_seed(&w->prng, seed);
	w->n = 2 + prng_below(&w->prng, prng_percent(&w->prng, 50) ? 2 : SITES_MOST - 1);
	w->delay_ns = 100000 + prng_within(&w->prng,
				       prng_percent(&w->prng, 60) ? 10 * STEP_NS : 100 * STEP_NS);
	w->spread_ns = prng_percent(&w->prng, 40) ? prng_within(&w->prng, 300 * STEP_NS) : 0;
	w->requests_fly = prng_percent(&w->prng, 40);
	w->lease_ns = 200 * STEP_NS + prng_within(&w->prng, 2000 * STEP_NS);
	w->rate = 20000 + prng_within(&w->prng, 2000000);
	w->burst = 10000 + prng_within(&w->prng, w->rate / (prng_percent(&w->prng, 50) ? 2 : 20));
	w->drift_ppm = (const uint32_t[]){0, 100, 20000, 100000}[prng_below(&w->prng, 4)];
	w->loss = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 30) : 0;
	w->twice = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 50) : 0;
	w->restarts = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 8) : 0;
	w->pauses = prng_percent(&w->prng, 50) ? prng_below(&w->prng, 20) : 0;
	w->grants = prng_percent(&w->prng, 70) ? prng_below(&w->prng, 30) : 0;
	w->central = (int64_t)w->burst * NANO;
	for (unsigned i = 0; i < w->n; i++) {
		struct site *site = &w->sites[i];

		site->world = w;
		site->parts = i + 1 < w->n ? prng_within(&w->prng, left) : left;
		left -= site->parts;
		site->pace = MILLION + w->drift_ppm * (2 * (uint64_t)prng_below(&w->prng, 2)) -
			     w->drift_ppm;
		site->base_ns = 10 * SECOND_NS + prng_within(&w->prng, 100 * SECOND_NS);
		start_site(w, i);
	}
}

static void run_seed(uint64_t seed, struct world *w)
{
	unsigned period;

	draw_world(w, seed);
	period = prng_percent(&w->prng, 50) ? 500 : 20 + prng_below(&w->prng, 100);
	for (w->step = 0; w->step < STEPS; w->step++) {
		if (w->step % period == 0)
			draw_demand(w);
		if (w->step + REST_STEPS == STEPS) /* control goes on, and limiters stay */
			w->restarts = w->pauses = 0;
		step(w);
	}
	for (uint64_t k = 0; k < STEPS; k++)
		assert_true(w->held[k] <= (int64_t)w->burst);
	for (unsigned i = 0; i < w->n; i++) {
		w->sites[i].paused_until_ns = 0;
		withhold(&w->sites[i], site_clock(&w->sites[i]));
		w->lost += w->sites[i].withheld;
		loan_destroy(w->sites[i].loan);
	}
	assert_int_equal(w->lost, 0);
}

TEST(test_hard_limits_hold)
{
	const char *option = getenv("WEIR_LOAN_SEEDS");
	unsigned seeds = option ? (unsigned)atoi(option) : ROUNDS(60);
	ENDED_BY(free_at) struct world *w = malloc(sizeof(*w));
	uint64_t loans = 0;

	assert_non_null(w);
	for (unsigned seed = 1; seed <= seeds; seed++) {
		run_seed(seed, w);
		loans += w->loans;
	}
	assert_true(loans > 3 * seeds);
}
