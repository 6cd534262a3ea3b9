/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units: lib/control/quota over a tree, each limiter with a disk that has a delay.
 *
 * Whenever traffic uses units, all units used are within the total. In the end there are no faults
 * for a while. Then held plus spent units are the total, except in runs that lost memories with the
 * units spent before. When all limiters then request everything, the last unit is spent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "base/wire.h"
#include "world/simnet.h"
#include "quota/quota.h"
#include "torture_run.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define RECORD 4096
#define PARTS  256 /* units saved as spent in one step */
#define HEAL   4   /* 1 / the last part of a run, without faults */
#define LATE   32  /* messages that are repeated much later */
#define THINK  (500 * MS)
#define MOST   10000 /* units of a limiter */

#define RECORD_COUNT (9 * sizeof(uint64_t)) /* offset of the count in a record */

#define STALL_ODDS 500 /* events, after one of which a thread is stopped */

/* Events at one limiter. */
enum quota_happening { TICK, WRITTEN, TRAFFIC, UP, CONTROL_WAKES };

struct torture_quota_node {
	struct quota_node *quota; /* NULL: the limiter is down */
	unsigned n, to[TORTURE_LIMITERS], back[TORTURE_LIMITERS];
	unsigned life; /* events of an earlier life are void */
	char record[RECORD], coming[RECORD];
	size_t record_len, coming_len;
	uint64_t share, wants, tick_ns;
	uint64_t credit; /* spent units that workers can use without a request */
	uint64_t control_wakes, workers_wake; /* threads that are stopped until then, or 0 */
	bool saving, recovering;
	char past[RECORD]; /* an earlier record */
	size_t past_len;
	uint64_t past_count;
	uint64_t spent_then;              /* before the restart */
	bool was_lost;                    /* dropped in this start */
	bool aged;                        /* started with the earlier record */
	unsigned lives[TORTURE_LIMITERS]; /* lives of neighbours with a later count, or 0 */
};

struct quota_mail {
	unsigned to, edge;
	struct quota_message is;
};

struct quota_world {
	const struct torture_case *c;
	struct torture_result *result;
	struct prng prng;
	struct events events;
	struct simnet net;
	uint64_t end, calm_ns, epoch, total, used;
	uint64_t unknown; /* units spent after the last message, before an old record */
	struct prng ager;
	bool ages;
	struct torture_quota_node *flips; /* limiter that sends damaged numbers, or NULL */
	uint64_t clocks[TORTURE_LIMITERS];
	struct torture_quota_node boxes[TORTURE_LIMITERS];
	struct torture_quota_node *dead; /* limiter that ended for good, or NULL */
	struct quota_mail late[LATE];
	bool cut[TORTURE_LIMITERS]; /* edge to the neighbour that it was joined to */
	unsigned n, loss, hurry;
	bool forgets, forgot, calm, whole;
	bool thirsty; /* in the end all limiters use all units */
};

static uint64_t quota_local_time(const struct quota_world *w, const struct torture_quota_node *box)
{
	return w->events.now_ns + w->clocks[box - w->boxes];
}

static void quota_box_event(void *world, void *object, uint64_t argument);
static void note_age(struct quota_world *w, struct torture_quota_node *box);

/* Adds an event for a limiter's present life. */
static void quota_box_at(struct quota_world *w, uint64_t at, enum quota_happening what,
	struct torture_quota_node *box)
{
	events_at(&w->events, at, quota_box_event, box, what | (uint64_t)box->life << 32);
}

static uint64_t spent_now(const struct torture_quota_node *box)
{
	return quota_view(box->quota, 0).spent;
}

/* Damages one bit of a statement, at random times. */
static void flip_bit(struct quota_world *w, const struct torture_quota_node *box,
	struct ledger_statement *statement)
{
	uint64_t *const numbers[] = {&statement->granted, &statement->promised,
		&statement->received, &statement->epoch, &statement->stamp, &statement->echo_epoch,
		&statement->least_epoch, &statement->count, &statement->known_count};

	if (box != w->flips || w->calm || !prng_percent(&w->ager, 10))
		return;
	*numbers[prng_below(&w->ager, 9)] ^= UINT64_C(1) << prng_below(&w->ager, 64);
	w->result->flips++;
}

