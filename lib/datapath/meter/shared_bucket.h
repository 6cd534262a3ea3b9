/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One bucket (r, b) for several workers, drained by quanta. A worker that has no tokens left takes
 * the need of its packet and a little more, by one compare-and-swap, and spends that without
 * another access. Its own bucket earns nothing by itself.
 *
 * Over any window of t all workers together pass at most r·t + b. They hold no more than a quantum
 * each, and the shared bucket is shallower than b by those quanta. Packets find all that the limit
 * has granted, on any worker. No share follows demand, because nothing is divided.
 *
 * A refusal only reads. The line is written as often as quanta are taken: once in a quantum while
 * there is enough. When there is little, a worker takes only if a random amount more than its need
 * is there. That amount is at most the rate divided by SHARED_BUCKET_TAKES_PER_S. It must be
 * random. At a fixed threshold, the worker that looks most often would take the tokens as soon as
 * it is reached, and a worker with few packets would find nothing. If the burst is no more than one
 * packet, there is no quantum and no random amount, and each packet takes its own cost. Then all
 * verdicts are those of one bucket.
 *
 * The bucket is lib/datapath/meter's GCRA, whose state is one word and whose profile can be
 * replaced while that is in use. State and profile are one line, because each take needs both.
 *
 * Another limit holds immediately, and control waits for no worker. Control writes it next to the
 * one in force, where no worker reads. Then it increments a count. Then it writes the line and
 * increments the count again. A worker copies the limit that the count leads it to, and copies
 * again if the count has changed by then, at most twice for each change. So it never sees half of a
 * limit, and wherever control stalls, one of both is whole. The count has 64 bits and never wraps.
 * A worker that stalled in the middle of a take continues by the limit that it had copied, as of
 * the tick at which it began. Its compare-and-swap takes no more than was there then, and its next
 * action uses the limit in force.
 *
 * All is pure and inline. The policy defines the unit.
 */
#ifndef WEIR_METER_SHARED_BUCKET_H
#define WEIR_METER_SHARED_BUCKET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/expiry.h"
#include "meter/gcra.h"

#define SHARED_BUCKET_TAKES_PER_S 100000
#define SHARED_BUCKET_QUANTUM     UINT64_C(6056) /* bytes: four full packets, for low rates */

/* Part of the burst, less one packet, that may lie in quanta, over all workers: a 16th, in bits. */
#define SHARED_BUCKET_HELD_SHIFT 4

/*
 * Returns the most units of a burst that one worker can hold; frame as in
 * shared_bucket_profile_init().
 */
static inline uint64_t shared_bucket_hand(uint64_t burst, unsigned n_workers, uint32_t frame)
{
	uint64_t rest = frame && burst > frame ? burst - frame : 0;
	uint64_t hand = (rest >> SHARED_BUCKET_HELD_SHIFT) / n_workers;

	return hand < UINT32_MAX ? hand : UINT32_MAX;
}

/*
 * Sets the shared bucket of a limit, in units, from which n_workers (at least 1) draw, on a counter
 * of hz ticks a second. The frame is the cost of the largest packet, in bytes. That part of the
 * burst is not divided, so that all packets that a single bucket would pass can pass here. It is 0
 * if units are packets or flows. Returns 0, or -ERANGE like gcra_profile_init(). Control thread.
 */
static inline int shared_bucket_profile_init(struct shared_bucket_profile *profile,
	const struct token_bucket_params *params, unsigned n_workers, uint32_t frame, uint64_t hz)
{
	uint64_t held = shared_bucket_hand(params->burst_bytes, n_workers, frame), quantum;
	uint64_t least = (params->rate_bps >> params->rate_below) / 8 / SHARED_BUCKET_TAKES_PER_S;
	struct token_bucket_params depth = *params;
	struct gcra_profile limit;
	int err;

	quantum = least > SHARED_BUCKET_QUANTUM ? least : SHARED_BUCKET_QUANTUM;
	quantum = quantum < held ? quantum : held;
	depth.burst_bytes -= n_workers * quantum;
	err = gcra_profile_init(&limit, &depth, hz);
	*profile = (struct shared_bucket_profile){
		.rate = limit.rate,
		.burst = limit.burst,
		.quantum = (uint32_t)quantum,
		.least = (uint32_t)(least < held ? least : held),
	};
	return err;
}

