/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units of a period, and the wall clocks by which periods begin: lib/control/budget with a total.
 *
 * Clocks are stepped by seconds, by one period or by many, at one limiter or at all. The kernel
 * reports them as synchronised or not, and limiters crash and start meanwhile. Whenever traffic
 * uses units, three things must hold. All units used in their period are within its total. The
 * period has begun by a clock without steps, except EARLY_NS. No limiter returns to an earlier
 * period.
 *
 * In the end all clocks are right, and all limiters are in the right period. A record can be an
 * earlier one: then units that were not reported to any neighbour can be spent again. With damaged
 * statements no limiter spends more than a total.
 *
 * Cases without evidence are left out (budget/timekeeper.h). A limiter that starts with a clock far
 * off reaches one that runs, and such starters are no majority at any time. The kernel never first
 * reports a clock as synchronised while it is far off.
 */
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "base/wire.h"
#include "budget/budget_private.h"
#include "ledger/ledger.h"
#include "torture_run.h"
#include "world/simnet.h"

#define MS           UINT64_C(1000000)
#define SECOND       (1000 * MS)
#define BEGAN        (UINT64_C(1700000000) * SECOND) /* wall clock at the begin of a run */
#define PERIOD_NS    (150 * SECOND)
#define TIMEOUT      (4 * SECOND)
#define LOOK_NS      (100 * MS)
#define THINK        (200 * MS)
#define RECORD       8192
#define ROOM         1200
#define RECORD_COUNT (17 + 12 * sizeof(uint64_t)) /* where a record without a name has its count */
#define POLICY       7                            /* id of the policy */
#define MOST         5000                         /* units of a limiter */
#define CHUNK        64
#define HEAL         4   /* the last quarter of a run has no faults */
#define KEPT         512 /* periods whose used units are recorded */

/*
 * A clock that is off by seconds can be accepted: it is within TIME_SLACK_NS, or agrees with the
 * others. One that is far off is rejected. So a period can begin early by the largest offset of an
 * accepted clock, plus a correction.
 */
#define NEAR_S   20
#define EARLY_NS ((NEAR_S + 10) * SECOND)

_Static_assert(2 * (NEAR_S + 10) * SECOND <= TIME_GROUP_NS, "all that are right are at one");
_Static_assert(PERIOD_NS > 2 * TIME_GROUP_NS, "whoever is off by a period is not at one");

/* Events at one limiter. */
enum period_happening { PERIOD_LOOK, PERIOD_WRITTEN, PERIOD_TRAFFIC, PERIOD_UP };

struct period_box {
	struct budget *b;    /* NULL: the limiter is down */
	unsigned life;       /* events of an earlier life are void */
	int64_t off_ns;      /* wall clock minus true time */
	bool synchronised;   /* reported by its kernel */
	bool was;            /* was synchronised by a right clock in this life */
	bool far;            /* started with a clock far off, and has no time yet */
	uint64_t guarded_ns; /* until then it relies on another limiter or another on it */
	uint8_t record[RECORD], coming[RECORD];
	size_t record_len, coming_len;
	uint64_t record_period, coming_period;
	uint64_t least;  /* must be in that period, or a later one */
	uint64_t credit; /* spent units for workers to use; their period: */
	uint64_t period;
	uint64_t control_wakes; /* control is stopped until then */
	bool saving, recovering;
	uint8_t past[RECORD]; /* an earlier record */
	size_t past_len;
	uint64_t past_period, past_count;
	bool dropped;         /* the loss of that record is durable */
	bool aged;            /* started with that record, and is in a period that it had begun */
	uint64_t begun;       /* newest period in which the limiter has had units */
	uint64_t opened;      /* newest period in which neighbours have confirmed an old record */
	uint64_t spent[KEPT]; /* units that the limiter counts, by period */
	struct later_count {
		unsigned life;     /* 0: the neighbour had none */
		uint64_t period;   /* the period of the neighbour */
	} later[TORTURE_LIMITERS]; /* neighbours with a later count than the record's */
};

