/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rates: lib/control/conserve with the parts of an appliance around it. Workers apply a new limit a
 * little later, and a disk is slower and sometimes full. After each event:
 *
 *   - the sum of enforced limits, and of all that could be enforced, is within the limit. A limit
 *     that falls counts until the workers have the new one, and debts of limiters that had granted
 *     it count;
 *   - every received amount was granted or promised, and the books of every limiter are right;
 *   - if bursts move separately (adaptor), the same holds for them: their sum never exceeds the
 *     burst;
 *   - buckets that admit as much as possible, immediately or at the worst time, together conform
 *     exactly to one bucket of that limit and the burst.
 *
 * In the end there are no faults for a while; every byte per second is accounted for, and passes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "ledger/ledger.h"
#include "loan/loan.h"
#include "torture_world.h"

/* Bytes of a ledger's record are more than this; a lost account has names of edges at most. */
#define LOST_RECORD 250

/* Returns the first true time at which a limiter's clock shows `clock`. */
static uint64_t true_time(const struct rates_node *box, uint64_t clock)
{
	level_t at = ((level_t)(clock - box->clock) * MILLION + box->pace - 1) / box->pace;

	return (uint64_t)at;
}

static void rates_box_event(void *world, void *object, uint64_t argument);

/* Adds an event for a limiter's present life, with a number of its own. */
static void rates_box_at(
	struct world *w, uint64_t at, enum happening what, struct rates_node *box, uint64_t number)
{
	events_at(&w->events, at, rates_box_event, box,
		what | number << 8 | (uint64_t)box->life << 32);
}

static bool is_update_due(const struct world *w, const struct rates_node *box)
{
	const struct told *last = &box->told;
	struct told now;

	world_tell(w, box, &now);
	return memcmp(now.amounts, last->amounts, sizeof(now.amounts)) != 0 ||
	       now.burst != last->burst || now.limit != last->limit || now.least != last->least ||
	       now.ending != last->ending;
}

/* Ends at `at` the parts of the enforced limits that are leased. */
static void end_leased(struct world *w, struct rates_node *box, uint64_t at)
{
	struct told *enforced = &box->enforced;

	for (unsigned a = 0; a < w->accounts; a++)
		enforced->amounts[a] = expiry_left(enforced->amounts[a], enforced->ending);
	enforced->burst = expiry_left(enforced->burst, enforced->ending);
	enforced->ending = 0;
	world_enforce(box, at);
}

/*
 * Called by workers before they meter, even after a long sleep. Returns true if a limit has ended.
 */
static bool look_at_expiry(struct world *w, struct rates_node *box)
{
	uint64_t clock = world_clock(w, box), from;

	if (box->workers_wake || !expiry_is_past(&box->expiry, clock))
		return false;
	from = expiry_see(&box->expiry, clock);
	if (from == 0)
		return false;
	w->result->expired++;
	end_leased(w, box, from > box->clock ? true_time(box, from) : w->events.now_ns);
	return true;
}

/* The workers apply the limits that control published last. */
static void take_limits(struct world *w, struct rates_node *box)
{
	if (box->enforced.least > 0 &&
		(box->limit_taken != box->told.limit || box->enforced.least != box->told.least)) {
		bool counts = w->events.now_ns < box->was_until_ns;

		box->was.limit = counts ? max_u64(box->was.limit, box->limit_taken)
					: box->limit_taken;
		box->was.least = counts ? min_u64(box->was.least, box->enforced.least)
					: box->enforced.least;
		box->was_until_ns = w->events.now_ns + 2 * SECOND;
	}
	box->enforced = box->told;
	box->limit_taken = box->told.limit;
	world_enforce(box, w->events.now_ns);
	if (expiry_until(&box->expiry) == 0)
		end_leased(w, box, w->events.now_ns);
}

static void start_taking(struct world *w, struct rates_node *box);

/* Adds an event when control can detect that a lease is about to end, and one when it has ended. */
static void watch_expiry(struct world *w, struct rates_node *box)
{
	uint64_t until = expiry_until(&box->expiry), at = true_time(box, until);

	if (until == 0 || at <= w->events.now_ns ||
		(box->expires > w->events.now_ns && box->expires <= at))
		return;
	box->expires = at;
	rates_box_at(w, at, EXPIRES, box, 0);
	rates_box_at(w, true_time(box, until - w->lease / LEASE_AHEAD), LEASE, box, 0);
}

