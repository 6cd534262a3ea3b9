/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Timed queues: each packet's departure is fixed when it arrives.
 */
#include "shape/shape_private.h"

typedef unsigned __int128 edt_t; /* 2^-64 ticks */

/* One unit in 2^30 ticks, which are half a second to a second. Lower limits grant nothing. */
#define EDT_RATE_LEAST (INT64_C(1) << 26)

#define EDT_DEPTH_MOST (UINT64_C(1) << 62) /* ticks: a bucket that never fills */

static inline edt_t edt_join(uint64_t ticks, uint64_t part)
{
	return (edt_t)ticks << 64 | part;
}

/* The time of so many units. */
static inline edt_t edt_ticks(const struct shape_edt *edt, uint32_t units)
{
	return (edt_t)units * edt->gap_part + ((edt_t)((uint64_t)units * edt->gap) << 64);
}

/*
 * Sets the time of one unit: 2^120 over the rate, rounded up, because a unit is 2^56 tokens.
 * Returns false if the limit is too low.
 */
static inline bool edt_invert(struct shape_edt *edt, int64_t rate)
{
	edt_t gap;

	if (rate < EDT_RATE_LEAST)
		return false;
	gap = (((edt_t)1 << 120) - 1) / (uint64_t)rate + 1;
	edt->gap = (uint32_t)(gap >> 64);
	edt->gap_part = (uint64_t)gap;
	return true;
}

#define SEARCH   16 /* calendar chunks searched in one call for packets that leave */
#define LATE_NOT UINT64_MAX

/* Returns whether the newest packet has not been released yet: later packets then go after it. */
static inline bool edt_is_waiting(const struct shaper *shaper, const struct shape_edt *edt)
{
	return !tick_after(shaper->calendar.base, edt->last);
}

/* Moves the base up to the first slot that is not empty. Returns whether `due` is then reached. */
static __attribute__((noinline)) bool advance_calendar(
	struct shaper *shaper, uint64_t due, uint64_t now)
{
	struct calendar *calendar = &shaper->calendar;
	uint64_t start = calendar_start(calendar, tick_earlier(due, now));

	calendar_settle(calendar);
	calendar->base = tick_later(calendar->base, tick_earlier(start, calendar_first(calendar)));
	return calendar_reaches(calendar, due);
}

static inline bool is_pool_full(const struct shaper *shaper)
{
	return shaper->counts.packets + shaper->gone >= shaper->counts.most;
}

/* Files a packet until it is due. calendar_reaches() its due tick. */
static inline enum shape_verdict file_packet(
	struct shaper *shaper, struct shape_edt *edt, struct shape_packet *packet, uint64_t due)
{
	edt->last = due;
	calendar_file(&shaper->calendar, packet, due);
	counter_add32(&shaper->counts.packets, 1);
	return SHAPE_WAITS;
}

/*
 * Returns whether the queue is full for this packet. Packets of a previous limit are not measured
 * by the present one, because they leave before it begins.
 */
static __attribute__((noinline)) bool is_full(
	const struct shape_queue *queue, uint64_t arrival, uint64_t due)
{
	uint64_t from = tick_later(arrival, queue->announced.from);

	return due - arrival > queue->patience ||
	       (tick_after(due, from) && due - from > queue->edt.ahead);
}

/* Takes a packet that nothing else refuses. */
static inline enum shape_verdict queue_until_due(struct shaper *shaper, struct shape_edt *edt,
	struct shape_packet *packet, uint64_t due, uint64_t now)
{
	if (__builtin_expect(!calendar_reaches(&shaper->calendar, due), 0) &&
		!advance_calendar(shaper, due, now)) {
		/*
		 * The worker is very late. If the packet is due already, it leaves with the one
		 * before it, which the calendar reaches.
		 */
		if (tick_after(due, now))
			return SHAPE_FULL;
		due = edt->last;
	}
	return file_packet(shaper, edt, packet, due);
}

/* Queues a packet after those that wait, if there is room. It leaves no earlier than they do. */
static inline enum shape_verdict wait_behind(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint64_t arrival, uint64_t due, uint64_t now)
{
	struct shape_edt *edt = &queue->edt;

	due = tick_later(due, edt->last);
	if (due - arrival > edt->ahead && is_full(queue, arrival, due))
		return SHAPE_FULL;
	if (is_pool_full(shaper))
		return SHAPE_POOL_FULL;
	return queue_until_due(shaper, edt, packet, due, now);
}

