/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A token bucket that its classes share like a scheduler. It is a policer, which holds no packet,
 * and yet gives each class its weighted fair part of the rate, max-min, for any traffic of the
 * others. A class is a flow, or a DSCP.
 *
 * The upper part of the bucket is free for all classes. While the bucket is still in that part
 * after a packet, the packet passes as with a token bucket, of any class, and is forgotten. So a
 * limit without pressure costs as much as a token bucket.
 *
 * The bucket's lack below its free part is the units that have passed and have not been earned
 * back. So it is read as a virtual queue, of bytes that have left long ago: passed units join it,
 * earned units serve it. Here every class has a queue of its own; together they are the lack. They
 * are served as an ideal scheduler would (GPS: Parekh and Gallager, "A Generalized Processor
 * Sharing Approach to Flow Control", section II): all that are backlogged together, by weight. A
 * class that sends more than its part has a queue that grows, and is refused when that is long
 * compared with the bucket's content. So the bucket keeps something for the others, as a shared
 * buffer does with dynamic thresholds (Choudhury and Hahne, "Dynamic Queue Length Thresholds for
 * Shared-Memory Packet Switches"). The idea to police by virtual queues: "Efficient Policy-Rich
 * Rate Enforcement with Phantom Queues" (SIGCOMM 2024), where each has a depth of its own.
 *
 * Tokens serve the queues until all are empty, and only then fill the free part. So as long as any
 * class has a queue, the classes that have one share the rate by weight, independent of the free
 * part. A class that takes all of the free part before the others come gains an 8th of the burst.
 * It gains that once for each time that for so long no class had a queue: no class was waiting for
 * these tokens.
 *
 * The bucket alone decides about the aggregate: at most r·t + b over any t, for any classes. No
 * part of the rate is lost while packets come. Only a full bucket loses tokens, and then every
 * queue is empty and any packet can pass.
 *
 * Classes without a packet are not visited. Virtual time is service by weight. It advances at the
 * rate divided by the weight of all backlogged classes. A queue is stored as the virtual time at
 * which it will be empty. The ends of queues are sorted into 64 slots of that time. Each slot has
 * two sums: the weight that ends in it, and the excess service of that weight by the slot's end. At
 * the slot's end that excess goes back to the other classes, so the total service is exact. Until
 * then a class is ahead of the ideal by at most a slot times its weight; a slot is at most a 32nd
 * of the burst. The others are behind by the sum of that. A slot in which many classes ended is
 * long for the remaining classes, but no queue counts for more than the bucket's lack. A packet
 * costs the slots that its time has crossed, and it fills at most one of them. Earned tokens wait
 * until they advance all queues by a quarter of a slot, or until they equal the length of 4 slots.
 *
 * Flows find their class in a set of four by their hash. A flow gets a class of its own if one of
 * the four has no queue once all earned tokens are served. Flows share a class only if many are
 * active at the same time.
 *
 * The policy defines the unit. State has one writer; the bucket is the caller's.
 */
#ifndef WEIR_METER_PHANTOM_H
#define WEIR_METER_PHANTOM_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/meters.h"
#include "meter/token_bucket.h"

#define PHANTOM_CLASSES_MIN 16
#define PHANTOM_CLASSES_MAX 1024
#define PHANTOM_WEIGHT_MAX  100
#define PHANTOM_DSCPS       64                                   /* classes where a DSCP is one */
#define PHANTOM_WEIGHT_ALL  (PHANTOM_WEIGHT_MAX * PHANTOM_DSCPS) /* flows all weigh 1 */

#define PHANTOM_SLOTS 64
#define PHANTOM_WAYS  4
#define PHANTOM_BYTE  8                           /* bits of a unit's fraction in virtual time */
#define PHANTOM_TOKEN (TOKEN_BYTE - PHANTOM_BYTE) /* bits of a token below these */

/* The upper part of the burst, which is free for all classes: an 8th, in bits. */
#define PHANTOM_FREE_SHIFT 3

/* Part of a queue that must be left in the bucket: a quarter, in bits, */
#define PHANTOM_SHARE_SHIFT 2
/* plus as much as the queue, but no more than this part of the burst: a 16th, in bits. */
#define PHANTOM_SPARE_SHIFT 4

/* Queues can be behind their service by this part of a slot: a quarter, in bits, */
#define PHANTOM_PART_SHIFT 2
/* but by that of so much weight at most, however many they are: 4 slots' length of service. */
#define PHANTOM_PART_WEIGHT 16

/* Most units of a bucket: the sums of a longer slot might not fit. */
#define PHANTOM_BURST_MAX (UINT64_C(1) << 35)

/*
 * Virtual time after which old ends of queues are forgotten, before they could be future again: a
 * quarter of its range, as counted by its upper bits.
 */
#define PHANTOM_AGE_SHIFT 56
#define PHANTOM_AGE       (UINT64_C(1) << 62)

struct phantom_params {
	unsigned classes;       /* a power of two, PHANTOM_CLASSES_MIN to PHANTOM_CLASSES_MAX */
	const uint8_t *weights; /* each class's, 1 to PHANTOM_WEIGHT_MAX; NULL: all 1 */
	uint64_t secret;        /* keeps others from aiming at a set */
};

struct phantom_class {
	uint64_t end;    /* virtual time at which its queue is empty */
	uint32_t flow;   /* hash of its flow */
	uint32_t weight; /* at least 1 */
};

/*
 * A slot of virtual time is a word of two sums. Below, the weight of the classes whose queues end
 * in it; above, their service beyond their queues when it ends: less than its length by that
 * weight.
 */
#define PHANTOM_SLOT_WEIGHT 13 /* bits */

struct phantom {
	uint64_t time;    /* virtual: 2^-8 units by weight */
	uint64_t left;    /* 2^-8 units of service that have not become time yet */
	uint64_t seen;    /* tokens of the bucket that are service by now */
	uint64_t room;    /* tokens less those seen: below this nothing is worth serving yet */
	uint64_t busy;    /* slots with classes, a bit each */
	uint64_t refused; /* units that did not conform, counted by the owner */
	uint32_t weight;  /* sum over the slots */
	uint32_t turn;    /* service at which the next slot with classes is over; or that is far */
	uint32_t key;
	uint16_t mask; /* the number of classes less 1 */
	uint8_t shift; /* a slot is 2^this long */
	uint8_t aged;  /* upper bits of the time of the last phantom_sort() */
	uint64_t slots[PHANTOM_SLOTS] __attribute__((aligned(64))); /* not busy: any value */
	struct phantom_class classes[];
} __attribute__((aligned(64)));

/* By weight w: the largest integer below 2^64 / w; 0 for w = 0. See phantom_divide(). */
extern const uint64_t phantom_reciprocals[PHANTOM_WEIGHT_ALL + 1];

/* Bytes of a state. Any thread. */
static inline size_t phantom_bytes(const struct phantom_params *params)
{
	return sizeof(struct phantom) + params->classes * sizeof(struct phantom_class);
}

/* High half of a product: service over weight, at most 1 too low, without dividing. */
static inline uint64_t phantom_divide(uint64_t service, uint64_t weight)
{
	return (uint64_t)((unsigned __int128)service * phantom_reciprocals[weight] >> 64);
}

static inline uint64_t phantom_slot_end(const struct phantom *p, uint64_t end)
{
	return (((end - 1) >> p->shift) + 1) << p->shift;
}

static inline unsigned phantom_slot(const struct phantom *p, uint64_t end)
{
	return (end - 1) >> p->shift & (PHANTOM_SLOTS - 1);
}

static inline uint64_t phantom_slot_over(uint64_t slot)
{
	return slot >> PHANTOM_SLOT_WEIGHT;
}

static inline uint64_t phantom_slot_weight(uint64_t slot)
{
	return slot & ((UINT64_C(1) << PHANTOM_SLOT_WEIGHT) - 1);
}

/*
 * Time since the present slot began at which the class's queue ends, less 1. Below phantom_span(),
 * the class is in a slot; otherwise it has left long ago.
 */
static inline uint64_t phantom_ahead(const struct phantom *p, const struct phantom_class *class)
{
	return class->end - (p->time >> p->shift << p->shift) - 1;
}

static inline uint64_t phantom_span(const struct phantom *p)
{
	return (uint64_t)PHANTOM_SLOTS << p->shift;
}

/* Returns the sums that a class adds to its slot. */
static inline uint64_t phantom_in_slot(const struct phantom *p, const struct phantom_class *class)
{
	uint64_t over = phantom_slot_end(p, class->end) - class->end;

	return ((over << PHANTOM_SLOT_WEIGHT) + 1) * class->weight;
}

static inline void phantom_enter(struct phantom *p, const struct phantom_class *class)
{
	unsigned i = phantom_slot(p, class->end);
	uint64_t others = p->slots[i] & -(p->busy >> i & 1);

	p->slots[i] = others + phantom_in_slot(p, class);
	p->busy |= UINT64_C(1) << i;
}

/* Takes a class out of slot i if `slotted` is all ones; does nothing if it is 0. */
static inline void phantom_leave(
	struct phantom *p, const struct phantom_class *class, unsigned i, uint64_t slotted)
{
	p->slots[i] -= phantom_in_slot(p, class) & slotted;
	p->busy &= ~((uint64_t)(p->slots[i] == 0) << i & slotted);
}

static inline void phantom_set_weight(struct phantom *p, uint64_t weight)
{
	__atomic_store_n(&p->weight, (uint32_t)weight, __ATOMIC_RELAXED);
}

/*
 * Returns the weight of all classes with a queue; for flows it is their number. Any thread, at any
 * time.
 */
static inline uint64_t phantom_backlogged(const struct phantom *p)
{
	return __atomic_load_n(&p->weight, __ATOMIC_RELAXED);
}

static inline void phantom_clear(struct phantom *p)
{
	p->busy = 0;
	phantom_set_weight(p, 0);
	p->left = 0;
}

/* Returns the shift of slots, at least as long as 2^shift, in which all present queues end. */
static inline uint32_t phantom_fit(const struct phantom *p, uint32_t shift)
{
	uint64_t last = p->time;

	for (uint32_t i = 0; i <= p->mask; i++) {
		const struct phantom_class *class = &p->classes[i];

		if (phantom_ahead(p, class) < phantom_span(p) && (int64_t)(class->end - last) > 0)
			last = class->end;
	}
	while ((last >> shift) - (p->time >> shift) >= PHANTOM_SLOTS)
		shift++;
	return shift;
}

/* Sorts all classes that have a queue again, into slots about that long, and forgets the others. */
static inline __attribute__((cold)) void phantom_sort(struct phantom *p, uint32_t shift)
{
	uint64_t span = phantom_span(p), left = p->left, began = p->time >> p->shift << p->shift;

	shift = phantom_fit(p, shift);
	phantom_clear(p);
	p->shift = (uint8_t)shift;
	p->aged = (uint8_t)(p->time >> PHANTOM_AGE_SHIFT);
	for (uint32_t i = 0; i <= p->mask; i++) {
		struct phantom_class *class = &p->classes[i];
		bool slotted = class->end - began - 1 < span;

		if (slotted && (int64_t)(class->end - p->time) > 0) {
			phantom_set_weight(p, p->weight + class->weight);
			phantom_enter(p, class);
			continue;
		}
		left += slotted ? (p->time - class->end) * class->weight : 0;
		class->end = p->time >> shift << shift;
	}
	p->left = left;
}

/*
 * Returns the shift of the shortest slots of which at most 62 hold a burst; at least 32, unless the
 * burst is tiny. The other slots hold the part of queues that exceeds the burst after a change. For
 * more, phantom_fit() makes slots longer.
 */
static inline uint32_t phantom_shift(const struct token_bucket_profile *profile)
{
	uint64_t burst = profile->burst >> PHANTOM_TOKEN;
	uint32_t shift = PHANTOM_BYTE;

	while (burst > UINT64_C(62) << shift)
		shift++;
	return shift;
}

/*
 * Returns the tokens above which the class does not matter: the free part's floor. The state's one
 * writer.
 */
static inline uint64_t phantom_mark(const struct token_bucket_profile *profile)
{
	return profile->burst - (profile->burst >> PHANTOM_FREE_SHIFT);
}

/*
 * Begins with a full bucket of PHANTOM_BURST_MAX at most: all queues empty. `memory` is of
 * phantom_bytes(), aligned to 64. Control thread, before the writer sees it.
 */
static inline struct phantom *phantom_init(void *memory, const struct phantom_params *params,
	const struct token_bucket_profile *profile)
{
	struct phantom *p = (struct phantom *)memory;

	*p = (struct phantom){
		.mask = (uint16_t)(params->classes - 1),
		.shift = (uint8_t)phantom_shift(profile),
		.key = (uint32_t)params->secret | 1,
		.seen = phantom_mark(profile),
	};
	for (unsigned i = 0; i < params->classes; i++)
		p->classes[i] = (struct phantom_class){
			.weight = params->weights ? params->weights[i] : 1};
	return p;
}

/* Virtual time by which the class's queue is empty from now; 0 if it is. */
static inline uint64_t phantom_queue(const struct phantom *p, const struct phantom_class *class)
{
	uint64_t queue = class->end - p->time;

	return queue < phantom_span(p) ? queue : 0;
}

/* The slot, counted from the present one, in which a queue ends next. Some queue does. */
static inline unsigned phantom_next(const struct phantom *p)
{
	unsigned turn = p->time >> p->shift & (PHANTOM_SLOTS - 1);

	return (unsigned)__builtin_ctzll(p->busy >> turn | p->busy << (-turn & 63));
}

/* Returns the virtual time until that slot is over. */
static inline uint64_t phantom_slot_left(const struct phantom *p)
{
	return (((p->time >> p->shift) + phantom_next(p) + 1) << p->shift) - p->time;
}

/* Returns the slot, counted from the present one, in which the last queue ends. */
static inline unsigned phantom_last(const struct phantom *p)
{
	unsigned turn = p->time >> p->shift & (PHANTOM_SLOTS - 1);

	return 63 - (unsigned)__builtin_clzll(p->busy >> turn | p->busy << (-turn & 63));
}

/*
 * Moves time to the end of the slot where a queue ends next. Returns the service that this leaves.
 */
static inline uint64_t phantom_cross(struct phantom *p, uint64_t service, uint64_t ends)
{
	unsigned i = ((ends >> p->shift) - 1) & (PHANTOM_SLOTS - 1);

	service += phantom_slot_over(p->slots[i]) - (ends - p->time) * p->weight;
	phantom_set_weight(p, p->weight - phantom_slot_weight(p->slots[i]));
	p->busy &= ~(UINT64_C(1) << i);
	p->time = ends;
	return service;
}

/* Serves the queues, until they are empty. */
static inline void phantom_serve(struct phantom *p, uint64_t service)
{
	while (p->busy) {
		uint64_t ends = ((p->time >> p->shift) + phantom_next(p) + 1) << p->shift, time;

		if (service >= (ends - p->time) * p->weight) {
			service = phantom_cross(p, service, ends);
			continue;
		}
		time = phantom_divide(service, p->weight);
		p->time += time;
		p->left = service - time * p->weight;
		return;
	}
	p->left = 0;
}

/* Empties all queues: their ends are past. */
static inline void phantom_rest(struct phantom *p, uint64_t mark)
{
	p->seen = mark;
	if (p->busy == 0)
		return;
	p->time = ((p->time >> p->shift) + phantom_last(p) + 1) << p->shift;
	phantom_clear(p);
}

/*
 * Returns the service that can wait. With many classes, a part of a slot for each would be many
 * bursts. Then classes that have been empty for long would still count, in the weight by which the
 * others are served, and as classes that no flow can have.
 */
static inline uint64_t phantom_part(const struct phantom *p)
{
	uint64_t weight = p->weight < PHANTOM_PART_WEIGHT ? p->weight : PHANTOM_PART_WEIGHT;

	return weight << (p->shift - PHANTOM_PART_SHIFT);
}

/* Stores how much can be earned before there is anything to do, for the check of each packet. */
static inline void phantom_look_ahead(struct phantom *p, uint64_t mark)
{
	uint64_t part = phantom_part(p), room = part > p->left ? part - p->left : 0, turn = 0;
	int64_t below = (int64_t)(mark - p->seen); /* seen may be less than nothing by a fraction */

	room <<= PHANTOM_TOKEN;
	p->room = (int64_t)room < below ? room : below > 0 ? (uint64_t)below : 0;
	if (p->busy)
		turn = phantom_slot_left(p) * p->weight;
	p->turn = turn < UINT32_MAX ? (uint32_t)turn : UINT32_MAX;
}

/*
 * Brings the queues up to the bucket, which has been refilled, or has been changed, since the last
 * look. When its free part holds anything they have been empty before.
 */
static inline void phantom_advance(struct phantom *p, const struct token_bucket *bucket,
	const struct token_bucket_profile *profile)
{
	uint64_t mark = phantom_mark(profile), tokens = bucket->tokens, earned = tokens - p->seen;

	if (tokens >= mark) {
		phantom_rest(p, mark);
	} else {
		earned = (int64_t)earned > 0 ? earned : 0; /* negative if emptied or cut */
		p->seen = tokens - (earned & ((UINT64_C(1) << PHANTOM_TOKEN) - 1));
		phantom_serve(p, p->left + (earned >> PHANTOM_TOKEN));
	}
	phantom_look_ahead(p, mark);
}

/*
 * Calls phantom_advance() if it is due: enough service waits, or the queues have ended. So it is
 * when the weight is 0; and when tokens have been taken away, because the difference is then
 * practically endless.
 */
static inline void phantom_follow(struct phantom *p, const struct token_bucket *bucket,
	const struct token_bucket_profile *profile)
{
	if (bucket->tokens - p->seen >= p->room)
		phantom_advance(p, bucket, profile);
}

/*
 * Sorts again. Queues that have ended give back their excess service, and the others are served
 * that. Mostly there is room then, because no queue is longer than the bucket's lack. Longer slots,
 * which stay, are for queues above a burst that was cut.
 */
static inline __attribute__((cold)) void phantom_make_room(
	struct phantom *p, const struct phantom_class *class, uint64_t time)
{
	uint32_t shift = p->shift;

	phantom_sort(p, shift);
	phantom_serve(p, p->left);
	shift = p->shift;
	while (phantom_queue(p, class) + time > UINT64_C(63) << shift)
		shift++;
	if (shift != p->shift)
		phantom_sort(p, shift);
}

/*
 * Makes room for a class's queue to be so much longer: sorts if there is none, or the last sorting
 * is too old.
 */
static inline void phantom_reach(
	struct phantom *p, const struct phantom_class *class, uint64_t time)
{
	uint64_t most = UINT64_C(63) << p->shift;
	uint8_t age = (uint8_t)(p->time >> PHANTOM_AGE_SHIFT) - p->aged;
	bool old = age >= PHANTOM_AGE >> PHANTOM_AGE_SHIFT;

	if (__builtin_expect(phantom_queue(p, class) + time > most || old, 0))
		phantom_make_room(p, class, time);
}

/*
 * Adds a packet that has passed to its class's queue: so many 2^-8 units. Masks, not branches,
 * because it is unpredictable if the class was backlogged, in its slot or altogether.
 */
static inline void phantom_join(struct phantom *p, struct phantom_class *class, uint64_t service)
{
	uint64_t time = phantom_divide(service, class->weight) + 1; /* rounded up */
	uint64_t slotted, ended, end;

	phantom_reach(p, class, time);
	slotted = -(uint64_t)(phantom_ahead(p, class) < phantom_span(p));
	ended = -(uint64_t)((int64_t)(p->time - class->end) > 0) & slotted; /* its slot has not */
	p->left += time * class->weight - service +
		   ((p->time - class->end) * class->weight & ended);
	end = p->time + ((class->end - p->time) & slotted & ~ended) + time;
	phantom_leave(p, class, phantom_slot(p, slotted ? class->end : end), slotted);
	phantom_set_weight(p, p->weight + (class->weight & ~slotted));
	class->end = end;
	phantom_enter(p, class);
}

/* The first class of a flow's set. */
static inline uint32_t phantom_set(const struct phantom *p, uint32_t mixed)
{
	uint32_t i = (uint32_t)((uint64_t)mixed * (p->mask + UINT64_C(1)) >> 32);

	return i & ~(PHANTOM_WAYS - 1U);
}

/* Prefetches the flow's set of classes, the next data to be read in addition to *p. */
static inline void phantom_fetch_class(const struct phantom *p, uint32_t hash)
{
	__builtin_prefetch(&p->classes[phantom_set(p, hash * p->key)], 1);
}

/* Returns the classes of a set that have no queue, a bit each. */
static inline unsigned phantom_empty(const struct phantom *p, const struct phantom_class *classes)
{
	unsigned empty = 0;

	for (unsigned i = 0; i < PHANTOM_WAYS; i++)
		empty |= (unsigned)(phantom_queue(p, &classes[i]) == 0) << i;
	return empty;
}

/*
 * Returns true if earned tokens can end a queue of a set, if all have one. They cannot before they
 * bring time to the end of such a queue, or to the end of a slot, where other classes give
 * something back.
 */
static inline bool phantom_may_end(const struct phantom *p, const struct phantom_class *classes,
	const struct token_bucket *bucket)
{
	uint64_t waits = p->left + ((bucket->tokens - p->seen) >> PHANTOM_TOKEN);
	uint64_t first = phantom_slot_left(p);

	for (unsigned i = 0; i < PHANTOM_WAYS; i++) {
		uint64_t queue = classes[i].end - p->time;

		first = queue < first ? queue : first;
	}
	return waits >= first * p->weight;
}

/* Serves the queues all that is earned, which can end some, and looks again. */
static inline __attribute__((cold)) unsigned phantom_look_again(struct phantom *p,
	const struct phantom_class *classes, const struct token_bucket *bucket,
	const struct token_bucket_profile *profile)
{
	phantom_advance(p, bucket, profile);
	return phantom_empty(p, classes);
}

/*
 * Returns the class of a flow, by its hash: its own, or one that is free. If its set has none, the
 * flow shares one. The bucket is as for phantom_take(). The state's one writer.
 */
static inline struct phantom_class *phantom_of_flow(struct phantom *p, uint32_t hash,
	const struct token_bucket *bucket, const struct token_bucket_profile *profile)
{
	uint32_t mixed = hash * p->key;
	struct phantom_class *classes = &p->classes[phantom_set(p, mixed)];
	unsigned own = 0, empty, i;

	/* Masks, not branches: the match among the four is unpredictable. */
	for (i = 0; i < PHANTOM_WAYS; i++)
		own |= (unsigned)(classes[i].flow == hash) << i;
	if (__builtin_expect(own != 0, 1))
		return &classes[__builtin_ctz(own)];
	empty = phantom_empty(p, classes);
	if (empty == 0 && phantom_may_end(p, classes, bucket))
		empty = phantom_look_again(p, classes, bucket, profile);
	if (empty == 0)
		return &classes[mixed >> 20 & (PHANTOM_WAYS - 1)];
	i = (unsigned)__builtin_ctz(empty);
	classes[i].flow = hash;
	return &classes[i];
}

/* The class of a number below params->classes. */
static inline struct phantom_class *phantom_of_number(struct phantom *p, unsigned number)
{
	return &p->classes[number];
}

/*
 * Returns the tokens that must be there for a packet of so many units of a class, if `tokens` are.
 * No queue is longer than the bucket's lack: of a longer one, other classes got the service, and
 * give it back when their slot is over. In the free part no class has a queue.
 */
static inline uint64_t phantom_needs(const struct phantom *p, const struct phantom_class *class,
	uint64_t tokens, const struct token_bucket_profile *profile, uint32_t cost)
{
	uint64_t queue = phantom_queue(p, class) << PHANTOM_TOKEN;
	uint64_t lacks = phantom_mark(profile) - tokens;
	uint64_t spare = profile->burst >> PHANTOM_SPARE_SHIFT;

	queue = queue < lacks ? queue : lacks;
	return ((uint64_t)cost << TOKEN_BYTE) + (queue >> PHANTOM_SHARE_SHIFT) +
	       (queue < spare ? queue : spare);
}

/*
 * Returns true if so many units can pass for any class, because they leave tokens above the free
 * part's floor, and takes them if so. The bucket has been refilled, by token_bucket_refill();
 * nothing else is read or written. The state's one writer.
 */
static inline bool phantom_take_free(
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint64_t cost)
{
	uint64_t tokens = cost << TOKEN_BYTE;
	bool free = bucket->tokens >= phantom_mark(profile) + tokens;

	bucket->tokens -= tokens & -(uint64_t)free;
	return free;
}

/*
 * Returns true if the class of so many units matters. False if they can pass for any class; or if
 * there are no tokens for them at all, because the difference is then practically endless. The
 * bucket is as above. The state's one writer.
 */
static inline bool phantom_asks(const struct token_bucket *bucket,
	const struct token_bucket_profile *profile, uint32_t cost)
{
	return bucket->tokens - ((uint64_t)cost << TOKEN_BYTE) < phantom_mark(profile);
}

/* Takes a packet's tokens; the part of them below the free part joins the class's queue. */
static inline void phantom_owe(struct phantom *p, struct phantom_class *class,
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint32_t cost)
{
	uint64_t mark = phantom_mark(profile), before = bucket->tokens, service;

	bucket->tokens = before - ((uint64_t)cost << TOKEN_BYTE);
	before = before < mark ? before : mark;
	service = before - bucket->tokens + ((UINT64_C(1) << PHANTOM_TOKEN) - 1);
	service >>= PHANTOM_TOKEN;
	p->seen -= service << PHANTOM_TOKEN;
	phantom_join(p, class, service);
	phantom_look_ahead(p, mark);
}

/*
 * Returns true if units of a flow for which phantom_asks() is true will be refused, and reading is
 * enough to decide. Then no earned tokens are due to be served, and the flow's class is its own, or
 * would be shared because none of its set is free. Under pressure most packets are refused, so most
 * read no more than this, and change nothing. Masks, and two branches; false is no verdict. Any
 * thread that can read the state.
 */
static inline bool phantom_refuses(const struct phantom *p, uint32_t hash,
	const struct token_bucket *bucket, const struct token_bucket_profile *profile,
	uint32_t cost)
{
	uint32_t mixed = hash * p->key;
	const struct phantom_class *classes = &p->classes[phantom_set(p, mixed)], *class;
	uint64_t earned = bucket->tokens - p->seen, waits = p->left + (earned >> PHANTOM_TOKEN);
	uint64_t least = UINT64_MAX, any = 0;
	unsigned own = 0;

	for (unsigned i = 0; i < PHANTOM_WAYS; i++)
		own |= (unsigned)(classes[i].flow == hash) << i;
	for (unsigned i = 0; !own && i < PHANTOM_WAYS; i++) {
		uint64_t queue = classes[i].end - p->time;

		least = queue < least ? queue : least;
		any |= queue;
	}
	class = &classes[own ? (unsigned)__builtin_ctz(own) : mixed >> 20 & (PHANTOM_WAYS - 1)];
	own |= (any < phantom_span(p)) & (waits < p->turn) & (waits < least * p->weight);
	return (cost != 0) & (earned < p->room) & (own != 0) &
	       (bucket->tokens < phantom_needs(p, class, bucket->tokens, profile, cost));
}

/*
 * Returns true if a packet of so many units of a class conforms, and takes them if so. A cost of 0
 * always does. The bucket has been refilled, by phantom_refill(), or by token_bucket_refill() and
 * phantom_follow(). The state's one writer.
 */
static inline bool phantom_take(struct phantom *p, struct phantom_class *class,
	struct token_bucket *bucket, const struct token_bucket_profile *profile, uint32_t cost)
{
	if (cost == 0 || phantom_take_free(bucket, profile, cost))
		return true;
	if (bucket->tokens < phantom_needs(p, class, bucket->tokens, profile, cost))
		return false;
	phantom_owe(p, class, bucket, profile, cost);
	return true;
}

/* Brings bucket and queues up to `now`. The state's one writer. */
static inline void phantom_refill(struct phantom *p, struct token_bucket *bucket,
	const struct token_bucket_profile *profile, uint64_t now)
{
	token_bucket_refill(bucket, profile, now);
	phantom_advance(p, bucket, profile);
}

/*
 * Does the same as token_bucket_change() for a bucket that classes share. Queues stay. If the burst
 * has become smaller they can be longer than the bucket's lack, until there is something in its
 * free part. The state's one writer.
 */
static inline void phantom_change(struct phantom *p, struct token_bucket *bucket,
	struct token_bucket_profile *profile, const struct token_bucket_profile *next, uint64_t now)
{
	uint32_t shift = phantom_shift(next);

	phantom_refill(p, bucket, profile, now);
	token_bucket_change(bucket, profile, next, now);
	if (shift != p->shift)
		phantom_sort(p, shift);
	phantom_look_ahead(p, phantom_mark(next));
}

static_assert(PHANTOM_CLASSES_MIN % PHANTOM_WAYS == 0, "whole sets");
static_assert(sizeof(struct phantom_class) * PHANTOM_WAYS == 64, "a set is a line");
static_assert(
	offsetof(struct phantom, slots) == 64, "fields that each packet reads are before them");
static_assert(PHANTOM_WEIGHT_ALL < 1 << PHANTOM_SLOT_WEIGHT, "any sum of weights fits");
static_assert(PHANTOM_CLASSES_MAX <= PHANTOM_WEIGHT_ALL, "flows too");

/*
 * Sets the bucket's profile, see meter/meters.h. The rest of its row is the token bucket's: only
 * the whole bucket limits a packet of no class.
 */
static inline int phantom_bucket_set(
	struct token_bucket_profile *profile, const struct meter_params *params, uint64_t hz)
{
	if (params->burst > PHANTOM_BURST_MAX >> params->unit_bits)
		return -ERANGE;
	return token_bucket_set(profile, params, hz);
}

#endif
