/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait until they conform: a queue for each policy, first in first out, before its
 * token bucket, and for each worker a timing wheel (the idea is that of Carousel, SIGCOMM 2017). A
 * packet leaves no earlier than the first tick at which the bucket has its tokens, and costs a
 * constant number of steps however many wait.
 *
 * Of a queue that is timed that tick is settled when a packet arrives, and on the wheel are
 * packets: another limit is that of what comes after it. Of the others it is settled when the
 * packet before it leaves, and on the wheel are queues: another limit changes one due time, and
 * holds for all that waits. That takes three times as long.
 *
 * Conformance is a matter of when packets arrived, not of when somebody looked: the bucket is
 * brought up to a packet's arrival, or to the departure of the one before it if that is later. So
 * packets that came well spaced and were received all at once all pass at once ("Impact of
 * Distributed Rate Limiting on Load Distribution", section V.B), and a worker that is late releases
 * late and charges at the due time: lateness does not add up. Limits, and CoDel, likewise: what was
 * due before a limit changed has left under the former one, whenever it is fetched.
 *
 * A queue may be below other limits. Then a packet whose tokens have come leaves when these take it
 * too (struct shape_above), who are asked again and again until its patience ends.
 *
 * A packet that costs more than the burst finds a bucket as deep as it costs while it is the first
 * of its queue. So it is due when all its tokens have come, and nothing waits for ever: over any
 * window of t at most r·t + max(b, c) leave, where c is the largest cost.
 *
 * Pure: no clock, no memory of its own, no packets. The caller embeds struct shape_packet in his
 * buffers, and has one struct shaper a worker. All calls are the worker's, unless said otherwise.
 * A unit is what the policy counts. Ticks are of any monotonic counter: `now` does not run
 * backwards between the calls of one worker.
 */
#ifndef WEIR_SHAPE_SHAPE_H
#define WEIR_SHAPE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/extents.h"
#include "drop/drop_reason.h"
#include "meter/token_bucket.h"
#include "shape/delay.h"
#include "meter/shared_bucket.h"

/* What the shaper keeps of a packet that waits: in the packet's own buffer, 24 bytes of it. */
struct shape_packet {
	struct shape_packet *next;
	uint64_t arrival; /* tick */
	uint32_t cost;    /* units */
	uint16_t path;    /* the owner's: where it will leave */
	uint8_t flags;    /* SHAPE_ECN from the owner; SHAPE_MARK, SHAPE_DROP to him */
	uint8_t spare;    /* the owner's */
};

enum {
	SHAPE_ECN = 1 << 0,  /* the packet may be marked instead of dropped */
	SHAPE_MARK = 1 << 1, /* leaves, and is to be marked: CoDel */
	SHAPE_DROP = 1 << 2, /* does not leave: CoDel, or it has waited longer than a packet may */
	SHAPE_DELAY_EXCEEDED = 1 << 3, /* with SHAPE_DROP: the latter */
};

/* What becomes of a packet that arrives: above SHAPE_WAITS it is refused, and that is why. */
enum shape_verdict {
	SHAPE_PASSES = -2, /* conforms, and nobody waits before it */
	SHAPE_WAITS = -1,  /* is the shaper's until shaper_release() gives it back */
	SHAPE_FULL = DROP_QUEUE_FULL,
	SHAPE_POOL_FULL = DROP_POOL_FULL,
	SHAPE_STOPPED = DROP_STOPPED, /* its owner's word, of a queue that takes nothing more */
};

/*
 * A queue may be timed that waits for no more than a second over this: such a one needs a third of
 * the time for a packet, and in return another limit is that of what comes after it. What waits
 * then leaves when it was told to, by the former one; and before it nobody else does.
 */
#define SHAPE_TIMED_PARTS 8

/* How a policy's packets wait; from struct policy, by shape_params(). Times in ticks. */
struct shape_params {
	uint64_t delay; /* that a packet waits at most, but for a 64th; below 2^62 */
	uint64_t units; /* that wait at most; 0: as many as leave in `delay` */
	bool codel;     /* else tail drop alone */
	bool ecn;       /* CoDel marks packets of SHAPE_ECN */
	bool timed;     /* see SHAPE_TIMED_PARTS; a queue's for its life, and then without CoDel */
	bool below;     /* others are asked too: see shaper_ask(). For its life, and not if timed */
	uint64_t target, interval; /* CoDel's; the interval below 2^62 */
};

/* CoDel of one queue (RFC 8289); private. Times are those of departures. */
struct shape_codel {
	uint64_t target, interval;
	uint64_t above;   /* tick at which packets will have waited too long for an interval */
	uint64_t next;    /* tick of the next drop */
	uint32_t count;   /* of drops since it began to */
	uint32_t before;  /* the same when it began last */
	uint32_t inverse; /* 2^32 over the square root of count */
	bool rising;      /* `above` says when */
	bool dropping, ecn;
};

/*
 * When a queue's packets leave, if that is settled as they arrive; private. Points of time are in
 * ticks and 2^-64 of them.
 */
struct shape_edt {
	/*
	 * When the bucket will be full if nothing comes; with a shared bucket: patience, as below.
	 */
	uint64_t full, full_part;
	uint64_t depth,
		depth_part; /* what it takes to fill; with a shared bucket: its rate, as known */
	uint64_t gap_part;  /* what a unit takes */
	uint64_t last;      /* tick at which the newest packet leaves */
	uint32_t gap;
	uint32_t ahead; /* ticks that a packet may wait */
	uint8_t spare[7];
	uint8_t state; /* struct shape_queue's */
};

/* The limit of a queue that is timed; private. */
struct shape_told {
	struct token_bucket_profile profile;
	uint64_t from, at; /* ticks: since when it holds, and at which it was told */
};

/*
 * One policy on one worker; all is private. The first line is what a packet needs that arrives. Of
 * a queue that is not timed the second is what one needs that leaves: not that one itself is looked
 * at then, but the one after it.
 */
struct shape_queue {
	union {
		struct {
			/*
			 * As of the last departure; the owner's bits are the first packet's cost.
			 * With a shared bucket `tokens` is where in its virtual time those end that
			 * are the first packet's.
			 */
			struct token_bucket bucket;
			struct token_bucket_profile limit;
			struct shape_packet *tail; /* where none waits, anything */
			uint32_t units, packets;   /* that wait */
			uint32_t room;             /* units that may wait */
			uint8_t spare, ending;     /* see shape_expire() */
			uint8_t shift;             /* of the inverse */
			uint8_t state;
		};
		struct shape_edt edt;
	};

	struct shape_packet *head, *second; /* second: undefined where less than two wait */
	uint64_t due;                       /* tick at which something happens to the first one */
	uint64_t patience;                  /* ticks that a packet waits at most */
	uint64_t inverse;                   /* of the rate, see queue_pace.h */
	struct shared_bucket *shared;
	uint32_t slot, place; /* of the wheel */

	union {
		struct shape_codel codel;
		struct shape_told told; /* of one that is timed */
	};
	uint32_t gone;  /* packets that have left already, and are here */
	uint32_t held;  /* units taken from the shared bucket and not used */
	uint32_t most;  /* struct shape_params' units, or as many as can be counted */
	uint64_t ended; /* tick of shape_expire() */
} __attribute__((aligned(64)));

#define SHAPE_TIMED (1 << 7) /* of `state` */

/* Whether its packets' departures are settled as they arrive. */
static inline bool shape_is_timed(const struct shape_queue *queue)
{
	return queue->state & SHAPE_TIMED;
}

/*
 * Asks for what shape_arrive() will need, for a burst at a time: first for its queues; then, as
 * these are there, for the packets that others will be put behind.
 */
static inline void shape_prefetch(const struct shape_queue *queue)
{
	__builtin_prefetch(queue, 1);
}

static inline void shape_prefetch_tail(const struct shape_queue *queue)
{
	if (!shape_is_timed(queue))
		__builtin_prefetch(queue->tail, 1);
}

/* What one worker's queues hold together, and how late it is. Anybody may read, with atomics. */
struct shaper_counts {
	uint32_t packets, most;
	unsigned lateness_unit;     /* see delay_unit() */
	struct delay_bins lateness; /* from when a packet was due until it was released */
};

struct shaper;

/* The limits that queues are below: their owner's. Where none is, both may be NULL. */
struct shape_above {
	/* Takes what the first packet of a queue costs at all of them, or at none. */
	bool (*take)(void *context, struct shape_queue *queue, struct shape_packet *packet,
		uint64_t now);
	/* Gives it back, as the packet does not leave after all: CoDel. */
	void (*give)(void *context, struct shape_queue *queue, struct shape_packet *packet);
	void *context;
};

/* Before any packet comes for a queue that is below others. */
void shaper_ask(struct shaper *shaper, const struct shape_above *above);

/*
 * One worker's: the wheels, and what all queues hold together. Some 1.1 MB, and lines that list the
 * queues and packets that wait: 128 bytes for each packet that may wait, of all policies, or 33.6
 * MB and 18.3 bytes for each, whichever is less. Of these only as much is ever touched as waits at
 * once.
 */
size_t shaper_bytes(uint32_t most);

/*
 * In zeroed memory of shaper_bytes(), aligned to a cache line. hz: ticks a second; most: packets
 * that may wait, of all policies. Control thread, before the worker runs.
 */
void shaper_init(struct shaper *shaper, uint64_t hz, uint32_t most, uint64_t now);

/*
 * Packets that wait hold so many buffers more than one each, or, below 0, so many less than before:
 * those of several segments. As many packets less may wait.
 */
void shaper_hold(struct shaper *shaper, int32_t buffers);

/* Any thread. */
const struct shaper_counts *shaper_counts(const struct shaper *shaper);

/*
 * A queue that is empty, before a full bucket. With a shared bucket (which several workers draw
 * from) the queue has no tokens of its own, and each packet takes its own cost from there: then all
 * workers together are one bucket; `profile` says the rate alone. Make the shared bucket's profile
 * without a frame: quanta are not taken, and its depth is the whole burst. Control thread, before
 * the worker sees it.
 */
void shape_queue_init(struct shape_queue *queue, const struct shape_params *params,
	const struct token_bucket_profile *profile, struct shared_bucket *shared, uint64_t now);

/*
 * As if the bucket had just been spent; a shared bucket has shared_bucket_spend(). Control thread,
 * as above.
 */
void shape_queue_spend(struct shape_queue *queue);

/*
 * A packet of that cost that arrived at a tick not after `now`, and not before the one before it of
 * the same queue. Its flags (0 or SHAPE_ECN) are set, and what the owner has there. The rest is
 * written only if it waits, and its cost; of a queue that is timed nothing is read or written.
 *
 * As many units wait as leave within `delay`, and one packet that would; if it is timed, whatever
 * leaves within `delay` and a 64th. While there is no limit (a rate of 0, or others drain the
 * bucket) as many as the burst wait for one. If it is timed nothing waits or passes then, which is
 * so below a unit a second too; its tokens are kept.
 */
enum shape_verdict shape_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now);