/*
 * Control sets the end of the workers' limits to the earliest of them. So the end moves later only
 * if they have applied all. Workers whose limits have ended get all limits again.
 */
static void renew_expiry(struct world *w, struct rates_node *box)
{
	bool all_taken = !box->taking && !box->pending && !is_update_due(w, box);
	uint64_t present = expiry_until(&box->expiry), next;
	struct told now;

	if (present == 0 && !all_taken)
		return;
	if (present != 0 && expiry_is_past(&box->expiry, world_clock(w, box)))
		return;
	next = expiry_next(present, world_tell(w, box, &now), all_taken);
	if (next == present || !expiry_set(&box->expiry, present, next))
		return;
	watch_expiry(w, box);
	if (present == 0)
		start_taking(w, box);
}

/* Publishes before a first lease ends, as early as control can. */
static void start_taking(struct world *w, struct rates_node *box)
{
	world_tell(w, box, &box->told);
	box->pending = false;
	box->taking = true;
	box->taking_since++;
	renew_expiry(w, box);
	rates_box_at(w, w->events.now_ns + prng_within(&w->prng, 20 * MS), TAKEN, box,
		box->taking_since);
}

/*
 * At the end of faults, threads and disks continue immediately. A longer stop would not be a defect
 * of the group.
 */
static uint64_t trouble_until(const struct world *w, uint64_t at)
{
	return at < w->calm_ns ? at : w->calm_ns;
}

/*
 * Stops a thread at any step: control, all workers, or none. Control can stop between any two of
 * its steps. Messages to it wait, or are lost. Returns true if control is stopped.
 */
static bool stands_still(struct world *w, struct rates_node *box)
{
	static const uint64_t spans[] = {100 * MS, 5 * SECOND, 60 * SECOND};
	uint64_t until = trouble_until(
		w, w->events.now_ns + MS + prng_within(&w->prng, spans[prng_below(&w->prng, 3)]));

	if (w->calm || !box->up || prng_below(&w->prng, STALL_ODDS) > 0)
		return box->control_wakes != 0;
	w->result->stalls++;
	if (prng_percent(&w->prng, 40) && !box->workers_wake) {
		box->workers_wake = until;
		rates_box_at(w, until, WORKERS_WAKE, box, 0);
	} else if (!box->control_wakes) {
		box->control_wakes = until;
		rates_box_at(w, until, CONTROL_WAKES, box, 0);
	}
	return box->control_wakes != 0;
}

static int write_record(void *context, uint64_t id, const void *record, size_t len)
{
	return disk_write(context, 0, id, record, len);
}

static bool next_message(struct world *w, struct rates_node *box, struct message *message)
{
	message->len = conserve_send(
		box->c, world_clock(w, box), message->bytes, ROOM, &message->to);
	if (message->len > 0)
		message->to = world_number(w, box, message->to);
	if (message->len == 0)
		message->len = world_loans_send(box, message);
	return message->len > 0;
}

/* Damages one bit of a statement, at random times. */
static void flip_bit(struct world *w, const struct rates_node *box, struct message *message)
{
	size_t entries = (message->len - BOOK_HEAD) / CONSERVE_ENTRY, at;

	if (box != w->flips || w->calm || message->bytes[0] != CONSERVE_MESSAGE || entries == 0 ||
		!prng_percent(&w->ager, 2))
		return;
	at = BOOK_HEAD + prng_below(&w->ager, (unsigned)entries) * CONSERVE_ENTRY +
	     CONSERVE_AT_STATEMENT + prng_below(&w->ager, LEDGER_STATEMENT_BYTES);
	message->bytes[at] ^= (uint8_t)(1 << prng_below(&w->ager, 8));
	w->result->flips++;
}

/* Sends a limiter's messages, sometimes twice or late. */
static void rates_box_send(struct world *w, struct rates_node *box)
{
	struct message message = {.from = (unsigned)(box - w->boxes)};

	while (next_message(w, box, &message)) {
		if (prng_percent(&w->prng, 5))
			w->late[prng_below(&w->prng, LATE)] = message;
		if (w->sides[message.from] != w->sides[message.to] ||
			prng_percent(&w->prng, w->loss))
			continue;
		for (unsigned n = !w->calm && prng_percent(&w->prng, 4) ? 2 : 1; n > 0; n--) {
			uint64_t delay = MS + prng_within(&w->prng, 30 * MS);

			flip_bit(w, box, &message);
			if (message.bytes[0] == LOAN_MESSAGE)
				delay = MS + prng_within(&w->loaner, w->loan_delay_ns);

			if (!w->calm && prng_percent(&w->prng, 10))
				delay += prng_within(&w->prng, 4 * SECOND);
			simnet_carry(&w->net, message.from, message.to, w->events.now_ns + delay,
				message.bytes, message.len);
		}
	}
}

