/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private declarations that the files of this folder share.
 */
#ifndef WEIR_SHAPE_PRIVATE_H
#define WEIR_SHAPE_PRIVATE_H

#include <assert.h>
#include <stddef.h>

#include "shape/shape.h"
#include "shape/wheel.h"

/*
 * Packets by the tick at which they leave, which is fixed when they arrive: a timing wheel of
 * packets (Carousel, SIGCOMM 2017). The release does not touch packets or queues.
 *
 * Entries of a slot are in chunks, in the order of filing. They leave when the slot is over: none
 * early, and up to a slot late. Slots are long enough that the chunks to which packets are
 * appended, one for each slot of the next milliseconds, stay in a core's cache.
 *
 * Private to this folder.
 */

#define CALENDAR_SLOTS SLOTS_MOST

/*
 * A slot is a second divided by 2^this, or up to twice as long: 2 to 4 microseconds. So all slots
 * together are more than a quarter of a second.
 */
#define CALENDAR_PARTS 19

#define CALENDAR_PLACES 8  /* places of a chunk; the first is its head */
#define CALENDAR_LATER  32 /* packets filed at a time, once their slots are prefetched */

/*
 * Bits 16 and up: address of a struct shape_packet, which has 47 bits in user space on x86-64 and
 * 48 on AArch64. Bits 0 to 15: ticks from the slot's start to the due tick. 0: taken out.
 */
typedef uint64_t calendar_entry;

#define CALENDAR_LOW 16 /* bits for these ticks */

struct calendar_head {
	uint32_t next; /* next chunk of the slot, in a ring; or next free chunk */
	uint32_t from; /* first place that has not left */
};

union calendar_place {
	calendar_entry entry;
	struct calendar_head head;
};

/* A packet that is to be filed in its slot. */
struct calendar_coming {
	calendar_entry entry;
	unsigned slot;
};

/* Chunks and places are numbered over all chunks. Chunk 0 is not used. */
struct calendar {
	uint64_t base;  /* start of the first slot that can have entries */
	uint64_t soon;  /* tick before which there is nothing to do */
	unsigned shift; /* log2 of a slot's ticks */
	uint32_t free;  /* free chunks, last used first; 0: none */
	uint32_t used;  /* chunks ever used; later ones are untouched */
	unsigned n_coming;
	union calendar_place *places;
	struct calendar_coming coming[CALENDAR_LATER];
	struct occupancy full;
	uint32_t slots[CALENDAR_SLOTS]; /* place after each one's last entry; 0: empty */
};

/* Most chunks for so many packets. All chunks of a slot except the first and last are full. */
static inline size_t calendar_chunks(uint32_t packets)
{
	size_t ends = 2 * (packets < CALENDAR_SLOTS ? packets : (size_t)CALENDAR_SLOTS);
	size_t dense = packets / (CALENDAR_PLACES - 1) + ends;

	return 2 + (packets < dense ? packets : dense);
}

static inline uint64_t calendar_start(const struct calendar *calendar, uint64_t tick)
{
	return tick >> calendar->shift << calendar->shift;
}

static inline unsigned calendar_slot(const struct calendar *calendar, uint64_t tick)
{
	return (unsigned)(tick >> calendar->shift) % CALENDAR_SLOTS;
}

/* The tick at which the slot after the one of `tick` begins. */
static inline uint64_t calendar_end(const struct calendar *calendar, uint64_t tick)
{
	return calendar_start(calendar, tick) + (UINT64_C(1) << calendar->shift);
}

static inline void calendar_init(
	struct calendar *calendar, union calendar_place *places, uint64_t hz, uint64_t now)
{
	uint64_t ticks = hz >> (CALENDAR_PARTS - 1);
	unsigned shift = ticks ? 63 - (unsigned)__builtin_clzll(ticks) : 0;

	calendar->shift = shift < CALENDAR_LOW ? shift : CALENDAR_LOW;
	calendar->base = calendar_start(calendar, now);
	calendar->soon = now + TICK_FAR;
	calendar->places = places;
}

