/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time for periods: the wall clock, as far as it is plausible. If one wrong reading of the
 * clock began a new period, the total would pass twice, undetected.
 *
 * Two clocks are read at a time: the wall clock, which anyone can set, and the clock since boot,
 * which cannot be set and continues in suspend (CLOCK_BOOTTIME). The wall clock is accepted while
 * it advances like the other. All corrections together must be within TIME_SLACK_NS and TIME_PPM of
 * the elapsed time, and one of them within TIME_MOST_NS. Beyond that it was stepped, and
 *
 *   - if the kernel reports the wall clock as synchronised, and it never was before in this start,
 *     it has just been set right, and is accepted, unless a synchronised majority disagrees;
 *   - otherwise, if a majority of the living neighbours agree on a time, that is it;
 *   - otherwise time continues from the last pair that agreed.
 *
 * At the start there is no such pair. Then the wall clock is accepted once a majority of the
 * roster, including ourselves, agrees with it. It is also accepted after the time in which
 * neighbours' messages arrive, if two conditions hold. No majority of the living neighbours
 * disagrees, and it is not before the time of the ledger's records. A synchronised clock needs only
 * the first, because a record can be of a wrong clock. Until then the time is unknown, and no
 * period turns. Neighbours send the time that they use, not that of their wall clocks. So a group
 * stays together if one bad server steps all of its clocks.
 *
 * At the start, unsynchronised neighbours cannot override a synchronised clock.
 *
 * Pure. One thread. Times of the wall clock are nanoseconds since 1970.
 */
#ifndef WEIR_BUDGET_TIMEKEEPER_H
#define WEIR_BUDGET_TIMEKEEPER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Corrections: the initial allowance; its growth over time, twice the slew rate of NTP; and its
 * maximum, the error of a quartz of 350 ppm after a day without a network.
 */
#define TIME_SLACK_NS UINT64_C(5000000000)
#define TIME_PPM      1000
#define TIME_MOST_NS  UINT64_C(30000000000)

/* Times of limiters agree if they are no further apart: each can have had a correction. */
#define TIME_GROUP_NS (2 * TIME_MOST_NS)

/*
 * Before the loss of its memory, a limiter's time can have been later than its present time by so
 * much: each of the two agreed with the times of others.
 */
#define TIME_DOUBT_NS (2 * TIME_GROUP_NS)

struct time_reading {
	uint64_t wall_ns, boot_ns;
	bool synchronised; /* the kernel's status of the wall clock */
};

/* Grade of the time in a limiter's message. */
enum time_grade {
	TIME_NOTHING, /* no time */
	TIME_STARTS,  /* its wall clock, which it has not accepted yet */
	TIME_HELD,    /* the time that it uses */
	TIME_SURE,    /* the same, used since its clock was synchronised */
	TIME_GRADES
};

/* A living neighbour's time, brought forward to the moment of the reading. */
struct time_word {
	uint64_t time_ns;
	enum time_grade grade;
};

/* Reason for the present time. All but the first two are worth an alarm. */
enum time_reason {
	TIME_AGREES,   /* the wall clock */
	TIME_WAITS,    /* unknown yet: neighbours' messages are awaited */
	TIME_BEFORE,   /* unknown: the wall clock is before the time of the ledger's records */
	TIME_STEPPED,  /* the wall was stepped: time continues from the last pair that agreed */
	TIME_FOLLOWS,  /* the time of a majority of neighbours: the wall clock has another */
	TIME_OUTVOTED, /* the wall clock, though a majority of neighbours has another time */
	TIME_REASONS
};

struct timekeeper {
	unsigned n; /* neighbours, alive or not */
	uint64_t until_ns;
	uint64_t floor_ns;
	bool read, known, sure;
	int64_t offset_ns; /* from the clock since boot to the time */
	uint64_t allowance_ns, earned_ns, read_ns;
	uint64_t wall_ns;
	enum time_reason reason;
	int64_t apart_ns;  /* the wall less the time; or (outvoted) less the majority's */
	uint64_t since_ns; /* start of the reason, by the clock since boot */
	uint64_t steps;    /* times that the wall was found stepped */
	uint64_t followed; /* times that a majority's time was taken */
};

/* Starts at boot time `now_ns`, with n neighbours. The living ones send messages by `until_ns`. */
void timekeeper_begin(struct timekeeper *c, unsigned n, uint64_t now_ns, uint64_t until_ns);

/* The ledger's records are from `wall_ns` or later. Call it before the first timekeeper_look(). */
void timekeeper_remembers(struct timekeeper *c, uint64_t wall_ns);

/*
 * Evaluates a reading of the clocks; its `boot_ns` does not go back. Returns true if the reason has
 * changed.
 */
bool timekeeper_look(struct timekeeper *c, const struct time_reading *reading,
	const struct time_word *words, unsigned n);

/*
 * Sets the time at a moment since boot. Returns false while it is unknown. A correction can set it
 * back.
 */
bool timekeeper_time(const struct timekeeper *c, uint64_t now_ns, uint64_t *time_ns);

/* Returns the time to send to neighbours. */
struct time_word timekeeper_word(const struct timekeeper *c, uint64_t now_ns);

/* For operators: "stepped", ... */
const char *time_reason_name(enum time_reason reason);

#endif
