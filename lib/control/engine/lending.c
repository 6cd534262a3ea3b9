/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "engine/lending.h"

static struct shared_bucket *bucket_of(const struct lending_place *place)
{
	return &place->engine->shared_buckets[place->slot];
}

/* Bytes per second, rounded up. */
static uint64_t rate_of(const struct lending_place *place, uint64_t tokens_a_tick)
{
	return (uint64_t)((tokens_t)tokens_a_tick * place->hz >> TOKEN_SHIFT) + 1;
}

struct loan_bucket lending_look(const struct lending_place *place)
{
	struct shared_bucket copy;

	shared_bucket_copy(bucket_of(place), &copy);
	return (struct loan_bucket){
		.level = shared_bucket_level(&copy, place->now),
		.burst = copy.profiles[0].burst >> GCRA_SHIFT,
		.rate = rate_of(place, copy.profiles[0].rate),
	};
}

/*
 * Makes the bucket shallower. Control later publishes a limit that is smaller by the same amount,
 * and that changes nothing more.
 */
static void withhold_depth(const struct lending_place *place, uint64_t bytes)
{
	struct shared_bucket_profile profile = shared_bucket_read(bucket_of(place));

	profile.burst -= bytes << GCRA_SHIFT;
	shared_bucket_change(bucket_of(place), &profile, place->now);
}

struct loan_taken lending_take(
	const struct lending_place *place, uint64_t keep, uint64_t most, bool withhold)
{
	const struct engine_slot *slot = &place->engine->slots[place->slot];
	struct shared_bucket_loan loan;

	/* Virtual time is shifted until control publishes the limit again, so it lends nothing. */
	if (withhold && (slot->ended || slot->restarts))
		return (struct loan_taken){0};
	loan = shared_bucket_lend(bucket_of(place), place->now, keep, most);
	if (withhold && loan.units > 0)
		withhold_depth(place, loan.units);

	return (struct loan_taken){
		.bytes = loan.units,
		.room = loan.room,
		.rate = rate_of(place, loan.rate),
	};
}

uint64_t lending_seen(const struct lending_place *place)
{
	return shared_bucket_seen(bucket_of(place));
}

bool lending_give(const struct lending_place *place, uint64_t seen, uint64_t *bytes)
{
	return shared_bucket_give(bucket_of(place), seen, place->now, bytes);
}
