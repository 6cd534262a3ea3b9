/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units: lib/control/quota over a tree, each limiter with a disk that takes its time. Whenever
 * traffic uses units, all that have been used are within the total. In the end all is well again
 * for a while: then what is held and what was spent is the total, but for memories that were lost
 * with what had been spent before.
 */
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "world/events.h"
#include "quota/quota.h"
#include "torture.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define RECORD 4096
#define PARTS  256 /* units saved as spent before they are */
#define HEAL   4   /* of a run, the last part in so many */
#define LATE   32  /* messages that come again much later */
#define THINK  (500 * MS)
#define MOST   10000 /* units of a limiter */

enum happening { TICK, MESSAGE, WRITTEN, TRAFFIC, TROUBLE, UP, CALM };

struct box {
	struct quota_node *quota; /* NULL: it is down */
	unsigned n, to[TORTURE_LIMITERS], back[TORTURE_LIMITERS];
	unsigned life; /* events of an earlier one are void */
	char record[RECORD], coming[RECORD];
	size_t record_len, coming_len;
	uint64_t share, wants, tick_ns;
	bool saving, blank;
};

struct message {
	unsigned to, edge;
	struct quota_message is;
};

struct world {
	const struct torture_case *c;
	struct torture_result *result;
	struct prng prng;
	struct events events;
	uint64_t now, end, epoch, total, used;
	uint64_t clocks[TORTURE_LIMITERS];
	struct box boxes[TORTURE_LIMITERS];
	struct message late[LATE];
	bool cut[TORTURE_LIMITERS]; /* the edge to whom it was joined to */
	unsigned n, loss, hurry;
	bool forgets, forgot, calm;
};

static unsigned below(struct world *w, unsigned n)
{
	return prng_below(&w->prng, n);
}

static bool chance(struct world *w, unsigned percent)
{
	return below(w, 100) < percent;
}

static uint64_t within(struct world *w, uint64_t ns)
{
	return (uint64_t)(prng_unit(&w->prng) * (double)ns);
}

static uint64_t local(const struct world *w, const struct box *box)
{
	return w->now + w->clocks[box - w->boxes];
}

static void add(
	struct world *w, uint64_t at, enum happening what, const struct box *box, void *object)
{
	uint64_t argument = what;

	if (box)
		argument |= (uint64_t)(box - w->boxes) << 8 | (uint64_t)box->life << 32;
	if (events_at(&w->events, at, NULL, object, argument)) {
		w->result->error = true;
		free(object);
	}
}

static void send(struct world *w, struct box *box, const struct message *message)
{
	unsigned self = (unsigned)(box - w->boxes);
	struct message *copy;
	uint64_t delay = MS + within(w, 10 * MS);

	if (w->cut[self > message->to ? self : message->to] || chance(w, w->loss))
		return;
	copy = malloc(sizeof(*copy));
	if (!copy) {
		w->result->error = true;
		return;
	}
	*copy = *message;
	if (!w->calm && chance(w, 10))
		delay += within(w, 2 * SECOND);
	add(w, w->now + delay, MESSAGE, NULL, copy);
}

static void post(struct world *w, struct box *box)
{
	struct message message;
	uint32_t edge;

	while (quota_next(box->quota, local(w, box), &edge, &message.is)) {
		message.to = box->to[edge];
		message.edge = box->back[edge];
		w->result->moves += (message.is.parts & (QUOTA_REPORT | QUOTA_DISTRIBUTE)) != 0;
		if (chance(w, 5))
			w->late[below(w, LATE)] = message;
		send(w, box, &message);
		if (!w->calm && chance(w, 5))
			send(w, box, &message);
	}
}

static void save(struct world *w, struct box *box)
{
	if (box->saving || !quota_unsettled(box->quota))
		return;
	if (quota_record_size(box->quota) > RECORD)
		abort();
	if (quota_save(box->quota, box->coming, &box->coming_len))
		return;
	box->saving = true;
	add(w, w->now + within(w, chance(w, 95) ? 10 * MS : SECOND), WRITTEN, box, NULL);
}