static int rates_save_box(struct rates_node *box)
{
	disk_forget_written(&box->disk);
	return book_save(conserve_book(box->c), write_record, &box->disk);
}

static void rates_commit_record(struct world *w, struct rates_node *box)
{
	w->result->error |= disk_commit(&box->disk) != 0;
	if (w->ages && prng_percent(&w->ager, w->c->harsh ? 3 : 10))
		w->result->error |= disk_copy(&box->past, &box->disk) != 0;
}

/* Puts an earlier commit on the disk, at random. Returns true if it has. */
static bool goes_back(struct world *w, struct rates_node *box)
{
	if (!w->ages || box->past.durable.n != w->accounts ||
		!prng_percent(&w->ager, w->c->harsh ? 95 : 70))
		return false;
	w->result->error |= disk_copy(&box->later, &box->disk) != 0;
	w->result->error |= disk_copy(&box->disk, &box->past) != 0;
	w->result->old_stores++;
	return true;
}

/* Corrects a restore: the newest commit replaces the earlier one. */
static void goes_forward(struct world *w, struct rates_node *box)
{
	if (w->c->harsh && prng_percent(&w->ager, 30))
		w->result->error |= disk_copy(&box->disk, &box->later) != 0;
}

static bool has_all_records(const struct world *w, const struct rates_node *box)
{
	bool all = box->disk.durable.n == w->accounts;

	for (unsigned i = 0; i < box->disk.durable.n; i++)
		all &= box->disk.durable.records[i].len > LOST_RECORD;
	return all;
}

static bool rates_box_is_recovering(const struct world *w, const struct rates_node *box)
{
	bool recovering = false;

	for (unsigned a = 0; a < w->accounts; a++)
		recovering |= conserve_view(box->c, a, world_clock(w, box)).recovering;
	return recovering;
}

static bool rates_box_waits(const struct world *w, const struct rates_node *box)
{
	bool waits = false;

	for (unsigned a = 0; a < w->accounts; a++)
		waits |= conserve_view(box->c, a, world_clock(w, box)).waits;
	return waits;
}

/* Returns when a write ends. A disk has a delay, and can stop like any thread. */
static uint64_t written_at(struct world *w)
{
	uint64_t now = w->events.now_ns;

	if (!w->calm && prng_percent(&w->prng, 1))
		return trouble_until(w, now + prng_within(&w->prng, 60 * SECOND));
	return now + prng_within(&w->prng, prng_percent(&w->prng, 90) ? 30 * MS : DISK_NS);
}

/* Control saves all uncommitted amounts, and publishes the limits to the workers. */
static void save_and_tell(struct world *w, struct rates_node *box)
{
	if (!box->saving && book_unsaved(conserve_book(box->c)) &&
		!world_loans_hold_grants(w, box) && rates_save_box(box) == 0) {
		box->saving = box->pending = true;
		box->written = box->taken = false;
		box->saved_at = box->taking_since + 1;
		rates_box_at(w, written_at(w), WRITTEN, box, 0);
	}
	if (stands_still(w, box))
		return;
	if (box->pending || (!box->taking && is_update_due(w, box)))
		start_taking(w, box);
	else
		renew_expiry(w, box);
}

/* Called after each event at a limiter: spends, saves, publishes and sends. */
static void rates_follow_up(struct world *w, struct rates_node *box)
{
	if (box->lost && !rates_box_is_recovering(w, box) && !rates_box_waits(w, box))
		box->lost = box->aged = box->virgin = false;
	if (!w->hoards && prng_percent(&w->prng, 30))
		world_spend(w, box);
	world_loans_look(w, box);
	if (!stands_still(w, box))
		save_and_tell(w, box);
	if (!stands_still(w, box))
		rates_box_send(w, box);
	if (!box->lost)
		world_check_books(w, box);
}

static void rates_end_save(struct rates_node *box)
{
	if (!box->saving || !box->written || !box->taken)
		return;
	box->saving = false;
	book_committed(conserve_book(box->c));
}

