/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The shaper's work per packet: arrival, waiting and release. Called by the worker that owns the
 * shaper.
 */
#include "shape/codel.h"
#include "shape/shape_private.h"

#define QUANTUM 8  /* packets of one queue, before other due queues get a turn */
#define AHEAD   32 /* queues that are prefetched at a time */
#define VISITS  64 /* queues per call that turn out not to be due yet */

/*
 * Interval at which the limits above a queue are checked again: a quarter of its packet's time at
 * its own limit, and at most a 32nd of its patience. So many queues below one parent check it only
 * a few times for each packet that leaves, and often enough before a packet's patience ends.
 */
#define AGAIN_PACKET   2 /* 1/2^this */
#define AGAIN_PATIENCE 5

/* Converts virtual time of a shared bucket, in 2^-8 units, to tokens. */
static tokens_t tokens_of(uint64_t time)
{
	return (tokens_t)time << (TOKEN_SHIFT - GCRA_SHIFT);
}

/*
 * Converts a tick to the time of the queue's shared bucket, which runs slower after shape_expire().
 */
static uint64_t shared_bucket_tick(const struct shape_queue *queue, uint64_t at)
{
	if (__builtin_expect(queue->state & QUEUE_SLOWED, 0))
		return expiry_slowed(queue->ended, at, queue->ending);
	return at;
}

/*
 * Books a packet's cost, less the units held from a dropped packet. Returns 0, or the virtual time
 * by which the booking would exceed `most`; then it books nothing.
 */
static uint64_t shared_bucket_claim(
	struct shape_queue *queue, uint32_t cost, uint64_t at, uint64_t most)
{
	uint32_t need = cost > queue->held ? cost - queue->held : 0;
	uint64_t over = 0;

	at = shared_bucket_tick(queue, at);
	if (__builtin_expect(queue->state & QUEUE_SLOWED, 0))
		shared_bucket_trim(queue->shared, at, at, queue->ending, 0);
	if (need)
		over = shared_bucket_book(queue->shared, at, need, most, &queue->bucket.tokens);
	else if (queue->held == 0) /* the cost is 0 */
		queue->bucket.tokens = shared_bucket_time(queue->shared, at);
	if (over)
		return over;
	queue->held -= cost - need;
	queue->state |= QUEUE_BOOKED;
	return 0;
}

/* Ticks from `at` until virtual time reaches the end of the first packet's booking. */
static uint64_t shared_bucket_ticks(const struct shape_queue *queue, uint64_t at)
{
	uint64_t tick = shared_bucket_tick(queue, at);
	int64_t lack = (int64_t)(queue->bucket.tokens - shared_bucket_time(queue->shared, tick));

	return lack > 0 ? pace_ticks(queue, tokens_of((uint64_t)lack)) : 0;
}

/* Ticks from `at` until the first packet can leave or, without a booking, should try again. */
static uint64_t shared_bucket_wait(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	uint64_t over = 0;

	if (!(queue->state & QUEUE_BOOKED))
		over = shared_bucket_claim(queue, cost, at, UINT64_MAX);
	return over ? pace_ticks(queue, tokens_of(over)) : shared_bucket_ticks(queue, at);
}

/*
 * Makes a packet the first of its queue: computes `due`. plain: there is no shared bucket, and the
 * queue has been plain until now, so its state is not checked.
 */
static inline __attribute__((always_inline)) void start_packet(
	struct shape_queue *queue, const struct shape_packet *packet, bool plain)
{
	uint64_t at = tick_later(packet->arrival, queue->bucket.last);
	uint64_t end = packet->arrival + queue->patience, due = at;

	token_bucket_set_owner(&queue->bucket, packet->cost);
	queue->second = packet->next;
	if (!plain && queue->state & QUEUE_SHARED_BUCKET)
		due += shared_bucket_wait(queue, packet->cost, at);
	else
		due += pace_wait(queue, packet->cost, at);
	if (!plain)
		queue->state &= (uint8_t)~QUEUE_LATE;
	if (__builtin_expect(tick_after(due, end), 0)) {
		queue->state |= QUEUE_LATE;
		due = tick_later(end, at);
	}
	queue->due = due;
}

void queue_start(struct shape_queue *queue, const struct shape_packet *packet)
{
	start_packet(queue, packet, false);
}

/* Limits above refuse the first packet at tick `at`: it waits until they are checked again. */
static void wait_for_above(
	struct shape_queue *queue, const struct shape_packet *packet, uint64_t at)
{
	uint64_t end = packet->arrival + queue->patience;
	uint64_t again = pace_ticks(queue, (tokens_t)packet->cost << TOKEN_SHIFT) >> AGAIN_PACKET;
	uint64_t most = queue->patience >> AGAIN_PATIENCE;