/* Ticks in which so much virtual time of the shared bucket comes, or one more. */
static uint64_t ticks_of(const struct shape_edt *edt, uint64_t lack, uint64_t rate)
{
	edt_t ticks = ((edt_t)lack * edt->gap_part >> 64) + (edt_t)lack * edt->gap;

	if (rate == edt->depth)
		return (uint64_t)(ticks >> GCRA_SHIFT) + 1;
	/* Between the shared bucket's change and the queue's. */
	return (uint64_t)(((tokens_t)lack << (TOKEN_SHIFT - GCRA_SHIFT)) / rate) + 1;
}

/* Takes a packet of a queue with its own bucket. */
static inline enum shape_verdict arrive_own(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now)
{
	struct shape_edt *edt = &queue->edt;
	edt_t full = edt_join(edt->full, edt->full_part), least = edt_join(arrival, 0), start;
	edt_t depth = edt_join(edt->depth, edt->depth_part), need = edt_ticks(edt, cost);
	enum shape_verdict verdict = SHAPE_PASSES;
	uint64_t due;

	if (__builtin_expect(need > depth, 0)) /* the bucket is as deep as the cost */
		least -= need - depth;
	if ((__int128)(least - full) > 0)
		full = least;
	full += need;
	start = full - depth;
	due = tick_later((uint64_t)(start >> 64) + ((uint64_t)start != 0), arrival);
	if (tick_after(due, now) || edt_is_waiting(shaper, edt))
		verdict = wait_behind(shaper, queue, packet, arrival, due, now);
	if (__builtin_expect(verdict <= SHAPE_WAITS, 1)) {
		edt->full = (uint64_t)(full >> 64);
		edt->full_part = (uint64_t)full;
	}
	return verdict;
}

/* Takes a packet of a queue with a shared bucket. */
static __attribute__((noinline)) enum shape_verdict timed_arrive_shared_bucket(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet *packet,
	uint32_t cost, uint64_t arrival, uint64_t now)
{
	struct shape_edt *edt = &queue->edt;
	bool behind = edt_is_waiting(shaper, edt), pool_full = is_pool_full(shaper);
	uint64_t most = pool_full ? now - arrival : edt->full, due;
	struct shared_bucket_booking booking;

	/*
	 * A booking cannot be undone, so all other reasons to refuse the packet are checked first.
	 */
	if (behind && tick_later(edt->last, arrival) - arrival > edt->full)
		return SHAPE_FULL;
	if (behind && pool_full)
		return SHAPE_POOL_FULL;
	most -= most > 0; /* the tick by which `due` is rounded up */
	if (!shared_bucket_book_within(queue->shared, arrival, now, cost, most,
		    edt->ahead - (edt->ahead > 0), &booking))
		return pool_full ? SHAPE_POOL_FULL : SHAPE_FULL;
	due = booking.from;
	if (booking.lack)
		due += ticks_of(edt, booking.lack, booking.rate);
	if (!behind && !tick_after(due, now))
		return SHAPE_PASSES;
	return queue_until_due(shaper, edt, packet, tick_later(due, edt->last), now);
}

/* The first tick at which packets of leaving queues can be. */
static uint64_t sweep_position(const struct shaper *shaper)
{
	return tick_later(shaper->swept, shaper->calendar.base);
}

/*
 * Takes a packet of a queue in another state. A leaving queue passes packets once none waits in it.
 */
static __attribute__((noinline)) enum shape_verdict arrive_aside(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint32_t cost, uint64_t arrival,
	uint64_t now)
{
	bool leaving = queue->state & QUEUE_LEAVES;
	enum shape_verdict verdict;

	if (leaving && tick_after(sweep_position(shaper), queue->edt.last))
		return SHAPE_PASSES;
	if (queue->state & QUEUE_CLOSED)
		return SHAPE_FULL;
	if (queue->state & QUEUE_SHARED_BUCKET)
		verdict = timed_arrive_shared_bucket(shaper, queue, packet, cost, arrival, now);
	else
		verdict = arrive_own(shaper, queue, packet, cost, arrival, now);
	if (leaving && verdict == SHAPE_WAITS)
		shaper->until = tick_later(shaper->until, queue->edt.last);
	return verdict;
}

enum shape_verdict timed_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now)
{
	if (__builtin_expect(queue->state == SHAPE_TIMED, 1))
		return arrive_own(shaper, queue, packet, cost, arrival, now);
	return arrive_aside(shaper, queue, packet, cost, arrival, now);
}