/* Accounts have ids from 1. */
static void rates_fill_policies(
	const struct world *w, uint64_t limit, struct conserve_policy policies[BOTH])
{
	policies[RATE] = (struct conserve_policy){
		.id = RATE + 1, .limit = limit, .indicator = w->indicator};
	policies[BURST] = (struct conserve_policy){.id = BURST + 1, .limit = w->burst};
}

static unsigned rates_box_records(const struct rates_node *box, struct book_record records[BOTH])
{
	const struct disk_batch *durable = &box->disk.durable;

	for (unsigned i = 0; i < durable->n; i++)
		records[i] = (struct book_record){
			durable->records[i].id, durable->records[i].at, durable->records[i].len};
	return durable->n;
}

static struct conserve *rates_make_conserve(
	struct world *w, struct rates_node *box, bool recovering)
{
	struct conserve_policy policies[BOTH];
	struct book_record records[BOTH];
	struct conserve_params params = w->params;
	struct conserve *c = NULL;
	int ret;

	rates_fill_policies(w, box->limit, policies);
	params.self = (unsigned)(box - w->boxes);
	params.policies = policies;
	params.n_policies = w->accounts;
	params.records = records;
	params.n_records = recovering ? 0 : rates_box_records(box, records);
	params.recovering = recovering;
	if (recovering)
		params.identity = (struct book_identity){0};
	params.epoch = ++w->epoch;
	params.word = (uint32_t)prng_next(&w->ager) | 1;
	world_joins_start(w, box, &params);
	ret = conserve_create(&params, world_clock(w, box), &c);
	if (ret)
		torture_failed(w->result, "conserve_create", ret);
	return c;
}

static void rates_start_box(struct world *w, struct rates_node *box, bool recovering)
{
	/* Its clock starts anywhere, also before its previous value. */
	box->clock = prng_within(&w->prng, 1000 * SECOND);
	conserve_destroy(box->c);
	box->c = rates_make_conserve(w, box, recovering);
	if (!box->c)
		return;
	box->up = true;
	box->life++;
	box->lost = recovering || box->aged;
	box->saving = false;
	box->limit_taken = box->limit;
	box->bucket = (struct bucket){.at_ns = w->events.now_ns};
	box->control_wakes = box->workers_wake = 0;
	box->pending = box->taking = box->told_unseen = false;
	box->was_until_ns = 0;
	world_loans_start(w, box);
	expiry_init(&box->expiry, world_tell(w, box, &box->told), 2 * w->lease);
	box->expires = 0;
	watch_expiry(w, box);
	take_limits(w, box);
	rates_box_at(w, w->events.now_ns + prng_within(&w->prng, box->tick_ns), TICK, box, 0);
	rates_follow_up(w, box);
}

/* No limiter admits anything for a while, and then all do at the same time. */
static void spend_all(struct world *w)
{
	w->hoards = !w->hoards && prng_percent(&w->prng, 50);
	for (unsigned i = 0; i < w->n; i++)
		if (w->boxes[i].up && !w->hoards)
			world_spend(w, &w->boxes[i]);
}

static void rates_restart_box(struct world *w, struct rates_node *box)
{
	if (box->up || box == w->dead)
		return;
	w->result->restarts++;
	w->result->memory_losses += box->lost;
	rates_start_box(w, box, box->lost && !box->aged);
	/* If it did not begin with an empty bucket, this would now exceed the burst. */
	if (w->hoards && prng_percent(&w->prng, 50))
		spend_all(w);
}

static bool somebody_lost(const struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->boxes[i].lost && !w->boxes[i].virgin)
			return true;
	return false;
}

/* Crashes a limiter, which keeps its newest record. Only one at a time loses it: see ledger.h. */
static void rates_crash_box(struct world *w, struct rates_node *box)
{
	bool lost = box->lost, known;

	if (box->saving && prng_percent(&w->prng, 50))
		rates_commit_record(w, box);
	known = has_all_records(w, box);
	if (!lost && (!known || (w->forgets && prng_percent(&w->prng, 25)))) {
		if (somebody_lost(w) || (w->falls && !known))
			return;
		lost = !w->falls;
	} else if (!lost && !somebody_lost(w)) {
		lost = box->aged = goes_back(w, box);
	} else if (box->aged) {
		goes_forward(w, box);
	}
	if (prng_percent(&w->prng, 50))
		world_spend(w, box);
	conserve_destroy(box->c);
	box->c = NULL;
	box->up = false;
	box->life++;
	box->lost = lost;
	world_joins_forget(w, box);
	box->enforced = (struct told){0};
	if (lost && !box->aged)
		disk_free(&box->disk);
	else if (!lost)
		box->c = rates_make_conserve(w, box, false);
	if (box->c)
		world_check_books(w, box);
	rates_box_at(w,
		w->events.now_ns + prng_within(&w->prng, prng_percent(&w->prng, 30) ? 100 * MS
							 : prng_percent(&w->prng, 60)
								 ? 5 * SECOND
								 : 60 * SECOND),
		UP, box, 0);
}

