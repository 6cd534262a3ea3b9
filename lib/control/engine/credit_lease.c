/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "engine/credit_lease.h"

#include "base/time.h"
#include "meter/credit.h"

#define MEMORY_S 0.5 /* seconds, time constant of a falling rate */
#define FADE     16  /* inverse of the part of the boost that is dropped at each look */

/*
 * Part of the held units that can be leased, as a shift: a quarter, or less if the quota runs low.
 */
#define PART_SHIFT 2
#define LOW_SHIFT  4

#define TARGET_MOST ((double)(CREDIT_MOST / 4))

void credit_lease_init(struct credit_lease *lease, uint64_t least, uint64_t now_ns)
{
	*lease = (struct credit_lease){.least = least, .seen_ns = now_ns, .taken_ns = now_ns};
}

static double lease_target(const struct credit_lease *lease)
{
	double target = lease->rate * ((double)CREDIT_LEASE_NS / SECOND_NS);

	target = target > lease->boost ? target : lease->boost;
	target = target > (double)lease->least ? target : (double)lease->least;
	return target < TARGET_MOST ? target : TARGET_MOST;
}

static void note_rate(struct credit_lease *lease, double taken, double seconds)
{
	double rate = taken / seconds;

	if (rate < lease->rate)
		rate = lease->rate + (rate - lease->rate) * seconds / (MEMORY_S + seconds);
	lease->rate = rate;
}

void credit_lease_look(struct credit_lease *lease, uint64_t left, uint64_t wanted, uint64_t now_ns)
{
	uint64_t taken = lease->left - left;

	if (now_ns > lease->seen_ns)
		note_rate(lease, (double)taken, (double)(now_ns - lease->seen_ns) / SECOND_NS);
	/*
	 * Only if the credit was nearly filled to its target; otherwise the target is not too
	 * small.
	 */
	if (wanted && (double)lease->filled >= lease_target(lease) / 2)
		lease->boost = 2 * lease_target(lease);
	else if (!wanted)
		lease->boost -= lease->boost / FADE;
	if (taken || wanted)
		lease->taken_ns = now_ns;
	lease->left = left;
	lease->need = wanted;
	lease->seen_ns = now_ns;
}

uint64_t credit_lease_units(const struct credit_lease *lease, uint64_t held, bool low)
{
	uint64_t target = (uint64_t)lease_target(lease),
		 part = held >> (low ? LOW_SHIFT : PART_SHIFT);
	uint64_t lack = lease->need > lease->left ? lease->need - lease->left : 0;
	uint64_t units = lease->left < target / 2 ? target - lease->left : 0;

	units = units < part ? units : part;
	return units > lack ? units : lack;
}

void credit_lease_fill(struct credit_lease *lease, uint64_t units)
{
	lease->left += units;
	lease->filled = lease->left;
	lease->need = 0;
}

void credit_lease_empty(struct credit_lease *lease)
{
	lease->left = lease->filled = 0;
}

bool credit_lease_is_idle(const struct credit_lease *lease, uint64_t now_ns)
{
	return now_ns - lease->taken_ns >= CREDIT_IDLE_NS;
}