static inline struct calendar_head *calendar_head(struct calendar *calendar, uint32_t chunk)
{
	return &calendar->places[chunk * CALENDAR_PLACES].head;
}

/* The last chunk of a slot that is not empty. */
static inline uint32_t calendar_last(const struct calendar *calendar, unsigned slot)
{
	return (calendar->slots[slot] - 1) / CALENDAR_PLACES;
}

/* The place after the last entry of a slot's chunk. */
static inline uint32_t calendar_to(const struct calendar *calendar, unsigned slot, uint32_t chunk)
{
	uint32_t end = calendar->slots[slot], to = (chunk + 1) * CALENDAR_PLACES;

	return (end - 1) / CALENDAR_PLACES == chunk ? end : to;
}

static inline uint32_t calendar_chunk_new(struct calendar *calendar)
{
	uint32_t chunk = calendar->free;

	if (!chunk)
		return ++calendar->used;
	calendar->free = calendar_head(calendar, chunk)->next;
	return chunk;
}

/* Appends a chunk to a slot. Returns its first place. */
static inline uint32_t calendar_lengthen(struct calendar *calendar, unsigned slot)
{
	uint32_t chunk = calendar_chunk_new(calendar), place = chunk * CALENDAR_PLACES + 1;
	struct calendar_head *head = calendar_head(calendar, chunk), *last;

	head->next = chunk;
	head->from = place;
	if (calendar->slots[slot]) {
		last = calendar_head(calendar, calendar_last(calendar, slot));
		head->next = last->next;
		last->next = chunk;
	} else {
		occupancy_mark(&calendar->full, slot);
	}
	return place;
}

static inline void calendar_append(struct calendar *calendar, calendar_entry entry, unsigned slot)
{
	uint32_t place = calendar->slots[slot];

	if (place % CALENDAR_PLACES == 0)
		place = calendar_lengthen(calendar, slot);
	calendar->places[place].entry = entry;
	calendar->slots[slot] = place + 1;
}

/*
 * Files the packets in `coming`. Their slots are in the cache by now; their places are prefetched
 * here. Out of line, because the caller needs the registers.
 */
static __attribute__((noinline)) void calendar_settle(struct calendar *calendar)
{
	unsigned n = calendar->n_coming;

	for (unsigned i = 0; i < n; i++) {
		uint32_t place = calendar->slots[calendar->coming[i].slot];

		__builtin_prefetch(&calendar->places[place], 1);
	}
	for (unsigned i = 0; i < n; i++)
		calendar_append(calendar, calendar->coming[i].entry, calendar->coming[i].slot);
	calendar->n_coming = 0;
}

/*
 * Returns whether a packet with this due tick can be filed: it must be less than one round ahead.
 */
static inline bool calendar_reaches(const struct calendar *calendar, uint64_t due)
{
	return (due - calendar->base) >> calendar->shift < CALENDAR_SLOTS;
}

/* Files a packet. Its due tick is at or after the base, and calendar_reaches() it. */
static inline void calendar_file(
	struct calendar *calendar, const struct shape_packet *packet, uint64_t due)
{
	struct calendar_coming *coming = &calendar->coming[calendar->n_coming++];
	uint64_t number = due >> calendar->shift;

	coming->slot = (unsigned)number % CALENDAR_SLOTS;
	coming->entry = (uint64_t)(uintptr_t)packet << CALENDAR_LOW |
			(due - (number << calendar->shift));
	__builtin_prefetch(&calendar->slots[coming->slot], 1);
	calendar->soon = tick_earlier(calendar->soon, (number + 1) << calendar->shift);
	if (calendar->n_coming == CALENDAR_LATER)
		calendar_settle(calendar);
}

/*
 * Start of the first slot, from the base on, that is not empty. If all are empty, a tick far ahead.
 */
