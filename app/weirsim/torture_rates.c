/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rates: lib/conserve, and what an appliance has around it, which are workers that take a new limit
 * a little later, and a disk that is slower and sometimes full. After each event:
 *
 *   - what the workers enforce, and what might be enforced, is in sum within the limit (one that
 *     falls counts until the workers have heard, and the debts of those who had given it away);
 *   - who has received something, it was granted or promised, and its books are right;
 *   - buckets that admit all they may, now or when it hurts most, together conform to one bucket of
 *     that limit and of the burst, exactly.
 *
 * In the end all is well again for a while, and every byte per second is somewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/prng.h"
#include "conserve/conserve.h"
#include "events.h"
#include "torture.h"

#define MS      UINT64_C(1000000)
#define SECOND  (1000 * MS)
#define MILLION 1000000
#define POLICY  1
#define ROOM    1200
#define RECORD  2048
#define LATE    32 /* letters that come again much later */
#define HEAL    4  /* of a run, the last part in so many */
#define NANO    UINT64_C(1000000000)

typedef unsigned __int128 level_t; /* bytes of 10^-9 */

enum happening { TICK, LETTER, TAKEN, WRITTEN, LEASE, TROUBLE, UP, CALM };

struct bucket {
	level_t level, most;
	uint64_t rate, at_ns;
};

struct box {
	struct conserve
		*c; /* of one that is down: what would be restored; NULL: nothing is known */
	bool up, lost;
	unsigned life; /* events of an earlier one are void */
	uint64_t clock, pace;
	uint64_t tick_ns;
	uint8_t coming[RECORD], record[RECORD];
	size_t coming_len, record_len;
	bool saving, written, taken, taking;
	uint64_t taking_since, saved_at; /* numbers of takings */
	uint64_t enforced, until;        /* by its clock */
	uint64_t limit, limit_taken;
	uint64_t debt;
	struct bucket bucket;
};

struct letter {
	unsigned from, to;
	size_t len;
	uint8_t bytes[ROOM];
};

struct world {
	const struct torture_case *c;
	struct torture_result *result;
	struct prng prng;
	struct events events;
	uint64_t now, end, epoch, limit, burst, lease;
	uint32_t ids[TORTURE_LIMITERS];
	struct box boxes[TORTURE_LIMITERS];
	bool sides[TORTURE_LIMITERS];
	struct conserve_params params;
	struct bucket bound;
	struct letter late[LATE];
	double demands[TORTURE_LIMITERS];
	unsigned loss; /* in 100 */
	unsigned n;
	bool falls, forgets, calm, whole;
	bool hoards; /* nobody admits anything, until all do at once */
	const struct gdrl_indicator *indicator;
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
	return box->clock + (uint64_t)((level_t)w->now * box->pace / MILLION);
}

/* The first time at which a box's clock shows so much. */
static uint64_t true_time(const struct box *box, uint64_t clock)
{
	level_t at = ((level_t)(clock - box->clock) * MILLION + box->pace - 1) / box->pace;

	return (uint64_t)at;
}

static void add(
	struct world *w, uint64_t at, enum happening what, const struct box *box, void *object)
{
	uint64_t argument = what;

	if (box)
		argument |= (uint64_t)(box - w->boxes) << 8 | (uint64_t)box->life << 32;
	if (events_add(&w->events, at, NULL, object, argument)) {
		w->result->error = true;
		free(object);
	}
}

static void fill(struct bucket *b, uint64_t now)
{
	b->level += (level_t)(now - b->at_ns) * b->rate;
	if (b->level > b->most)
		b->level = b->most;
	b->at_ns = now;
}

/* A rate that rises brings room, not tokens; one that falls takes what does not fit any more. */
static void set_rate(struct bucket *b, uint64_t now, uint64_t rate, uint64_t most)
{
	fill(b, now);
	b->rate = rate;
	b->most = (level_t)most * NANO;
	if (b->level > b->most)
		b->level = b->most;
}

static uint64_t share_of(const struct world *w, const struct box *box, uint64_t limit)
{
	return conserve_share(&w->params.overlay, (unsigned)(box - w->boxes), limit);
}

/* The limit that is in force: where it falls, the old one until the workers have heard. */
static uint64_t shares(const struct world *w)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct box *box = &w->boxes[i];
		uint64_t now = share_of(w, box, box->limit);
		uint64_t taken = box->up ? share_of(w, box, box->limit_taken) : 0;

		sum += (now > taken ? now : taken) + box->debt;
	}
	return sum;
}

