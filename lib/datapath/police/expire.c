/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The rest of a policy's limit on a worker when the lease has ended (base/expiry.h).
 */
#include "police/expire.h"

#include "police/borrow.h"
#include "police/coloured.h"
#include "police/shaped.h"

static struct token_bucket_profile bucket_left(
	const struct token_bucket_profile *limit, uint8_t ending)
{
	return (struct token_bucket_profile){
		.rate = limit->rate > 0 ? (int64_t)expiry_left((uint64_t)limit->rate, ending) : 0,
		.burst = expiry_left(limit->burst, ending),
	};
}

/* Handles the meters that a hard limit can have. */
static void expire_other(struct policy_extended *other, uint8_t ending, uint64_t from)
{
	struct token_bucket_profile bucket = bucket_left(&other->profile.bucket, ending);
	union meter_profile left = {.bucket = bucket};

	if (other->coloured) { /* the second bucket ends like the limit */
		left.trtcm.second = bucket_left(&other->profile.trtcm.second, ending);
		coloured_limit(other, &left.trtcm, from);
		return;
	}
	switch (other->kind) {
	case METER_PHANTOM:
		phantom_change(police_phantom(other), &other->meter.bucket, &other->profile.bucket,
			&bucket, from);
		return;
	case METER_GCRA:
		left.gcra = other->profile.gcra;
		left.gcra.rate = expiry_left(left.gcra.rate, ending);
		left.gcra.burst = expiry_left(left.gcra.burst, ending);
		break;
	case METER_TOKEN_BUCKET:
		break;
	default:
		return;
	}
	meter_change(other->kind, &other->meter, &other->profile, &left, from);
}

void police_expire(struct policy_state *state, uint8_t ending, uint64_t from)
{
	struct token_bucket_profile left;

	if (police_is_extended(state)) {
		expire_other(state->other, ending, from);
		return;
	}
	left = bucket_left(&state->limit, ending);
	if (police_is_phantom(state))
		phantom_change(state->phantom, &state->bucket, &state->limit, &left, from);
	else
		token_bucket_change(&state->bucket, &state->limit, &left, from);
}

bool police_end_limit(struct policy_state *state, struct shaper *shaper, bool shared,
	uint8_t ending, uint64_t from)
{
	if (shared && (police_is_simple(state) || police_borrows(state)))
		return false;
	if (police_is_shaped(state))
		shaped_expire(shaper, state, ending, from);
	else
		police_expire(state, ending, from);
	return true;
}

bool police_borrow_ended(struct policy_state *state, struct shared_bucket *shared, uint64_t cost,
	uint64_t now, const struct police_end *end)
{
	struct token_bucket *bucket = &state->bucket;
	uint64_t at = expiry_slowed(end->from, now, end->ending), held, borrowed;

	if (police_borrows(state)) {
		bucket = &state->other->meter.bucket;
		cost <<= state->other->unit_bits;
	}
	shared_bucket_trim(shared, at, now, end->ending, end->least);
	held = bucket->tokens >> TOKEN_BYTE;
	if (held >= cost)
		return true;
	borrowed = shared_bucket_take_slowed(shared, at, now, cost - held);
	bucket->tokens += borrowed << TOKEN_BYTE;
	return borrowed > 0;
}

uint64_t police_burst_least(const struct policy_state *state)
{
	if (!police_borrows(state) || state->other->count == COUNT_BYTES)
		return POLICE_LEAST_BYTES;
	return POLICE_LEAST_PACKETS << state->other->unit_bits;
}
