/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queues whose packets' departures are settled as they arrive.
 */
#include "shape/edt.h"

#define SEARCH 256 /* chunks of the calendar that are looked at in one call for what leaves */

/* Whether the newest packet has not been released yet: what comes goes behind it. */
static inline bool waits(const struct shaper *shaper, const struct shape_edt *edt)
{
	return !tick_after(shaper->calendar.base, edt->last);
}

static inline void load_add(struct shaper *shaper, uint32_t id, uint32_t packets, uint32_t units)
{
	counter_add32(&shaper->loads[id].packets, packets);
	counter_add32(&shaper->loads[id].units, units);
}

static inline bool leaves(const struct shaper *shaper, uint32_t id)
{
	return shaper->leaving[id / 64] >> id % 64 & 1;
}

/* The slots before the first that is not empty are over. */
static __attribute__((noinline)) bool reach(struct shaper *shaper, uint64_t due, uint64_t now)
{
	struct calendar *calendar = &shaper->calendar;
	uint64_t start = calendar_start(calendar, now);

	calendar_settle(calendar);
	calendar->base = tick_later(calendar->base, tick_earlier(start, calendar_first(calendar)));
	return calendar_reaches(calendar, due);
}

static inline bool is_crowded(const struct shaper *shaper)
{
	return shaper->counts.packets + shaper->gone >= shaper->counts.most;
}

/* A packet waits until it is due, which calendar_reaches(). */
static inline enum shape_verdict file(struct shaper *shaper, struct shape_edt *edt,
	struct shape_packet *packet, uint32_t cost, uint64_t due)
{
	edt->last = due;
	calendar_file(&shaper->calendar, packet, due, edt->id, cost);
	load_add(shaper, edt->id, 1, cost);
	counter_add32(&shaper->counts.packets, 1);
	counter_add(&shaper->counts.units, cost);
	return SHAPE_WAITS;
}

/*
 * Behind those that wait, if it is due before they are; and if there is room. Where the last one has
 * gone before its slot was over none does.
 */
static inline enum shape_verdict settle(struct shaper *shaper, struct shape_edt *edt,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t *due, uint64_t now)
{
	if (!tick_after(*due, now) && shaper->loads[edt->id].packets == 0)
		return SHAPE_PASSES;
	*due = tick_later(*due, edt->last);
	if (*due - arrival > edt->ahead)
		return SHAPE_FULL;
	if (is_crowded(shaper))
		return SHAPE_CROWDED;
	if (__builtin_expect(!calendar_reaches(&shaper->calendar, *due), 0) &&
		!reach(shaper, *due, now))
		return SHAPE_FULL;
	return file(shaper, edt, packet, cost, *due);
}

/* Virtual time of the reserve that comes in so many ticks, and the other way round. */

static uint64_t ticks_of(const struct shape_edt *edt, uint64_t lack, uint64_t rate)
{
	if (rate == edt->depth)
		return (uint64_t)(((edt_t)lack * edt->gap << edt->shift) >> (64 + GCRA_SHIFT)) + 1;
	/* Between the reserve's change and ours. */
	return (uint64_t)(((tokens_t)lack << (TOKEN_SHIFT - GCRA_SHIFT)) / rate) + 1;
}

/* Of a bucket of its own. */
static inline enum shape_verdict arrive_own(struct shaper *shaper, struct shape_edt *edt,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now)
{
	edt_t full = edt_join(edt->full, edt->full_part), start;
	enum shape_verdict verdict = SHAPE_PASSES;
	uint64_t due;

	if (tick_after(arrival, edt->full))
		full = edt_join(arrival, 0);
	full += edt_ticks(edt, cost);
	start = full - edt_join(edt->depth, edt->depth_part);
	due = tick_later((uint64_t)(start >> 64) + ((uint64_t)start != 0), arrival);
	if (tick_after(due, now) || waits(shaper, edt))
		verdict = settle(shaper, edt, packet, cost, arrival, &due, now);
	if (__builtin_expect(verdict <= SHAPE_WAITS, 1)) {
		edt->full = (uint64_t)(full >> 64);
		edt->full_part = (uint64_t)full;
	}
	return verdict;
}

/* Of one that several workers draw from. */
static __attribute__((noinline)) enum shape_verdict arrive_reserve(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint32_t cost, uint64_t arrival,
	uint64_t now)
{
	struct shape_edt *edt = &queue->edt;
	bool behind = waits(shaper, edt), crowded = is_crowded(shaper);
	uint64_t most = crowded ? now - arrival : edt->ahead, due = arrival;
	struct reserve_booking booking;

	/* What is booked cannot be given back: whatever else could refuse it is asked first. */
	if (behind && tick_later(edt->last, arrival) - arrival > edt->ahead)
		return SHAPE_FULL;
	if (behind && crowded)
		return SHAPE_CROWDED;
	most -= most > 0; /* a tick, to which `due` is rounded up */
	if (!reserve_book_within(queue->reserve, arrival, cost, most, &booking))
		return crowded ? SHAPE_CROWDED : SHAPE_FULL;
	if (booking.lack)
		due += ticks_of(edt, booking.lack, booking.rate);
	if (!behind && !tick_after(due, now))
		return SHAPE_PASSES;
	return settle(shaper, edt, packet, cost, arrival, &due, now);
}

