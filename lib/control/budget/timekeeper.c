/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time for periods: the wall clock, as far as it is plausible.
 */
#include "budget/timekeeper.h"

#include <stddef.h>

#include "base/math.h"

#define MILLION 1000000

static bool is_at_one(uint64_t a, uint64_t b)
{
	return max_u64(a, b) - min_u64(a, b) <= TIME_GROUP_NS; /* any times of messages */
}

void timekeeper_begin(struct timekeeper *c, unsigned n, uint64_t now_ns, uint64_t until_ns)
{
	*c = (struct timekeeper){.n = n,
		.until_ns = until_ns,
		.allowance_ns = TIME_SLACK_NS,
		.earned_ns = now_ns,
		.read_ns = now_ns,
		.since_ns = now_ns,
		.reason = TIME_WAITS};
}

void timekeeper_remembers(struct timekeeper *c, uint64_t wall_ns)
{
	c->floor_ns = max_u64(c->floor_ns, wall_ns);
}

/* Adds whole nanoseconds to the allowance; the rest of the elapsed time counts the next time. */
static void earn_allowance(struct timekeeper *c, uint64_t boot_ns)
{
	uint64_t earned = (boot_ns - c->earned_ns) / MILLION * TIME_PPM;

	if (earned == 0)
		return;
	c->allowance_ns = min_u64(c->allowance_ns + earned, TIME_MOST_NS);
	c->earned_ns += earned / TIME_PPM * MILLION;
}

static uint64_t time_at(const struct timekeeper *c, uint64_t boot_ns)
{
	return boot_ns + (uint64_t)c->offset_ns;
}

static void set_time(struct timekeeper *c, uint64_t boot_ns, uint64_t time_ns, bool sure)
{
	c->known = true;
	c->sure = sure;
	c->offset_ns = (int64_t)(time_ns - boot_ns);
}

/*
 * Returns how many of `n` words of at least a grade agree with a time; `best` is their best grade.
 */
static unsigned count_votes(const struct time_word *words, unsigned n, enum time_grade least,
	uint64_t time_ns, enum time_grade *best)
{
	unsigned votes = 0;

	*best = TIME_NOTHING;
	for (unsigned i = 0; i < n; i++) {
		if (words[i].grade < least || !is_at_one(words[i].time_ns, time_ns))
			continue;
		votes++;
		if (words[i].grade > *best)
			*best = words[i].grade;
	}
	return votes;
}

static unsigned count_voters(const struct time_word *words, unsigned n, enum time_grade least)
{
	unsigned voters = 0;

	for (unsigned i = 0; i < n; i++)
		voters += words[i].grade >= least;
	return voters;
}

/*
 * Returns the time on which more than half of the neighbours that use a time agree, with the best
 * grade of these. If none uses a time and we start, starting neighbours vote and we count as one of
 * them.
 */
static struct time_word find_majority(const struct time_word *words, unsigned n, bool starts)
{
	enum time_grade least = TIME_HELD, best;
	unsigned voters = count_voters(words, n, least);

	if (voters == 0 && starts) {
		least = TIME_STARTS;
		voters = count_voters(words, n, least) + 1; /* with ourselves, who may be right */
	}
	for (unsigned i = 0; i < n; i++)
		if (words[i].grade >= least &&
			2 * count_votes(words, n, least, words[i].time_ns, &best) > voters)
			return (struct time_word){words[i].time_ns, best};
	return (struct time_word){0};
}

/* Returns true if a majority has another time than this one. */
static bool is_denied(const struct time_word *majority, uint64_t time_ns)
{
	return majority->grade != TIME_NOTHING && !is_at_one(majority->time_ns, time_ns);
}

static void follow_majority(
	struct timekeeper *c, const struct time_word *majority, uint64_t boot_ns)
{
	set_time(c, boot_ns, majority->time_ns, majority->grade == TIME_SURE);
	c->followed++;
}

/*
 * Accepts the wall clock as the time if the correction is within the allowance. Otherwise returns
 * false.
 */
static bool take_correction(struct timekeeper *c, const struct time_reading *r)
{
	int64_t apart = (int64_t)(r->wall_ns - time_at(c, r->boot_ns));
	uint64_t distance = apart < 0 ? -(uint64_t)apart : (uint64_t)apart;

	if (distance > c->allowance_ns)
		return false;
	c->allowance_ns -= distance;
	c->offset_ns += apart;
	c->sure |= r->synchronised;
	return true;
}

static bool is_majority_of_roster(
	const struct timekeeper *c, const struct time_word *words, unsigned n, uint64_t wall_ns)
{
	enum time_grade best;
	unsigned votes = 1 + count_votes(words, n, TIME_STARTS, wall_ns, &best);

	return 2 * votes > c->n + 1;
}

