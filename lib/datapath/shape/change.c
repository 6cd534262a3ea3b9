/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The shaper's work per policy: queues that begin, change and end.
 */
#include <string.h>

#include "shape/shape_private.h"

/* Bytes of the arrays that follow struct shaper, one after the other. */
static size_t lines_bytes(uint32_t most)
{
	/* Each queue that waits has a packet. */
	return wheel_lines(most) * sizeof(struct wheel_line);
}

size_t shaper_bytes(uint32_t most)
{
	return sizeof(struct shaper) + lines_bytes(most) +
	       calendar_chunks(most) * CALENDAR_PLACES * sizeof(union calendar_place);
}

void shaper_init(struct shaper *shaper, uint64_t hz, uint32_t most, uint64_t now)
{
	uint8_t *chunks = (uint8_t *)(shaper + 1) + lines_bytes(most);

	wheel_init(&shaper->wheel, hz, now);
	calendar_init(&shaper->calendar, (union calendar_place *)chunks, hz, now);
	shaper->swept = shaper->calendar.base;
	shaper->until = shaper->swept - 1;
	shaper->most = most;
	shaper->counts.most = most;
	shaper->counts.lateness_unit = delay_unit(hz);
}

uint32_t shaper_most(const struct shaper *shaper)
{
	return shaper->most;
}

void shaper_extents(const struct shaper *shaper, struct extents *extents)
{
	extents_add(extents, shaper, offsetof(struct shaper, calendar.slots));
	extents_add(extents, &shaper->wheel, offsetof(struct wheel, slots));
}

void shaper_excerpt_settle(struct shaper *copy)
{
	uint8_t *chunks = (uint8_t *)(copy + 1) + lines_bytes(copy->most);

	copy->calendar.places = (union calendar_place *)chunks;
}

void shape_queue_excerpt_settle(
	struct shape_queue *copy, struct shape_packet *last, struct shared_bucket *shared)
{
	copy->shared = shared;
	if (!shape_is_timed(copy))
		copy->tail = last;
}

void shaper_hold(struct shaper *shaper, int32_t buffers)
{
	uint32_t most = shaper->most, extra = shaper->extra += (uint32_t)buffers;

	__atomic_store_n(&shaper->counts.most, extra < most ? most - extra : 0, __ATOMIC_RELAXED);
}

void shaper_ask(struct shaper *shaper, const struct shape_above *above)
{
	shaper->above = *above;
}

const struct shaper_counts *shaper_counts(const struct shaper *shaper)
{
	return &shaper->counts;
}

/* Sets the most units that can wait: see shape_arrive(). */
static void queue_set_room(struct shape_queue *queue)
{
	uint64_t delay = queue->patience - queue->patience / ((1 << PATIENCE) + 1);
	tokens_t room = (tokens_t)(uint64_t)queue->limit.rate * delay >> TOKEN_SHIFT;

	if (queue->limit.rate <= 0)
		room = queue->limit.burst >> TOKEN_BYTE;
	queue->room = room < queue->most ? (uint32_t)room : queue->most;
}

static void queue_set_limit(struct shape_queue *queue, const struct token_bucket_profile *profile)
{
	queue->limit = *profile;
	pace_invert(queue);
	queue_set_room(queue);
}

static void queue_set_params(struct shape_queue *queue, const struct shape_params *params)
{
	struct shape_codel *codel = &queue->codel;

	shape_set_patience(queue, params);
	if (!params->codel || params->target != codel->target ||
		params->interval != codel->interval)
		*codel = (struct shape_codel){
			.target = params->target, .interval = params->interval};
	codel->ecn = params->ecn;
	queue->state &= (uint8_t)~QUEUE_CODEL;
	queue->state |= params->codel ? QUEUE_CODEL : 0;
}

void shape_queue_init(struct shape_queue *queue, const struct shape_params *params,
	const struct token_bucket_profile *profile, struct shared_bucket *shared, uint64_t now)
{
	memset(queue, 0, sizeof(*queue));
	queue->shared = shared;
	queue->state = shared ? QUEUE_SHARED_BUCKET : 0;
	if (params->timed) {
		shape_set_patience(queue, params);
		timed_init(queue, profile, now);
		return;
	}
	queue->state |= params->below ? QUEUE_BELOW : 0;
	token_bucket_init(&queue->bucket, profile, now);
	queue_set_params(queue, params);
	queue_set_limit(queue, profile);
}

void shape_queue_spend(struct shape_queue *queue)
{
	if (shape_is_timed(queue))
		timed_spend(queue);
	else
		token_bucket_set_level(&queue->bucket, 0);
}

/*
 * Charges all packets that are due by now, though they stay here until they are released. Not for a
 * shared bucket, which has changed already; and not below other limits, because it is unknown when
 * these would have accepted the packet.
 */
static void queue_settle(struct shape_queue *queue, uint64_t now)
{
	struct shape_packet *packet = queue->head;

	for (uint32_t i = 0; i < queue->gone; i++)
		packet = packet->next;
	if (packet)
		queue_start(queue, packet);
	while (packet && !(queue->state & QUEUE_BELOW) && !tick_after(queue->due, now)) {
		queue_depart(queue, packet);
		queue_set_gone(queue, queue->gone + 1);
		packet = packet->next;
		if (packet)
			queue_start(queue, packet);
	}
	/* Tokens up to now come at the previous rate, as in token_bucket_change(). */
	pace_refill(queue, packet ? packet->cost : 0, now);
}