struct period_mail {
	size_t len;
	uint8_t bytes[ROOM];
};

struct period_world {
	struct torture_result *result;
	struct prng prng;
	struct events events;
	struct simnet net;
	uint64_t end, calm_ns, epoch, total;
	uint32_t ids[TORTURE_LIMITERS], sides[TORTURE_LIMITERS];
	uint64_t clocks[TORTURE_LIMITERS]; /* since boot */
	struct period_box boxes[TORTURE_LIMITERS];
	struct period_box *dead;    /* limiter that ended for good, or NULL */
	uint64_t first, used[KEPT]; /* from period `first` on */
	uint64_t unknown[KEPT];     /* units that can be spent again, see note_period_age() */
	struct prng ager;
	struct period_box *flips; /* limiter that sends damaged numbers, or NULL */
	unsigned n, loss;
	bool forgets, ages, calm, harsh;
};

static uint64_t boot_ns(const struct period_world *w, const struct period_box *box)
{
	return w->events.now_ns + w->clocks[box - w->boxes];
}

static uint64_t period_at(uint64_t wall_ns)
{
	return wall_ns / PERIOD_NS + 1;
}

static bool is_far_off(int64_t off_ns)
{
	return off_ns > (int64_t)(NEAR_S * SECOND) || off_ns < -(int64_t)(NEAR_S * SECOND);
}

static bool is_guarded(const struct period_world *w, const struct period_box *box)
{
	return box->guarded_ns > w->events.now_ns;
}

static bool knows_time(const struct period_world *w, const struct period_box *box)
{
	uint64_t time_ns;

	return box->b && timekeeper_time(budget_timekeeper(box->b), boot_ns(w, box), &time_ns);
}

static void period_box_event(void *world, void *object, uint64_t argument);

static void period_box_at(
	struct period_world *w, uint64_t at, enum period_happening what, struct period_box *box)
{
	events_at(&w->events, at, period_box_event, box, what | (uint64_t)box->life << 32);
}

/* Sends a message. Between two limiters, one of which relies on the other, none is lost. */
static void send_period_mail(
	struct period_world *w, unsigned from, unsigned to, const struct period_mail *mail)
{
	bool guarded = is_guarded(w, &w->boxes[from]) && is_guarded(w, &w->boxes[to]);
	uint64_t delay = MS + prng_within(&w->prng, 10 * MS);

	if (!guarded && prng_percent(&w->prng, w->loss))
		return;
	if (!w->calm && !guarded && prng_percent(&w->prng, 5))
		delay += prng_within(&w->prng, SECOND);
	simnet_carry(&w->net, from, to, w->events.now_ns + delay, mail->bytes, mail->len);
}

/* Damages one bit of a statement, at random times. */
static void flip_bit(struct period_world *w, const struct period_box *box, struct period_mail *mail)
{
	size_t parts = mail->len > BUDGET_HEAD ? (mail->len - BUDGET_HEAD) / BUDGET_PART : 0, at;

	if (box != w->flips || w->calm || parts == 0 || !prng_percent(&w->ager, 10))
		return;
	at = BUDGET_HEAD + prng_below(&w->ager, (unsigned)parts) * BUDGET_PART +
	     BUDGET_AT_STATEMENT + prng_below(&w->ager, LEDGER_STATEMENT_BYTES);
	mail->bytes[at] ^= (uint8_t)(1 << prng_below(&w->ager, 8));
	w->result->flips++;
}

static void send_period_messages(struct period_world *w, struct period_box *box)
{
	unsigned self = (unsigned)(box - w->boxes), to;
	struct period_mail mail;

	while ((mail.len = budget_send(box->b, boot_ns(w, box), mail.bytes, ROOM, &to)) > 0) {
		w->result->moves++;
		flip_bit(w, box, &mail);
		send_period_mail(w, self, to, &mail);
	}
}

static int keep_period_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct period_box *box = context;

	(void)id;
	if (len > RECORD)
		abort();
	memcpy(box->coming, record, len);
	box->coming_len = len;
	return 0;
}

