/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets by the tick at which they leave, settled as they arrived: a timing wheel of packets
 * (Carousel, SIGCOMM 2017). What is to be known of one when it leaves stands in its entry; so
 * neither the packet nor its queue is looked at again.
 *
 * Entries of a slot lie in chunks, in the order in which they were filed, and leave when the slot
 * is over: none early, and up to a slot late. Slots are so long that the chunks at whose ends
 * packets are filed, one for each slot of the next milliseconds, stay in a core's cache.
 *
 * Not for others than this folder.
 */
#ifndef WEIR_SHAPE_CALENDAR_H
#define WEIR_SHAPE_CALENDAR_H

#include <assert.h>
#include <stddef.h>

#include "shape/shape.h"
#include "shape/slots.h"

#define CALENDAR_SLOTS SLOTS_MOST

/*
 * A slot is a second over 2^this, or up to twice as long: 2 to 4 microseconds; so all slots are
 * more than a quarter of a second.
 */
#define CALENDAR_PARTS 19

#define CALENDAR_CHUNK 7
#define CALENDAR_LATER 32 /* packets that are filed at a time, as their slots have been fetched */

/* User space has addresses of 47 bits on x86-64, and of 48 on AArch64. */
struct calendar_entry {
	uint64_t packet : 48; /* address of a struct shape_packet; 0: taken out */
	uint64_t low : 16;    /* ticks from the slot's start until it is due */
	uint32_t id, cost;
};

/* entries[from] to entries[to - 1] */
struct calendar_chunk {
	struct calendar_entry entries[CALENDAR_CHUNK];
	uint32_t next; /* of the same slot, after the last the first; or of those that are free */
	uint8_t from, to;
} __attribute__((aligned(64)));

/* A packet on its way into its slot. */
struct calendar_coming {
	struct calendar_entry entry;
	unsigned slot;
};

struct calendar {
	uint64_t base;  /* tick at which the first slot begins that may not be empty */
	uint64_t soon;  /* nothing is to be done before this tick */
	unsigned shift; /* ticks of a slot, log2 */
	uint32_t free;  /* chunks, the one that was used last first; 0: none */
	uint32_t used;  /* that have ever been used; those after them are untouched */
	unsigned n_coming;
	struct calendar_coming coming[CALENDAR_LATER];
	struct calendar_chunk *chunks; /* the first is not used */
	struct slots full;
	uint32_t slots[CALENDAR_SLOTS]; /* the last chunk of each; 0 where it is empty */
};