/*
 * The burst that all may have together: each divides it by the limit that it knows, and while they
 * know different ones (of some, only their workers do not yet) that is at least the smallest.
 */
static uint64_t bursts(const struct world *w, uint64_t bound)
{
	uint64_t least = w->limit;

	for (unsigned i = 0; i < w->n; i++) {
		const struct box *box = &w->boxes[i];

		least = box->limit < least ? box->limit : least;
		if (box->up)
			least = box->limit_taken < least ? box->limit_taken : least;
	}
	return (uint64_t)(((level_t)w->burst * bound + least - 1) / least);
}

static void check_sums(struct world *w)
{
	uint64_t usable = 0, enforced = 0, bound = shares(w);

	for (unsigned i = 0; i < w->n; i++) {
		const struct box *box = &w->boxes[i];

		if (!box->up)
			continue;
		usable += conserve_limit(box->c, 0, local(w, box), NULL);
		enforced += box->enforced;
	}
	if (usable > bound)
		torture_complain(w->result, "usable %llu of %llu", (unsigned long long)usable,
			(unsigned long long)bound);
	if (enforced > bound)
		torture_complain(w->result, "enforced %llu of %llu", (unsigned long long)enforced,
			(unsigned long long)bound);
	set_rate(&w->bound, w->now, bound, bursts(w, bound));
	w->result->checks++;
}

static unsigned back(const struct conserve *c, unsigned self)
{
	unsigned e = 0;

	while (e < conserve_edges(c) && conserve_edge(c, 0, e, 0).peer != self)
		e++;
	return e;
}

/* What came over each edge is no more than what may have gone. */
static void check_books(struct world *w, struct box *box)
{
	unsigned self = (unsigned)(box - w->boxes);
	struct conserve_view view = conserve_view(box->c, 0, local(w, box));
	int64_t balance = (int64_t)view.share;

	box->debt = (int64_t)view.promised > view.balance
			    ? (uint64_t)((int64_t)view.promised - view.balance)
			    : 0;
	if (box->debt > 0 && !w->falls)
		torture_complain(w->result, "a debt of %llu", (unsigned long long)box->debt);
	for (unsigned e = 0; e < conserve_edges(box->c); e++) {
		struct conserve_edge_view mine = conserve_edge(box->c, 0, e, 0);
		const struct box *peer = &w->boxes[mine.peer];
		struct ledger_view its;

		balance += (int64_t)mine.ledger.received - (int64_t)mine.ledger.granted;
		if (peer->lost || !peer->c)
			continue;
		its = conserve_edge(peer->c, 0, back(peer->c, self), 0).ledger;
		if (mine.ledger.received > its.locked)
			torture_complain(w->result, "received %llu of %llu",
				(unsigned long long)mine.ledger.received,
				(unsigned long long)its.locked);
	}
	if (balance != view.balance)
		torture_complain(w->result, "the books: %lld, not %lld", (long long)view.balance,
			(long long)balance);
}

/* The workers take what may be enforced now, which ends by itself. */
static void take(struct world *w, struct box *box)
{
	box->enforced = conserve_limit(box->c, 0, local(w, box), &box->until);
	box->limit_taken = box->limit;
	box->taking = false;
	set_rate(&box->bucket, w->now, box->enforced,
		conserve_burst(box->c, 0, w->burst, box->enforced));
	if (box->until < UINT64_MAX)
		add(w, true_time(box, box->until), LEASE, box, NULL);
}

static void spend(struct world *w, struct box *box)
{
	fill(&box->bucket, w->now);
	fill(&w->bound, w->now);
	if (box->bucket.level > w->bound.level) {
		torture_complain(w->result, "admitted %llu beyond the limit",
			(unsigned long long)((box->bucket.level - w->bound.level) / NANO));
		return;
	}
	w->bound.level -= box->bucket.level;
	box->bucket.level = 0;
}

static void start_taking(struct world *w, struct box *box)
{
	box->taking = true;
	box->taking_since++;
	add(w, w->now + within(w, 20 * MS), TAKEN, box, (void *)(uintptr_t)box->taking_since);
}

static int keep(void *context, uint32_t id, const void *record, size_t len)
{
	struct box *box = context;

	(void)id;
	if (len > RECORD)
		abort();
	memcpy(box->coming, record, len);
	box->coming_len = len;
	return 0;
}