	queue->due = at + 1 + (again < most ? again : most);
	if (tick_after(queue->due, end)) {
		queue->state |= QUEUE_LATE;
		queue->due = tick_later(end, at + 1);
	}
}

/* Returns whether the limits above, if any, accept a packet that has its own tokens. */
static bool above_takes(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet *packet, uint64_t now)
{
	const struct shape_above *above = &shaper->above;

	if (__builtin_expect(!(queue->state & QUEUE_BELOW), 1))
		return true;
	return above->take(above->context, queue, packet, now);
}

/* Decides on a packet that is due. Returns the flags that it leaves with, and sets them. */
static __attribute__((noinline)) uint8_t queue_decide(
	struct shape_queue *queue, struct shape_packet *packet)
{
	uint64_t due = queue->due;
	uint8_t flags = 0;

	if (queue->state & QUEUE_LATE)
		flags = SHAPE_DROP | SHAPE_DELAY_EXCEEDED;
	else if (codel_drops(&queue->codel, due, due - packet->arrival, packet->next != NULL))
		flags = queue->codel.ecn && packet->flags & SHAPE_ECN ? SHAPE_MARK : SHAPE_DROP;
	packet->flags |= flags;
	return flags;
}

void queue_depart(struct shape_queue *queue, struct shape_packet *packet)
{
	uint32_t cost = token_bucket_owner(&queue->bucket);
	bool leaves = true;

	if (queue->state & (QUEUE_LATE | QUEUE_CODEL))
		leaves = !(queue_decide(queue, packet) & SHAPE_DROP);
	if (queue->shared) {
		queue->bucket.last = queue->due;
		/* The next packet uses the booking of a packet that does not leave. */
		if (!leaves && queue->state & QUEUE_BOOKED)
			queue->held += cost;
		queue->state &= (uint8_t)~QUEUE_BOOKED;
		return;
	}
	pace_refill(queue, cost, queue->due);
	if (leaves)
		token_bucket_take(&queue->bucket, cost);
}

/* Appends a packet to a queue. */
static enum shape_verdict queue_join(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint64_t arrival)
{
	packet->next = NULL;
	packet->arrival = arrival;
	if (queue->packets == 0)
		queue->head = packet;
	else
		queue->tail->next = packet;
	if (queue->packets == 1)
		queue->second = packet;
	queue->tail = packet;
	counter_add32(&queue->packets, 1);
	counter_add32(&queue->units, packet->cost);
	counter_add32(&shaper->counts.packets, 1);
	return SHAPE_WAITS;
}

/* Puts the first packet into an empty queue, and files the queue on the wheel. */
static enum shape_verdict queue_begin(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint64_t arrival, uint64_t now)
{
	wheel_catch_up(&shaper->wheel, now);
	queue_join(shaper, queue, packet, arrival);
	wheel_file(&shaper->wheel, queue);
	return SHAPE_WAITS;
}

/* Virtual time that an arriving packet may book ahead: as much as comes during its patience. */
static uint64_t shared_bucket_ahead(const struct shape_queue *queue)
{
	uint64_t rate = (uint64_t)queue->limit.rate;

	if (queue->limit.rate <= 0)
		return UINT64_MAX;
	return (uint64_t)((tokens_t)rate * queue->patience >> (TOKEN_SHIFT - GCRA_SHIFT));
}

/* Returns whether a packet of this cost can never wait, even alone. */
static bool queue_refuses(const struct shape_queue *queue, uint32_t cost)
{
	return cost > (queue->limit.rate > 0 ? queue->most : queue->room);
}

static enum shape_verdict shape_arrive_shared_bucket(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint64_t arrival, uint64_t now)
{
	bool pool_full = shaper->counts.packets >= shaper->counts.most;
	bool refused = queue_refuses(queue, packet->cost);
	uint64_t at = tick_later(arrival, queue->bucket.last);
	uint64_t ahead = pool_full || refused ? 0 : shared_bucket_ahead(queue);