static void save_period_box(struct period_world *w, struct period_box *box)
{
	struct quota_view view = budget_view(box->b, 0, boot_ns(w, box));
	uint64_t takes = prng_within(&w->prng, prng_percent(&w->prng, 95) ? 10 * MS : SECOND);

	if (box->saving || !book_unsaved(budget_book(box->b)))
		return;
	if (book_save(budget_book(box->b), keep_period_record, box))
		return;
	box->coming_period = view.recovering ? 0 : view.period; /* recovering: no period */
	box->saving = true;
	period_box_at(w, w->events.now_ns + takes, PERIOD_WRITTEN, box);
}

static const struct quota_node *quota_of(const struct period_box *box)
{
	return unit_at(box->b, 0)->quota;
}

/* True if a neighbour that had a later count than the record's is still in the box's period. */
static bool has_witness(const struct period_world *w, const struct period_box *box, uint64_t period)
{
	bool any = false;

	for (unsigned i = 0; i < w->n; i++)
		any |= box->later[i].life && w->boxes[i].life == box->later[i].life &&
		       box->later[i].period == period;
	return any;
}

/* Checks that an old record is confirmed only if no neighbour had a later count. */
static void note_period_age(struct period_world *w, struct period_box *box)
{
	struct quota_view view = budget_view(box->b, 0, boot_ns(w, box));
	uint64_t i = view.period - w->first;

	if (view.undated || view.recovering || view.waits || view.period < w->first || i >= KEPT)
		return;
	if (box->aged && (budget_book(box->b)->closures > 0 || box->dropped))
		box->aged = false;
	if (box->aged && view.period > box->opened && box->spent[i] > view.spent) {
		w->unknown[i] += box->spent[i] - view.spent;
		if (has_witness(w, box, view.period))
			torture_complain(w->result, "an old record is not noticed");
	}
	box->opened = view.period;
	box->spent[i] = view.spent;
	box->aged &= view.period < box->begun;
	if (view.period > box->begun)
		box->begun = view.period;
}

static void follow_up_period(struct period_world *w, struct period_box *box)
{
	budget_tick(box->b, boot_ns(w, box));
	note_period_age(w, box);
	save_period_box(w, box);
	send_period_messages(w, box);
}

static void check_period(struct period_world *w, struct period_box *box)
{
	struct quota_view view = budget_view(box->b, 0, boot_ns(w, box));

	if (view.undated)
		return;
	if (view.period < box->least)
		torture_complain(w->result, "limiter %u: period %llu after %llu",
			(unsigned)(box - w->boxes), (unsigned long long)(view.period - w->first),
			(unsigned long long)(box->least - w->first));
	box->least = view.period;
}

/* Workers use prefetched units, which are of one period. */
static void use_period_units(struct period_world *w, struct period_box *box)
{
	uint64_t units = prng_within(&w->prng, box->credit), i = box->period - w->first;

	if (units == 0)
		return;
	if (box->period > period_at(BEGAN + w->events.now_ns + EARLY_NS) || i >= KEPT) {
		torture_complain(w->result, "limiter %u: units of period %lld in period %llu",
			(unsigned)(box - w->boxes), (long long)i,
			(unsigned long long)(period_at(BEGAN + w->events.now_ns) - w->first));
		return;
	}
	box->credit -= units;
	w->used[i] += units;
	if (box->spent[i] > w->total)
		torture_complain(w->result, "limiter %u: spent %llu of %llu",
			(unsigned)(box - w->boxes), (unsigned long long)box->spent[i],
			(unsigned long long)w->total);
	if (w->used[i] > w->total + w->unknown[i] && !w->flips)
		torture_complain(w->result, "period %llu: used %llu of %llu", (unsigned long long)i,
			(unsigned long long)w->used[i], (unsigned long long)w->total);
}

static void take_period_units(struct period_world *w, struct period_box *box)
{
	uint64_t units = 1 + prng_below(&w->prng, prng_percent(&w->prng, 90) ? 40 : 1000);
	uint64_t now = boot_ns(w, box), period = budget_view(box->b, 0, now).period;

	if (budget_spend(box->b, 0, units, now))
		return;
	if (period != box->period) /* the rest of the last period is void */
		box->credit = 0;
	box->period = period;
	box->credit += units;
}