static void post(struct world *w, struct box *box)
{
	unsigned self = (unsigned)(box - w->boxes), to;
	struct letter letter = {.from = self};

	while ((letter.len = conserve_send(box->c, local(w, box), letter.bytes, ROOM, &to)) > 0) {
		letter.to = to;
		if (chance(w, 5))
			w->late[below(w, LATE)] = letter;
		if (w->sides[self] != w->sides[to] || chance(w, w->loss))
			continue;
		for (unsigned copies = !w->calm && chance(w, 4) ? 2 : 1; copies > 0; copies--) {
			struct letter *copy = malloc(sizeof(*copy));
			uint64_t delay = MS + within(w, 30 * MS);

			if (!copy) {
				w->result->error = true;
				return;
			}
			*copy = letter;
			if (!w->calm && chance(w, 10))
				delay += within(w, 4 * SECOND);
			add(w, w->now + delay, LETTER, NULL, copy);
		}
	}
}

/* What has to follow whatever has just happened to a box. */
static void go_on(struct world *w, struct box *box)
{
	if (box->lost && !conserve_view(box->c, 0, local(w, box)).blank)
		box->lost = false;
	if (!box->saving && conserve_unsettled(box->c) && conserve_save(box->c, keep, box) == 0) {
		box->saving = true;
		box->written = box->taken = false;
		start_taking(w, box);
		box->saved_at = box->taking_since;
		add(w, w->now + within(w, chance(w, 90) ? 30 * MS : 2 * SECOND), WRITTEN, box,
			NULL);
	} else if (!box->taking &&
		   conserve_limit(box->c, 0, local(w, box), NULL) != box->enforced) {
		start_taking(w, box);
	}
	if (!w->hoards && chance(w, 30))
		spend(w, box);
	post(w, box);
	if (!box->lost)
		check_books(w, box);
}

static void settle(struct world *w, struct box *box)
{
	(void)w;
	if (!box->saving || !box->written || !box->taken)
		return;
	box->saving = false;
	conserve_settled(box->c);
}

static struct conserve *make(struct world *w, struct box *box, bool blank)
{
	struct conserve_policy policy = {
		.id = POLICY, .limit = box->limit, .indicator = w->indicator};
	struct conserve_record record = {POLICY, box->record, box->record_len};
	struct conserve_params params = w->params;
	struct conserve *c = NULL;
	int ret;

	params.self = (unsigned)(box - w->boxes);
	params.policies = &policy;
	params.n_policies = 1;
	params.records = &record;
	params.n_records = box->record_len > 0 && !blank;
	params.blank = blank;
	params.epoch = ++w->epoch;
	ret = conserve_create(&params, local(w, box), &c);
	if (ret)
		torture_failed(w->result, "conserve_create", ret);
	return c;
}

static void start(struct world *w, struct box *box, bool blank)
{
	/* Its clock begins anywhere, also before where it was. */
	box->clock = within(w, 1000 * SECOND);
	conserve_destroy(box->c);
	box->c = make(w, box, blank);
	if (!box->c)
		return;
	box->up = true;
	box->life++;
	box->lost = blank;
	box->saving = false;
	box->limit_taken = box->limit;
	box->bucket = (struct bucket){.at_ns = w->now};
	take(w, box);
	add(w, w->now + within(w, box->tick_ns), TICK, box, NULL);
	go_on(w, box);
}

/* Nobody admits anything for a while, and then all do at once. */
static void spend_all(struct world *w)
{
	w->hoards = !w->hoards && chance(w, 50);
	for (unsigned i = 0; i < w->n; i++)
		if (w->boxes[i].up && !w->hoards)
			spend(w, &w->boxes[i]);
}

static void restart(struct world *w, struct box *box)
{
	if (box->up)
		return;
	w->result->restarts++;
	w->result->blanks += box->lost;
	start(w, box, box->lost);
	/* It began with an empty bucket, or there would now be more than the burst. */
	if (w->hoards && chance(w, 50))
		spend_all(w);
}

static bool somebody_lost(const struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->boxes[i].lost)
			return true;
	return false;
}

/* With the newest record; or without, but no two at a time: see ledger.h. */
static void crash(struct world *w, struct box *box)
{
	bool lost = box->lost, known = box->record_len > 0;

	if (box->saving && chance(w, 50)) {
		memcpy(box->record, box->coming, box->coming_len);
		box->record_len = box->coming_len;
		known = true;
	}
	if (!lost && (!known || (w->forgets && chance(w, 25)))) {
		if (somebody_lost(w) || (w->falls && !known))
			return;
		lost = !w->falls;
	}
	if (chance(w, 50))
		spend(w, box);
	conserve_destroy(box->c);
	box->c = NULL;
	box->up = false;
	box->life++;
	box->lost = lost;
	box->enforced = 0;
	if (lost)
		box->record_len = 0;
	else
		box->c = make(w, box, false);
	if (box->c)
		check_books(w, box);
	add(w,
		w->now + within(w, chance(w, 30)   ? 100 * MS
				   : chance(w, 60) ? 5 * SECOND
						   : 60 * SECOND),
		UP, box, NULL);
}