static void message_send(
	struct quota_world *w, struct torture_quota_node *box, const struct quota_mail *message)
{
	unsigned self = (unsigned)(box - w->boxes);
	uint64_t delay = MS + prng_within(&w->prng, 10 * MS);

	if (w->cut[self > message->to ? self : message->to] || prng_percent(&w->prng, w->loss))
		return;
	if (!w->calm && prng_percent(&w->prng, 10))
		delay += prng_within(&w->prng, 2 * SECOND);
	simnet_carry(
		&w->net, self, message->to, w->events.now_ns + delay, message, sizeof(*message));
}

static void quota_box_send(struct quota_world *w, struct torture_quota_node *box)
{
	struct quota_mail message;
	uint32_t edge;

	while (quota_next(box->quota, quota_local_time(w, box), &edge, &message.is)) {
		message.to = box->to[edge];
		message.edge = box->back[edge];
		flip_bit(w, box, &message.is.statement);
		w->result->moves += (message.is.parts & (QUOTA_REPORT | QUOTA_DISTRIBUTE)) != 0;
		if (prng_percent(&w->prng, 5))
			w->late[prng_below(&w->prng, LATE)] = message;
		message_send(w, box, &message);
		if (!w->calm && prng_percent(&w->prng, 5))
			message_send(w, box, &message);
	}
}

/* At the end of faults every thread and disk continues. */
static uint64_t quota_trouble_until(const struct quota_world *w, uint64_t at)
{
	return at < w->calm_ns ? at : w->calm_ns;
}

static uint64_t quota_written_at(struct quota_world *w)
{
	uint64_t now = w->events.now_ns;

	if (prng_percent(&w->prng, 95))
		return now + prng_within(&w->prng, 10 * MS);
	if (prng_percent(&w->prng, 95) || w->calm)
		return now + prng_within(&w->prng, SECOND);
	return quota_trouble_until(w, now + prng_within(&w->prng, 60 * SECOND));
}

static void quota_save_box(struct quota_world *w, struct torture_quota_node *box)
{
	if (box->saving)
		return;
	/* The record of a lost box is empty. */
	if (box->aged && quota_view(box->quota, 0).recovering && box->record_len > 0) {
		box->coming_len = 0;
		box->saving = true;
		quota_box_at(w, quota_written_at(w), WRITTEN, box);
		return;
	}
	if (!quota_uncommitted(box->quota))
		return;
	if (quota_record_size(box->quota) > RECORD)
		abort();
	if (quota_save(box->quota, box->coming, &box->coming_len))
		return;
	box->saving = true;
	quota_box_at(w, quota_written_at(w), WRITTEN, box);
}

/* Stops a thread after any event: control, or all workers. */
static void stand_still(struct quota_world *w, struct torture_quota_node *box)
{
	static const uint64_t spans[] = {100 * MS, 5 * SECOND, 60 * SECOND};
	uint64_t until = quota_trouble_until(
		w, w->events.now_ns + MS + prng_within(&w->prng, spans[prng_below(&w->prng, 3)]));

	if (w->calm || prng_below(&w->prng, STALL_ODDS) > 0)
		return;
	w->result->stalls++;
	if (prng_percent(&w->prng, 40)) {
		box->workers_wake = until;
	} else if (box->control_wakes <= w->events.now_ns) {
		box->control_wakes = until;
		quota_box_at(w, until, CONTROL_WAKES, box);
	}
}

static bool control_stands(const struct quota_world *w, const struct torture_quota_node *box)
{
	return box->control_wakes > w->events.now_ns;
}

/* Called after each event at a limiter: saves, sends, and sets its next tick. */
static void quota_follow_up(struct quota_world *w, struct torture_quota_node *box)
{
	uint64_t next = quota_tick(box->quota, quota_local_time(w, box)),
		 clock = w->clocks[box - w->boxes];

	note_age(w, box);
	quota_save_box(w, box);
	quota_box_send(w, box);
	if (next == UINT64_MAX)
		return;
	next = next > quota_local_time(w, box) ? next - clock : w->events.now_ns + MS;
	/* The pending tick is this one or an earlier one. */
	if (box->tick_ns <= next && box->tick_ns > w->events.now_ns)
		return;
	box->tick_ns = next;
	quota_box_at(w, next, TICK, box);
}

