/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * When a device says that a packet came in, in ticks of the TSC: from pairs of readings of both
 * clocks, which control takes now and then. The newest pair is where the relation begins, and the
 * oldest one what its slope is measured from; so the error of a reading, a microsecond or so, does
 * not grow, and that of the slope falls with the time.
 *
 * Pure. One writer, control; workers read a consistent pair, or find that it is being written, and
 * then do without.
 */
#ifndef WEIR_APP_NIC_CLOCK_H
#define WEIR_APP_NIC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct nic_relation {
	uint64_t nic, tsc; /* at one instant */
	uint64_t rate;     /* ticks of the TSC in 2^32 of the device's; 0: not known yet */
};

struct nic_clock {
	uint32_t turn; /* odd while it is written */
	struct nic_relation relation;
	uint64_t first_nic, first_tsc; /* control's: of the first pair; 0: none */
};

/* A pair that was read further apart than this says too little, 2^-15 s at 3 GHz. */
#define NIC_CLOCK_APART 100000

/* The device's clock, read between two ticks. Control. */
static inline void nic_clock_read(
	struct nic_clock *clock, uint64_t nic, uint64_t before, uint64_t after)
{
	struct nic_relation relation = {.nic = nic, .tsc = before + (after - before) / 2};

	if (after - before > NIC_CLOCK_APART)
		return;
	if (clock->first_tsc == 0 || nic <= clock->first_nic) { /* it may have been set */
		clock->first_nic = nic;
		clock->first_tsc = relation.tsc;
	} else {
		unsigned __int128 ticks = relation.tsc - clock->first_tsc;

		relation.rate = (uint64_t)((ticks << 32) / (nic - clock->first_nic));
	}
	__atomic_store_n(&clock->turn, clock->turn + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&clock->relation.nic, relation.nic, __ATOMIC_RELAXED);
	__atomic_store_n(&clock->relation.tsc, relation.tsc, __ATOMIC_RELAXED);
	__atomic_store_n(&clock->relation.rate, relation.rate, __ATOMIC_RELAXED);
	__atomic_store_n(&clock->turn, clock->turn + 1, __ATOMIC_RELEASE);
}

/* False where nothing is known at the moment. Any worker. */
static inline bool nic_clock_relation(const struct nic_clock *clock, struct nic_relation *out)
{
	uint32_t turn = __atomic_load_n(&clock->turn, __ATOMIC_ACQUIRE);

	out->nic = __atomic_load_n(&clock->relation.nic, __ATOMIC_RELAXED);
	out->tsc = __atomic_load_n(&clock->relation.tsc, __ATOMIC_RELAXED);
	out->rate = __atomic_load_n(&clock->relation.rate, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return turn % 2 == 0 && __atomic_load_n(&clock->turn, __ATOMIC_RELAXED) == turn &&
	       out->rate > 0;
}

/*
 * The tick at which a packet came in that was received by `now`: not after that, and not more than
 * `most` before it, as what a device says else is nonsense. Any worker.
 */
static inline uint64_t nic_clock_tick(
	const struct nic_relation *relation, uint64_t nic, uint64_t now, uint64_t most)
{
	__int128 since = (int64_t)(nic - relation->nic);
	int64_t ago = (int64_t)(now - relation->tsc) - (int64_t)(since * relation->rate >> 32);

	return ago < 0 || (uint64_t)ago > most ? now : now - (uint64_t)ago;
}

#endif