/* Called each time that the appliance reads its clocks. */
static void look_at_clocks(struct period_world *w, struct period_box *box)
{
	const struct timekeeper *keeper = budget_timekeeper(box->b);
	uint64_t now = boot_ns(w, box), time_ns, wall_ns;
	struct quota_view view;

	wall_ns = BEGAN + w->events.now_ns + (uint64_t)box->off_ns;
	budget_clock(box->b, wall_ns, box->synchronised, now);
	if (!timekeeper_time(keeper, now, &time_ns))
		return;
	box->far = false;
	box->was |= box->synchronised && !is_far_off(box->off_ns) && keeper->apart_ns == 0;
	view = budget_view(box->b, 0, now);
	if (view.undated || period_at(time_ns) > view.period)
		(void)budget_period(box->b, 0, period_at(time_ns), now);
	check_period(w, box);
}

/*
 * Returns a running limiter with the right time, for one that starts with a clock far off; or NULL.
 */
static struct period_box *find_witness(struct period_world *w, const struct period_box *starter)
{
	unsigned first = prng_below(&w->prng, w->n);

	for (unsigned i = 0; i < w->n; i++) {
		struct period_box *box = &w->boxes[(first + i) % w->n];

		if (box != starter && knows_time(w, box) && box->control_wakes <= w->events.now_ns)
			return box;
	}
	return NULL;
}

/*
 * Returns the number of limiters that have no time yet, or whose wrong time can still be in flight.
 */
static unsigned count_far_starters(const struct period_world *w)
{
	unsigned far = 0;

	for (unsigned i = 0; i < w->n; i++)
		far += is_far_off(w->boxes[i].off_ns) && is_guarded(w, &w->boxes[i]);
	return far;
}

/*
 * A limiter that starts with a clock far off reaches one that runs; otherwise its clock is
 * corrected.
 */
static void begin_by_clock(struct period_world *w, struct period_box *box)
{
	struct period_box *witness = find_witness(w, box);
	unsigned self = (unsigned)(box - w->boxes);

	box->was = false;
	box->far = is_far_off(box->off_ns);
	if (!box->far)
		return;
	if (!witness || 2 * (count_far_starters(w) + 1) > w->n) {
		box->off_ns = 0;
		box->far = false;
		return;
	}
	box->synchronised = false;
	box->guarded_ns = witness->guarded_ns = w->events.now_ns + 3 * TIMEOUT;
	w->sides[self] = w->sides[witness - w->boxes];
}

static int create_period_box(struct period_world *w, struct period_box *box)
{
	const struct budget_policy policy = {
		.id = POLICY, .total = w->total, .undated = true, .chunk = CHUNK};
	struct book_record record = {POLICY, box->record, box->record_len};
	const struct budget_params params = {
		.ids = w->ids,
		.n = w->n,
		.self = (unsigned)(box - w->boxes),
		.policies = &policy,
		.n_policies = 1,
		.records = &record,
		.n_records = box->record_len > 0,
		.recovering = box->recovering,
		.durable = true,
		.epoch = ++w->epoch,
		.identity = {.low = 1},
		.word = (uint32_t)prng_next(&w->ager) | 1,
		.proof_ns = w->ages ? UINT64_MAX / 2 : prng_within(&w->ager, SECOND),
		.repeat_ns = 500 * MS,
		.theta_ns = 40 * MS,
		.memory_ns = 10 * SECOND,
		.timeout_ns = TIMEOUT,
		.seed = prng_next(&w->prng),
	};

	return budget_create(&params, boot_ns(w, box), &box->b);
}