/* Workers use prefetched units, independently of control. */
static void use_units(struct quota_world *w, struct torture_quota_node *box)
{
	uint64_t units = prng_within(&w->prng, box->credit);

	if (box->workers_wake > w->events.now_ns)
		return;
	box->credit -= units;
	w->used += units;
	if (spent_now(box) > w->total)
		torture_complain(w->result, "one spends %llu of %llu",
			(unsigned long long)spent_now(box), (unsigned long long)w->total);
	if (w->used > w->total + w->unknown && !w->flips)
		torture_complain(w->result, "used %llu of %llu", (unsigned long long)w->used,
			(unsigned long long)w->total);
}

static void take_units_in_hand(struct quota_world *w, struct torture_quota_node *box)
{
	uint64_t units = box->wants
				 ? box->wants
				 : 1 + prng_below(&w->prng, prng_percent(&w->prng, 90) ? 40 : 4000);

	if (quota_spend(box->quota, units, quota_local_time(w, box))) {
		box->wants = prng_percent(&w->prng, 80) ? units : 0;
		return;
	}
	box->wants = 0;
	box->credit += units;
}

/* Takes all units held here, or requests one unit from others. */
static void take_all_units(struct quota_world *w, struct torture_quota_node *box)
{
	uint64_t now = quota_local_time(w, box);
	struct quota_view view = quota_view(box->quota, now);
	uint64_t units = view.prepaid + (view.balance > 0 ? (uint64_t)view.balance : 0);

	if (units > 0 && quota_spend(box->quota, units, now) == 0)
		box->credit += units;
	else if (quota_spend(box->quota, 1, now) == 0)
		box->credit++;
}

static void quota_start_box(struct quota_world *w, struct torture_quota_node *box)
{
	struct quota_params params = {
		.share = box->share,
		.period = 1,
		.n_edges = box->n,
		.epoch = ++w->epoch << 20, /* room for recoveries, as in lib/control/book */
		.word = (uint32_t)prng_next(&w->ager) | 1,
		.total = w->total,
		.recovering = box->recovering,
		.durable = true,
		.chunk = PARTS,
		.theta_ns = 40 * MS,
		.memory_ns = 10 * SECOND,
		.repeat_ns = 500 * MS,
		.seed = prng_next(&w->prng),
	};
	int ret;

	w->clocks[box - w->boxes] = prng_within(&w->prng, 1000 * SECOND);
	params.proof_until_ns = quota_local_time(w, box) +
				(w->ages ? UINT64_MAX / 2 : prng_within(&w->ager, SECOND));
	box->life++;
	box->saving = box->was_lost = false;
	box->tick_ns = box->credit = 0;
	box->control_wakes = box->workers_wake = 0;
	if (box->record_len > 0 && !box->recovering)
		ret = quota_restore(&params, box->record, box->record_len, quota_local_time(w, box),
			&box->quota);
	else
		ret = quota_create(&params, quota_local_time(w, box), &box->quota);
	if (ret) {
		torture_failed(w->result, "quota_restore or quota_create", ret);
		return;
	}
	for (unsigned e = 0; e < box->n; e++)
		quota_link(box->quota, e, true, w->total / w->n);
	quota_box_at(w, w->events.now_ns + prng_within(&w->prng, THINK), TRAFFIC, box);
	quota_follow_up(w, box);
}

static void quota_restart_box(struct quota_world *w, struct torture_quota_node *box)
{
	if (box->quota || box == w->dead || w->result->error || w->result->violated)
		return;
	w->result->restarts++;
	w->result->memory_losses += box->recovering;
	quota_start_box(w, box);
}

static void make_durable(struct quota_world *w, struct torture_quota_node *box)
{
	memcpy(box->record, box->coming, box->coming_len);
	box->record_len = box->coming_len;
	box->recovering = box->coming_len == 0;
	if (box->recovering) {
		box->past_len = 0;
	} else if (!box->aged && prng_percent(&w->ager, w->c->harsh ? 2 : 5)) {
		memcpy(box->past, box->record, box->record_len);
		box->past_len = box->record_len;
		wire_get64((const uint8_t *)box->record + RECORD_COUNT, &box->past_count);
	}
}