static enum time_reason look_at_start(struct timekeeper *c, const struct time_reading *r,
	const struct time_word *words, unsigned n, const struct time_word *majority)
{
	bool before = r->wall_ns < c->floor_ns && !r->synchronised;
	bool denied = is_denied(majority, r->wall_ns);

	if (!before && !denied && is_majority_of_roster(c, words, n, r->wall_ns)) {
		set_time(c, r->boot_ns, r->wall_ns, r->synchronised);
		return TIME_AGREES;
	}
	if (r->boot_ns < c->until_ns)
		return TIME_WAITS;
	if (denied && (!r->synchronised || majority->grade == TIME_SURE)) {
		follow_majority(c, majority, r->boot_ns);
		return TIME_FOLLOWS;
	}
	if (before)
		return TIME_BEFORE;
	set_time(c, r->boot_ns, r->wall_ns, r->synchronised);
	return denied ? TIME_OUTVOTED : TIME_AGREES;
}

/* Returns the reason while the wall clock is plausible. A majority can still have another time. */
static enum time_reason look_agreed(struct timekeeper *c, const struct time_reading *r,
	bool was_sure, const struct time_word *majority)
{
	if (!is_denied(majority, r->wall_ns))
		return TIME_AGREES;
	if (was_sure || r->synchronised || majority->grade != TIME_SURE)
		return TIME_OUTVOTED;
	follow_majority(c, majority, r->boot_ns);
	return TIME_FOLLOWS;
}

static enum time_reason look_stepped(
	struct timekeeper *c, const struct time_reading *r, const struct time_word *majority)
{
	const bool set_right = r->synchronised && !c->sure &&
			       !(is_denied(majority, r->wall_ns) && majority->grade == TIME_SURE);

	if (set_right) {
		set_time(c, r->boot_ns, r->wall_ns, true);
		return is_denied(majority, r->wall_ns) ? TIME_OUTVOTED : TIME_AGREES;
	}
	if (is_denied(majority, time_at(c, r->boot_ns)))
		follow_majority(c, majority, r->boot_ns);
	else
		return c->reason == TIME_FOLLOWS ? TIME_FOLLOWS : TIME_STEPPED;
	return is_at_one(r->wall_ns, time_at(c, r->boot_ns)) && take_correction(c, r)
		       ? TIME_AGREES
		       : TIME_FOLLOWS;
}

static enum time_reason look_by_known(
	struct timekeeper *c, const struct time_reading *r, const struct time_word *majority)
{
	bool was_sure = c->sure;

	if (take_correction(c, r))
		return look_agreed(c, r, was_sure, majority);
	return look_stepped(c, r, majority);
}

/* True if the wall clock is not plausible. */
static bool is_apart(enum time_reason reason)
{
	return reason == TIME_STEPPED || reason == TIME_FOLLOWS;
}

bool timekeeper_look(struct timekeeper *c, const struct time_reading *r,
	const struct time_word *words, unsigned n)
{
	const struct time_word majority = find_majority(words, n, !c->known);
	enum time_reason before = c->reason, reason;
	uint64_t against;

	c->read = true;
	c->read_ns = r->boot_ns;
	c->wall_ns = r->wall_ns;
	earn_allowance(c, r->boot_ns);
	reason = c->known ? look_by_known(c, r, &majority)
			  : look_at_start(c, r, words, n, &majority);
	if (reason != before) {
		c->steps += is_apart(reason) && !is_apart(before);
		c->reason = reason;
		c->since_ns = r->boot_ns;
	}
	against = reason == TIME_OUTVOTED ? majority.time_ns
		  : c->known              ? time_at(c, r->boot_ns)
					  : max_u64(c->floor_ns, r->wall_ns);
	c->apart_ns = (int64_t)(r->wall_ns - against);
	return reason != before;
}

bool timekeeper_time(const struct timekeeper *c, uint64_t now_ns, uint64_t *time_ns)
{
	*time_ns = c->known ? time_at(c, now_ns) : 0;
	return c->known;
}

struct time_word timekeeper_word(const struct timekeeper *c, uint64_t now_ns)
{
	if (c->known)
		return (struct time_word){time_at(c, now_ns), c->sure ? TIME_SURE : TIME_HELD};
	if (!c->read)
		return (struct time_word){0};
	return (struct time_word){c->wall_ns + (now_ns - c->read_ns), TIME_STARTS};
}

const char *time_reason_name(enum time_reason reason)
{
	static const char *const names[TIME_REASONS] = {
		[TIME_AGREES] = "agrees",
		[TIME_WAITS] = "waits",
		[TIME_BEFORE] = "before the ledger",
		[TIME_STEPPED] = "stepped",
		[TIME_FOLLOWS] = "follows the group",
		[TIME_OUTVOTED] = "outvoted",
	};

	return names[reason];
}
