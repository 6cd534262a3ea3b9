/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans of a hard limit: lib/control/loan, and the part of lib/control/limiter around it.
 * Control can stand still between the clock that it has read and each move of tokens. At all times
 * the tokens in all buckets must fit into one bucket of the limit and the burst. When loans end, no
 * depth may be missing.
 */
#include "torture_world.h"

#include "base/math.h"
#include "base/wire.h"
#include "loan/loan.h"

#define STAMP     8 /* bytes after a message: when it was sent */
#define POLICY_ID 1

/* Time by which the last loans have ended, before the end of a run. */
#define REST_NS (4 * SECOND)

/* Returns true if the limit has ended while the workers are stopped: they trim the bucket later. */
static bool is_unknown(const struct world *w, const struct rates_node *box)
{
	return box->workers_wake && expiry_is_past(&box->expiry, world_clock(w, box));
}

static uint64_t present_burst(const struct world *w, const struct rates_node *box)
{
	struct told told;

	world_tell(w, box, &told);
	return told.burst;
}

/* Returns a time that control has read before it was stopped, at least `least`. */
static uint64_t read_clock(struct world *w, struct rates_node *box, uint64_t least)
{
	uint64_t now = world_clock(w, box);

	if (!w->calm && prng_percent(&w->loaner, 10))
		now -= min_u64(now, prng_within(&w->loaner, 2 * SECOND));
	box->looked_ns = max_u64(max_u64(now, least), box->looked_ns);
	return box->looked_ns;
}

static uint64_t loan_spare(void *context, unsigned policy, unsigned peer)
{
	struct rates_node *box = context;

	(void)policy;
	(void)peer;
	return 1 + prng_below(&box->world->loaner, 1000);
}

static struct loan_lender loan_lender(void *context, unsigned policy)
{
	const struct rates_node *box = context;
	const struct world *w = box->world;
	uint64_t now = world_clock(w, box), until;
	struct loan_lender lender = {.bucket = {.burst = present_burst(w, box)}};

	(void)policy;
	(void)conserve_limit(box->c, RATE, now, &until);
	lender.ends_ns = min_u64(until, now + w->lease);
	if (now < box->lends_from || is_unknown(w, box))
		lender.bucket.burst = 0;
	return lender;
}

static struct loan_taken loan_take(void *context, unsigned policy, uint64_t keep, uint64_t most)
{
	struct rates_node *box = context;
	struct loan_taken taken = {0};
	uint64_t level;

	(void)policy;
	world_enforce(box, box->world->events.now_ns);
	level = (uint64_t)(box->bucket.level / NANO);
	taken.bytes = level > keep ? min_u64(level - keep, most) : 0;
	taken.rate = 1;
	box->bucket.level -= (level_t)taken.bytes * NANO;
	box->withheld += taken.bytes;
	world_enforce(box, box->world->events.now_ns);
	return taken;
}

static uint64_t loan_give(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	struct rates_node *box = context;
	struct world *w = box->world;

	(void)policy;
	if (until_ns == UINT64_MAX || world_clock(w, box) >= until_ns || is_unknown(w, box))
		return 0;
	world_enforce(box, w->events.now_ns);
	bytes = min_u64(bytes, (uint64_t)((box->bucket.most - box->bucket.level) / NANO));
	box->bucket.level += (level_t)bytes * NANO;
	w->result->loans += bytes > 0;
	return bytes;
}

static struct loan_calls loan_calls(struct rates_node *box)
{
	return (struct loan_calls){box, loan_spare, loan_lender, loan_take, loan_give};
}

void world_loans_start(struct world *w, struct rates_node *box)
{
	static const uint64_t id = POLICY_ID;
	struct loan_params params = {.n = w->n,
		.self = (unsigned)(box - w->boxes),
		.session = (uint32_t)prng_next(&w->loaner),
		.policies = &id,
		.n_policies = 1,
		.drift_ppm = w->params.drift_ppm};

	if (!world_loans_lend(w))
		return;
	box->world = w;
	loan_destroy(box->loan);
	box->loan = NULL;
	if (loan_create(&params, &box->loan))
		w->result->error = true;
	box->looked_ns = world_clock(w, box);
	box->lends_from = box->looked_ns + LOAN_HOLD_MOST_NS;
	box->withheld = 0;
}