/* Packets that are taken out, at most n. */
struct outgo {
	struct shape_packet **out;
	unsigned n, count;
};

static inline void take_out_packet(struct outgo *outgo, calendar_entry entry)
{
	outgo->out[outgo->count++] = (struct shape_packet *)(uintptr_t)(entry >> CALENDAR_LOW);
}

/* Takes packets out of a chunk, up to place `to`. Returns whether all have left. */
static inline bool drain_chunk(
	struct shaper *shaper, struct outgo *outgo, struct calendar_head *head, uint32_t to)
{
	const union calendar_place *places = shaper->calendar.places;
	uint32_t place = head->from;

	for (; place < to; place++) {
		if (__builtin_expect(places[place].entry == 0, 0)) {
			shaper->gone--;
			continue;
		}
		if (outgo->count == outgo->n)
			break;
		take_out_packet(outgo, places[place].entry);
	}
	head->from = place;
	return place == to;
}

/* Counts the lateness of packets of one chunk. The first stands for all: they are of one slot. */
static inline void be_late(
	struct shaper *shaper, calendar_entry entry, uint64_t late, uint32_t packets)
{
	struct shaper_counts *counts = &shaper->counts;
	uint64_t low = entry & ((1 << CALENDAR_LOW) - 1);
	unsigned bin = delay_bin(late - low, counts->lateness_unit);

	counter_add32(&counts->lateness.bins[bin], packets);
}

/*
 * Takes packets out of the slot at the base. late: ticks since the slot began, or LATE_NOT if they
 * leave before they are due. Returns whether the slot is empty now.
 */
static inline bool drain_slot(
	struct shaper *shaper, struct outgo *outgo, unsigned slot, uint64_t late)
{
	struct calendar *calendar = &shaper->calendar;
	uint32_t chunk, last;

	do {
		struct calendar_head *head;
		uint32_t place, count = outgo->count;
		bool whole;

		last = calendar_last(calendar, slot);
		chunk = calendar_head(calendar, last)->next;
		head = calendar_head(calendar, chunk);
		place = head->from;
		__builtin_prefetch(calendar_head(calendar, head->next));
		whole = drain_chunk(shaper, outgo, head, calendar_to(calendar, slot, chunk));
		if (late != LATE_NOT && outgo->count > count)
			be_late(shaper, calendar->places[place].entry, late, outgo->count - count);
		if (!whole)
			return false;
	} while (!calendar_shorten(calendar, slot));
	return true;
}

static unsigned have_left(struct shaper *shaper, const struct outgo *outgo)
{
	counter_add32(&shaper->counts.packets, -outgo->count);
	return outgo->count;
}

unsigned timed_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n)
{
	struct calendar *calendar = &shaper->calendar;
	struct outgo outgo = {.out = out, .n = n};

	if (tick_after(calendar->soon, now))
		return 0;
	calendar_settle(calendar);
	while (outgo.count < n) {
		uint64_t first = calendar_first(calendar), start = calendar_start(calendar, now);

		calendar->base = tick_earlier(first, start);
		calendar->soon = calendar_end(calendar, first);
		if (!tick_after(start, first))
			break;
		if (drain_slot(shaper, &outgo, calendar_slot(calendar, first), now - first))
			calendar->base = calendar_end(calendar, first);
	}
	return have_left(shaper, &outgo);
}

unsigned timed_flush(struct shaper *shaper, struct shape_packet **out, unsigned n)
{
	struct calendar *calendar = &shaper->calendar;
	struct outgo outgo = {.out = out, .n = n};

	calendar_settle(calendar);
	/* The base stays, because new packets can be due before those that are gone. */
	while (outgo.count < n && calendar->full.top)
		drain_slot(shaper, &outgo, calendar_slot(calendar, calendar_first(calendar)),
			LATE_NOT);
	return have_left(shaper, &outgo);
}

void shape_leave(struct shaper *shaper, struct shape_queue *queue)
{
	if (queue->state & QUEUE_LEAVES)
		return;
	queue->state |= QUEUE_LEAVES;
	shaper->swept = shaper->calendar.base;
	shaper->until = tick_later(shaper->until, queue->edt.last);
}

bool shaper_leaves(const struct shaper *shaper)
{
	return !tick_after(sweep_position(shaper), shaper->until);
}

/* Takes the packets of leaving queues out of a chunk, up to place `to`. Returns how many stay. */
static unsigned search_chunk(struct shaper *shaper, const struct shape_whose *whose,
	struct outgo *outgo, uint32_t chunk, uint32_t to)
{
	union calendar_place *places = shaper->calendar.places;
	uint32_t place = calendar_head(&shaper->calendar, chunk)->from;
	unsigned stay = 0;