/* Takes a queue off the wheel, as of tick `now`. */
static void queue_stop(struct shaper *shaper, struct shape_queue *queue, uint64_t now)
{
	if (queue->head)
		wheel_unfile(&shaper->wheel, queue);
	if (queue->shared)
		queue->bucket.last = tick_later(now, queue->bucket.last);
	else
		queue_settle(queue, now);
}

static void queue_resume(struct shaper *shaper, struct shape_queue *queue, uint64_t now)
{
	if (!queue->head)
		return;
	if (queue->gone)
		queue->due = now;
	else
		queue_start(queue, queue->head);
	wheel_catch_up(&shaper->wheel, now);
	wheel_file(&shaper->wheel, queue);
}

void shape_limit(struct shaper *shaper, struct shape_queue *queue,
	const struct token_bucket_profile *profile, uint64_t now)
{
	if (shape_is_timed(queue)) {
		timed_limit(queue, profile, now);
		return;
	}
	queue_stop(shaper, queue, now);
	queue->state &= (uint8_t)~QUEUE_SLOWED;
	queue_set_limit(queue, profile);
	queue_resume(shaper, queue, now);
}

void shape_expire(struct shaper *shaper, struct shape_queue *queue, uint8_t ending, uint64_t from)
{
	struct token_bucket_profile left = {
		.rate = queue->limit.rate > 0
				? (int64_t)expiry_left((uint64_t)queue->limit.rate, ending)
				: 0,
		.burst = expiry_left(queue->limit.burst, ending),
	};

	if (shape_is_timed(queue))
		return;
	queue_stop(shaper, queue, from);
	if (queue->state & QUEUE_SHARED_BUCKET) {
		queue->state |= QUEUE_SLOWED;
		queue->ending = ending;
		queue->ended = from;
	}
	queue_set_limit(queue, &left);
	queue_resume(shaper, queue, from);
}

void shape_change(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, uint64_t now)
{
	if (shape_is_timed(queue)) {
		timed_change(queue, params, now);
		return;
	}
	queue_stop(shaper, queue, now);
	queue_set_params(queue, params);
	queue_set_room(queue);
	queue_resume(shaper, queue, now);
}

bool shaper_is_ahead(const struct shaper *shaper, uint64_t now)
{
	return tick_after(shaper->wheel.base, now + TOKEN_BACK) ||
	       tick_after(shaper->calendar.base, now + TOKEN_BACK);
}

void shaper_restart(struct shaper *shaper, uint64_t now)
{
	struct wheel *wheel = &shaper->wheel;
	struct calendar *calendar = &shaper->calendar;

	wheel->base = wheel_slot_start(wheel, now);
	calendar->base = calendar_start(calendar, now);
	wheel->soon = calendar->soon = now + TICK_FAR;
	shaper->swept = calendar->base;
	shaper->until = shaper->swept - 1;
}

void shape_restart(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, const struct token_bucket_profile *profile, uint64_t now)
{
	const struct shape_queue previous = *queue;

	if (!shape_is_timed(queue) && queue->head)
		wheel_unfile(&shaper->wheel, queue);
	shape_queue_init(queue, params, profile, previous.shared, now);
	shape_queue_spend(queue);
	if (shape_is_timed(queue)) {
		queue->state |= previous.state & QUEUE_LEAVES;
		return;
	}
	/* Moves the waiting packets to the new state. Their booking is void. */
	queue->head = previous.head;
	queue->second = previous.second;
	queue->tail = previous.tail;
	counter_add32(&queue->packets, previous.packets);
	counter_add32(&queue->units, previous.units);
	queue_resume(shaper, queue, now);
}

unsigned shape_flush(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet **out, unsigned n)
{
	uint64_t units = 0;
	unsigned count = 0;

	if (shape_is_timed(queue) || !queue->head || n == 0)
		return 0;
	wheel_unfile(&shaper->wheel, queue);
	/* The next packet uses the booking of a packet that leaves without it. */
	if (queue->state & QUEUE_BOOKED)
		queue->held += queue->head->cost;
	queue->state &= (uint8_t)~QUEUE_BOOKED;
	for (; queue->head && count < n; queue->head = queue->head->next) {
		out[count++] = queue->head;
		units += queue->head->cost;
	}
	queue_set_gone(queue, queue->gone - (queue->gone < count ? queue->gone : count));
	queue_less(shaper, queue, count, units);
	if (queue->head && !queue->gone)
		queue_start(queue, queue->head);
	if (queue->head)
		wheel_file(&shaper->wheel, queue);
	return count;
}

unsigned shaper_flush(struct shaper *shaper, struct shape_packet **out, unsigned n)
{
	unsigned count = timed_flush(shaper, out, n), slot;

	while (count < n && (slot = occupancy_first(&shaper->wheel.full, 0)) != SLOTS_NONE)
		count += shape_flush(
			shaper, wheel_queue(&shaper->wheel, slot), out + count, n - count);
	return count;
}
