/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How the owner of a receive queue moves sources to another worker.
 */

/* See distribute.c. */
#define RTE_USE_C11_MEM_MODEL

#include "migration.h"

#include <string.h>

#include "stuck.h"

/* Room for the next burst. With less, the move is called off. */
#define SPARE 64

void migration_init(struct migration *migration, unsigned owner, unsigned n_peers)
{
	memset(migration, 0, sizeof(*migration));
	migration->owner = owner;
	migration->n_peers = n_peers;
	migration->most = RETA_SIZE;
}

static uint32_t load_acquire_u32(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Returns the low half of a counter. */
static uint32_t acquire_low(const uint64_t *word)
{
	return (uint32_t)__atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Begins a step and notes the counter value that ends it. */
static void enter_move_step(struct migration *migration, enum migration_step step)
{
	const struct migration_peer *from = &migration->peers[migration->from];

	migration->step = step;
	switch (step) {
	case MIGRATION_RING:
		migration->mark = from->out->prod.tail; /* written only by the owner */
		break;
	case MIGRATION_TURN:
	case MIGRATION_LEAVE:
		migration->mark = load_acquire_u32(from->turn);
		break;
	case MIGRATION_QUEUE:
		migration->mark = acquire_low(migration->reta->queues[migration->from].waited);
		break;
	case MIGRATION_BACK:
		migration->mark = load_acquire_u32(&from->back->prod.tail);
		break;
	case MIGRATION_IDLE:
	case MIGRATION_GIVE:
		break;
	}
}

/* Returns true if the step has ended. */
static bool step_is_over(const struct migration *migration)
{
	const struct migration_peer *from = &migration->peers[migration->from];

	if (migration->step != MIGRATION_IDLE && migration->step != MIGRATION_GIVE &&
		stuck_worker(migration->stuck, migration->from))
		return true;
	switch (migration->step) {
	case MIGRATION_RING:
		return migration_passed(load_acquire_u32(&from->out->cons.tail), migration->mark);
	case MIGRATION_TURN:
	case MIGRATION_LEAVE:
		return load_acquire_u32(from->turn) != migration->mark;
	case MIGRATION_QUEUE:
		return migration_passed(acquire_low(migration->reta->queues[migration->from].left),
			migration->mark);
	case MIGRATION_BACK:
		return migration_passed(
			from->back->cons.tail, migration->mark); /* written only by the owner */
	case MIGRATION_IDLE:
	case MIGRATION_GIVE:
		break;
	}
	return false;
}

/* Assigns the buckets to the workers that are wanted now, not when the move began. */
static void assign_moved_buckets(struct migration *migration)
{
	for (unsigned i = 0; i < RETA_SIZE; i++)
		if (migration->moving[i / 64] >> i % 64 & 1)
			reta_set(migration->reta, i,
				reta_target_of(migration->reta->reta_target, i));
}

bool migration_begin(struct migration *migration, struct reta *reta)
{
	const struct reta_target *reta_target = reta->reta_target;
	unsigned n = 0;

	for (unsigned i = 0; i < RETA_SIZE && n < migration->most; i++) {
		unsigned bucket = (migration->next + i) % RETA_SIZE, at = reta_worker(reta, bucket);

		if (reta_target_of(reta_target, bucket) == at || (n > 0 && at != migration->from))
			continue;
		migration->from = at;
		migration->moving[bucket / 64] |= UINT64_C(1) << bucket % 64;
		n++;
	}
	if (n == 0)
		return false;
	migration->n_moving = n;
	migration->off = false;
	__atomic_store_n(&migration->reta, reta, __ATOMIC_RELEASE);
	enter_move_step(
		migration, migration->from == migration->owner ? MIGRATION_QUEUE : MIGRATION_RING);
	return true;
}

void migration_call_off(struct migration *migration)
{
	if (migration->step == MIGRATION_IDLE || migration->step == MIGRATION_GIVE)
		return;
	migration->off = true;
	migration->step = MIGRATION_GIVE;
	counter_add(&migration->called_off, 1);
}

void migration_advance(struct migration *migration)
{
	while (step_is_over(migration)) {
		bool own = migration->from == migration->owner &&
			   migration->step == MIGRATION_QUEUE;

		enter_move_step(migration, own ? MIGRATION_GIVE : migration->step + 1);
		if (migration->step == MIGRATION_GIVE)
			assign_moved_buckets(migration);
	}
	if (migration->step == MIGRATION_GIVE || migration->kept <= MIGRATION_KEEPS - SPARE)
		return;
	migration->most = migration->n_moving > 1 ? migration->n_moving / 2 : 1;
	if (migration->n_moving == 1) { /* moves of other buckets must not wait for it */
		unsigned i = 0;

		while (i < RETA_SIZE - 1 && !(migration->moving[i / 64] >> i % 64 & 1))
			i++;
		migration->next = (i + 1) % RETA_SIZE;
	}
	migration_call_off(migration);
}

bool migration_keep(struct migration *migration, void *packet, uint8_t bucket)
{
	unsigned at = (migration->first + migration->kept) % MIGRATION_KEEPS;

	if (migration->kept == MIGRATION_KEEPS)
		return false;
	migration->packets[at] = packet;
	migration->buckets[at] = bucket;
	counter_add32(&migration->kept, 1);
	return true;
}

static void forget_first(struct migration *migration)
{
	migration->first = (migration->first + 1) % MIGRATION_KEEPS;
	counter_add32(&migration->kept, -1u);
}

unsigned migration_give(struct migration *migration, void **own, unsigned n)
{
	unsigned given = 0;

	if (migration->step != MIGRATION_GIVE)
		return 0;
	while (migration->kept > 0) {
		unsigned to = reta_worker(migration->reta, migration->buckets[migration->first]);
		void *packet = migration->packets[migration->first];

		if (to == migration->owner || stuck_worker(migration->stuck, to)) {
			if (given == n)
				return given;
			own[given++] = packet;
		} else if (rte_ring_sp_enqueue(migration->peers[to].out, packet)) {
			return given;
		}
		forget_first(migration);
	}
	if (!migration->off) {
		counter_add(&migration->moved, migration->n_moving);
		migration->most = migration->most < RETA_SIZE / 2 ? 2 * migration->most : RETA_SIZE;
	}
	memset(migration->moving, 0, sizeof(migration->moving));
	migration->step = MIGRATION_IDLE;
	/* Release: a thread that frees the buckets sees that the owner no longer uses them. */
	__atomic_store_n(&migration->reta, NULL, __ATOMIC_RELEASE);
	return given;
}

unsigned migration_flush(struct migration *migration, void **packets, unsigned n)
{
	unsigned count = 0;

	for (; count < n && migration->kept > 0; count++) {
		packets[count] = migration->packets[migration->first];
		forget_first(migration);
	}
	return count;
}