/*
 * Packets that are due by `now`, at most n of them, into out[], those of one queue in their order;
 * and those that do not leave, which say so in their flags. Those of several queues come as they
 * were due, to a slot of the wheel (a quarter to half a microsecond; where queues are timed, two to
 * four). Returns how many. There may be more while shaper_next() says `now`, which is so when n
 * have come out, and also when many queues were looked at in vain: call again, after others have
 * had their turn.
 */
unsigned shaper_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n);

/*
 * Whether anything waits; and a tick by which shaper_release() is due again, not after it is, and
 * not before `now`: at most a slot too early. Without anything that waits, far away.
 */
bool shaper_waits(const struct shaper *shaper);
uint64_t shaper_next(const struct shaper *shaper, uint64_t now);

/* Packets that may wait in it, as shaper_init() was told. Any thread. */
uint32_t shaper_most(const struct shaper *shaper);

/*
 * Adds what of a shaper a packet's arrival depends on. A copy of that in zeroed memory of
 * shaper_bytes(), once shaper_excerpt_settle() has been told, says the same of a packet in a copy
 * of its queue. The worker; whoever has the copy.
 */
void shaper_extents(const struct shaper *shaper, struct extents *extents);
void shaper_excerpt_settle(struct shaper *copy);

/* So that a packet can be put behind others in a copy of a queue: behind that one. */
void shape_queue_excerpt_settle(
	struct shape_queue *copy, struct shape_packet *last, struct shared_bucket *shared);