/* What has to follow whatever has just happened to a box. */
static void go_on(struct world *w, struct box *box)
{
	uint64_t next = quota_tick(box->quota, local(w, box)), clock = w->clocks[box - w->boxes];

	save(w, box);
	post(w, box);
	if (next == UINT64_MAX)
		return;
	next = next > local(w, box) ? next - clock : w->now + MS;
	/* The one that is waited for, or an earlier one. */
	if (box->tick_ns <= next && box->tick_ns > w->now)
		return;
	box->tick_ns = next;
	add(w, next, TICK, box, NULL);
}

static void use(struct world *w, struct box *box)
{
	uint64_t units = box->wants ? box->wants : 1 + below(w, chance(w, 90) ? 40 : 4000);

	if (quota_spend(box->quota, units, local(w, box))) {
		box->wants = chance(w, 80) ? units : 0;
		return;
	}
	box->wants = 0;
	w->used += units;
	if (w->used > w->total)
		torture_complain(w->result, "used %llu of %llu", (unsigned long long)w->used,
			(unsigned long long)w->total);
}

static void start(struct world *w, struct box *box)
{
	struct quota_params params = {
		.share = box->share,
		.period = 1,
		.n_edges = box->n,
		.epoch = ++w->epoch,
		.blank = box->blank,
		.durable = true,
		.chunk = PARTS,
		.theta_ns = 40 * MS,
		.memory_ns = 10 * SECOND,
		.repeat_ns = 500 * MS,
		.seed = prng_next(&w->prng),
	};
	int ret;

	w->clocks[box - w->boxes] = within(w, 1000 * SECOND);
	box->life++;
	box->saving = false;
	box->tick_ns = 0;
	if (box->record_len > 0 && !box->blank)
		ret = quota_restore(
			&params, box->record, box->record_len, local(w, box), &box->quota);
	else
		ret = quota_create(&params, local(w, box), &box->quota);
	if (ret) {
		torture_failed(w->result, "quota_restore or quota_create", ret);
		return;
	}
	for (unsigned e = 0; e < box->n; e++)
		quota_link(box->quota, e, true, w->total / w->n);
	add(w, w->now + within(w, THINK), TRAFFIC, box, NULL);
	go_on(w, box);
}

static void restart(struct world *w, struct box *box)
{
	if (box->quota || w->result->error || w->result->violated)
		return;
	w->result->restarts++;
	w->result->blanks += box->blank;
	start(w, box);
}

static void make_durable(struct box *box)
{
	memcpy(box->record, box->coming, box->coming_len);
	box->record_len = box->coming_len;
	box->blank = false;
}

/* With the newest record, or none; what was spent before is forgotten with it. */
static void crash(struct world *w, struct box *box)
{
	if (box->saving && chance(w, 50))
		make_durable(box);
	quota_destroy(box->quota);
	box->quota = NULL;
	box->life++;
	if (box->record_len == 0 || (w->forgets && chance(w, 10))) {
		box->record_len = 0;
		box->blank = true;
		w->forgot = true;
	}
	add(w, w->now + within(w, chance(w, 70) ? 2 * SECOND : 30 * SECOND), UP, box, NULL);
}

static void trouble(struct world *w)
{
	struct box *box = &w->boxes[below(w, w->n)];

	switch (below(w, 4)) {
	case 0:
		if (box->quota && (w->forgets || box->record_len > 0))
			crash(w, box);
		break;
	case 1:
		w->cut[below(w, w->n)] ^= 1;
		break;
	case 2:
		memset(w->cut, 0, sizeof(w->cut));
		break;
	default:
		w->hurry = 1 + below(w, 20);
	}
	add(w, w->now + within(w, 8 * SECOND), TROUBLE, NULL, NULL);
}

static void be_calm(struct world *w)
{
	w->calm = true;
	w->loss = 0;
	memset(w->cut, 0, sizeof(w->cut));
	for (unsigned i = 0; i < w->n; i++)
		restart(w, &w->boxes[i]);
}

static void hear(struct world *w, const struct message *message)
{
	struct box *box = &w->boxes[message->to];

	if (!box->quota || message->is.period == 0)
		return;
	quota_hear(box->quota, message->edge, &message->is, local(w, box));
	go_on(w, box);
}