/*
 * Returns true if one is in this state. Only one can be: two ends of an edge cannot detect that
 * both are old.
 */
static bool somebody_is_unknown(const struct quota_world *w)
{
	bool any = false;

	for (unsigned i = 0; i < w->n; i++) {
		const struct torture_quota_node *box = &w->boxes[i];

		any |= box->aged || box->recovering ||
		       (box->quota && quota_view(box->quota, 0).recovering);
	}
	return any;
}

/* Starts the limiter with an earlier record, and notes the neighbours with a later count. */
static void go_back(struct quota_world *w, struct torture_quota_node *box)
{
	if (!w->ages || w->calm || box->past_len == 0 || somebody_is_unknown(w) ||
		!prng_percent(&w->ager, w->c->harsh ? 95 : 50))
		return;
	for (unsigned e = 0; e < box->n; e++) {
		const struct torture_quota_node *peer = &w->boxes[box->to[e]];

		box->lives[e] = peer->quota && quota_edge(peer->quota, box->back[e]).count >
							box->past_count
					? peer->life
					: 0;
	}
	memcpy(box->record, box->past, box->past_len);
	box->record_len = box->past_len;
	box->aged = true;
	w->result->old_stores++;
}

/* Checks that an old record is confirmed only if no neighbour had a later count. */
static void note_age(struct quota_world *w, struct torture_quota_node *box)
{
	struct quota_view view = quota_view(box->quota, 0);

	if (!box->aged || view.waits || view.recovering)
		return;
	box->aged = false;
	if (view.spent == box->spent_then || box->was_lost)
		return;
	w->unknown += box->spent_then - view.spent;
	for (unsigned e = 0; e < box->n; e++)
		if (box->lives[e] && w->boxes[box->to[e]].life == box->lives[e])
			torture_complain(w->result, "an old record is not noticed");
}

/*
 * Crashes a limiter, which keeps the newest record or none; without it, its spent units are lost.
 */
static void quota_crash_box(struct quota_world *w, struct torture_quota_node *box)
{
	if (box->saving && prng_percent(&w->prng, 50))
		make_durable(w, box);
	box->spent_then = box->aged ? box->spent_then : spent_now(box);
	quota_destroy(box->quota);
	box->quota = NULL;
	box->life++;
	if (!box->aged)
		go_back(w, box);
	if (box->aged && box->record_len > 0)
		w->forgot = true;
	else if (box->record_len == 0 || (w->forgets && prng_percent(&w->prng, 10) &&
						 !(w->ages && somebody_is_unknown(w)))) {
		box->record_len = box->past_len = 0;
		box->aged = false;
		box->recovering = true;
		w->forgot = true;
	}
	quota_box_at(w,
		w->events.now_ns + prng_within(&w->prng,
					   prng_percent(&w->prng, 70) ? 2 * SECOND : 30 * SECOND),
		UP, box);
}

static void quota_die(void *world, void *object, uint64_t argument)
{
	struct quota_world *w = world;

	(void)argument;
	w->dead = object;
	w->result->deaths++;
	if (w->dead->quota)
		quota_crash_box(w, w->dead);
}

static void quota_cause_trouble(void *world, void *object, uint64_t argument)
{
	struct quota_world *w = world;
	struct torture_quota_node *box;

	(void)object;
	(void)argument;
	if (w->calm)
		return;
	box = &w->boxes[prng_below(&w->prng, w->n)];
	switch (prng_below(&w->prng, 4)) {
	case 0:
		if (box->quota && (w->forgets || box->record_len > 0))
			quota_crash_box(w, box);
		break;
	case 1:
		w->cut[prng_below(&w->prng, w->n)] ^= 1;
		break;
	case 2:
		memset(w->cut, 0, sizeof(w->cut));
		break;
	default:
		w->hurry = 1 + prng_below(&w->prng, 20);
	}
	events_after(&w->events, prng_within(&w->prng, w->c->harsh ? 3 * SECOND : 8 * SECOND),
		quota_cause_trouble, NULL, 0);
}