	for (; place < to; place++) {
		calendar_entry *entry = &places[place].entry;
		const struct shape_packet *packet =
			(const struct shape_packet *)(uintptr_t)(*entry >> CALENDAR_LOW);

		if (!packet)
			continue;
		if (outgo->count == outgo->n ||
			!(whose->queue(packet, whose->context)->state & QUEUE_LEAVES)) {
			stay++;
			continue;
		}
		take_out_packet(outgo, *entry);
		*entry = 0;
		shaper->gone++;
	}
	return stay;
}

/*
 * Searches a slot. Returns the number of its chunks. Removes a slot in which no packet waits: when
 * no packet waits at all, shaper_release() is not called to remove it.
 */
static unsigned search_slot(
	struct shaper *shaper, const struct shape_whose *whose, struct outgo *outgo, unsigned slot)
{
	struct calendar *calendar = &shaper->calendar;
	uint32_t last = calendar_last(calendar, slot), chunk = last;
	unsigned chunks = 0, stay = 0;

	do {
		chunk = calendar_head(calendar, chunk)->next;
		stay += search_chunk(
			shaper, whose, outgo, chunk, calendar_to(calendar, slot, chunk));
		chunks++;
	} while (chunk != last);
	if (stay == 0)
		drain_slot(shaper, outgo, slot, LATE_NOT);
	return chunks;
}

unsigned shaper_flush_leaving(struct shaper *shaper, const struct shape_whose *whose,
	struct shape_packet **out, unsigned n)
{
	struct calendar *calendar = &shaper->calendar;
	struct outgo outgo = {.out = out, .n = n};

	calendar_settle(calendar);
	shaper->swept = sweep_position(shaper);
	for (unsigned chunks = 0; shaper_leaves(shaper) && outgo.count < n && chunks < SEARCH;) {
		unsigned at = calendar_slot(calendar, shaper->swept);
		unsigned slot = occupancy_first(&calendar->full, at);
		uint64_t start = shaper->swept +
				 ((uint64_t)((slot - at) % CALENDAR_SLOTS) << calendar->shift);

		if (slot == SLOTS_NONE || tick_after(start, shaper->until)) {
			shaper->swept = calendar_end(calendar, shaper->until);
			break;
		}
		shaper->swept = start;
		chunks += search_slot(shaper, whose, &outgo, slot);
		if (outgo.count < n)
			shaper->swept = calendar_end(calendar, start);
	}
	return have_left(shaper, &outgo);
}

/* The bucket's tokens at tick `at`, after which no packet leaves. */
static tokens_t level_at(const struct shape_queue *queue, uint64_t at)
{
	const struct shape_edt *edt = &queue->edt;
	edt_t level = edt_join(edt->depth, edt->depth_part);
	tokens_t burst = (tokens_t)queue->announced.profile.burst << TOKEN_FRACTION, tokens;
	uint64_t rate = (uint64_t)queue->announced.profile.rate;

	if (queue->state & QUEUE_CLOSED) { /* a closed queue has no times, see timed_limit() */
		tokens = (tokens_t)edt->full << 64 | edt->full_part;
		return tokens < burst ? tokens : burst;
	}
	if (!tick_after(at, edt->full))
		level -= edt_join(edt->full - at, edt->full_part);
	tokens = (level >> 64) * rate + (((level & UINT64_MAX) >> 32) * rate >> 32);
	return tokens < burst ? tokens : burst;
}

/* Computes the time that the whole bucket takes to fill. */
static void set_depth(struct shape_edt *edt, uint64_t burst)
{
	edt_t part = (edt_t)burst * edt->gap_part >> TOKEN_BYTE;
	edt_t whole = (edt_t)burst * edt->gap; /* 2^-24 ticks */
	edt_t depth = (edt_t)EDT_DEPTH_MOST << 64;

	if (whole >> (TOKEN_BYTE + 62) == 0)
		depth = part + (whole << (64 - TOKEN_BYTE));
	edt->depth = (uint64_t)(depth >> 64);
	edt->depth_part = (uint64_t)depth;
}