/* Every limiter applies a new limit, each at its own time. */
static void rates_learn_limit(struct world *w, struct rates_node *box)
{
	struct conserve_policy policies[BOTH];
	int ret;

	if (!box->c || box->limit == w->limit)
		return;
	rates_fill_policies(w, w->limit, policies);
	ret = conserve_update(box->c, policies, w->accounts, world_clock(w, box));
	if (ret)
		torture_failed(w->result, "conserve_update", ret);
	box->limit = w->limit;
	if (!box->lost)
		world_check_books(w, box);
}

static void rates_shift_demand(struct world *w, unsigned account)
{
	double *demands = w->demands[account], sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		demands[i] = prng_percent(&w->prng, 50)   ? prng_unit(&w->prng)
			     : prng_percent(&w->prng, 50) ? 5
							  : 0;
		sum += demands[i];
	}
	for (unsigned i = 0; i < w->n; i++)
		demands[i] *= (double)world_total(w, account) / (sum > 0 ? sum : 1);
}

/* A limiter with a large rate need not have a large burst. */
static void shift_demand(struct world *w)
{
	for (unsigned a = 0; a < w->accounts; a++)
		rates_shift_demand(w, a);
}

/* Ends a limiter for good. Not while it waits for its neighbours to report its amounts. */
static void rates_die(void *world, void *object, uint64_t argument)
{
	struct world *w = world;
	struct rates_node *box = object;

	(void)argument;
	if (box->up)
		rates_crash_box(w, box);
	if (box->up)
		events_after(&w->events, SECOND, rates_die, box, 0);
	else {
		w->dead = box;
		w->result->deaths++;
	}
}

static void rates_cause_trouble(void *world, void *object, uint64_t argument)
{
	struct world *w = world;
	struct rates_node *box;
	uint64_t limit = w->limit;

	(void)object;
	(void)argument;
	if (w->calm)
		return;
	box = &w->boxes[prng_below(&w->prng, w->n)];
	switch (prng_below(&w->prng, 8)) {
	case 0:
		if (box->up)
			rates_crash_box(w, box);
		break;
	case 1:
		w->sides[prng_below(&w->prng, w->n)] ^= 1;
		break;
	case 2:
		memset(w->sides, 0, sizeof(w->sides));
		break;
	case 3:
		if (prng_percent(&w->prng, 30))
			w->limit = w->falls ? limit / 4 + prng_within(&w->prng, limit)
					    : limit + limit / 16;
		break;
	case 4:
	case 5:
		spend_all(w);
		break;
	default:
		shift_demand(w);
	}
	events_after(&w->events, prng_within(&w->prng, w->c->harsh ? 4 * SECOND : 12 * SECOND),
		rates_cause_trouble, NULL, 0);
}

/* Does control's work after the workers' step; if control is stopped, it does that later. */
static void after_workers(struct world *w, struct rates_node *box)
{
	if (box->control_wakes) {
		if (!w->hoards && prng_percent(&w->prng, 30))
			world_spend(w, box);
		return;
	}
	rates_end_save(box);
	rates_follow_up(w, box);
}

/* The workers apply the published limits; control notes this unless it is stopped. */
static void limits_taken(struct world *w, struct rates_node *box, uint64_t number)
{
	if (box->workers_wake) {
		box->told_unseen = true;
		return;
	}
	look_at_expiry(w, box);
	take_limits(w, box);
	box->taking = false;
	if (box->saving && number >= box->saved_at)
		box->taken = true;
	after_workers(w, box);
}

/* Workers first check for ended limits. */
static void workers_wake(struct world *w, struct rates_node *box)
{
	box->workers_wake = 0;
	look_at_expiry(w, box);
	if (box->told_unseen)
		limits_taken(w, box, box->taking_since);
	else
		after_workers(w, box);
	box->told_unseen = false;
}