static void quota_end_trouble(void *world, void *object, uint64_t argument)
{
	struct quota_world *w = world;

	(void)object;
	(void)argument;
	w->calm = true;
	w->loss = 0;
	memset(w->cut, 0, sizeof(w->cut));
	for (unsigned i = 0; i < w->n; i++) {
		struct torture_quota_node *box = &w->boxes[i];

		quota_restart_box(w, box);
		box->control_wakes = box->workers_wake = 0;
		if (box->quota)
			quota_follow_up(w, box);
	}
}

static void quota_begin_thirst(void *world, void *object, uint64_t argument)
{
	(void)object;
	(void)argument;
	((struct quota_world *)world)->thirsty = true;
}

static void quota_hear_message(struct quota_world *w, const struct quota_mail *message)
{
	struct torture_quota_node *box = &w->boxes[message->to];

	if (!box->quota || message->is.period == 0)
		return;
	if (control_stands(w, box)) { /* the socket's buffer holds some */
		if (prng_percent(&w->prng, 50))
			simnet_carry(&w->net, message->to, message->to, box->control_wakes, message,
				sizeof(*message));
		return;
	}
	quota_receive(box->quota, message->edge, &message->is, quota_local_time(w, box));
	if (quota_denied(box->quota) != LEDGER_HEARD) {
		quota_lose(box->quota);
		quota_loss_committed(box->quota);
		box->aged = box->was_lost = true;
		w->forgot = true;
	}
	quota_follow_up(w, box);
}

/* Receives a message, and sometimes an old one after it. */
static bool quota_receive_message(
	void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len)
{
	struct quota_world *w = world;
	struct quota_mail message;

	(void)from;
	(void)to;
	memcpy(&message, bytes, len);
	quota_hear_message(w, &message);
	if (!w->calm && prng_percent(&w->prng, 2))
		quota_hear_message(w, &w->late[prng_below(&w->prng, LATE)]);
	return true;
}

static void quota_box_event(void *world, void *object, uint64_t argument)
{
	struct quota_world *w = world;
	struct torture_quota_node *box = object;
	unsigned pause = 1 + (unsigned)(box - w->boxes); /* some have long pauses */
	uint64_t think = w->thirsty ? THINK / 10 : THINK * pause / w->hurry;

	if (argument >> 32 != box->life)
		return;
	if ((argument & 0xff) == TRAFFIC && (!w->calm || w->thirsty))
		use_units(w, box);
	else if (control_stands(w, box)) {
		events_at(&w->events, box->control_wakes, quota_box_event, box, argument);
		return;
	}
	switch ((enum quota_happening)(argument & 0xff)) {
	case UP:
		quota_restart_box(w, box);
		return;
	case WRITTEN:
		make_durable(w, box);
		box->saving = false;
		quota_committed(box->quota);
		break;
	case TRAFFIC:
		if (w->thirsty)
			take_all_units(w, box);
		else if (!w->calm && !control_stands(w, box))
			take_units_in_hand(w, box);
		quota_box_at(w, w->events.now_ns + 1 + prng_within(&w->prng, think), TRAFFIC, box);
		break;
	case TICK:
	case CONTROL_WAKES:
		break;
	}
	stand_still(w, box);
	if (!control_stands(w, box))
		quota_follow_up(w, box);
}

/* Sums over all limiters, at one moment. */
struct quota_sums {
	int64_t held;
	uint64_t spent, prepaid, in_flight;
};

static struct quota_sums quota_sum_up(const struct quota_world *w)
{
	struct quota_sums sums = {0};

	for (unsigned i = 0; i < w->n; i++) {
		const struct torture_quota_node *box = &w->boxes[i];
		struct quota_view view = quota_view(box->quota, quota_local_time(w, box));

		sums.held += view.balance;
		sums.spent += view.spent;
		sums.prepaid += view.prepaid;
		for (unsigned e = 0; e < box->n; e++)
			sums.in_flight += quota_edge(box->quota, e).in_flight;
	}
	return sums;
}

static bool quota_is_whole(const struct quota_world *w, const struct quota_sums *sums)
{
	return sums->in_flight == 0 && sums->held + (int64_t)sums->spent == (int64_t)w->total &&
	       w->used + sums->prepaid <= sums->spent;
}

