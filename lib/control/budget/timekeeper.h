/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What time it is, for periods: the wall clock, as far as it can be believed. A total that began a
 * new period by one wrong look at the clock would pass twice, and never know.
 *
 * Two clocks are read at a time: the wall clock, which anybody may set, and one since boot that
 * nobody sets and that goes on in suspend (CLOCK_BOOTTIME). The wall is believed as far as it has
 * gone as far as the other: all corrections together are within TIME_SLACK_NS and TIME_PPM
 * of the time that has passed, and one of them within TIME_MOST_NS. Beyond that it has been
 * stepped, and
 *
 *   - if the kernel says that the wall is synchronised, and it never was before in this start, it
 *     has just been set right, and is believed, unless a majority that is so says otherwise;
 *   - else, if a majority of the living neighbours agree on a time, that is it;
 *   - else time goes on from the last pair that agreed.
 *
 * At the start there is no such pair. Then the wall is believed once a majority of the roster, with
 * ourselves, says the same; or after the time that it takes to hear neighbours, if most of those
 * that are alive do not say otherwise, and it is not before what the ledger remembers (but for one
 * that is synchronised: a record may be of a clock that was wrong). Until then the time is unknown,
 * and no period turns. Neighbours say the time that they go by, not what their walls say: a group
 * whose clocks are all stepped at once by one bad server holds together.
 *
 * Who is synchronised is not talked out of it, at the start, by those who are not.
 *
 * Pure. One thread. Times of the wall are nanoseconds since 1970.
 */
#ifndef WEIR_BUDGET_TIMEKEEPER_H
#define WEIR_BUDGET_TIMEKEEPER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What may be corrected at once in the beginning; how fast more is earned, twice what NTP slews by;
 * and what at most: what a quartz of 350 ppm is off by after a day without a network.
 */
#define TIME_SLACK_NS UINT64_C(5000000000)
#define TIME_PPM      1000
#define TIME_MOST_NS  UINT64_C(30000000000)

/* Limiters whose times are no further apart are at one: each may have had a correction. */
#define TIME_GROUP_NS (2 * TIME_MOST_NS)

/*
 * Before its memory was lost a limiter may have gone by a time that was later by so much than the
 * one that it goes by now: either was at one with that of others.
 */
#define TIME_DOUBT_NS (2 * TIME_GROUP_NS)

struct time_reading {
	uint64_t wall_ns, boot_ns;
	bool synchronised; /* as the kernel says of the wall */
};

/* What a time that a limiter says is worth. */
enum time_grade {
	TIME_NOTHING, /* it says none */
	TIME_STARTS,  /* its wall clock, which it does not believe yet */
	TIME_HELD,    /* what it goes by, */
	TIME_SURE,    /* and has gone by since its clock was synchronised */
	TIME_GRADES
};

/* What a living neighbour has said, brought forward to the reading's moment. */
struct time_word {
	uint64_t time_ns;
	enum time_grade grade;
};

/* Why the time is what it is. All but the first two are worth an alarm. */
enum time_reason {
	TIME_AGREES,   /* the wall clock */
	TIME_WAITS,    /* unknown yet: neighbours are to be heard first */
	TIME_BEFORE,   /* unknown: the wall is before what the ledger remembers */
	TIME_STEPPED,  /* the wall was stepped: time goes on from the last pair that agreed */
	TIME_FOLLOWS,  /* that of a majority of neighbours: the wall says another */
	TIME_OUTVOTED, /* the wall clock, though a majority of neighbours says another */
	TIME_REASONS
};

struct timekeeper {
	unsigned n; /* neighbours, alive or not */
	uint64_t until_ns;
	uint64_t floor_ns;
	bool read, known, sure;
	int64_t offset_ns; /* of the time from the clock since boot */
	uint64_t allowance_ns, earned_ns, read_ns;
	uint64_t wall_ns;
	enum time_reason reason;
	int64_t apart_ns;  /* the wall less the time; or (outvoted) less the majority's */
	uint64_t since_ns; /* of the reason, by the clock since boot */
	uint64_t steps;    /* times that the wall was found stepped */
	uint64_t followed; /* times that a majority's time was taken */
};

/* At boot time `now_ns`, with n neighbours, of whom those that are alive are heard by until_ns. */
void timekeeper_begin(struct timekeeper *c, unsigned n, uint64_t now_ns, uint64_t until_ns);

/* The ledger remembers a time no earlier than that; to be said before the first look. */
void timekeeper_remembers(struct timekeeper *c, uint64_t wall_ns);

/* Reads the clocks; `boot_ns` does not go back. True when the reason has changed. */
bool timekeeper_look(struct timekeeper *c, const struct time_reading *reading,
	const struct time_word *words, unsigned n);

/* The time at a moment since boot: false while it is unknown. A correction may set it back. */
bool timekeeper_time(const struct timekeeper *c, uint64_t now_ns, uint64_t *time_ns);

/* What to tell neighbours. */
struct time_word timekeeper_say(const struct timekeeper *c, uint64_t now_ns);

/* For operators: "stepped", ... */
const char *time_reason_name(enum time_reason reason);

#endif
