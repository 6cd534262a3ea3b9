/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is done per packet.
 */
#include "shape/codel.h"
#include "shape/queue_pace.h"
#include "shape/shape_private.h"

#define QUANTUM 8  /* packets of one queue, until others that are due have their turn */
#define AHEAD   32 /* queues whose memory is asked for at a time */
#define VISITS  64 /* queues that turn out not to be due yet, in one call */

/*
 * Those above a queue are asked again after a quarter of what its packet takes by its own limit, so
 * that many which wait for one parent ask it a few times for each packet that leaves; and often
 * enough before its patience ends.
 */
#define AGAIN_PACKET   2 /* 1/2^this */
#define AGAIN_PATIENCE 5

/* Virtual time of a shared bucket, 2^-8 of a unit, as tokens. */
static tokens_t tokens_of(uint64_t time)
{
	return (tokens_t)time << (TOKEN_SHIFT - GCRA_SHIFT);
}

/* The tick at which a queue's shared bucket is looked at: its own, unless that goes slower. */
static uint64_t shared_bucket_tick(const struct shape_queue *queue, uint64_t at)
{
	if (__builtin_expect(queue->state & QUEUE_SLOWED, 0))
		return expiry_slowed(queue->ended, at, queue->ending);
	return at;
}

/*
 * Books what a packet costs, less what is left over from one that was dropped. Returns by how much
 * virtual time that is too far ahead, and then it has not.
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
	else if (queue->held == 0) /* it costs nothing */
		queue->bucket.tokens = shared_bucket_time(queue->shared, at);
	if (over)
		return over;
	queue->held -= cost - need;
	queue->state |= QUEUE_BOOKED;
	return 0;
}

/* Ticks from `at` on until virtual time has come to what is booked for the first packet. */
static uint64_t shared_bucket_ticks(const struct shape_queue *queue, uint64_t at)
{
	uint64_t tick = shared_bucket_tick(queue, at);
	int64_t lack = (int64_t)(queue->bucket.tokens - shared_bucket_time(queue->shared, tick));

	return lack > 0 ? pace_ticks(queue, tokens_of((uint64_t)lack)) : 0;
}

/* The wait when nothing may be booked yet: until it is worth to ask again. */
static uint64_t shared_bucket_wait(struct shape_queue *queue, uint32_t cost, uint64_t at)
{
	uint64_t over = 0;

	if (!(queue->state & QUEUE_BOOKED))
		over = shared_bucket_claim(queue, cost, at, UINT64_MAX);
	return over ? pace_ticks(queue, tokens_of(over)) : shared_bucket_ticks(queue, at);
}

/*
 * A packet is the first one now. `plain`: there is no shared bucket, and the queue has been plain
 * until now, so that its state need not be looked at.
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

/* Those above do not take the first packet yet: as of `at` it waits until they are asked again. */
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

/* Whether those above take a packet whose own tokens have come, if there are any. */
static bool above_takes(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet *packet, uint64_t now)
{
	const struct shape_above *above = &shaper->above;

	if (__builtin_expect(!(queue->state & QUEUE_BELOW), 1))
		return true;
	return above->take(above->context, queue, packet, now);
}

/* What becomes of a packet that is due: flags that it leaves with, and has from now on. */
static __attribute__((noinline)) uint8_t queue_judge(
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
		leaves = !(queue_judge(queue, packet) & SHAPE_DROP);
	if (queue->shared) {
		queue->bucket.last = queue->due;
		/* What is booked for a packet that does not leave is the next one's. */
		if (!leaves && queue->state & QUEUE_BOOKED)
			queue->held += cost;
		queue->state &= (uint8_t)~QUEUE_BOOKED;
		return;
	}
	pace_refill(queue, cost, queue->due);
	if (leaves)
		token_bucket_take(&queue->bucket, cost);
}

/* Behind the others, or alone. */
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