	if (shared_bucket_claim(queue, packet->cost, at, ahead))
		return pool_full && !refused ? SHAPE_POOL_FULL : SHAPE_FULL;
	packet->next = NULL;
	packet->arrival = arrival;
	queue_start(queue, packet);
	if (queue->due == at && !(queue->state & QUEUE_LATE)) {
		if (above_takes(shaper, queue, packet, now)) {
			queue->bucket.last = at;
			queue->state &= (uint8_t)~QUEUE_BOOKED;
			return SHAPE_PASSES;
		}
		wait_for_above(queue, packet, now);
	}
	if (!pool_full && !refused && !(queue->limit.rate > 0 && queue->state & QUEUE_LATE))
		return queue_begin(shaper, queue, packet, arrival, now);
	/* Units held from a dropped packet can have paid for it, and be booked far ahead. */
	queue->held += queue->state & QUEUE_BOOKED ? packet->cost : 0;
	queue->state &= (uint8_t) ~(QUEUE_BOOKED | QUEUE_LATE);
	return pool_full && !refused ? SHAPE_POOL_FULL : SHAPE_FULL;
}

/* Takes a packet that does not conform, in an empty queue. */
static __attribute__((noinline)) enum shape_verdict arrive_first(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint64_t arrival, uint64_t now)
{
	if (shaper->counts.packets >= shaper->counts.most)
		return SHAPE_POOL_FULL;
	packet->next = NULL;
	packet->arrival = arrival;
	queue_start(queue, packet);
	if (queue_refuses(queue, packet->cost) ||
		(queue->limit.rate > 0 && queue->state & QUEUE_LATE))
		return SHAPE_FULL;
	return queue_begin(shaper, queue, packet, arrival, now);
}

/* Takes a packet that conforms by its own limit, in an empty queue with limits above. */
static __attribute__((noinline)) enum shape_verdict arrive_below(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint64_t arrival, uint64_t now)
{
	packet->next = NULL;
	packet->arrival = arrival;
	if (above_takes(shaper, queue, packet, now)) {
		token_bucket_take(&queue->bucket, packet->cost);
		return SHAPE_PASSES;
	}
	if (shaper->counts.packets >= shaper->counts.most)
		return SHAPE_POOL_FULL;
	queue_start(queue, packet);
	wait_for_above(queue, packet, now);
	if (queue_refuses(queue, packet->cost) || queue->state & QUEUE_LATE)
		return SHAPE_FULL;
	return queue_begin(shaper, queue, packet, arrival, now);
}

/* Takes a packet in an empty queue. */
static __attribute__((noinline)) enum shape_verdict arrive_alone(struct shaper *shaper,
	struct shape_queue *queue, struct shape_packet *packet, uint64_t arrival, uint64_t now)
{
	if (queue->state & QUEUE_SHARED_BUCKET)
		return shape_arrive_shared_bucket(shaper, queue, packet, arrival, now);
	pace_refill(queue, packet->cost, tick_later(arrival, queue->bucket.last));
	if (queue->state & QUEUE_BELOW && queue->bucket.tokens >= (uint64_t)packet->cost
									  << TOKEN_BYTE)
		return arrive_below(shaper, queue, packet, arrival, now);
	if (token_bucket_take(&queue->bucket, packet->cost))
		return SHAPE_PASSES;
	return arrive_first(shaper, queue, packet, arrival, now);
}

enum shape_verdict shape_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now)
{
	if (shape_is_timed(queue))
		return timed_arrive(shaper, queue, packet, cost, arrival, now);
	packet->cost = cost;
	if (queue->packets == 0)
		return arrive_alone(shaper, queue, packet, arrival, now);
	if (shaper->counts.packets >= shaper->counts.most)
		return SHAPE_POOL_FULL;
	if ((uint64_t)queue->units + packet->cost > queue->room)
		return SHAPE_FULL;
	return queue_join(shaper, queue, packet, arrival);
}

/*
 * Returns whether the first packet is due. If its booking has not come, because the shared bucket's
 * limit changed or nothing was booked yet, computes `due` again.
 */
static bool queue_is_due(struct shape_queue *queue, uint64_t now)
{
	bool booked = queue->state & QUEUE_BOOKED;

	if (!(queue->state & QUEUE_SHARED_BUCKET) || queue->state & QUEUE_LATE)
		return true;
	if (booked && (int64_t)(shared_bucket_time(queue->shared, shared_bucket_tick(queue, now)) -
				queue->bucket.tokens) >= 0)
		return true;
	queue->bucket.last = now;
	queue_start(queue, queue->head);
	return false;
}

/* State of one call of shaper_release(). */
struct release_turn {
	uint64_t now;
	struct shape_packet **out;
	unsigned n, count;
	unsigned visits; /* left */
	unsigned ahead;  /* prefetched queues that are still to come */
	uint64_t units;  /* released */
};

/* Returns whether the first packet only needs its tokens. Most queues are like that. */
static inline bool queue_is_plain(const struct shape_queue *queue)
{
	return queue->state == 0 && queue->shift != PACE_SLOW;
}

