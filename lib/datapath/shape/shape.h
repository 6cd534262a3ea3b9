/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shapes packets: they wait until they conform. Each policy has a FIFO queue before its token
 * bucket. Each worker has a timing wheel (after Carousel, SIGCOMM 2017). A packet leaves no earlier
 * than the first tick at which the bucket has its tokens. It costs a constant number of steps,
 * however many packets wait.
 *
 * In a timed queue, the departure tick is fixed when a packet arrives, and the wheel holds packets.
 * A new limit then applies to later packets only. In other queues, it is fixed when the previous
 * packet leaves, and the wheel holds queues. A new limit then changes one due time and applies to
 * all waiting packets. That takes three times as long.
 *
 * Conformance depends on arrival times, not on polling times. The bucket is refilled up to a
 * packet's arrival, or up to the departure of the packet before it if that is later. So well-spaced
 * packets that are received in one burst all pass at that time ("Impact of Distributed Rate
 * Limiting on Load Distribution", section V.B). A late worker releases late but charges at the due
 * time, so lateness does not add up. The same is true of limits and CoDel: a packet that was due
 * before a limit changed leaves under the previous limit, whenever it is fetched.
 *
 * A queue can be below other limits (struct shape_above). A packet that has its tokens then leaves
 * when these limits accept it too. The shaper tries again until the packet's patience ends.
 *
 * For a first packet that costs more than the burst, the bucket is as deep as the cost. So it is
 * due when all its tokens have come, and no packet waits for ever. Over any window of t, at most
 * r·t + max(b, c) leave, where c is the largest cost.
 *
 * Pure: no clock, no memory of its own, no packets. The caller embeds struct shape_packet in its
 * buffers, and has one struct shaper per worker. The worker makes all calls, except where noted.
 * The policy defines the unit: a byte or a packet. Ticks are those of any monotonic counter: `now`
 * does not run backwards between the calls of one worker.
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

/* Shaper's state of a waiting packet: 24 bytes in the packet's own buffer. */
struct shape_packet {
	struct shape_packet *next;
	uint64_t arrival; /* tick */
	uint32_t cost;    /* units */
	uint16_t path;    /* the owner's: output path */
	uint8_t flags;    /* the owner sets SHAPE_ECN; the shaper sets the others */
	uint8_t spare;    /* the owner's */
};

enum {
	SHAPE_ECN = 1 << 0,  /* the packet may be marked instead of dropped */
	SHAPE_MARK = 1 << 1, /* the packet leaves; the owner marks it: CoDel */
	SHAPE_DROP = 1 << 2, /* the packet does not leave: CoDel, or it has waited too long */
	SHAPE_DELAY_EXCEEDED = 1 << 3, /* with SHAPE_DROP: it has waited too long */
};

/* Verdict on a packet that arrives. Values above SHAPE_WAITS refuse it and are the drop reason. */
enum shape_verdict {
	SHAPE_PASSES = -2, /* conforms, and no packet waits before it */
	SHAPE_WAITS = -1,  /* belongs to the shaper until shaper_release() returns it */
	SHAPE_FULL = DROP_QUEUE_FULL,
	SHAPE_POOL_FULL = DROP_POOL_FULL,
	SHAPE_STOPPED = DROP_STOPPED, /* for the owner's use: the queue accepts no more packets */
};

/*
 * A queue can be timed if its delay is at most a second divided by this. A timed queue needs a
 * third of the time per packet. In return, a new limit applies to later packets only: packets that
 * wait leave at the ticks of the previous limit, and no later packet leaves before them.
 */
#define SHAPE_TIMED_PARTS 8

/* How a policy's packets wait. shape_params() makes it from struct policy. Times in ticks. */
struct shape_params {
	uint64_t delay; /* longest wait of a packet, to which a 64th is added; below 2^62 */
	uint64_t units; /* most that wait; 0: as many as leave in `delay` */
	bool codel;     /* false: tail drop only */
	bool ecn;       /* CoDel marks packets with SHAPE_ECN */
	bool timed;     /* see SHAPE_TIMED_PARTS; fixed for a queue's life; excludes CoDel */
	bool below;     /* has limits above: see shaper_ask(); fixed; excludes `timed` */
	uint64_t target, interval; /* CoDel's; the interval below 2^62 */
};

/* CoDel state of one queue (RFC 8289); private. Times are those of departures. */
struct shape_codel {
	uint64_t target, interval;
	uint64_t above;   /* tick at which packets will have waited too long for an interval */
	uint64_t next;    /* tick of the next drop */
	uint32_t count;   /* RFC 8289's count: one more per drop */
	uint32_t before;  /* `count` at the start of this dropping state */
	uint32_t inverse; /* 2^32 over the square root of count */
	bool rising;      /* `above` is valid */
	bool dropping, ecn;
};

/*
 * Departure times of a timed queue's packets; private. Points of time are in ticks and 2^-64 ticks.
 */
struct shape_edt {
	/* Time at which the bucket is full if no packet comes. With a shared bucket: `patience`. */
	uint64_t full, full_part;
	uint64_t depth, depth_part; /* time to fill the bucket; shared bucket: its published rate */
	uint64_t gap_part;          /* with `gap`: time of one unit */
	uint64_t last;              /* tick at which the newest packet leaves */
	uint32_t gap;
	uint32_t ahead; /* most ticks that a packet can wait */
	uint8_t spare[7];
	uint8_t state; /* at the place of struct shape_queue's `state` */
};

/* The limit of a timed queue; private. */
struct shape_announced {
	struct token_bucket_profile profile;
	uint64_t from, at; /* ticks: start of this limit, and time of the call that set it */
};

/*
 * One policy on one worker; all is private. An arriving packet needs the first cache line only. In
 * a queue that is not timed, a departure needs the second line, because it reads the packet after
 * the one that leaves.
 */
struct shape_queue {
	union {
		struct {
			/*
			 * State at the last departure. The owner's bits are the first packet's
			 * cost. With a shared bucket, `tokens` is the end of the first packet's
			 * booking in its virtual time.
			 */
			struct token_bucket bucket;
			struct token_bucket_profile limit;
			struct shape_packet *tail; /* undefined if the queue is empty */
			uint32_t units, packets;   /* waiting */
			uint32_t room;             /* most units that can wait */
			uint8_t spare, ending;     /* see shape_expire() */
			uint8_t shift;             /* for `inverse` */
			uint8_t state;
		};
		struct shape_edt edt;
	};

	struct shape_packet *head, *second; /* second: undefined if fewer than two wait */
	uint64_t due;                       /* tick of the first packet's next event */
	uint64_t patience;                  /* most ticks that a packet waits */
	uint64_t inverse;                   /* inverse of the rate, see shape_private.h */
	struct shared_bucket *shared;
	uint32_t slot, place; /* position on the wheel */

	union {
		struct shape_codel codel;
		struct shape_announced announced; /* timed queues */
	};
	uint32_t gone;  /* packets that have departed but are still queued */
	uint32_t held;  /* units booked in the shared bucket and not used */
	uint32_t most;  /* struct shape_params' units, or UINT32_MAX */
	uint64_t ended; /* tick of shape_expire() */
} __attribute__((aligned(64)));

#define SHAPE_TIMED (1 << 7) /* a bit of `state` */

/* Returns whether its packets' departures are fixed when they arrive. */
static inline bool shape_is_timed(const struct shape_queue *queue)
{
	return queue->state & SHAPE_TIMED;
}

/*
 * Prefetch the data that shape_arrive() needs, for a burst at a time. Call shape_prefetch() for the
 * burst's queues first. Once these are in the cache, call shape_prefetch_tail(), which fetches each
 * queue's last packet.
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

/* Totals of one worker's queues, and its lateness. Any thread can read them, with atomics. */
struct shaper_counts {
	uint32_t packets, most;
	unsigned lateness_unit;     /* see delay_unit() */
	struct delay_bins lateness; /* time from a packet's due tick to its release */
};

struct shaper;

/*
 * Limits that queues are below: the owner's callbacks. Both can be NULL if no queue is below any.
 */
struct shape_above {
	/* Takes the cost of a queue's first packet from all limits above, or from none. */
	bool (*take)(void *context, struct shape_queue *queue, struct shape_packet *packet,
		uint64_t now);
	/* Gives the cost back, because CoDel drops the packet. */
	void (*give)(void *context, struct shape_queue *queue, struct shape_packet *packet);
	void *context;
};

/* Sets the callbacks. To be called before any packet comes for a queue with limits above. */
void shaper_ask(struct shaper *shaper, const struct shape_above *above);

/*
 * Bytes of one worker's shaper: some 1.1 MB for the wheels and totals, and cache lines that list
 * waiting queues and packets. For each packet that can wait, of all policies, these take the
 * smaller of 128 bytes, or 33.6 MB in all and 18.3 bytes each. Memory is touched only for
 * packets that wait at the same time.
 */
size_t shaper_bytes(uint32_t most);

/*
 * Sets up a shaper in zeroed memory of shaper_bytes(), aligned to a cache line. hz: ticks per
 * second; most: packets that can wait, of all policies. Control thread, before the worker runs.
 */
void shaper_init(struct shaper *shaper, uint64_t hz, uint32_t most, uint64_t now);

/*
 * Adds to the number of buffers that waiting packets hold beyond one each, because of several
 * segments. Below 0, it subtracts. The number of packets that can wait shrinks by this total.
 */
void shaper_hold(struct shaper *shaper, int32_t buffers);

/* Any thread. */
const struct shaper_counts *shaper_counts(const struct shaper *shaper);

/*
 * Sets up an empty queue with a full bucket. With a shared bucket, from which several workers draw,
 * the queue has no tokens of its own. Each packet takes its own cost from the shared bucket, so all
 * workers together are one bucket, and `profile` gives the rate only. Make the shared bucket's
 * profile without a frame: no quanta are taken, and its depth is the whole burst. Control thread,
 * before the worker sees the queue.
 */
void shape_queue_init(struct shape_queue *queue, const struct shape_params *params,
	const struct token_bucket_profile *profile, struct shared_bucket *shared, uint64_t now);

/*
 * Empties the bucket. For a shared bucket, call shared_bucket_spend() instead. Control thread,
 * before the worker sees the queue.
 */
void shape_queue_spend(struct shape_queue *queue);

/*
 * Takes a packet of `cost` units. `arrival` is at most `now`, and at least the arrival of the
 * previous packet of the queue. The caller has set the flags (0 or SHAPE_ECN) and the owner's
 * fields. The shaper can write the other fields, even if it refuses the packet. For a timed queue
 * it does not access the packet.
 *
 * As many units can wait as leave within `delay`; a single packet that leaves within `delay` can
 * always wait. In a timed queue, all packets can wait that leave within `delay` and a 64th. Without
 * a limit (a rate of 0, or others drain the bucket), up to a burst of units waits for one. In a
 * timed queue, no packet waits or passes then, or at less than a unit per second; its tokens are
 * kept.
 */
enum shape_verdict shape_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now);