static void start_period_box(struct period_world *w, struct period_box *box)
{
	int ret;

	w->clocks[box - w->boxes] = prng_within(&w->prng, 1000 * SECOND);
	box->life++;
	box->saving = false;
	box->credit = box->opened = 0;
	box->control_wakes = 0;
	begin_by_clock(w, box);
	ret = create_period_box(w, box);
	if (ret) {
		torture_failed(w->result, "budget_create", ret);
		return;
	}
	if (box->record_period > 0)
		budget_remembers(box->b, (box->record_period - 1) * PERIOD_NS);
	period_box_at(w, w->events.now_ns + prng_within(&w->prng, THINK), PERIOD_TRAFFIC, box);
	period_box_at(w, w->events.now_ns + prng_within(&w->prng, LOOK_NS), PERIOD_LOOK, box);
	follow_up_period(w, box);
}

static void restart_period_box(struct period_world *w, struct period_box *box)
{
	if (box->b || box == w->dead || w->result->error || w->result->violated)
		return;
	w->result->restarts++;
	w->result->memory_losses += box->recovering;
	start_period_box(w, box);
}

static void keep_coming_record(struct period_world *w, struct period_box *box)
{
	memcpy(box->record, box->coming, box->coming_len);
	box->record_len = box->coming_len;
	box->record_period = box->coming_period;
	box->dropped |= box->aged && box->coming_period == 0;
	if (box->record_period == 0) {
		box->past_len = 0;
	} else if (w->ages && !box->aged && prng_percent(&w->ager, w->harsh ? 2 : 5)) {
		memcpy(box->past, box->record, box->record_len);
		box->past_len = box->record_len;
		box->past_period = box->record_period;
		wire_get64(box->record + RECORD_COUNT, &box->past_count);
	}
}

/*
 * Returns true if one is in this state. Only one can be: two ends of an edge cannot detect that
 * both are old.
 */
static bool somebody_is_unknown(const struct period_world *w)
{
	bool any = false;

	for (unsigned i = 0; i < w->n; i++) {
		const struct period_box *box = &w->boxes[i];

		any |= box->aged || box->recovering ||
		       (box->b && budget_view(box->b, 0, 0).recovering);
	}
	return any;
}

static unsigned edge_back_to(const struct period_box *peer, unsigned self)
{
	return book_edge(budget_book(peer->b), self);
}

/* Starts the limiter with an earlier record, and notes the neighbours with a later count. */
static void go_back(struct period_world *w, struct period_box *box)
{
	for (unsigned i = 0; i < w->n; i++) {
		const struct period_box *peer = &w->boxes[i];
		bool known = peer != box && peer->b &&
			     quota_edge(
				     quota_of(peer), edge_back_to(peer, (unsigned)(box - w->boxes)))
					     .count > box->past_count;

		box->later[i] = (struct later_count){
			known ? peer->life : 0, known ? quota_view(quota_of(peer), 0).period : 0};
	}
	memcpy(box->record, box->past, box->past_len);
	box->record_len = box->past_len;
	box->record_period = box->past_period;
	box->aged = true;
	box->dropped = false;
	w->result->old_stores++;
}

/* Crashes a limiter, which keeps the newest record, an earlier one, or none. */
static void crash_period_box(struct period_world *w, struct period_box *box)
{
	bool alone;

	if (box->saving && prng_percent(&w->prng, 50))
		keep_coming_record(w, box);
	budget_destroy(box->b);
	box->b = NULL;
	box->life++;
	alone = !w->ages || !somebody_is_unknown(w);
	if (box->record_len == 0 || (w->forgets && prng_percent(&w->prng, 10) && alone)) {
		box->record_len = box->past_len = 0;
		box->record_period = 0;
		box->recovering = true;
		box->aged = false;
	} else if (box->past_len > 0 && alone && !w->calm &&
		   prng_percent(&w->ager, w->harsh ? 95 : 50)) {
		go_back(w, box);
	}
	box->least = box->record_period;
	period_box_at(w,
		w->events.now_ns + prng_within(&w->prng,
					   prng_percent(&w->prng, 70) ? 2 * SECOND : 60 * SECOND),
		PERIOD_UP, box);
}

static void die_in_period(void *world, void *object, uint64_t argument)
{
	struct period_world *w = world;

	(void)argument;
	w->dead = object;
	w->result->deaths++;
	if (w->dead->b)
		crash_period_box(w, w->dead);
}

