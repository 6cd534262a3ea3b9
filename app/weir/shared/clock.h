/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time that control uses, and the frequency of the TSC. It is measured against CLOCK_BOOTTIME,
 * which the system keeps correct. DPDK rounds the frequency to 10 MHz, which would make every limit
 * wrong by up to 0.2 %.
 *
 * A rate of the TSC is accepted if it is within TSC_ACCEPTED_PPM of the previous one. Otherwise the
 * TSC has jumped. The machine has slept and the TSC has not, or has restarted; a program has
 * written it; or a virtual machine has moved to another host. The rate then stays the same until
 * two new measurements agree. Control thread.
 */
#ifndef WEIR_APP_CLOCK_H
#define WEIR_APP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* NTP slews a clock by at most 500 ppm, and any two quartzes differ by less. */
#define TSC_ACCEPTED_PPM 500

/* Returns CLOCK_BOOTTIME in ns, which counts while the machine sleeps: the time of lib/control. */
uint64_t control_now(void);

/* Both clocks at one moment, accurate to within_ns. */
struct tsc_reading {
	uint64_t tsc, ns, within_ns;
};

enum tsc_news {
	TSC_SAME,
	TSC_REFINED, /* hz has changed, by a longer baseline */
	TSC_JUMPED,  /* the TSC differs from the value that its rate predicts; hz is kept */
	TSC_SET_BACK /* the same, and before its last reading: times by it are in the future */
};

struct tsc_clock {
	uint64_t hz;              /* best estimate so far */
	struct tsc_reading first; /* start of the baseline */
	struct tsc_reading last;  /* at the last look */
	uint64_t refine_ns;       /* when the baseline is long enough for a better estimate */
	uint64_t measured;        /* hz after a jump, not yet accepted; or 0 */
	uint64_t jumps;           /* since the start */
	uint8_t set_back;         /* times that it was set back; wraps */
	int64_t jumped_ns;        /* how much it was off, at the last jump */
	bool doubted;             /* after a jump, while it is being measured again */
	const char *doubt;        /* tsc_clock_doubt() at the start */
};

/* Reads both clocks. */
struct tsc_reading tsc_clock_read(void);

/*
 * Takes a first estimate, accurate to some 10 ppm, from an earlier reading. Sleeps if that is too
 * recent.
 */
void tsc_clock_start(struct tsc_clock *clock, const struct tsc_reading *from);

/* Looks at both clocks. Does not sleep. Call it in each of control's turns. */
enum tsc_news tsc_clock_look(struct tsc_clock *clock);

/* tsc_clock_look() with given readings: pure. Begin with a rate that is accepted. */
void tsc_clock_begin(struct tsc_clock *clock, const struct tsc_reading *now, uint64_t hz);
enum tsc_news tsc_clock_take(struct tsc_clock *clock, const struct tsc_reading *now);

/*
 * Returns a reason why the TSC might stop or jump on this machine, as text; NULL if there is none.
 */
const char *tsc_clock_doubt(void);

/* --- clocks of devices ------------------------------------------------------------------------ */

/*
 * Converts a device's time of reception to ticks of the TSC. Control regularly reads both clocks as
 * a pair. The newest pair is the origin of the relation, and its slope is measured from the oldest
 * one. So the error of a reading, about a microsecond, does not grow, and that of the slope falls
 * with time.
 *
 * Pure. One writer, control. Workers read a consistent pair; while it is being written they do
 * without.
 */
struct nic_relation {
	uint64_t nic, tsc; /* at one instant */
	uint64_t rate;     /* TSC ticks in 2^32 ticks of the device's clock; 0: unknown */
};

struct nic_clock {
	uint32_t turn; /* odd while it is written */
	struct nic_relation relation;
	uint64_t first_nic, first_tsc; /* control's: the first pair; 0: none */
};

/* Most TSC ticks between the readings of a pair, 2^-15 s at 3 GHz; others are ignored. */
#define NIC_CLOCK_APART 100000

/* Takes the time of the device's clock, which was read between two ticks. Control. */
static inline void nic_clock_read(
	struct nic_clock *clock, uint64_t nic, uint64_t before, uint64_t after)
{
	struct nic_relation relation = {.nic = nic, .tsc = before + (after - before) / 2};

	if (after - before > NIC_CLOCK_APART)
		return;
	if (clock->first_tsc == 0 || nic <= clock->first_nic) { /* the clock can have been set */
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

/* Returns false if the relation is unknown at the moment. Any worker. */
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
 * Returns the tick at which a packet was received that the worker has by `now`. A device's time
 * after `now`, or more than `most` ticks before it, is wrong: then it returns `now`. Any worker.
 */
static inline uint64_t nic_clock_tick(
	const struct nic_relation *relation, uint64_t nic, uint64_t now, uint64_t most)
{
	__int128 since = (int64_t)(nic - relation->nic);
	int64_t ago = (int64_t)(now - relation->tsc) - (int64_t)(since * relation->rate >> 32);

	return ago < 0 || (uint64_t)ago > most ? now : now - (uint64_t)ago;
}

#endif