static void control_wakes(struct world *w, struct rates_node *box)
{
	box->control_wakes = 0;
	after_workers(w, box);
}

static void rates_end_trouble(void *world, void *object, uint64_t argument)
{
	struct world *w = world;

	(void)object;
	(void)argument;
	w->calm = true;
	w->hoards = false;
	w->loss = 0;
	memset(w->sides, 0, sizeof(w->sides));
	for (unsigned i = 0; i < w->n; i++) {
		struct rates_node *box = &w->boxes[i];

		if (box == w->dead)
			continue;
		rates_restart_box(w, box);
		if (box->workers_wake)
			workers_wake(w, box);
		if (box->control_wakes)
			control_wakes(w, box);
	}
}

/* The part of the parent's limit depends on gossip, so it changes at each limiter separately. */
static void change_part(struct world *w, struct rates_node *box)
{
	if (w->c->guarantee != TORTURE_LEVELS || (!w->calm && prng_percent(&w->prng, 70)))
		return;
	box->part = w->calm ? WHOLE : prng_below(&w->prng, WHOLE + 1);
}

static void rates_box_tick(struct world *w, struct rates_node *box)
{
	unsigned self = (unsigned)(box - w->boxes);
	/* The estimate of the others' demands is inexact. */
	double noise = w->calm ? 1 : 0.8 + 0.4 * prng_unit(&w->prng);
	struct gdrl_measure measure = {
		.demand = w->demands[RATE][self] * noise, .dropped = -1, .packet = 1000};

	rates_learn_limit(w, box);
	change_part(w, box);
	conserve_measure(box->c, RATE, &measure);
	if (w->accounts > BURST)
		conserve_target(box->c, BURST, w->demands[BURST][self] * noise);
	world_joins_tick(w, box);
	conserve_tick(box->c, world_clock(w, box));
	rates_box_at(w, w->events.now_ns + box->tick_ns, TICK, box, 0);
}

static void rates_record_written(struct world *w, struct rates_node *box)
{
	if (!w->calm && prng_percent(&w->prng, 5)) {
		/* The failed write can still have reached the disk. */
		if (prng_percent(&w->prng, 50))
			rates_commit_record(w, box);
		box->saving = false;
		book_save_failed(conserve_book(box->c));
		return;
	}
	rates_commit_record(w, box);
	box->written = true;
	rates_end_save(box);
}

/* Crashes a receiver before its news is durable, and mostly the sender, too. */
static void rates_crash_both(
	struct world *w, struct rates_node *receiver, struct rates_node *sender)
{
	rates_crash_box(w, receiver);
	if (sender->up && prng_percent(&w->ager, 70))
		rates_crash_box(w, sender);
}

static void rates_hear_message(
	struct world *w, unsigned from, unsigned to, const uint8_t *bytes, size_t len)
{
	struct rates_node *box = &w->boxes[to];
	int ret;

	if (!box->up || len == 0)
		return;
	if (box->control_wakes) { /* the socket's buffer holds some */
		if (prng_percent(&w->prng, 50))
			simnet_carry(&w->net, from, to, box->control_wakes, bytes, len);
		return;
	}
	if (bytes[0] == LOAN_MESSAGE) {
		world_loans_hear(w, box, from, bytes, len);
		rates_follow_up(w, box);
		return;
	}
	if (world_index(w, box, from) == TORTURE_LIMITERS)
		return; /* gossip rejects it */
	ret = conserve_receive(box->c, world_index(w, box, from), world_clock(w, box), bytes, len);
	/* A limiter without memory has no ledger identity, and reports that. */
	if (ret < 0 && !(ret == -ESTALE && (box->lost || len == BOOK_HEAD)))
		torture_complain(w->result, "a letter that cannot be read");
	if (w->c->harsh && !w->calm && ret > 0 && prng_below(&w->ager, 500) == 0)
		rates_crash_both(w, box, &w->boxes[from]);
	else
		rates_follow_up(w, box);
}

/* Receives a message, and sometimes an old one after it. */
static bool rates_receive_message(
	void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len)
{
	struct world *w = world;

	tape_play(w);
	rates_hear_message(w, from, to, bytes, len);
	if (!w->calm && prng_percent(&w->prng, 3)) {
		const struct message *late = &w->late[prng_below(&w->prng, LATE)];

		rates_hear_message(w, late->from, late->to, late->bytes, late->len);
	}
	return true;
}