static int64_t signed_s(struct period_world *w, uint64_t s)
{
	int64_t ns = (int64_t)(s * SECOND);

	return prng_percent(&w->prng, 60) ? ns : -ns;
}

/* Draws an offset: seconds, one period, many, or 0. */
static int64_t draw_step(struct period_world *w)
{
	switch (prng_below(&w->prng, 5)) {
	case 0:
		return 0;
	case 1:
		return signed_s(w, prng_within(&w->prng, 4));
	case 2:
		return signed_s(w, prng_within(&w->prng, NEAR_S));
	case 3:
		return signed_s(w, PERIOD_NS / SECOND + prng_within(&w->prng, 10));
	default:
		return signed_s(w, (2 + prng_below(&w->prng, 1000)) * (PERIOD_NS / SECOND));
	}
}

static void step_clock(struct period_world *w, struct period_box *box, int64_t off_ns)
{
	/* No clock is set far off between a start and its first time: see begin_by_clock(). */
	if (box->far || (box->b && is_far_off(off_ns) && !knows_time(w, box)))
		return;
	box->off_ns = off_ns;
	box->synchronised = prng_percent(&w->prng, 50) && (!is_far_off(off_ns) || box->was);
}

/* Steps one clock, or all, like one bad server. */
static void step_clocks(struct period_world *w)
{
	int64_t off_ns = draw_step(w);

	if (prng_percent(&w->prng, 60)) {
		step_clock(w, &w->boxes[prng_below(&w->prng, w->n)], off_ns);
		return;
	}
	for (unsigned i = 0; i < w->n; i++)
		step_clock(w, &w->boxes[i], off_ns);
}

static void stop_control(struct period_world *w, struct period_box *box)
{
	uint64_t until = w->events.now_ns + prng_within(&w->prng, 30 * SECOND);

	w->result->stalls++;
	box->control_wakes = until < w->calm_ns ? until : w->calm_ns;
}

static void trouble_box(struct period_world *w, struct period_box *box)
{
	if (is_guarded(w, box))
		return;
	switch (prng_below(&w->prng, 4)) {
	case 0:
	case 1:
		if (box->b)
			crash_period_box(w, box);
		break;
	case 2:
		w->sides[box - w->boxes] ^= 1;
		break;
	default:
		stop_control(w, box);
	}
}

static void cause_period_trouble(void *world, void *object, uint64_t argument)
{
	struct period_world *w = world;

	(void)object;
	(void)argument;
	if (w->calm)
		return;
	if (prng_percent(&w->prng, 40))
		step_clocks(w);
	else
		trouble_box(w, &w->boxes[prng_below(&w->prng, w->n)]);
	events_after(&w->events, prng_within(&w->prng, w->harsh ? 2 * SECOND : 6 * SECOND),
		cause_period_trouble, NULL, 0);
}

static void end_period_trouble(void *world, void *object, uint64_t argument)
{
	struct period_world *w = world;

	(void)object;
	(void)argument;
	w->calm = true;
	w->loss = 0;
	memset(w->sides, 0, sizeof(w->sides));
	for (unsigned i = 0; i < w->n; i++) {
		struct period_box *box = &w->boxes[i];

		box->off_ns = 0;
		box->synchronised = box->far = false;
		restart_period_box(w, box);
	}
}

static bool receive_period_mail(void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len)
{
	struct period_world *w = world;
	struct period_box *box = &w->boxes[to];

	if (!box->b || box->control_wakes > w->events.now_ns || w->sides[from] != w->sides[to])
		return false;
	(void)budget_receive(box->b, from, boot_ns(w, box), bytes, len);
	check_period(w, box);
	follow_up_period(w, box);
	return true;
}