static void box_event(struct world *w, struct box *box, enum happening what)
{
	if (what == UP) {
		restart(w, box);
		return;
	}
	if (what == WRITTEN) {
		make_durable(box);
		box->saving = false;
		quota_settled(box->quota);
	}
	if (what == TRAFFIC) {
		unsigned pause = 1 + (unsigned)(box - w->boxes); /* some have much of it */

		if (!w->calm)
			use(w, box);
		add(w, w->now + 1 + within(w, THINK * pause / w->hurry), TRAFFIC, box, NULL);
	}
	go_on(w, box);
}

static void happen(struct world *w, const struct event *event)
{
	enum happening what = (enum happening)(event->argument & 0xff);
	struct box *box = &w->boxes[event->argument >> 8 & 0xff];

	w->now = event->at_ns;
	w->result->checks++;
	switch (what) {
	case MESSAGE:
		hear(w, event->object);
		free(event->object);
		if (!w->calm && chance(w, 2))
			hear(w, &w->late[below(w, LATE)]);
		break;
	case TROUBLE:
		if (!w->calm)
			trouble(w);
		break;
	case CALM:
		be_calm(w);
		break;
	default:
		if (event->argument >> 32 == box->life)
			box_event(w, box, what);
	}
}

static void check_end(struct world *w)
{
	uint64_t spent = 0, pocket = 0, in_flight = 0;
	int64_t held = 0;

	for (unsigned i = 0; i < w->n; i++) {
		struct box *box = &w->boxes[i];
		struct quota_view view = quota_view(box->quota, local(w, box));

		held += view.balance;
		spent += view.spent;
		pocket += view.pocket;
		for (unsigned e = 0; e < box->n; e++)
			in_flight += quota_edge(box->quota, e).in_flight;
	}
	if (w->forgot)
		return;
	if (in_flight > 0)
		torture_complain(
			w->result, "%llu in flight in the end", (unsigned long long)in_flight);
	if (held + (int64_t)spent != (int64_t)w->total) {
		w->result->lost = (uint64_t)llabs((int64_t)w->total - held - (int64_t)spent);
		torture_complain(w->result, "%lld held and %llu spent of %llu", (long long)held,
			(unsigned long long)spent, (unsigned long long)w->total);
	}
	if (w->used + pocket > spent)
		torture_complain(w->result, "used %llu, spent %llu", (unsigned long long)w->used,
			(unsigned long long)spent);
}

static void join(struct world *w, unsigned a, unsigned b)
{
	struct box *x = &w->boxes[a], *y = &w->boxes[b];

	x->to[x->n] = b;
	y->to[y->n] = a;
	x->back[x->n] = y->n;
	y->back[y->n] = x->n;
	x->n++;
	y->n++;
}

static void populate(struct world *w)
{
	w->forgets = chance(w, 40);
	w->loss = chance(w, 60) ? below(w, 35) : 0;
	w->hurry = 4;
	for (unsigned i = 0; i < w->n; i++) {
		w->boxes[i].share = below(w, MOST);
		w->total += w->boxes[i].share;
		if (i > 0)
			join(w, below(w, i), i);
	}
	for (unsigned i = 0; i < w->n; i++)
		start(w, &w->boxes[i]);
}

void torture_quota(const struct torture_case *c, struct torture_result *result)
{
	struct world *w = calloc(1, sizeof(*w));
	struct event event;

	*result = (struct torture_result){.error = !w};
	if (!w)
		return;
	w->c = c;
	w->n = c->limiters;
	w->result = result;
	w->end = c->minutes * 60 * SECOND;
	prng_seed(&w->prng, c->seed);
	populate(w);
	add(w, within(w, 8 * SECOND), TROUBLE, NULL, NULL);
	add(w, w->end - w->end / HEAL, CALM, NULL, NULL);
	while (!result->violated && !result->error && events_take(&w->events, w->end, &event))
		happen(w, &event);
	if (!result->violated && !result->error)
		check_end(w);
	for (unsigned i = 0; i < w->n; i++)
		quota_destroy(w->boxes[i].quota);
	while (events_take(&w->events, UINT64_MAX, &event))
		if ((event.argument & 0xff) == MESSAGE)
			free(event.object);
	events_free(&w->events);
	free(w);
}
