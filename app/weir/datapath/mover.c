/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */

/* As in distribute.c. */
#define RTE_USE_C11_MEM_MODEL

#include "mover.h"

#include <string.h>

/* Room for the burst that is coming: less, and the move is called off. */
#define SPARE 64

void mover_init(struct mover *mover, unsigned owner, unsigned n_peers)
{
	memset(mover, 0, sizeof(*mover));
	mover->owner = owner;
	mover->n_peers = n_peers;
	mover->most = SEATS;
}

static uint32_t load_acquire_u32(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The low half of a whole counter. */
static uint32_t acquire_low(const uint64_t *word)
{
	return (uint32_t)__atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* A step begins: what has to have happened for it to end. */
static void enter_move_step(struct mover *mover, enum mover_step step)
{
	const struct mover_peer *from = &mover->peers[mover->from];

	mover->step = step;
	switch (step) {
	case MOVER_RING:
		mover->mark = from->out->prod.tail; /* the owner's own word */
		break;
	case MOVER_TURN:
	case MOVER_LEAVE:
		mover->mark = load_acquire_u32(from->turn);
		break;
	case MOVER_QUEUE:
		mover->mark = acquire_low(mover->seats->queues[mover->from].waited);
		break;
	case MOVER_BACK:
		mover->mark = load_acquire_u32(&from->back->prod.tail);
		break;
	case MOVER_IDLE:
	case MOVER_GIVE:
		break;
	}
}

/* Whether it has. */
static bool step_is_over(const struct mover *mover)
{
	const struct mover_peer *from = &mover->peers[mover->from];

	switch (mover->step) {
	case MOVER_RING:
		return mover_passed(load_acquire_u32(&from->out->cons.tail), mover->mark);
	case MOVER_TURN:
	case MOVER_LEAVE:
		return load_acquire_u32(from->turn) != mover->mark;
	case MOVER_QUEUE:
		return mover_passed(
			acquire_low(mover->seats->queues[mover->from].left), mover->mark);
	case MOVER_BACK:
		return mover_passed(from->back->cons.tail, mover->mark); /* the owner's own word */
	case MOVER_IDLE:
	case MOVER_GIVE:
		break;
	}
	return false;
}

static void enter_next(struct mover *mover)
{
	bool own = mover->from == mover->owner && mover->step == MOVER_QUEUE;

	enter_move_step(mover, own ? MOVER_GIVE : mover->step + 1);
}

/* The buckets are where they are wanted, which may be elsewhere than when they began to move. */
static void assign_moved_buckets(struct mover *mover)
{
	for (unsigned i = 0; i < SEATS; i++)
		if (mover->moving[i / 64] >> i % 64 & 1)
			seat_set(mover->seats, i, seat_wanted(mover->seats->seating, i));
}

bool mover_begin(struct mover *mover, struct owner_seats *seats)
{
	const struct seating *seating = seats->seating;
	unsigned n = 0;

	for (unsigned i = 0; i < SEATS && n < mover->most; i++) {
		unsigned bucket = (mover->next + i) % SEATS, at = seat_at(seats, bucket);

		if (seat_wanted(seating, bucket) == at || (n > 0 && at != mover->from))
			continue;
		mover->from = at;
		mover->moving[bucket / 64] |= UINT64_C(1) << bucket % 64;
		n++;
	}
	if (n == 0)
		return false;
	mover->n_moving = n;
	mover->off = false;
	__atomic_store_n(&mover->seats, seats, __ATOMIC_RELEASE);
	enter_move_step(mover, mover->from == mover->owner ? MOVER_QUEUE : MOVER_RING);
	return true;
}

void mover_call_off(struct mover *mover)
{
	if (mover->step == MOVER_IDLE || mover->step == MOVER_GIVE)
		return;
	mover->off = true;
	mover->step = MOVER_GIVE;
	counter_add(&mover->called_off, 1);
}

/* The first of those that move. */
static unsigned first_moving(const struct mover *mover)
{
	unsigned i = 0;

	while (i < SEATS - 1 && !(mover->moving[i / 64] >> i % 64 & 1))
		i++;
	return i;
}

void mover_advance(struct mover *mover)
{
	while (step_is_over(mover)) {
		enter_next(mover);
		if (mover->step == MOVER_GIVE)
			assign_moved_buckets(mover);
	}
	if (mover->step == MOVER_GIVE || mover->kept <= MOVER_KEEPS - SPARE)
		return;
	mover->most = mover->n_moving > 1 ? mover->n_moving / 2 : 1;
	if (mover->n_moving == 1) /* the others' moves are not to wait for it */
		mover->next = (first_moving(mover) + 1) % SEATS;
	mover_call_off(mover);
}

bool mover_keep(struct mover *mover, void *packet, uint8_t bucket)
{
	unsigned at = (mover->first + mover->kept) % MOVER_KEEPS;

	if (mover->kept == MOVER_KEEPS)
		return false;
	mover->packets[at] = packet;
	mover->buckets[at] = bucket;
	counter_add32(&mover->kept, 1);
	return true;
}

static void forget_first(struct mover *mover)
{
	mover->first = (mover->first + 1) % MOVER_KEEPS;
	counter_add32(&mover->kept, -1u);
}

static void end_move(struct mover *mover)
{
	if (!mover->off) {
		counter_add(&mover->moved, mover->n_moving);
		mover->most = mover->most < SEATS / 2 ? 2 * mover->most : SEATS;
	}
	memset(mover->moving, 0, sizeof(mover->moving));
	mover->step = MOVER_IDLE;
	/* Release: who frees the seats sees that we are done with them. */
	__atomic_store_n(&mover->seats, NULL, __ATOMIC_RELEASE);
}

unsigned mover_give(struct mover *mover, void **own, unsigned n)
{
	unsigned given = 0;

	if (mover->step != MOVER_GIVE)
		return 0;
	while (mover->kept > 0) {
		unsigned to = seat_at(mover->seats, mover->buckets[mover->first]);
		void *packet = mover->packets[mover->first];

		if (to == mover->owner) {
			if (given == n)
				return given;
			own[given++] = packet;
		} else if (rte_ring_sp_enqueue(mover->peers[to].out, packet)) {
			return given;
		}
		forget_first(mover);
	}
	end_move(mover);
	return given;
}

unsigned mover_flush(struct mover *mover, void **packets, unsigned n)
{
	unsigned count = 0;

	for (; count < n && mover->kept > 0; count++) {
		packets[count] = mover->packets[mover->first];
		forget_first(mover);
	}
	return count;
}