static void period_box_event(void *world, void *object, uint64_t argument)
{
	struct period_world *w = world;
	struct period_box *box = object;

	if (argument >> 32 != box->life)
		return;
	if ((argument & 0xff) == PERIOD_TRAFFIC)
		use_period_units(w, box);
	else if (box->b && box->control_wakes > w->events.now_ns) {
		events_at(&w->events, box->control_wakes, period_box_event, box, argument);
		return;
	}
	switch ((enum period_happening)(argument & 0xff)) {
	case PERIOD_UP:
		restart_period_box(w, box);
		return;
	case PERIOD_WRITTEN:
		keep_coming_record(w, box);
		box->saving = box->recovering = false;
		book_committed(budget_book(box->b));
		break;
	case PERIOD_TRAFFIC:
		if (box->control_wakes <= w->events.now_ns)
			take_period_units(w, box);
		period_box_at(w, w->events.now_ns + 1 + prng_within(&w->prng, THINK),
			PERIOD_TRAFFIC, box);
		break;
	case PERIOD_LOOK:
		look_at_clocks(w, box);
		period_box_at(w, w->events.now_ns + LOOK_NS, PERIOD_LOOK, box);
		break;
	}
	if (box->control_wakes <= w->events.now_ns)
		follow_up_period(w, box);
}

static void check_period_moment(void *world)
{
	((struct period_world *)world)->result->checks++;
}

/* Asserts that all running limiters are in the right period, or in that of an accepted clock. */
static void check_periods_end(struct period_world *w)
{
	uint64_t now = BEGAN + w->end;

	for (unsigned i = 0; i < w->n; i++) {
		struct quota_view view;

		if (&w->boxes[i] == w->dead)
			continue;
		view = budget_view(w->boxes[i].b, 0, boot_ns(w, &w->boxes[i]));
		if (view.undated || view.period < period_at(now - EARLY_NS) ||
			view.period > period_at(now + EARLY_NS))
			torture_complain(w->result, "limiter %u: %s period %lld, and it is %llu", i,
				view.undated ? "no" : "in", (long long)(view.period - w->first),
				(unsigned long long)(period_at(now) - w->first));
	}
}

static void populate_periods(struct period_world *w)
{
	w->forgets = prng_percent(&w->prng, 40);
	w->ages = w->harsh || prng_percent(&w->ager, 50);
	w->loss = prng_percent(&w->prng, 60) ? prng_below(&w->prng, 35) : 0;
	w->total = w->n * (1 + prng_below(&w->prng, MOST));
	w->first = period_at(BEGAN);
	for (unsigned i = 0; i < w->n; i++)
		w->ids[i] = 100 + i;
	for (unsigned i = 0; i < w->n; i++)
		start_period_box(w, &w->boxes[i]);
	if (!w->ages && prng_percent(&w->ager, 20))
		w->flips = &w->boxes[prng_below(&w->ager, w->n)];
}

void torture_periods(const struct torture_case *c, struct torture_result *result)
{
	struct period_world *w = calloc(1, sizeof(*w));
	unsigned victim;
	uint64_t when_ns;

	*result = (struct torture_result){.error = !w};
	if (!w)
		return;
	w->n = c->limiters;
	w->result = result;
	w->net.events = &w->events;
	w->net.receive = receive_period_mail;
	prng_seed(&w->ager, c->seed ^ 0xa9e5);
	w->harsh = c->harsh;
	w->end = c->minutes * 60 * SECOND;
	w->calm_ns = w->end - w->end / HEAL;
	prng_seed(&w->prng, c->seed);
	populate_periods(w);
	events_at(&w->events, prng_within(&w->prng, 6 * SECOND), cause_period_trouble, NULL, 0);
	events_at(&w->events, w->calm_ns, end_period_trouble, NULL, 0);
	victim = torture_victim(c, w->calm_ns, &when_ns);
	if (victim < w->n)
		events_at(&w->events, when_ns, die_in_period, &w->boxes[victim], 0);
	torture_play(&w->events, w->end, w, check_period_moment, result);
	if (!result->violated && !result->error)
		check_periods_end(w);
	for (unsigned i = 0; i < w->n; i++)
		budget_destroy(w->boxes[i].b);
	simnet_free(&w->net);
	events_free(&w->events);
	free(w);
}