static void control_event(struct world *w, struct rates_node *box, uint64_t argument)
{
	if (box->control_wakes) {
		events_at(&w->events, box->control_wakes, rates_box_event, box, argument);
		return;
	}
	switch ((enum happening)(argument & 0xff)) {
	case TICK:
		rates_box_tick(w, box);
		break;
	case WRITTEN:
		if (box->saving)
			rates_record_written(w, box);
		break;
	default:
		break;
	}
	rates_follow_up(w, box);
}

static void rates_box_event(void *world, void *object, uint64_t argument)
{
	struct world *w = world;
	struct rates_node *box = object;

	if (argument >> 32 != box->life)
		return;
	switch ((enum happening)(argument & 0xff)) {
	case UP:
		rates_restart_box(w, box);
		return;
	case TAKEN:
		limits_taken(w, box, argument >> 8 & 0xffffff);
		return;
	case EXPIRES:
		if (look_at_expiry(w, box))
			after_workers(w, box);
		else
			watch_expiry(w, box);
		return;
	case WORKERS_WAKE:
		if (box->workers_wake)
			workers_wake(w, box);
		return;
	case CONTROL_WAKES:
		if (box->control_wakes)
			control_wakes(w, box);
		return;
	default:
		control_event(w, box, argument);
	}
}

static void rates_check_boxes(void *world)
{
	world_check_sums(world);
	if (!((const struct world *)world)->flips)
		world_loans_check(world);
	world_count_passed(world);
	world_look_for_rest(world);
}

static void draw_overlay(struct world *w, struct overlay_params *overlay)
{
	*overlay = (struct overlay_params){
		.shape = prng_percent(&w->prng, 80) ? OVERLAY_RANDOM : OVERLAY_RING,
		.ids = w->ids,
		.n = w->n,
		.degree = prng_percent(&w->prng, 60) ? 0 : 2 + prng_below(&w->prng, 3),
		.spares = prng_below(&w->prng, 3),
	};
}

static void draw_world(struct world *w)
{
	static const char *const names[] = {"spare", "utilisation", "loss", "drops", "delay"};

	w->limit = 100000 + prng_within(&w->prng,
				    prng_percent(&w->prng, 20) ? UINT64_C(50000000000) : 1000000);
	w->burst = 1 +
		   prng_within(&w->prng, prng_percent(&w->prng, 50) ? w->limit / 8 : 8 * w->limit);
	w->lease = 4 * SECOND + prng_within(&w->prng, 6 * SECOND);
	w->falls = prng_percent(&w->prng, 30);
	w->forgets = !w->falls && prng_percent(&w->prng, 50);
	w->ages = !w->falls && (w->c->harsh || prng_percent(&w->ager, 50));
	w->loss = prng_percent(&w->prng, 60) ? prng_below(&w->prng, 35) : 0;
	w->indicator = w->c->guarantee == TORTURE_GDRL
			       ? gdrl_indicator_find(names[prng_below(&w->prng, 5)])
			       : NULL;
	for (unsigned i = 0; i < TORTURE_LIMITERS; i++)
		w->ids[i] = 1000 + i * 17 % 31;
	w->params = (struct conserve_params){
		.identity = {.low = 1},
		.lease_ns = w->lease,
		.drift_ppm = (const uint32_t[]){0, 100, 20000}[prng_below(&w->prng, 3)],
		.repeat_ns = REPEAT_NS,
		.proof_ns = w->ages ? UINT64_MAX / 2 : prng_within(&w->ager, 2 * SECOND),
		.promise = (const unsigned[]){0, 50, 90, 100}[prng_below(&w->prng, 4)],
	};
	draw_overlay(w, &w->params.overlay);
	if (w->c->joins) {
		w->params.overlay.shape = OVERLAY_RANDOM;
		w->params.overlay.degree = 0;
	}
}

/* Starts limiter i for the first time; a joiner recovers. */
static void world_populate(struct world *w, unsigned i, bool recovering)
{
	struct rates_node *box = &w->boxes[i];
	uint32_t drift = w->params.drift_ppm;

	box->pace = MILLION - drift +
		    (prng_percent(&w->prng, 60) ? 2 * drift * prng_below(&w->prng, 2)
						: prng_below(&w->prng, 2 * drift + 1));
	box->tick_ns = TICK_MOST / 3 + prng_within(&w->prng, TICK_MOST / 3 * 2);
	box->limit = w->limit;
	box->part = WHOLE;
	box->virgin = recovering;
	box->set = i < w->n_founders ? 0 : UINT32_C(1) << i;
	rates_start_box(w, box, recovering);
}