static inline struct shared_bucket_profile shared_bucket_load(
	const struct shared_bucket_profile *from)
{
	return (struct shared_bucket_profile){
		.start_low = __atomic_load_n(&from->start_low, __ATOMIC_ACQUIRE),
		.start_high = __atomic_load_n(&from->start_high, __ATOMIC_ACQUIRE),
		.since = __atomic_load_n(&from->since, __ATOMIC_ACQUIRE),
		.rate = __atomic_load_n(&from->rate, __ATOMIC_ACQUIRE),
		.burst = __atomic_load_n(&from->burst, __ATOMIC_ACQUIRE),
		.quantum = __atomic_load_n(&from->quantum, __ATOMIC_ACQUIRE),
		.least = __atomic_load_n(&from->least, __ATOMIC_ACQUIRE),
	};
}

static inline void shared_bucket_store(
	struct shared_bucket_profile *to, const struct shared_bucket_profile *profile)
{
	__atomic_store_n(&to->start_low, profile->start_low, __ATOMIC_RELEASE);
	__atomic_store_n(&to->start_high, profile->start_high, __ATOMIC_RELEASE);
	__atomic_store_n(&to->since, profile->since, __ATOMIC_RELEASE);
	__atomic_store_n(&to->rate, profile->rate, __ATOMIC_RELEASE);
	__atomic_store_n(&to->burst, profile->burst, __ATOMIC_RELEASE);
	__atomic_store_n(&to->quantum, profile->quantum, __ATOMIC_RELEASE);
	__atomic_store_n(&to->least, profile->least, __ATOMIC_RELEASE);
}

/*
 * Returns the limit in force, whole, from either place. Acquire of the count pairs with the release
 * of it in shared_bucket_write(): the place that it leads to has been written. Acquire of each word
 * pairs with the release of that word. A reader of a word of a later change finds the count that
 * was stored before it, and reads again. Any thread; never waits: it repeats only when control has
 * come further.
 */
static inline struct shared_bucket_profile shared_bucket_read_changing(
	const struct shared_bucket *shared)
{
	uint64_t seen, written = __atomic_load_n(&shared->written, __ATOMIC_ACQUIRE);
	struct shared_bucket_profile profile;

	do {
		seen = written;
		profile = shared_bucket_load(&shared->profiles[seen & 1]);
		written = __atomic_load_n(&shared->written, __ATOMIC_ACQUIRE);
	} while (written != seen);
	return profile;
}

/* Returns the same. At rest the address does not depend on the count. */
static inline struct shared_bucket_profile shared_bucket_read(const struct shared_bucket *shared)
{
	uint64_t seen = __atomic_load_n(&shared->written, __ATOMIC_ACQUIRE) & ~UINT64_C(1);
	struct shared_bucket_profile profile = shared_bucket_load(&shared->profiles[0]);

	if (__builtin_expect(__atomic_load_n(&shared->written, __ATOMIC_ACQUIRE) != seen, 0))
		profile = shared_bucket_read_changing(shared);
	return profile;
}

/* Makes a private copy, as of some moment of this call. Any thread. */
static inline void shared_bucket_copy(
	const struct shared_bucket *shared, struct shared_bucket *copy)
{
	copy->written = 0;
	copy->profiles[0] = shared_bucket_read(shared);
	copy->state.allow_at = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
}

/* Returns the units that are there at a tick. Any thread. */
static inline uint64_t shared_bucket_level(const struct shared_bucket *shared, uint64_t now)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, now);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
	int64_t tokens = gcra_tokens(&(struct gcra){seen}, &instant);

	return tokens > 0 ? (uint64_t)tokens >> GCRA_SHIFT : 0;
}