/* Sets the bucket's level at tick `at`. A bucket that never fills is set as full as possible. */
static void set_level(struct shape_edt *edt, uint64_t at, tokens_t tokens, uint64_t rate)
{
	edt_t full = edt_join(at, 0), depth = edt_join(edt->depth, edt->depth_part), level;

	if (tokens / rate <= edt->depth) {
		level = edt_join((uint64_t)(tokens / rate),
			(uint64_t)(((tokens_t)(uint64_t)(tokens % rate) << 64) / rate));
		full += depth - level;
	}
	edt->full = (uint64_t)(full >> 64);
	edt->full_part = (uint64_t)full;
}

static void set_ahead(struct shape_queue *queue)
{
	/* Rounded up, because due ticks are. */
	uint64_t most = (uint64_t)((edt_ticks(&queue->edt, queue->most) + UINT64_MAX) >> 64);

	most = most < queue->patience ? most : queue->patience;
	queue->edt.ahead = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
	if (queue->state & QUEUE_SHARED_BUCKET)
		queue->edt.full = queue->patience;
}

static void timed_set_limit(struct shape_queue *queue, const struct token_bucket_profile *profile)
{
	struct shape_edt *edt = &queue->edt;

	queue->announced.profile = *profile;
	queue->state &= (uint8_t)~QUEUE_CLOSED;
	if (!edt_invert(edt, profile->rate))
		queue->state |= QUEUE_CLOSED;
	else if (queue->state & QUEUE_SHARED_BUCKET)
		edt->depth = (uint64_t)profile->rate;
	else
		set_depth(edt, profile->burst);
	set_ahead(queue);
}

void timed_init(struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now)
{
	struct shape_edt *edt = &queue->edt;

	queue->state |= SHAPE_TIMED;
	edt->last = now - TICK_FAR; /* nothing waits */
	edt->full = now;
	edt->full_part = 0;
	queue->announced.from = queue->announced.at = now;
	timed_set_limit(queue, profile);
	if ((queue->state & (QUEUE_SHARED_BUCKET | QUEUE_CLOSED)) == QUEUE_CLOSED) /* no tokens */
		edt->full = 0;
}

void timed_spend(struct shape_queue *queue)
{
	if (queue->state & QUEUE_SHARED_BUCKET)
		return;
	if (queue->state & QUEUE_CLOSED)
		queue->edt.full = queue->edt.full_part = 0;
	else
		set_level(&queue->edt, queue->edt.full, 0, (uint64_t)queue->announced.profile.rate);
}

/*
 * The tick at which a limit begins that is set at `now`. It begins when the newest packet has left.
 * If the previous limit has not begun, or not been in force for its time, the new one begins after
 * that. So each limit is in force for its time, only later. The delay ends once the bucket is full,
 * because then no more than the grant has been used.
 */
static uint64_t limit_begin_time(const struct shape_queue *queue, uint64_t now)
{
	const struct shape_announced *announced = &queue->announced;
	const struct shape_edt *edt = &queue->edt;
	uint64_t after = announced->from + (now - announced->at);

	if (!(queue->state & (QUEUE_SHARED_BUCKET | QUEUE_CLOSED)))
		after = tick_earlier(after, edt->full + (edt->full_part > 0));
	return tick_later(tick_later(now, edt->last), after);
}

void timed_limit(
	struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now)
{
	bool own = !(queue->state & QUEUE_SHARED_BUCKET);
	uint64_t from = limit_begin_time(queue, now), at = tick_later(from, queue->announced.from);
	tokens_t level = own ? level_at(queue, at) : 0;
	tokens_t burst = (tokens_t)profile->burst << TOKEN_FRACTION;

	timed_set_limit(queue, profile);
	queue->announced.from = from;
	queue->announced.at = now;
	level = level < burst ? level : burst;
	if (!own)
		return;
	if (!(queue->state & QUEUE_CLOSED)) {
		set_level(&queue->edt, from, level, (uint64_t)profile->rate);
	} else { /* keeps its tokens */
		queue->edt.full = (uint64_t)(level >> 64);
		queue->edt.full_part = (uint64_t)level;
	}
}

void timed_change(struct shape_queue *queue, const struct shape_params *params, uint64_t now)
{
	uint64_t most, ahead = queue->announced.from - now;

	shape_set_patience(queue, params);
	set_ahead(queue);
	most = queue->patience;
	if ((int64_t)ahead <= 0 || ahead <= most)
		return;
	/* The limit begins within a packet's patience, or no packet would be accepted before. */
	queue->announced.from -= ahead - most;
	if (!(queue->state & (QUEUE_SHARED_BUCKET | QUEUE_CLOSED)))
		queue->edt.full -= ahead - most;
}