/* For so many packets. All but the first and the last chunk of a slot are full. */
static inline size_t calendar_chunks(uint32_t packets)
{
	size_t ends = 2 * (packets < CALENDAR_SLOTS ? packets : (size_t)CALENDAR_SLOTS);
	size_t dense = packets / CALENDAR_CHUNK + ends;

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

/* The tick at which the slot after that one begins. */
static inline uint64_t calendar_end(const struct calendar *calendar, uint64_t tick)
{
	return calendar_start(calendar, tick) + (UINT64_C(1) << calendar->shift);
}

static inline void calendar_init(
	struct calendar *calendar, struct calendar_chunk *chunks, uint64_t hz, uint64_t now)
{
	uint64_t ticks = hz >> (CALENDAR_PARTS - 1);
	unsigned shift = ticks ? 63 - (unsigned)__builtin_clzll(ticks) : 0;

	calendar->shift = shift < 16 ? shift : 16; /* struct calendar_entry's `low` */
	calendar->base = calendar_start(calendar, now);
	calendar->soon = now + TICK_FAR;
	calendar->chunks = chunks;
}

static inline uint32_t calendar_chunk_new(struct calendar *calendar)
{
	uint32_t chunk = calendar->free;

	if (!chunk)
		return ++calendar->used;
	calendar->free = calendar->chunks[chunk].next;
	return chunk;
}

/* Another chunk at the end of a slot, whose last one is that, or 0. */
static inline uint32_t calendar_lengthen(struct calendar *calendar, unsigned slot, uint32_t last)
{
	uint32_t chunk = calendar_chunk_new(calendar);
	struct calendar_chunk *fresh = &calendar->chunks[chunk];

	fresh->from = fresh->to = 0;
	fresh->next = chunk;
	if (last) {
		fresh->next = calendar->chunks[last].next;
		calendar->chunks[last].next = chunk;
	} else {
		slots_mark(&calendar->full, slot);
	}
	calendar->slots[slot] = chunk;
	return chunk;
}

static inline void calendar_append(
	struct calendar *calendar, const struct calendar_entry *entry, unsigned slot)
{
	uint32_t chunk = calendar->slots[slot];
	struct calendar_chunk *last = &calendar->chunks[chunk];

	if (chunk == 0 || last->to == CALENDAR_CHUNK)
		last = &calendar->chunks[calendar_lengthen(calendar, slot, chunk)];
	last->entries[last->to++] = *entry;
}

/* Files those that are on their way, whose slots are here by now: their last chunks are fetched. */
static inline void calendar_settle(struct calendar *calendar)
{
	for (unsigned i = 0; i < calendar->n_coming; i++) {
		uint32_t chunk = calendar->slots[calendar->coming[i].slot];
		const struct calendar_chunk *last = &calendar->chunks[chunk];

		__builtin_prefetch(&last->next, 1);
		__builtin_prefetch(last, 1);
	}
	for (unsigned i = 0; i < calendar->n_coming; i++)
		calendar_append(calendar, &calendar->coming[i].entry, calendar->coming[i].slot);
	calendar->n_coming = 0;
}

/* Whether a packet that is due then can be filed: the wheel goes round only once. */
static inline bool calendar_reaches(const struct calendar *calendar, uint64_t due)
{
	return (due - calendar->base) >> calendar->shift < CALENDAR_SLOTS;
}

/* Files a packet that is due at or after the base, and which calendar_reaches(). */
static inline void calendar_file(struct calendar *calendar, const struct shape_packet *packet,
	uint64_t due, uint32_t id, uint32_t cost)
{
	struct calendar_coming *coming = &calendar->coming[calendar->n_coming++];
	uint64_t end = calendar_end(calendar, due);

	coming->slot = calendar_slot(calendar, due);
	coming->entry.packet = (uintptr_t)packet;
	coming->entry.low = (uint16_t)(due - calendar_start(calendar, due));
	coming->entry.id = id;
	coming->entry.cost = cost;
	__builtin_prefetch(&calendar->slots[coming->slot], 1);
	calendar->soon = tick_earlier(calendar->soon, end);
	if (calendar->n_coming == CALENDAR_LATER)
		calendar_settle(calendar);
}

/* The tick at which the first slot begins that is not empty, from the base on; or far away. */
static inline uint64_t calendar_first(const struct calendar *calendar)
{
	unsigned at = calendar_slot(calendar, calendar->base);
	unsigned slot = slots_first(&calendar->full, at);

	if (slot == SLOTS_NONE)
		return calendar->base + TICK_FAR;
	return calendar->base + ((uint64_t)((slot - at) % CALENDAR_SLOTS) << calendar->shift);
}

/* The first chunk of a slot that is not empty. */
static inline struct calendar_chunk *calendar_head(struct calendar *calendar, unsigned slot)
{
	return &calendar->chunks[calendar->chunks[calendar->slots[slot]].next];
}

/* Takes the first chunk, which is empty, off a slot. Returns whether the slot has no other. */
static inline bool calendar_shorten(struct calendar *calendar, unsigned slot)
{
	uint32_t last = calendar->slots[slot], first = calendar->chunks[last].next;

	if (first == last) {
		calendar->slots[slot] = 0;
		slots_unmark(&calendar->full, slot);
	} else {
		calendar->chunks[last].next = calendar->chunks[first].next;
	}
	calendar->chunks[first].next = calendar->free;
	calendar->free = first;
	return first == last;
}

static_assert(sizeof(struct calendar_chunk) == 128, "two lines");

#endif