/* Takes the first packet, which is due, out of a plain queue. */
static inline struct shape_packet *pop_plain(struct shape_queue *queue, uint32_t *units)
{
	uint32_t cost = token_bucket_owner(&queue->bucket);
	struct shape_packet *packet = queue->head;

	*units += cost;
	pace_refill_up(queue, cost, queue->due);
	token_bucket_take(&queue->bucket, cost);
	queue->head = queue->second;
	return packet;
}

/* Takes the first packet, if it is due. Returns NULL if it is not, or if limits above refuse it. */
static struct shape_packet *pop_due(
	struct shaper *shaper, struct shape_queue *queue, uint64_t now, uint32_t *units)
{
	struct shape_packet *packet = queue->head;
	bool asks;

	if (!queue_is_due(queue, now))
		return NULL;
	asks = queue->state & QUEUE_BELOW && !(queue->state & QUEUE_LATE);
	if (asks && !above_takes(shaper, queue, packet, now)) {
		wait_for_above(queue, packet, now);
		return NULL;
	}
	*units += token_bucket_owner(&queue->bucket);
	queue_depart(queue, packet);
	if (asks && packet->flags & SHAPE_DROP)
		shaper->above.give(shaper->above.context, queue, packet); /* CoDel drops it */
	queue->head = queue->second;
	return packet;
}

/* Takes the first packet, if it has departed or is due. Returns NULL if neither. */
static __attribute__((noinline)) struct shape_packet *shape_queue_pop(
	struct shaper *shaper, struct shape_queue *queue, uint64_t now, uint32_t *units)
{
	struct shape_packet *packet = queue->head;

	if (!(queue->state & QUEUE_GONE))
		return pop_due(shaper, queue, now, units);
	queue_set_gone(queue, queue->gone - 1);
	*units += packet->cost;
	queue->head = packet->next;
	return packet;
}

/* Takes the first packet and makes the next one first. Returns false if it is not due after all. */
static inline bool queue_step(struct shaper *shaper, struct release_turn *turn,
	struct shape_queue *queue, uint32_t *units)
{
	bool plain = queue_is_plain(queue), gone = queue->state & QUEUE_GONE;
	uint64_t due = queue->due;
	struct shape_packet *packet = plain ? pop_plain(queue, units)
					    : shape_queue_pop(shaper, queue, turn->now, units);

	if (!packet)
		return false;
	turn->out[turn->count++] = packet;
	if (!gone)
		delay_add(&shaper->counts.lateness, shaper->counts.lateness_unit, turn->now - due);
	if (!queue->head)
		return true;
	if (plain)
		start_packet(queue, queue->head, true);
	else if (!(queue->state & QUEUE_GONE))
		queue_start(queue, queue->head);
	return true;
}

/* Takes packets from a queue whose first one is due, as far as they are due by `until`. */
static inline void queue_serve(
	struct shaper *shaper, struct release_turn *turn, struct shape_queue *queue, uint64_t until)
{
	unsigned count = turn->count, room = turn->n - count;
	unsigned end = count + (room < QUANTUM ? room : QUANTUM);
	uint32_t units = 0;

	while (queue_step(shaper, turn, queue, &units) && queue->head && turn->count < end &&
		!tick_after(queue->due, until))
		;
	counter_add32(&queue->packets, count - turn->count);
	counter_add32(&queue->units, -units);
	turn->units += units;
	if (!queue->head && queue->state & QUEUE_CODEL)
		queue->codel.rising = false;
}

/* Serves one queue of an open slot, if it is due yet. `until`: end of its turn. */
static inline void turn_queue(
	struct shaper *shaper, struct release_turn *turn, struct shape_queue *queue, uint64_t until)
{
	unsigned count = turn->count;

	if (!tick_after(queue->due, turn->now))
		queue_serve(shaper, turn, queue, until);
	turn->visits -= turn->count == count;
	if (queue->head)
		wheel_file(&shaper->wheel, queue);
}

/* Forced inline, because a compiler could conclude that prefetch functions have no effect. */
static inline __attribute__((always_inline)) void prefetch_queues(
	struct shape_queue **queues, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		__builtin_prefetch(&queues[i]->head, 1);
		__builtin_prefetch(queues[i], 1);
	}
}

/* Prefetches the packets that will be first. */
static inline __attribute__((always_inline)) void prefetch_seconds(
	struct shape_queue **queues, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(queues[i]->second);
}

/*
 * Prefetches the memory that the next queues will need when they are served. It does so for many
 * queues at a time, because each is elsewhere in memory.
 */
