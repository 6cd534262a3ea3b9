/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rates: lib/control/conserve, and what an appliance has around it, which are workers that take a
 * new limit a little later, and a disk that is slower and sometimes full. After each event:
 *
 *   - what the workers enforce, and what might be enforced, is in sum within the limit (one that
 *     falls counts until the workers have heard, and the debts of those who had given it away);
 *   - who has received something, it was granted or promised, and its books are right;
 *   - where bursts move by themselves (adaptor), the same of them: no more than the burst, ever;
 *   - buckets that admit all they may, now or when it hurts most, together conform to one bucket of
 *     that limit and of the burst, exactly.
 *
 * In the end all is well again for a while, and every byte per second is somewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "torture_world.h"

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
	if (events_at(&w->events, at, NULL, object, argument)) {
		w->result->error = true;
		free(object);
	}
}

static uint64_t burst_of(const struct world *w, const struct box *box)
{
	if (w->accounts > BURST)
		return box->enforced[BURST];
	return conserve_burst(box->c, RATE, w->burst, box->enforced[RATE]);
}

/* The workers take what may be enforced now, which ends by itself. */
static void take(struct world *w, struct box *box)
{
	uint64_t until;

	box->until = UINT64_MAX;
	for (unsigned a = 0; a < w->accounts; a++) {
		box->enforced[a] = conserve_limit(box->c, a, world_clock(w, box), &until);
		box->until = until < box->until ? until : box->until;
	}
	box->limit_taken = box->limit;
	box->taking = false;
	bucket_set(&box->bucket, w->now, box->enforced[RATE], burst_of(w, box));
	if (box->until < UINT64_MAX)
		add(w, true_time(box, box->until), LEASE, box, NULL);
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
	struct torture_page *page = &box->pages[id - 1];

	if (len > RECORD)
		abort();
	memcpy(page->coming, record, len);
	page->coming_len = len;
	return 0;
}