/* The first one in a queue that it may join. */
static enum shape_verdict queue_begin(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint64_t arrival, uint64_t now)
{
	wheel_catch_up(&shaper->wheel, now);
	queue_join(shaper, queue, packet, arrival);
	wheel_file(&shaper->wheel, queue);
	return SHAPE_WAITS;
}

/* Virtual time that may be booked ahead for a packet that arrives: what comes in its patience. */
static uint64_t shared_bucket_ahead(const struct shape_queue *queue)
{
	uint64_t rate = (uint64_t)queue->limit.rate;

	if (queue->limit.rate <= 0)
		return UINT64_MAX;
	return (uint64_t)((tokens_t)rate * queue->patience >> (TOKEN_SHIFT - GCRA_SHIFT));
}

/* Whether no packet that costs so much may wait, even if it is the only one. */
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
	/* What one that was dropped has left over may pay for it, and lie far ahead. */
	queue->held += queue->state & QUEUE_BOOKED ? packet->cost : 0;
	queue->state &= (uint8_t) ~(QUEUE_BOOKED | QUEUE_LATE);
	return pool_full && !refused ? SHAPE_POOL_FULL : SHAPE_FULL;
}

/* One that does not conform, and nobody waits. */
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

/* And one that conforms, but for those above. */
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

/* One before which nobody waits. */
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

/* Whether the limit is what it was when `due` was worked out: else that is done anew. */
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

/* A call of shaper_release(). */
struct release_turn {
	uint64_t now;
	struct shape_packet **out;
	unsigned n, count;
	unsigned visits; /* that are left */
	unsigned ahead;  /* queues whose memory is asked for */
	uint64_t units;  /* that have come out */
};

/* Most are: no question is to be asked but when the first packet's tokens come. */
static inline bool queue_is_plain(const struct shape_queue *queue)
{
	return queue->state == 0 && queue->shift != PACE_SLOW;
}

/* The first packet of a plain queue, which is due. */
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

/* One that those above have taken, and that CoDel drops. */
static void give_back(struct shaper *shaper, struct shape_queue *queue, struct shape_packet *packet)
{
	const struct shape_above *above = &shaper->above;

	above->give(above->context, queue, packet);
}

/* The first packet, which is due; NULL if it turns out that it is not, or those above wait. */
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
		give_back(shaper, queue, packet);
	queue->head = queue->second;
	return packet;
}

/* The first packet, which has left or is due; NULL if it is neither. */
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

/* Takes the first packet out, and goes on to the next one. False if it is not due after all. */
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

/* Takes packets out of a queue whose first one is due, and those that are due by `until`. */
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

/* One queue of an open slot, of those that are due by `until`, or not yet. */
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

/* Inline, or a compiler might think that these do nothing. */
static inline __attribute__((always_inline)) void prefetch_queues(
	struct shape_queue **queues, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		__builtin_prefetch(&queues[i]->head, 1);
		__builtin_prefetch(queues[i], 1);
	}
}

/* The packets that will be the first ones. */
static inline __attribute__((always_inline)) void prefetch_seconds(
	struct shape_queue **queues, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(queues[i]->second);
}

/*
 * Asks for what serving the next queues will touch, of all of them at a time, since each is
 * somewhere else.
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
 * Looks ahead for the next call, which will have as much to do as this one: the queues that were
 * asked for at the end of the last one are there by now, and tell which packets are to be asked
 * for.
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
 * The queues of a slot's first line; of them those that wait on are filed again. Returns false when
 * all that were in the slot have had their turn: what is there now has come in this one.
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

/* Opens the slot at the base. What is not done with stays. */
static void turn_slot(struct shaper *shaper, struct release_turn *turn, unsigned slot)
{
	struct wheel *wheel = &shaper->wheel;
	uint64_t end = wheel->base + (UINT64_C(1) << wheel->shift) - 1;
	uint64_t until = tick_earlier(end, turn->now);
	const struct shape_queue *again = NULL; /* the first that is filed here once more */
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

/* Releases from queues that are not timed. */
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

	/* Whichever has more to do than fits: the other one's turn is next. */
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