/*
 * Releases at most n packets that are due by `now` into out[]. Packets of one queue keep their
 * order. Packets to drop are among them; their flags show it. Packets of several queues come in due
 * order, to within a slot of the wheel: a quarter to half a microsecond, for timed queues two to
 * four. Returns their number. More can be due if shaper_next() returns `now`: after n packets, or
 * after visiting many queues that were not due. Then call again, after other work has had its turn.
 */
unsigned shaper_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n);

/*
 * shaper_waits(): whether any packet waits. shaper_next(): the tick at which to call
 * shaper_release() again, at most a slot too early and not before `now`. If no packet waits, it is
 * far in the future.
 */
bool shaper_waits(const struct shaper *shaper);
uint64_t shaper_next(const struct shaper *shaper, uint64_t now);

/* Returns the number of packets that can wait, as given to shaper_init(). Any thread. */
uint32_t shaper_most(const struct shaper *shaper);

/*
 * shaper_extents() adds the parts of a shaper that decide on an arriving packet. Copy them into
 * zeroed memory of shaper_bytes(), and call shaper_excerpt_settle(). The copy then gives the same
 * verdict for a packet in a copy of its queue. The worker calls the first; the owner of the copy
 * calls the second.
 */
void shaper_extents(const struct shaper *shaper, struct extents *extents);
void shaper_excerpt_settle(struct shaper *copy);