/* Writes next to the limit in force, and then in its line, which is read at rest. Control. */
static inline void shared_bucket_write(
	struct shared_bucket *shared, const struct shared_bucket_profile *profile)
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t written = shared->written + 1;

		shared_bucket_store(&shared->profiles[written & 1], profile);
		__atomic_store_n(&shared->written, written, __ATOMIC_RELEASE);
	}
}

/* Starts a full shared bucket. Control thread, before any worker has it. */
static inline void shared_bucket_init(
	struct shared_bucket *shared, const struct shared_bucket_profile *profile, uint64_t now)
{
	struct gcra_profile limit = shared_bucket_limit(profile);

	shared->written = 0;
	shared->profiles[0] = *profile;
	gcra_init(&shared->state, &limit, now);
}

/* Empties the shared bucket. Control thread, before any worker has it. */
static inline void shared_bucket_spend(struct shared_bucket *shared)
{
	shared->state.allow_at += shared->profiles[0].burst;
}

/* Returns true if both have the same limit, from any tick on. Any thread. */
static inline bool shared_bucket_profile_equal(
	const struct shared_bucket_profile *a, const struct shared_bucket_profile *b)
{
	return a->rate == b->rate && a->burst == b->burst && a->quantum == b->quantum &&
	       a->least == b->least;
}

/*
 * Takes from a shared bucket the tokens above its burst at an instant. A worker's take does the
 * same. Otherwise a bucket without takes for long would count tokens that it could not hold, under
 * a larger burst that comes later.
 */
static inline void shared_bucket_settle(
	struct shared_bucket *shared, const struct gcra_now *instant)
{
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED), settled;

	do
		settled = instant->at - (uint64_t)gcra_tokens(&(struct gcra){seen}, instant);
	while (settled != seen && !__atomic_compare_exchange_n(&shared->state.allow_at, &seen,
					  settled, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/*
 * Leaves in a shared bucket no more than the rest of its burst, as of tick `at` of a clock that can
 * be slower than the clocks that show `now`. Any worker.
 */
static inline void shared_bucket_trim(
	struct shared_bucket *shared, uint64_t at, uint64_t now, uint8_t ending, uint64_t least)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant;

	limit.burst = shared_bucket_left(limit.burst, ending, least);
	instant = shared_bucket_slowed(&limit, at, now);
	shared_bucket_settle(shared, &instant);
}

/*
 * Does the same as shared_bucket_change(), but virtual time has come as far as by the previous
 * limit at tick `at`, because all that it limits have a slower clock.
 */
static inline void shared_bucket_change_since(struct shared_bucket *shared,
	const struct shared_bucket_profile *profile, uint64_t at, uint64_t now)
{
	const struct shared_bucket_profile previous = shared_bucket_read(shared);
	struct gcra_profile old = shared_bucket_limit(&previous),
			    next = shared_bucket_limit(profile);
	struct shared_bucket_profile changed = *profile;
	struct gcra_now instant = gcra_now(&old, at);

	shared_bucket_settle(shared, &instant);
	gcra_profile_succeed(&next, &old, at);
	changed.start_low = (uint64_t)next.start;
	changed.start_high = (uint64_t)(next.start >> 64);
	changed.since = now;
	shared_bucket_write(shared, &changed);
}

/*
 * Makes `profile` the limit from tick `now` on, for all workers together. Tokens are kept, as in
 * gcra_profile_succeed(). A smaller burst takes the tokens above it in the shared bucket, not the
 * quanta in workers' hands, at most a 16th of the larger one. Control thread.
 */
static inline void shared_bucket_change(
	struct shared_bucket *shared, const struct shared_bucket_profile *profile, uint64_t now)
{
	shared_bucket_change_since(shared, profile, now, now);
}

/*
 * Does the same as shared_bucket_change() for a bucket whose clock has been set back, so that its
 * granted time lies ahead. It continues from there as of now, as if it had just been emptied.
 */
static inline void shared_bucket_restart(
	struct shared_bucket *shared, const struct shared_bucket_profile *profile, uint64_t now)
{
	struct shared_bucket_profile changed;
	struct gcra_profile limit;

	shared_bucket_change(shared, profile, now);
	changed = shared_bucket_read(shared);
	limit = shared_bucket_limit(&changed);
	__atomic_store_n(&shared->state.allow_at, gcra_time(&limit, now), __ATOMIC_RELAXED);
}

/* Returns the tick at which a shared bucket will have so much virtual time, or a far one. */
static inline uint64_t shared_bucket_has(
	const struct shared_bucket *shared, uint64_t now, int64_t time)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	uint64_t from = (int64_t)(profile.since - now) > 0 ? profile.since : now;
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, from);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
	int64_t lack = time - gcra_tokens(&(struct gcra){seen}, &instant);
	tokens_t tokens = (tokens_t)(uint64_t)lack << (TOKEN_SHIFT - GCRA_SHIFT), ticks;

	if (lack <= 0) /* until then all is booked at the previous limit */
		return from;
	ticks = profile.rate ? tokens / profile.rate + 1 : UINT64_MAX;
	return from + (ticks >> 62 ? UINT64_C(1) << 62 : (uint64_t)ticks);
}