/* One that leaves lets pass what comes when nothing waits there any more. */
static __attribute__((noinline)) enum shape_verdict arrive_aside(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint32_t cost, uint64_t arrival,
	uint64_t now)
{
	bool leaving = queue->state & QUEUE_LEAVES;
	enum shape_verdict verdict;

	if (leaving && shaper->loads[queue->edt.id].packets == 0)
		return SHAPE_PASSES;
	if (queue->state & QUEUE_CLOSED)
		return SHAPE_FULL;
	if (queue->state & QUEUE_RESERVE)
		verdict = arrive_reserve(shaper, queue, packet, cost, arrival, now);
	else
		verdict = arrive_own(shaper, &queue->edt, packet, cost, arrival, now);
	shaper->n_leaving += leaving && verdict == SHAPE_WAITS;
	return verdict;
}

enum shape_verdict timed_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now)
{
	if (__builtin_expect(queue->state == SHAPE_TIMED, 1))
		return arrive_own(shaper, &queue->edt, packet, cost, arrival, now);
	return arrive_aside(shaper, queue, packet, cost, arrival, now);
}

/* Packets on their way out. */
struct outgo {
	struct shape_packet **out;
	unsigned n, count;
	uint64_t units;
};

static inline void take(
	struct shaper *shaper, struct outgo *outgo, const struct calendar_entry *entry)
{
	load_add(shaper, entry->id, -1U, -entry->cost);
	outgo->units += entry->cost;
	outgo->out[outgo->count++] = (struct shape_packet *)(uintptr_t)entry->packet;
	if (__builtin_expect(shaper->n_leaving, 0) && leaves(shaper, entry->id)) {
		shaper->n_leaving--;
		if (shaper->loads[entry->id].packets == 0)
			shaper->leaving[entry->id / 64] &= ~(UINT64_C(1) << entry->id % 64);
	}
}

/*
 * Takes packets out of the slot at the base; `late`: ticks since that began, or below 0 where they
 * leave before they are due. Returns whether it is empty now.
 */
static inline bool drain(struct shaper *shaper, struct outgo *outgo, unsigned slot, int64_t late)
{
	struct calendar *calendar = &shaper->calendar;
	struct shaper_counts *counts = &shaper->counts;

	do {
		struct calendar_chunk *chunk = calendar_head(calendar, slot);
		const struct calendar_chunk *next = &calendar->chunks[chunk->next];

		__builtin_prefetch(next);
		__builtin_prefetch(&next->next);
		for (; chunk->from < chunk->to; chunk->from++) {
			const struct calendar_entry *entry = &chunk->entries[chunk->from];

			if (__builtin_expect(!entry->packet, 0)) {
				shaper->gone--;
				continue;
			}
			if (outgo->count == outgo->n)
				return false;
			if (late >= 0)
				delay_add(&counts->lateness, counts->lateness_unit,
					(uint64_t)late - entry->low);
			take(shaper, outgo, entry);
		}
	} while (!calendar_shorten(calendar, slot));
	return true;
}

static unsigned have_left(struct shaper *shaper, const struct outgo *outgo)
{
	counter_add32(&shaper->counts.packets, -outgo->count);
	counter_add(&shaper->counts.units, -outgo->units);
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
		if (drain(shaper, &outgo, calendar_slot(calendar, first), (int64_t)(now - first)))
			calendar->base = calendar_end(calendar, first);
	}
	return have_left(shaper, &outgo);
}

unsigned timed_flush(struct shaper *shaper, struct shape_packet **out, unsigned n)
{
	struct calendar *calendar = &shaper->calendar;
	struct outgo outgo = {.out = out, .n = n};

	calendar_settle(calendar);
	/* The base stays: what comes now may be due before what has gone. */
	while (outgo.count < n && calendar->full.top)
		drain(shaper, &outgo, calendar_slot(calendar, calendar_first(calendar)), -1);
	return have_left(shaper, &outgo);
}

void shape_leave(struct shaper *shaper, struct shape_queue *queue)
{
	uint32_t id = queue->edt.id;

	if (queue->state & QUEUE_LEAVES)
		return;
	queue->state |= QUEUE_LEAVES;
	shaper->swept = shaper->calendar.base;
	if (shaper->loads[id].packets == 0)
		return;
	shaper->leaving[id / 64] |= UINT64_C(1) << id % 64;
	shaper->n_leaving += shaper->loads[id].packets;
}

bool shaper_leaves(const struct shaper *shaper)
{
	return shaper->n_leaving > 0;
}

/*
 * Takes out of a slot what leaves. Returns how many chunks it had. None is kept in which nothing
 * waits: where nothing waits at all nobody comes to see that it is over.
 */