static void rates_populate(struct world *w)
{
	for (unsigned i = 0; i < w->n_founders; i++)
		world_populate(w, i, false);
	shift_demand(w);
	if (!w->ages && prng_percent(&w->ager, 20))
		w->flips = &w->boxes[prng_below(&w->ager, w->n)];
}

/* A limiter joins. At least one member has it in its set. */
static void join_limiter(void *world, void *object, uint64_t argument)
{
	struct world *w = world;
	unsigned i = w->n;

	(void)object;
	(void)argument;
	for (unsigned k = 0; i < TORTURE_LIMITERS && k < w->n_founders; k++) {
		struct rates_node *other = &w->boxes[k];

		if (!other->up || other->control_wakes)
			continue;
		w->n++;
		w->result->joins++;
		world_populate(w, i, w->c->broken != TORTURE_MINTING);
		world_joins_report(w, i, other);
		return;
	}
	events_after(&w->events, SECOND, join_limiter, NULL, 0);
}

static void world_init(struct world *w, const struct torture_case *c, struct torture_result *result)
{
	unsigned victim, joins;
	uint64_t when_ns;

	w->c = c;
	w->n = c->limiters;
	w->result = result;
	w->net.events = &w->events;
	w->net.receive = rates_receive_message;
	prng_seed(&w->prng, c->seed);
	prng_seed(&w->ager, c->seed ^ 0xa9e5);
	w->end = c->minutes * 60 * SECOND;
	w->calm_ns = w->end - w->end / HEAL;
	w->accounts = c->guarantee == TORTURE_ADAPTOR ? BOTH : 1;
	draw_world(w);
	w->live_ns = w->calm_ns + w->lease / 4 + EXCHANGES * EXCHANGE_NS;
	if (c->joins) /* the sets are complete, and a joiner has recovered */
		w->live_ns += EXCHANGES * EXCHANGE_NS;
	prng_seed(&w->loaner, ~c->seed);
	w->loan_delay_ns = prng_percent(&w->loaner, 50) ? 30 * MS : 400 * MS;
	if (world_loans_lend(w)) /* grants wait for offers */
		w->live_ns += EXCHANGES * LOAN_HOLD_MOST_NS;
	w->bound = (struct bucket){
		.level = (level_t)w->burst * NANO, .most = (level_t)w->burst * NANO};
	tape_record(w);
	joins = world_joins_init(w);
	rates_populate(w);
	for (; joins > 0; joins--)
		events_at(&w->events, prng_within(&w->joiner, w->calm_ns), join_limiter, NULL, 0);
	events_at(&w->events, prng_within(&w->prng, 12 * SECOND), rates_cause_trouble, NULL, 0);
	events_at(&w->events, w->calm_ns, rates_end_trouble, NULL, 0);
	victim = torture_victim(c, w->calm_ns, &when_ns);
	if (victim < w->n)
		events_at(&w->events, when_ns, rates_die, &w->boxes[victim], 0);
}

static void world_free(struct world *w)
{
	world_loans_free(w);
	for (unsigned i = 0; i < w->n; i++) {
		conserve_destroy(w->boxes[i].c);
		disk_free(&w->boxes[i].disk);
		disk_free(&w->boxes[i].past);
		disk_free(&w->boxes[i].later);
	}
	simnet_free(&w->net);
	events_free(&w->events);
	free(w);
}

void torture_rates(const struct torture_case *c, struct torture_result *result)
{
	struct world *w = calloc(1, sizeof(*w));

	*result = (struct torture_result){.error = !w};
	if (!w)
		return;
	world_init(w, c, result);
	torture_play(&w->events, w->end, w, rates_check_boxes, result);
	if (!result->violated && !result->error && !w->dead && !w->flips) {
		world_check_end(w);
		world_loans_check_end(w);
	}
	if (c->beliefs)
		world_print_beliefs(w);
	for (unsigned i = 0; i < w->n; i++)
		if (w->boxes[i].c)
			result->moves += conserve_counters(w->boxes[i].c)->grants;
	world_free(w);
}