/*
 * Returns the tick at which another limit begins, if workers use shared_bucket_book_within().
 * Bookings are at the present rate, and packets leave as booked. So it begins when all booked units
 * have come, and no earlier after the present limit's begin than the time since `announced`. A full
 * shared bucket ends that wait: then no worker has had more than was granted.
 */
static inline uint64_t shared_bucket_begins(
	const struct shared_bucket *shared, uint64_t announced, uint64_t now)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	uint64_t booked = shared_bucket_has(shared, now, 0);
	uint64_t full = shared_bucket_has(shared, now, (int64_t)profile.burst);
	uint64_t after = announced ? profile.since + (now - announced) : now;

	if (booked - now > UINT64_C(1) << 61) /* without a rate, and so nothing comes any more */
		booked = now;
	after = (int64_t)(after - full) > 0 ? full : after;
	return (int64_t)(after - booked) > 0 ? after : booked;
}

/* Cuts bookings to at most so many ticks ahead of `from`. */
static inline void shared_bucket_cut(struct shared_bucket *shared, uint64_t ticks, uint64_t from)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, from);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
	int64_t most = (int64_t)((tokens_t)ticks * limit.rate >> (TOKEN_SHIFT - GCRA_SHIFT));

	while (gcra_tokens(&(struct gcra){seen}, &instant) < -most &&
		!__atomic_compare_exchange_n(&shared->state.allow_at, &seen,
			instant.at + (uint64_t)most, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Does the same as shared_bucket_change() if workers use shared_bucket_book_within(), as of
 * shared_bucket_begins(), but at most so many ticks from now. `*announced`: the tick of the last
 * change of that shared bucket, or 0.
 */
static inline void shared_bucket_change_booked(struct shared_bucket *shared,
	const struct shared_bucket_profile *profile, uint64_t *announced, uint64_t ticks,
	uint64_t now)
{
	uint64_t from = shared_bucket_begins(shared, *announced, now);

	if (from - now > ticks)
		from = now + ticks;
	*announced = now;
	shared_bucket_change(shared, profile, from);
	/* Workers have continued to book at the previous rate, however long that was. */
	shared_bucket_cut(shared, ticks, from);
}

/* Does shared_bucket_take() as of an instant. `lot`: see shared_bucket_lot(). */
static inline uint64_t shared_bucket_take_at(struct shared_bucket *shared,
	const struct shared_bucket_profile *profile, const struct gcra_now *instant, uint64_t need,
	uint64_t lot)
{
	/* The word stands for nothing else in memory: no order is needed. */
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
	uint64_t taken, left;

	do {
		int64_t tokens = gcra_tokens(&(struct gcra){seen}, instant);

		/*
		 * Another core's clock can be ahead of ours: the tokens that it took are not here
		 * yet.
		 */
		taken = shared_bucket_part(
			profile, tokens > 0 ? (uint64_t)tokens : 0, need << GCRA_SHIFT, lot);
		if (taken == 0)
			return 0;
		left = instant->at - (uint64_t)tokens + taken;
	} while (!__atomic_compare_exchange_n(
		&shared->state.allow_at, &seen, left, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return taken >> GCRA_SHIFT;
}

/*
 * Takes at least `need` units (at least 1) for a worker that lacks as many, and up to a quantum
 * more. Returns the units taken, or 0 if there are fewer than `need` and the random amount of
 * shared_bucket_lot(). Any worker; never waits: the loop repeats only when another worker has taken
 * some, and `need` is there still.
 */
static inline uint64_t shared_bucket_take(struct shared_bucket *shared, uint64_t now, uint64_t need)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, now);

	return shared_bucket_take_at(
		shared, &profile, &instant, need, shared_bucket_lot(&profile, now));
}

/* Units in a shared bucket before and after a loan was taken from it. */
struct shared_bucket_loan {
	uint64_t units; /* taken */
	uint64_t room;  /* units that were missing until it was full, before */
	uint64_t rate;  /* tokens (2^-56 units) per tick at which it fills */
};

/*
 * Takes at most `most` units at tick `now` and leaves at least `keep` units. Never waits: the loop
 * repeats only when a worker has taken units meanwhile. Control.
 */
static inline struct shared_bucket_loan shared_bucket_lend(
	struct shared_bucket *shared, uint64_t now, uint64_t keep, uint64_t most)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, now);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED), left, units;
	struct shared_bucket_loan loan = {.rate = profile.rate};

	do {
		int64_t tokens = gcra_tokens(&(struct gcra){seen}, &instant);

		units = tokens > 0 ? (uint64_t)tokens >> GCRA_SHIFT : 0;
		loan.units = units > keep ? units - keep : 0;
		loan.units = loan.units < most ? loan.units : most;
		loan.room = (profile.burst - (uint64_t)tokens) >> GCRA_SHIFT;
		left = instant.at - (uint64_t)tokens + (loan.units << GCRA_SHIFT);
	} while (loan.units > 0 && !__atomic_compare_exchange_n(&shared->state.allow_at, &seen,
					   left, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return loan;
}

/* Reads the state for shared_bucket_give(). Acquire: the caller reads its clock later. Control. */
static inline uint64_t shared_bucket_seen(const struct shared_bucket *shared)
{
	return __atomic_load_n(&shared->state.allow_at, __ATOMIC_ACQUIRE);
}

/*
 * Adds at most *units units as of tick `now`, up to the burst, and sets *units to the units added.
 * Returns false, and nothing is added, if a worker has taken units since `seen`. So units that are
 * added late, because control stood still, made no difference meanwhile. Control.
 */
static inline bool shared_bucket_give(
	struct shared_bucket *shared, uint64_t seen, uint64_t now, uint64_t *units)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, now);
	int64_t tokens = gcra_tokens(&(struct gcra){seen}, &instant);
	uint64_t room = (profile.burst - (uint64_t)tokens) >> GCRA_SHIFT;

	*units = *units < room ? *units : room;
	return *units == 0 || __atomic_compare_exchange_n(&shared->state.allow_at, &seen,
				      instant.at - (uint64_t)tokens - (*units << GCRA_SHIFT), false,
				      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Does the same as shared_bucket_take() by a slower clock, see shared_bucket_slowed(). */
static inline uint64_t shared_bucket_take_slowed(
	struct shared_bucket *shared, uint64_t at, uint64_t now, uint64_t need)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = shared_bucket_slowed(&limit, at, now);

	return shared_bucket_take_at(
		shared, &profile, &instant, need, shared_bucket_lot(&profile, at));
}