/* Makes a copy of a queue usable: new packets go after packet `last`. */
void shape_queue_excerpt_settle(
	struct shape_queue *copy, struct shape_packet *last, struct shared_bucket *shared);

/*
 * Sets another limit or other parameters from tick `now` on. Tokens stay, and the first packet is
 * due when the new limit has its tokens. Packets that were due before have left under the previous
 * values. A queue that is longer than now allowed accepts no packet until it is shorter. With a
 * shared bucket, call this after changing that bucket.
 *
 * In a timed queue, parameters take effect immediately. The new limit takes effect when the newest
 * packet has left, or when all bookings of a shared bucket have come. And it does not begin before
 * the previous limit has been in force for its time, unless the bucket is full.
 */
void shape_limit(struct shaper *shaper, struct shape_queue *queue,
	const struct token_bucket_profile *profile, uint64_t now);
void shape_change(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, uint64_t now);

/*
 * Reduces the limit at tick `from`, until the next shape_limit(), because a part of it has expired:
 * `ending`, see base/expiry.h. Packets that were due by then leave. With a shared bucket, the
 * queue's clock runs slower from then on, in a bucket that is shallower by the same factor. No
 * effect on a timed queue.
 */
void shape_expire(struct shaper *shaper, struct shape_queue *queue, uint8_t ending, uint64_t from);