static unsigned search(struct shaper *shaper, struct outgo *outgo, unsigned slot)
{
	struct calendar *calendar = &shaper->calendar;
	uint32_t last = calendar->slots[slot], at = last;
	unsigned chunks = 0, stay = 0;

	do {
		struct calendar_chunk *chunk = &calendar->chunks[at = calendar->chunks[at].next];

		chunks++;
		for (unsigned i = chunk->from; i < chunk->to; i++) {
			struct calendar_entry *entry = &chunk->entries[i];

			if (!entry->packet)
				continue;
			if (outgo->count == outgo->n || !leaves(shaper, entry->id)) {
				stay++;
				continue;
			}
			take(shaper, outgo, entry);
			entry->packet = 0;
			shaper->gone++;
		}
	} while (at != last);
	if (stay == 0)
		drain(shaper, outgo, slot, -1);
	return chunks;
}

unsigned shaper_flush_leaving(struct shaper *shaper, struct shape_packet **out, unsigned n)
{
	struct calendar *calendar = &shaper->calendar;
	struct outgo outgo = {.out = out, .n = n};
	unsigned chunks = 0;

	calendar_settle(calendar);
	shaper->swept = tick_later(shaper->swept, calendar->base);
	while (shaper->n_leaving && outgo.count < n && chunks < SEARCH) {
		unsigned at = calendar_slot(calendar, shaper->swept);
		unsigned slot = slots_first(&calendar->full, at);

		shaper->swept += (uint64_t)((slot - at) % CALENDAR_SLOTS) << calendar->shift;
		chunks += search(shaper, &outgo, slot);
		if (outgo.count < n)
			shaper->swept = calendar_end(calendar, shaper->swept);
	}
	return have_left(shaper, &outgo);
}

/* The tokens that the bucket has at a tick, after which nothing leaves. */
static tokens_t level_at(const struct shape_queue *queue, uint64_t at)
{
	const struct shape_edt *edt = &queue->edt;
	edt_t level = edt_join(edt->depth, edt->depth_part);
	tokens_t burst = (tokens_t)queue->told.burst << TOKEN_FRACTION, tokens;
	uint64_t rate = (uint64_t)queue->told.rate;

	if (queue->state & QUEUE_CLOSED)
		return 0;
	if (!tick_after(at, edt->full))
		level -= edt_join(edt->full - at, edt->full_part);
	tokens = (level >> 64) * rate + (((level & UINT64_MAX) >> 32) * rate >> 32);
	return tokens < burst ? tokens : burst;
}

/* What the whole bucket takes to fill. */
static void set_depth(struct shape_edt *edt, uint64_t burst)
{
	edt_t depth = (edt_t)burst * edt->gap >> TOKEN_BYTE;

	if (depth >> (126 - edt->shift))
		depth = (edt_t)EDT_DEPTH_MOST << 64;
	else
		depth <<= edt->shift;
	edt->depth = (uint64_t)(depth >> 64);
	edt->depth_part = (uint64_t)depth;
}

/* The bucket is so full at a tick; of one that never fills, as full as it may be. */
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
	/* Rounded up, as what is due is. */
	uint64_t most = (uint64_t)((edt_ticks(&queue->edt, queue->most) + UINT64_MAX) >> 64);

	queue->edt.ahead = most < queue->patience ? most : queue->patience;
}

static void set_limit(struct shape_queue *queue, const struct token_bucket_profile *profile)
{
	struct shape_edt *edt = &queue->edt;

	queue->told = *profile;
	queue->state &= (uint8_t)~QUEUE_CLOSED;
	if (!edt_invert(edt, profile->rate))
		queue->state |= QUEUE_CLOSED;
	else if (queue->state & QUEUE_RESERVE)
		edt->depth = (uint64_t)profile->rate;
	else
		set_depth(edt, profile->burst);
	set_ahead(queue);
}

void timed_init(struct shape_queue *queue, const struct shape_params *params,
	const struct token_bucket_profile *profile, uint64_t now)
{
	struct shape_edt *edt = &queue->edt;

	queue->state |= SHAPE_TIMED;
	edt->id = params->id;
	edt->last = now - TICK_FAR; /* nothing waits */
	edt->full = now;
	set_limit(queue, profile);
}

void timed_spend(struct shape_queue *queue)
{
	if (!(queue->state & (QUEUE_RESERVE | QUEUE_CLOSED)))
		set_level(&queue->edt, queue->edt.full, 0, (uint64_t)queue->told.rate);
}

void timed_limit(
	struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now)
{
	struct shape_edt *edt = &queue->edt;
	uint64_t from = tick_later(now, edt->last);
	bool own = !(queue->state & QUEUE_RESERVE);
	tokens_t level = own ? level_at(queue, from) : 0;
	tokens_t burst = (tokens_t)profile->burst << TOKEN_FRACTION;

	set_limit(queue, profile);
	if (own && !(queue->state & QUEUE_CLOSED))
		set_level(edt, from, level < burst ? level : burst, (uint64_t)profile->rate);
}

void timed_change(struct shape_queue *queue, const struct shape_params *params)
{
	shape_set_patience(queue, params);
	set_ahead(queue);
}