/* Virtual time at a tick, by the limit that is in force. Any worker. */
static inline uint64_t shared_bucket_time(const struct shared_bucket *shared, uint64_t now)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);

	return gcra_time(&limit, now);
}

/*
 * Returns an instant for a packet whose cost can exceed the burst: at least as deep as that cost.
 */
static inline struct gcra_now shared_bucket_now(
	const struct gcra_profile *limit, uint64_t now, uint64_t need)
{
	struct gcra_now instant = gcra_now(limit, now);

	instant.burst = instant.burst > need << GCRA_SHIFT ? instant.burst : need << GCRA_SHIFT;
	return instant;
}

/*
 * Books `need` units as of a tick, even if they are not there yet: they are this worker's when
 * virtual time has come to *point, and not another's. So waiting workers get tokens one after the
 * other, in the order of their bookings, however often each of them looks. Returns 0. If *point
 * would be further ahead than `most` (in virtual time; and than SHARED_BUCKET_AHEAD, at any time),
 * books nothing and returns by how much. A booking cannot be given back: other workers have later
 * points because of it. Any worker; never waits, like shared_bucket_take().
 */
static inline uint64_t shared_bucket_book(
	struct shared_bucket *shared, uint64_t at, uint64_t need, uint64_t most, uint64_t *point)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = shared_bucket_now(&limit, at, need);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
	uint64_t ahead = SHARED_BUCKET_AHEAD << GCRA_SHIFT;
	int64_t lack;

	ahead = most < ahead ? most : ahead;
	do {
		lack = (int64_t)(need << GCRA_SHIFT) - gcra_tokens(&(struct gcra){seen}, &instant);
		if (lack > (int64_t)ahead)
			return (uint64_t)lack - ahead;
		*point = instant.at + (uint64_t)lack;
	} while (!__atomic_compare_exchange_n(
		&shared->state.allow_at, &seen, *point, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return 0;
}

/* Result of shared_bucket_book_within(). */
struct shared_bucket_booking {
	uint64_t from; /* tick from which on the limit is in force, at or after the requested one */
	uint64_t lack; /* virtual time from then until the units are there; 0: they are */
	uint64_t rate; /* tokens a tick, at which that comes */
};

/*
 * Does the same as shared_bucket_book() for a worker that books for all packets that wait, not for
 * the first one alone. The units must come within so many ticks, and within so many of the ticks in
 * which the limit is in force; fewer than 2^(SHARED_BUCKET_SECOND - 1). A packet that came before
 * the limit began, and is looked at by `now` or later, counts as one that came as it began. Returns
 * true if it has booked.
 */
static inline bool shared_bucket_book_within(struct shared_bucket *shared, uint64_t at,
	uint64_t now, uint64_t need, uint64_t ticks, uint64_t ticks_in_force,
	struct shared_bucket_booking *booking)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	struct gcra_profile limit = shared_bucket_limit(&profile);
	uint64_t from = (int64_t)(limit.since - at) > 0 ? limit.since : at;
	struct gcra_now instant = shared_bucket_now(&limit, from, need);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED);
	int64_t most, lack;

	if (from != at) /* since then, or as of now, if it has not begun */
		at = (int64_t)(from - now) > 0 ? now : from;
	if (from - at > ticks)
		return false;
	ticks -= from - at;
	ticks = ticks < ticks_in_force ? ticks : ticks_in_force;
	most = (int64_t)((tokens_t)ticks * limit.rate >> (TOKEN_SHIFT - GCRA_SHIFT));
	do {
		lack = (int64_t)(need << GCRA_SHIFT) - gcra_tokens(&(struct gcra){seen}, &instant);
		if (lack > 0 && lack > most)
			return false;
	} while (!__atomic_compare_exchange_n(&shared->state.allow_at, &seen,
		instant.at + (uint64_t)lack, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*booking = (struct shared_bucket_booking){from, lack > 0 ? (uint64_t)lack : 0, limit.rate};
	return true;
}

static_assert(offsetof(struct shared_bucket, profiles[1]) == 64, "a take reads one line at rest");

#endif