static void turn_prefetch(struct shaper *shaper, struct release_turn *turn, unsigned slot)
{
	struct shape_queue *queues[AHEAD];
	unsigned room = turn->n - turn->count;

	room = room < AHEAD ? room : AHEAD;
	turn->ahead = wheel_peek(&shaper->wheel, slot, turn->now, queues, room);
	prefetch_queues(queues, turn->ahead);
	prefetch_seconds(queues, turn->ahead);
}

/*
 * Prefetches for the next call, which will probably be as large as this one. The queues prefetched
 * at the end of the last call are in the cache by now, so their packets can be prefetched.
 */
static void turn_look_ahead(struct shaper *shaper, const struct release_turn *turn)
{
	struct wheel *wheel = &shaper->wheel;
	unsigned slot = occupancy_first(&wheel->full, wheel_slot(wheel, wheel->base)), n, near;
	unsigned most = turn->count < AHEAD ? turn->count : AHEAD;
	struct shape_queue *queues[2 * AHEAD];

	shaper->ahead = 0;
	if (slot == SLOTS_NONE)
		return;
	n = wheel_peek(wheel, slot, turn->now + TICK_FAR, queues, 2 * most);
	near = n < most ? n : most;
	prefetch_queues(queues + near, n - near);
	prefetch_seconds(queues, near);
	shaper->ahead = near;
}

/*
 * Serves the queues of a slot's first line, and files those again that still wait. Returns false
 * when all queues that were in the slot have had their turn; the rest were filed during this one.
 */
static bool turn_line(struct shaper *shaper, struct release_turn *turn, unsigned slot,
	uint64_t until, const struct shape_queue **again)
{
	struct wheel_line *line = wheel_head(&shaper->wheel, slot);
	struct shape_queue *queue = NULL;

	while (line->from < line->to && turn->count < turn->n && turn->visits) {
		queue = line->queues[line->from];
		if (queue == *again)
			return false;
		if (turn->ahead == 0)
			turn_prefetch(shaper, turn, slot);
		turn->ahead--;
		line->from++;
		turn_queue(shaper, turn, queue, until);
		if (!*again && queue->head && queue->slot == slot)
			*again = queue;
	}
	if (line->from == line->to)
		wheel_shorten(&shaper->wheel, slot);
	return true;
}

/* Opens the slot at the base. Queues that are not served stay in it. */
static void turn_slot(struct shaper *shaper, struct release_turn *turn, unsigned slot)
{
	struct wheel *wheel = &shaper->wheel;
	uint64_t end = wheel->base + (UINT64_C(1) << wheel->shift) - 1;
	uint64_t until = tick_earlier(end, turn->now);
	const struct shape_queue *again = NULL; /* first queue filed here again */
	bool rest;

	wheel->soon = turn->now + TICK_FAR;
	do {
		rest = wheel->slots[slot] && wheel_queue(wheel, slot) != again;
		if (!rest || turn->count == turn->n || turn->visits == 0)
			break;
		rest = turn_line(shaper, turn, slot, until, &again);
	} while (rest);
	wheel_look_on(wheel, slot, rest);
}

/* Releases packets of queues that are not timed. */
static unsigned release_listed(
	struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n)
{
	struct release_turn turn = {
		.now = now, .out = out, .n = n, .visits = VISITS, .ahead = shaper->ahead};
	struct wheel *wheel = &shaper->wheel;

	while (!tick_after(wheel->soon, now) && turn.count < n && turn.visits) {
		unsigned slot = wheel_advance(wheel, now);

		if (slot != SLOTS_NONE)
			turn_slot(shaper, &turn, slot);
	}
	if (turn.count) {
		counter_add32(&shaper->counts.packets, -turn.count);
		turn_look_ahead(shaper, &turn);
	}
	return turn.count;
}

unsigned shaper_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n)
{
	unsigned count;

	/* The one that is overdue for longer goes first, so that neither starves the other. */
	if (tick_after(shaper->calendar.soon, shaper->wheel.soon)) {
		count = release_listed(shaper, now, out, n);
		return count + timed_release(shaper, now, out + count, n - count);
	}
	count = timed_release(shaper, now, out, n);
	return count + release_listed(shaper, now, out + count, n - count);
}

bool shaper_waits(const struct shaper *shaper)
{
	return shaper->counts.packets > 0;
}

uint64_t shaper_next(const struct shaper *shaper, uint64_t now)
{
	uint64_t soon = tick_earlier(shaper->wheel.soon, shaper->calendar.soon);

	return shaper_waits(shaper) ? tick_later(soon, now) : now + TICK_FAR;
}