/* Checks between two moves, because limiters with waiting traffic send requests periodically. */
static void check_moment(void *world)
{
	struct quota_world *w = world;
	struct quota_sums sums;

	w->result->checks++;
	if (w->whole || w->dead || w->events.now_ns <= w->calm_ns)
		return;
	sums = quota_sum_up(w);
	w->whole = quota_is_whole(w, &sums);
}

/*
 * Asserts that no unit is left although all are requested. Units in flight can be lost with a
 * memory.
 */
static void check_last_unit(struct quota_world *w, const struct quota_sums *sums)
{
	int64_t left = sums->held + (int64_t)(sums->prepaid + (w->forgot ? 0 : sums->in_flight));

	if (left <= 0)
		return;
	w->result->lost = (uint64_t)left;
	torture_complain(w->result, "%lld units that nobody got: %lld held, %llu in flight",
		(long long)left, (long long)sums->held, (unsigned long long)sums->in_flight);
}

static void check_end(struct quota_world *w)
{
	struct quota_sums sums = quota_sum_up(w);

	if (!w->forgot && !w->whole) {
		w->result->lost = (uint64_t)llabs(
			(int64_t)w->total - sums.held - (int64_t)sums.spent);
		torture_complain(w->result, "%lld held, %llu spent and %llu in flight of %llu",
			(long long)sums.held, (unsigned long long)sums.spent,
			(unsigned long long)sums.in_flight, (unsigned long long)w->total);
	}
	check_last_unit(w, &sums);
}

static void quota_join_boxes(struct quota_world *w, unsigned a, unsigned b)
{
	struct torture_quota_node *x = &w->boxes[a], *y = &w->boxes[b];

	x->to[x->n] = b;
	y->to[y->n] = a;
	x->back[x->n] = y->n;
	y->back[y->n] = x->n;
	x->n++;
	y->n++;
}

static void quota_populate(struct quota_world *w)
{
	w->forgets = prng_percent(&w->prng, 40);
	w->ages = w->c->harsh || prng_percent(&w->ager, 50);
	w->loss = prng_percent(&w->prng, 60) ? prng_below(&w->prng, 35) : 0;
	w->hurry = 4;
	for (unsigned i = 0; i < w->n; i++) {
		w->boxes[i].share = prng_below(&w->prng, MOST);
		w->total += w->boxes[i].share;
		if (i > 0)
			quota_join_boxes(w, prng_below(&w->prng, i), i);
	}
	for (unsigned i = 0; i < w->n; i++)
		quota_start_box(w, &w->boxes[i]);
	if (!w->ages && prng_percent(&w->ager, 20))
		w->flips = &w->boxes[prng_below(&w->ager, w->n)];
}

void torture_quota(const struct torture_case *c, struct torture_result *result)
{
	struct quota_world *w = calloc(1, sizeof(*w));
	unsigned victim;
	uint64_t when_ns;

	*result = (struct torture_result){.error = !w};
	if (!w)
		return;
	w->c = c;
	w->n = c->limiters;
	w->result = result;
	w->net.events = &w->events;
	w->net.receive = quota_receive_message;
	w->end = c->minutes * 60 * SECOND;
	w->calm_ns = w->end - w->end / HEAL;
	prng_seed(&w->prng, c->seed);
	prng_seed(&w->ager, c->seed ^ 0xa9e5);
	quota_populate(w);
	events_at(&w->events, prng_within(&w->prng, 8 * SECOND), quota_cause_trouble, NULL, 0);
	events_at(&w->events, w->calm_ns, quota_end_trouble, NULL, 0);
	events_at(&w->events, w->end - (w->end - w->calm_ns) / 2, quota_begin_thirst, NULL, 0);
	victim = torture_victim(c, w->calm_ns, &when_ns);
	if (victim < w->n)
		events_at(&w->events, when_ns, quota_die, &w->boxes[victim], 0);
	torture_play(&w->events, w->end, w, check_moment, result);
	if (!result->violated && !result->error && !w->dead && !w->flips)
		check_end(w);
	for (unsigned i = 0; i < w->n; i++)
		quota_destroy(w->boxes[i].quota);
	simnet_free(&w->net);
	events_free(&w->events);
	free(w);
}