/*
 * Another limit, or other parameters, from tick `now` on: the tokens stay, and the first packet is
 * due when the new limit says. What was due before has left by the former ones. A queue that is
 * longer than it may be now takes nothing until it has become shorter. With a shared bucket: after
 * its own change. Of a queue that is timed the parameters hold at once, and the new limit from when
 * the newest packet has left, or all that is booked of a shared bucket has come; and not before the
 * former one has held for as long as it would have, unless the bucket is full.
 */
void shape_limit(struct shaper *shaper, struct shape_queue *queue,
	const struct token_bucket_profile *profile, uint64_t now);
void shape_change(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, uint64_t now);

/*
 * What is left of the limit when so much of it has ended at a tick, until the next shape_limit():
 * see base/expiry.h. What was due by then leaves. With a shared bucket the queue's clock goes
 * slower from then on, in a bucket as much shallower. Not of a queue that is timed.
 */
void shape_expire(struct shaper *shaper, struct shape_queue *queue, uint8_t ending, uint64_t from);

/*
 * Packets that wait in a queue, at most n, in order, whether they conform or not: before its policy
 * goes, or the worker. No tokens are taken for them. Returns how many; 0 when it is empty, or is
 * timed.
 */
unsigned shape_flush(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet **out, unsigned n);

/* The queue that a packet waits in, which is one of the shaper's and timed. */
struct shape_whose {
	const struct shape_queue *(*queue)(const struct shape_packet *packet, void *context);
	void *context;
};