static void post(struct world *w, struct box *box)
{
	unsigned self = (unsigned)(box - w->boxes), to;
	struct letter letter = {.from = self};

	while ((letter.len = conserve_send(box->c, world_clock(w, box), letter.bytes, ROOM, &to)) >
		0) {
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

/* A disk has all records of a round, or none. */
static void keep_all(const struct world *w, struct box *box)
{
	for (unsigned a = 0; a < w->accounts; a++) {
		struct torture_page *page = &box->pages[a];

		if (page->coming_len == 0)
			continue;
		memcpy(page->record, page->coming, page->coming_len);
		page->record_len = page->coming_len;
	}
}

static int save(struct box *box)
{
	for (unsigned a = 0; a < BOTH; a++)
		box->pages[a].coming_len = 0;
	return book_save(conserve_book(box->c), keep, box);
}

static bool is_blank(const struct world *w, const struct box *box)
{
	bool blank = false;

	for (unsigned a = 0; a < w->accounts; a++)
		blank |= conserve_view(box->c, a, world_clock(w, box)).blank;
	return blank;
}

static bool is_news(const struct world *w, const struct box *box)
{
	bool news = false;

	for (unsigned a = 0; a < w->accounts; a++)
		news |= world_usable(w, box, a) != box->enforced[a];
	return news;
}

/* What has to follow whatever has just happened to a box. */
static void go_on(struct world *w, struct box *box)
{
	if (box->lost && !is_blank(w, box))
		box->lost = false;
	if (!box->saving && book_unsaved(conserve_book(box->c)) && save(box) == 0) {
		box->saving = true;
		box->written = box->taken = false;
		start_taking(w, box);
		box->saved_at = box->taking_since;
		add(w, w->now + within(w, chance(w, 90) ? 30 * MS : 2 * SECOND), WRITTEN, box,
			NULL);
	} else if (!box->taking && is_news(w, box)) {
		start_taking(w, box);
	}
	if (!w->hoards && chance(w, 30))
		world_spend(w, box);
	post(w, box);
	if (!box->lost)
		world_check_books(w, box);
}

static void settle(struct world *w, struct box *box)
{
	(void)w;
	if (!box->saving || !box->written || !box->taken)
		return;
	box->saving = false;
	book_committed(conserve_book(box->c));
}

/* Accounts have ids from 1. */
static void describe(const struct world *w, uint64_t limit, struct conserve_policy policies[BOTH])
{
	policies[RATE] = (struct conserve_policy){
		.id = RATE + 1, .limit = limit, .indicator = w->indicator};
	policies[BURST] = (struct conserve_policy){.id = BURST + 1, .limit = w->burst};
}

static unsigned records_of(const struct box *box, struct book_record records[BOTH])
{
	unsigned n = 0;

	for (unsigned a = 0; a < BOTH; a++)
		if (box->pages[a].record_len > 0)
			records[n++] = (struct book_record){
				a + 1, box->pages[a].record, box->pages[a].record_len};
	return n;
}

static struct conserve *make(struct world *w, struct box *box, bool blank)
{
	struct conserve_policy policies[BOTH];
	struct book_record records[BOTH];
	struct conserve_params params = w->params;
	struct conserve *c = NULL;
	int ret;

	describe(w, box->limit, policies);
	params.self = (unsigned)(box - w->boxes);
	params.policies = policies;
	params.n_policies = w->accounts;
	params.records = records;
	params.n_records = blank ? 0 : records_of(box, records);
	params.blank = blank;
	params.epoch = ++w->epoch;
	ret = conserve_create(&params, world_clock(w, box), &c);
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
			world_spend(w, &w->boxes[i]);
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
	bool lost = box->lost, known = true;

	if (box->saving && chance(w, 50))
		keep_all(w, box);
	for (unsigned a = 0; a < w->accounts; a++)
		known &= box->pages[a].record_len > 0;
	if (!lost && (!known || (w->forgets && chance(w, 25)))) {
		if (somebody_lost(w) || (w->falls && !known))
			return;
		lost = !w->falls;
	}
	if (chance(w, 50))
		world_spend(w, box);
	conserve_destroy(box->c);
	box->c = NULL;
	box->up = false;
	box->life++;
	box->lost = lost;
	memset(box->enforced, 0, sizeof(box->enforced));
	if (lost)
		memset(box->pages, 0, sizeof(box->pages));
	else
		box->c = make(w, box, false);
	if (box->c)
		world_check_books(w, box);
	add(w,
		w->now + within(w, chance(w, 30)   ? 100 * MS
				   : chance(w, 60) ? 5 * SECOND
						   : 60 * SECOND),
		UP, box, NULL);
}

/* Everybody is told of another limit, each at its own time. */
static void learn(struct world *w, struct box *box)
{
	struct conserve_policy policies[BOTH];
	int ret;

	if (!box->c || box->limit == w->limit)
		return;
	describe(w, w->limit, policies);
	ret = conserve_update(box->c, policies, w->accounts, world_clock(w, box));
	if (ret)
		torture_failed(w->result, "conserve_update", ret);
	box->limit = w->limit;
	if (!box->lost)
		world_check_books(w, box);
}

static void shift(struct world *w, unsigned account)
{
	double *demands = w->demands[account], sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		demands[i] = chance(w, 50) ? prng_unit(&w->prng) : chance(w, 50) ? 5 : 0;
		sum += demands[i];
	}
	for (unsigned i = 0; i < w->n; i++)
		demands[i] *= (double)world_total(w, account) / (sum > 0 ? sum : 1);
}

/* Who has much of the one need not have much of the other. */
static void shift_demand(struct world *w)
{
	for (unsigned a = 0; a < w->accounts; a++)
		shift(w, a);
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
		.demand = w->demands[RATE][self] * noise, .dropped = -1, .packet = 1000};

	learn(w, box);
	conserve_measure(box->c, RATE, &measure);
	if (w->accounts > BURST)
		conserve_target(box->c, BURST, w->demands[BURST][self] * noise);
	conserve_tick(box->c, world_clock(w, box));
	add(w, w->now + box->tick_ns, TICK, box, NULL);
}

static void written(struct world *w, struct box *box)
{
	if (!w->calm && chance(w, 5)) {
		/* It may have got there all the same. */
		if (chance(w, 50))
			keep_all(w, box);
		box->saving = false;
		book_save_failed(conserve_book(box->c));
		return;
	}
	keep_all(w, box);
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
	if (conserve_hear(box->c, letter->from, world_clock(w, box), letter->bytes, letter->len) <
		0)
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
	world_check_sums(w);
	world_look_for_rest(w);
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
	w->accounts = c->guarantee == TORTURE_ADAPTOR ? BOTH : 1;
	draw(w);
	w->bound = (struct bucket){
		.level = (level_t)w->burst * NANO, .most = (level_t)w->burst * NANO};
	populate(w);
	add(w, within(w, 12 * SECOND), TROUBLE, NULL, NULL);
	add(w, w->end - w->end / HEAL, CALM, NULL, NULL);
	while (!result->violated && !result->error && events_take(&w->events, w->end, &event))
		happen(w, &event);
	if (!result->violated && !result->error)
		world_check_end(w);
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