/* Limiters call this when they read their buckets, and at each tick. */
static void world_loans_withhold(struct world *w, struct rates_node *box, uint64_t now)
{
	uint64_t withheld = loan_withheld(box->loan, 0, now);

	if (now < box->lends_from)
		withheld = max_u64(box->withheld, present_burst(w, box) / 2);
	box->withheld = withheld;
	if (!is_unknown(w, box))
		world_enforce(box, w->events.now_ns);
}

void world_loans_look(struct world *w, struct rates_node *box)
{
	struct loan_bucket bucket = {0};
	uint64_t now;

	if (!box->loan)
		return;
	now = read_clock(w, box, 0);
	world_loans_withhold(w, box, now);
	bucket.limit = w->limit;
	if (!is_unknown(w, box) && w->events.now_ns + REST_NS < w->end) {
		bucket.level = (uint64_t)(box->bucket.level / NANO);
		bucket.burst = (uint64_t)(box->bucket.most / NANO);
		bucket.rate = box->bucket.rate + 1;
	}
	loan_level(box->loan, 0, &bucket, now);
}

bool world_loans_hold_grants(const struct world *w, const struct rates_node *box)
{
	return box->loan && box->withheld > present_burst(w, box) / 2;
}

size_t world_loans_send(struct rates_node *box, struct message *message)
{
	struct loan_calls calls = loan_calls(box);
	size_t len;

	if (!box->loan)
		return 0;
	len = loan_send(
		box->loan, &calls, box->looked_ns, message->bytes, ROOM - STAMP, &message->to);
	if (len == 0)
		return 0;
	wire_put64(message->bytes + len, box->world->events.now_ns);
	return len + STAMP;
}

/* Receives a message. The clock was read when the message had been sent, or later. */
void world_loans_hear(
	struct world *w, struct rates_node *box, unsigned from, const uint8_t *bytes, size_t len)
{
	struct loan_calls calls = loan_calls(box);
	uint64_t sent = read_be64(bytes + len - STAMP);
	uint64_t least = box->clock + (uint64_t)((level_t)sent * box->pace / MILLION);

	/* Full buckets are the worst case: with others a part of the limit is lost. */
	if (prng_percent(&w->loaner, 50))
		world_spend(w, box);
	if (loan_receive(box->loan, &calls, read_clock(w, box, least), from, bytes, len - STAMP))
		torture_complain(w->result, "a loan that cannot be read");
}

/* Workers that continue first detect the end of their limit. */
static level_t usable_tokens(const struct world *w, const struct rates_node *box)
{
	uint64_t left = expiry_left(box->enforced.burst, box->enforced.ending);

	if (!is_unknown(w, box) || box->bucket.level < (level_t)left * NANO)
		return box->bucket.level;
	return (level_t)left * NANO;
}

void world_loans_check(struct world *w)
{
	level_t sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		struct rates_node *box = &w->boxes[i];

		if (!box->up)
			continue;
		if (!is_unknown(w, box))
			world_enforce(box, w->events.now_ns);
		sum += usable_tokens(w, box);
	}
	if (sum > w->bound.level)
		torture_complain(w->result, "%llu tokens beyond the limit",
			(unsigned long long)((sum - w->bound.level) / NANO));
}

void world_loans_check_end(struct world *w)
{
	for (unsigned i = 0; world_loans_lend(w) && i < w->n; i++) {
		struct rates_node *box = &w->boxes[i];

		if (!box->loan || !box->up)
			continue;
		world_loans_withhold(w, box, world_clock(w, box));
		if (box->withheld > 0 || box->bucket.most != (level_t)box->enforced.burst * NANO) {
			w->result->lost += box->withheld + 1;
			torture_complain(w->result, "%llu bytes of depth are withheld in the end",
				(unsigned long long)box->withheld);
		}
	}
}

void world_loans_free(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		loan_destroy(w->boxes[i].loan);
}