/* Everybody is told of another limit, each at its own time. */
static void learn(struct world *w, struct box *box)
{
	struct conserve_policy policy = {
		.id = POLICY, .limit = w->limit, .indicator = w->indicator};
	int ret;

	if (!box->c || box->limit == w->limit)
		return;
	ret = conserve_update(box->c, &policy, 1, local(w, box));
	if (ret)
		torture_failed(w->result, "conserve_update", ret);
	box->limit = w->limit;
	if (!box->lost)
		check_books(w, box);
}

static void shift_demand(struct world *w)
{
	double sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		w->demands[i] = chance(w, 50) ? prng_unit(&w->prng) : chance(w, 50) ? 5 : 0;
		sum += w->demands[i];
	}
	for (unsigned i = 0; i < w->n; i++)
		w->demands[i] *= (double)w->limit / (sum > 0 ? sum : 1);
}

static void trouble(struct world *w)
{
	struct box *box = &w->boxes[below(w, w->n)];
	uint64_t limit = w->limit;

	switch (below(w, 8)) {
	case 0:
		if (box->up)
			crash(w, box);
		break;
	case 1:
		w->sides[below(w, w->n)] ^= 1;
		break;
	case 2:
		memset(w->sides, 0, sizeof(w->sides));
		break;
	case 3:
		if (chance(w, 30))
			w->limit = w->falls ? limit / 4 + within(w, limit) : limit + limit / 16;
		break;
	case 4:
	case 5:
		spend_all(w);
		break;
	default:
		shift_demand(w);
	}
	add(w, w->now + within(w, 12 * SECOND), TROUBLE, NULL, NULL);
}

static void be_calm(struct world *w)
{
	w->calm = true;
	w->hoards = false;
	w->loss = 0;
	memset(w->sides, 0, sizeof(w->sides));
	for (unsigned i = 0; i < w->n; i++)
		restart(w, &w->boxes[i]);
}

static void tick(struct world *w, struct box *box)
{
	unsigned self = (unsigned)(box - w->boxes);
	/* What it believes of the others' demands is not what they are. */
	double noise = w->calm ? 1 : 0.8 + 0.4 * prng_unit(&w->prng);
	struct gdrl_measure measure = {
		.demand = w->demands[self] * noise, .dropped = -1, .packet = 1000};

	learn(w, box);
	conserve_measure(box->c, 0, &measure);
	conserve_tick(box->c, local(w, box));
	add(w, w->now + box->tick_ns, TICK, box, NULL);
}

static void written(struct world *w, struct box *box)
{
	if (!w->calm && chance(w, 5)) {
		/* It may have got there all the same. */
		if (chance(w, 50)) {
			memcpy(box->record, box->coming, box->coming_len);
			box->record_len = box->coming_len;
		}
		box->saving = false;
		conserve_save_failed(box->c);
		return;
	}
	memcpy(box->record, box->coming, box->coming_len);
	box->record_len = box->coming_len;
	box->written = true;
	settle(w, box);
}

static void taken(struct world *w, struct box *box, uint64_t number)
{
	take(w, box);
	if (box->saving && number >= box->saved_at)
		box->taken = true;
	settle(w, box);
}

static void hear(struct world *w, const struct letter *letter)
{
	struct box *box = &w->boxes[letter->to];

	if (!box->up || letter->len == 0)
		return;
	if (conserve_hear(box->c, letter->from, local(w, box), letter->bytes, letter->len) < 0)
		torture_complain(w->result, "a letter that cannot be read");
	go_on(w, box);
}

static void box_event(struct world *w, struct box *box, enum happening what, void *object)
{
	if (what == UP) {
		restart(w, box);
		return;
	}
	switch (what) {
	case TICK:
		tick(w, box);
		break;
	case TAKEN:
		taken(w, box, (uint64_t)(uintptr_t)object);
		break;
	case WRITTEN:
		if (box->saving)
			written(w, box);
		break;
	default:
		take(w, box);
	}
	go_on(w, box);
}

/* Everything is somewhere: nobody is blank, nothing is under way, and all of it may be used. */
static bool is_whole(const struct world *w, uint64_t *usable)
{
	bool whole = true;

	*usable = 0;
	for (unsigned i = 0; i < w->n; i++) {
		const struct box *box = &w->boxes[i];
		struct conserve_view view = conserve_view(box->c, 0, local(w, box));

		whole = whole && !view.blank && view.in_flight == 0 && view.balance >= 0;
		*usable += view.usable;
	}
	return whole && *usable == w->limit;
}