/*
 * shaper_flush() of queues that are timed, all at once: those that shape_leave() has been told of.
 * So long as something waits in such a queue what comes for it waits behind that; then it passes.
 * Returns how many; it may be 0 while shaper_leaves(), as the search has its bounds too: call
 * again, after others have had their turn.
 */
void shape_leave(struct shaper *shaper, struct shape_queue *queue);
bool shaper_leaves(const struct shaper *shaper);
unsigned shaper_flush_leaving(struct shaper *shaper, const struct shape_whose *whose,
	struct shape_packet **out, unsigned n);

/* What waits in all queues of a worker, those of one queue in their order. */
unsigned shaper_flush(struct shaper *shaper, struct shape_packet **out, unsigned n);

/*
 * A clock that has been set back by more than TOKEN_BACK, whatever was told of `now`. What waits
 * then is due in as long as the clock was set back: call shaper_flush(), then shaper_restart(),
 * and shape_restart() of each queue. Until then a queue lets pass what it has tokens for, and
 * hardly anything waits.
 */
bool shaper_is_ahead(const struct shaper *shaper, uint64_t now);

/* Goes on from tick `now`. Nothing waits. */
void shaper_restart(struct shaper *shaper, uint64_t now);

/*
 * Goes on from tick `now` with that limit, as if the bucket had just been spent; a shared bucket
 * has shared_bucket_restart(), before. What has come since shaper_restart() stays.
 */
void shape_restart(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, const struct token_bucket_profile *profile,
	uint64_t now);

static_assert(sizeof(struct shape_packet) == 24, "what a packet buffer has room for");
static_assert(sizeof(struct shape_queue) == 192, "three lines");

#endif