static inline uint64_t calendar_first(const struct calendar *calendar)
{
	unsigned at = calendar_slot(calendar, calendar->base);
	unsigned slot = occupancy_first(&calendar->full, at);

	if (slot == SLOTS_NONE)
		return calendar->base + TICK_FAR;
	return calendar->base + ((uint64_t)((slot - at) % CALENDAR_SLOTS) << calendar->shift);
}

/* Removes the first chunk, which is empty, from a slot. Returns whether it was the last one. */
static inline bool calendar_shorten(struct calendar *calendar, unsigned slot)
{
	uint32_t last = calendar_last(calendar, slot);
	struct calendar_head *end = calendar_head(calendar, last);
	uint32_t first = end->next;
	struct calendar_head *head = calendar_head(calendar, first);

	if (first == last) {
		calendar->slots[slot] = 0;
		occupancy_unmark(&calendar->full, slot);
	} else {
		end->next = head->next;
	}
	head->next = calendar->free;
	calendar->free = first;
	return first == last;
}

static_assert(sizeof(union calendar_place) * CALENDAR_PLACES == 64, "a chunk is a line");

struct shaper {
	uint32_t most, extra; /* buffers: limit, and those held beyond one a packet */
	struct shaper_counts counts __attribute__((aligned(64)));
	unsigned ahead; /* queues due next that are already prefetched */

	struct shape_above above;
	uint32_t gone; /* entries removed from within the calendar */
	/*
	 * Search for packets of leaving queues. swept: start of the slot where it goes on; none is
	 * left before it. until: tick of the last such packet.
	 */
	uint64_t swept, until;
	struct calendar calendar;
	struct wheel wheel __attribute__((aligned(64))); /* last: its lines follow it */
};

/* Bits of struct shape_queue's `state`. */
enum {
	QUEUE_LATE = 1 << 0,   /* the first packet is dropped when due: its patience ends before */
	QUEUE_CODEL = 1 << 1,  /* CoDel is on */
	QUEUE_BOOKED = 1 << 2, /* shared bucket: the first packet's tokens are booked */
	QUEUE_GONE = 1 << 3,   /* `gone` is not 0 */
	QUEUE_SHARED_BUCKET = 1 << 4, /* has a shared bucket */
	QUEUE_LEAVES = 1 << 5,        /* timed: shape_leave() was called */
	QUEUE_SLOWED = 1 << 5,        /* not timed, shared bucket: shape_expire() was called */
	QUEUE_CLOSED = 1 << 6,        /* timed: the limit passes nothing */
	QUEUE_BELOW = 1 << 6          /* not timed: struct shape_params' `below` */
};

/*
 * Computes `due` and QUEUE_LATE for a packet that is now the first of its queue, or the first that
 * has not departed.
 */
void queue_start(struct shape_queue *queue, const struct shape_packet *packet);

/* Charges a packet that departs at `due`, or sets the flag that it is dropped. */
void queue_depart(struct shape_queue *queue, struct shape_packet *packet);

#define PATIENCE 6 /* a packet can wait for 1/2^this longer than the configured delay */

/* Sets struct shape_queue's `patience` and `most`. */
static inline void shape_set_patience(struct shape_queue *queue, const struct shape_params *params)
{
	queue->patience = params->delay + (params->delay >> PATIENCE);
	queue->most = params->units && params->units < UINT32_MAX ? (uint32_t)params->units
								  : UINT32_MAX;
}

/* Sets struct shape_queue's `gone`. */
static inline void queue_set_gone(struct shape_queue *queue, uint32_t gone)
{
	queue->gone = gone;
	queue->state &= (uint8_t)~QUEUE_GONE;
	queue->state |= gone ? QUEUE_GONE : 0;
}

/* The public functions' implementation for timed queues (timed.c). */
enum shape_verdict timed_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now);
unsigned timed_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n);
unsigned timed_flush(struct shaper *shaper, struct shape_packet **out, unsigned n);
void timed_init(
	struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now);
void timed_spend(struct shape_queue *queue);
void timed_limit(
	struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now);
void timed_change(struct shape_queue *queue, const struct shape_params *params, uint64_t now);