/*
 * Removes at most n waiting packets of a queue, in order, whether they conform or not. For the end
 * of its policy or worker. Takes no tokens for them. Returns their number; 0 if the queue is empty
 * or timed.
 */
unsigned shape_flush(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet **out, unsigned n);

/* Callback that returns the queue of a waiting packet: timed, and of this shaper. */
struct shape_whose {
	const struct shape_queue *(*queue)(const struct shape_packet *packet, void *context);
	void *context;
};

/*
 * Removes the waiting packets of timed queues, of all queues together that shape_leave() marked.
 * While packets wait in such a queue, new packets wait after them; then new packets pass.
 * shaper_flush_leaving() returns the number of packets. It can be 0 while shaper_leaves() is true,
 * because each call's search is bounded. Call again, after other work has had its turn.
 */
void shape_leave(struct shaper *shaper, struct shape_queue *queue);
bool shaper_leaves(const struct shaper *shaper);
unsigned shaper_flush_leaving(struct shaper *shaper, const struct shape_whose *whose,
	struct shape_packet **out, unsigned n);

/* Removes waiting packets of all queues of a worker. Packets of one queue keep their order. */
unsigned shaper_flush(struct shaper *shaper, struct shape_packet **out, unsigned n);

/*
 * Returns whether the clock was set back by more than TOKEN_BACK, which violates the rule for
 * `now`. Waiting packets would then be late by the time that the clock was set back. Call
 * shaper_flush(), then shaper_restart(), and shape_restart() for each queue. Until then, a queue
 * passes packets for which it has tokens, and hardly any packet waits.
 */
bool shaper_is_ahead(const struct shaper *shaper, uint64_t now);

/* Continues from tick `now`. No packet may wait. */
void shaper_restart(struct shaper *shaper, uint64_t now);

/*
 * Continues a queue from tick `now` with this limit and an empty bucket. Call
 * shared_bucket_restart() before, for a shared bucket. Packets that have come since
 * shaper_restart() stay.
 */
void shape_restart(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, const struct token_bucket_profile *profile,
	uint64_t now);

static_assert(sizeof(struct shape_packet) == 24, "room in a packet buffer");
static_assert(sizeof(struct shape_queue) == 192, "three lines");

#endif