/* Between two moves, as some go on for ever; what was whole once goes on so. */
static void look_for_rest(struct world *w)
{
	uint64_t usable;

	if (!w->whole && w->now > w->end - w->end / HEAL / 2)
		w->whole = is_whole(w, &usable);
}

static void happen(struct world *w, const struct event *event)
{
	enum happening what = (enum happening)(event->argument & 0xff);
	struct box *box = &w->boxes[event->argument >> 8 & 0xff];

	w->now = event->at_ns;
	switch (what) {
	case LETTER:
		hear(w, event->object);
		free(event->object);
		if (!w->calm && chance(w, 3))
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
			box_event(w, box, what, event->object);
	}
	check_sums(w);
	look_for_rest(w);
}

static void check_end(struct world *w)
{
	uint64_t usable;

	if (w->whole || is_whole(w, &usable))
		return;
	w->result->lost = w->limit > usable ? w->limit - usable : 0;
	torture_complain(w->result, "%llu of %llu in the end", (unsigned long long)usable,
		(unsigned long long)w->limit);
}

static void draw_overlay(struct world *w, struct overlay_params *overlay)
{
	*overlay = (struct overlay_params){
		.shape = chance(w, 80) ? OVERLAY_RANDOM : OVERLAY_RING,
		.ids = w->ids,
		.n = w->n,
		.degree = chance(w, 60) ? 0 : 2 + below(w, 3),
		.spares = below(w, 3),
	};
}

static void draw(struct world *w)
{
	static const char *const names[] = {"spare", "utilisation", "loss", "drops", "delay"};

	w->limit = 100000 + within(w, chance(w, 20) ? UINT64_C(50000000000) : 1000000);
	w->burst = 1 + within(w, chance(w, 50) ? w->limit / 8 : 8 * w->limit);
	w->lease = 4 * SECOND + within(w, 6 * SECOND);
	w->falls = chance(w, 30);
	w->forgets = !w->falls && chance(w, 50);
	w->loss = chance(w, 60) ? below(w, 35) : 0;
	w->indicator = w->c->guarantee == TORTURE_GDRL ? gdrl_indicator_find(names[below(w, 5)])
						       : NULL;
	for (unsigned i = 0; i < w->n; i++)
		w->ids[i] = 1000 + i * 17 % 31;
	w->params = (struct conserve_params){
		.lease_ns = w->lease,
		.drift_ppm = (const uint32_t[]){0, 100, 20000}[below(w, 3)],
		.repeat_ns = SECOND,
		.promise = (const unsigned[]){0, 50, 90, 100}[below(w, 4)],
	};
	draw_overlay(w, &w->params.overlay);
}

static void populate(struct world *w)
{
	uint32_t drift = w->params.drift_ppm;

	for (unsigned i = 0; i < w->n; i++) {
		struct box *box = &w->boxes[i];

		box->pace = MILLION - drift +
			    (chance(w, 60) ? 2 * drift * below(w, 2) : below(w, 2 * drift + 1));
		box->tick_ns = SECOND / 2 + within(w, SECOND);
		box->limit = w->limit;
		start(w, box, false);
	}
	shift_demand(w);
}

void torture_rates(const struct torture_case *c, struct torture_result *result)
{
	struct world *w = calloc(1, sizeof(*w));
	struct event event;

	*result = (struct torture_result){.error = !w};
	if (!w)
		return;
	w->c = c;
	w->n = c->limiters;
	w->result = result;
	prng_seed(&w->prng, c->seed);
	w->end = c->minutes * 60 * SECOND;
	draw(w);
	w->bound = (struct bucket){
		.level = (level_t)w->burst * NANO, .most = (level_t)w->burst * NANO};
	populate(w);
	add(w, within(w, 12 * SECOND), TROUBLE, NULL, NULL);
	add(w, w->end - w->end / HEAL, CALM, NULL, NULL);
	while (!result->violated && !result->error && events_take(&w->events, w->end, &event))
		happen(w, &event);
	if (!result->violated && !result->error)
		check_end(w);
	for (unsigned i = 0; i < w->n; i++) {
		if (w->boxes[i].c)
			result->moves += conserve_counters(w->boxes[i].c)->grants;
		conserve_destroy(w->boxes[i].c);
	}
	while (events_take(&w->events, UINT64_MAX, &event))
		if ((event.argument & 0xff) == LETTER)
			free(event.object);
	events_free(&w->events);
	free(w);
}