/* Subtracts n packets of so many units from the counts. */
static inline void queue_less(
	struct shaper *shaper, struct shape_queue *queue, unsigned n, uint64_t units)
{
	counter_add32(&queue->packets, -n);
	counter_add32(&queue->units, -(uint32_t)units);
	counter_add32(&shaper->counts.packets, -n);
}

/*
 * Computes the exact tick at which a bucket will have a packet's tokens, without a division. A
 * limit's rate is inverted once. The rounding error is less than three ticks; exact arithmetic in
 * tokens adds them.
 *
 * Private to this folder.
 */

/*
 * Rates outside these bits use a division. Below 2^33 tokens per tick, some 3 kbit/s, packets are
 * few. The upper bound is 2^61, some 600 Gbit/s.
 */
#define PACE_BITS      34
#define PACE_BITS_MOST 61
#define PACE_SLOW      UINT8_MAX

/*
 * Sets the inverse: 2^(62 + n) over a rate of n bits, rounded down, which is between 2^62 and 2^63.
 */
static inline void pace_invert(struct shape_queue *queue)
{
	int64_t rate = queue->limit.rate;
	unsigned bits = rate > 0 ? 64 - (unsigned)__builtin_clzll((uint64_t)rate) : 0;

	queue->shift = PACE_SLOW;
	queue->inverse = 0;
	if (bits < PACE_BITS || bits > PACE_BITS_MOST)
		return;
	queue->shift = (uint8_t)(bits - PACE_BITS);
	queue->inverse = (uint64_t)(((tokens_t)1 << (62 + bits)) / (uint64_t)rate);
}

static inline __attribute__((cold)) uint64_t pace_ticks_slow(int64_t rate, tokens_t lack)
{
	tokens_t ticks;

	if (rate <= 0)
		return TICK_FAR;
	ticks = (lack + (uint64_t)rate - 1) / (uint64_t)rate;
	return ticks < TICK_FAR ? (uint64_t)ticks : TICK_FAR;
}

/*
 * Returns the ticks until `lack` tokens, at least one, have come. The product is (lack / 2^32) *
 * 2^(62 + n) / rate / 2^64 / 2^(n - 34), rounded down on the way. The remainder is less than three
 * ticks, each worth less than 2^62 tokens, so it can be computed modulo 2^64.
 */
static inline uint64_t pace_ticks(const struct shape_queue *queue, tokens_t lack)
{
	uint64_t rate = (uint64_t)queue->limit.rate, ticks, rest;

	if (__builtin_expect(queue->shift == PACE_SLOW, 0))
		return pace_ticks_slow(queue->limit.rate, lack);
	ticks = (uint64_t)((tokens_t)(uint64_t)(lack >> 32) * queue->inverse >> 64);
	ticks >>= queue->shift;
	rest = (uint64_t)lack - ticks * rate;
	return ticks + (rest > 0) + (rest > rate) + (rest > 2 * rate);
}

/* Refills the bucket up to tick `at`. It is at least as deep as `cost`. */
static inline void pace_refill(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	uint64_t need = (uint64_t)cost << TOKEN_BYTE;
	struct token_bucket_profile limit = queue->limit;

	limit.burst = limit.burst > need ? limit.burst : need;
	token_bucket_advance(&queue->bucket, &limit, at);
}

/* pace_refill() for a rate that is not negative. */
static inline void pace_refill_up(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	uint64_t need = (uint64_t)cost << TOKEN_BYTE;
	struct token_bucket_profile limit = queue->limit;

	limit.burst = limit.burst > need ? limit.burst : need;
	token_bucket_refill(&queue->bucket, &limit, at);
}

/* Refills the bucket up to `at`. Returns the ticks from then until it has a packet's tokens. */
static inline uint64_t pace_wait(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	tokens_t need = (tokens_t)cost << TOKEN_SHIFT, level;

	if (at != queue->bucket.last)
		pace_refill(queue, cost, at);
	level = token_bucket_level(&queue->bucket);
	return level < need ? pace_ticks(queue, need - level) : 0;
}

#endif
