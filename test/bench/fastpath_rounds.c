/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rounds: each contender of a question has a slice of time in each round, so that changes of the
 * machine's speed affect all of them. The results are ratios within a round.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "fastpath.h"

#define WARM_PART    3 /* 1 / the part of a slice that warms the caches */
#define TURNS_A_LOOK 8 /* turns between reads of the clock */

static void run_turns(const struct contender *c, uint64_t ticks)
{
	uint64_t until = rte_rdtsc() + ticks;

	do
		for (unsigned i = 0; i < TURNS_A_LOOK; i++)
			c->turn(c->self);
	while (rte_rdtsc() < until);
}

/*
 * Runs n turns and nothing else: instructions are counted from its begin to its end, by its name
 * (test/bench/instructions.py).
 */
__attribute__((noinline)) void counted_turns(const struct contender *c, unsigned n)
{
	while (n--)
		c->turn(c->self);
}

/* Runs a slice of time, or of turns if instructions are counted. */
static void spend_slice(const struct lab *lab, struct contender *c, uint64_t ticks)
{
	if (lab->step && (is_named(lab->step, c->name) || is_named(lab->step, "all")))
		c->steps += steps_of_turns(c, lab->turns);
	else if (lab->turns)
		counted_turns(c, lab->turns);
	else
		run_turns(c, ticks);
}

/* The buffers in the pools have headers of one kind of traffic at a time. */
static void attach_traffic(const struct contender *c, unsigned round)
{
	static unsigned worn;

	if (!c->traffic)
		return;
	if (c->on_send) {
		stand_in_attach_send(c->ports, c->n_ports, c->traffic, round * 37 * TURN_PACKETS);
		return;
	}
	if (c->traffic->serial != worn)
		for (unsigned p = 0; p < c->n_ports; p++)
			traffic_headers(c->traffic, c->ports[p].pool);
	worn = c->traffic->serial;
	/* All contenders get the same packets in a round, and others in the next. */
	stand_in_attach(c->ports, c->n_ports, c->traffic, round * 37 * TURN_PACKETS);
}

static void detach_traffic(const struct contender *c)
{
	if (c->traffic && c->on_send)
		stand_in_detach_send(c->ports, c->n_ports);
	else if (c->traffic)
		stand_in_detach(c->ports, c->n_ports);
}

static void commit_contender(const struct lab *lab, struct contender *c)
{
	if (lab->step)
		return; /* control has its own thread */
	attach_traffic(c, 0);
	if (c->commit) {
		c->commit(c->self, lab->settle_ms);
	} else {
		if (c->begin)
			c->begin(c->self);
		run_turns(c, rte_get_tsc_hz() / 10000 * lab->settle_ms);
		if (c->end)
			c->end(c->self);
	}
	detach_traffic(c);
}

void companion_publish(struct companion *companion)
{
	if (pthread_getcpuclockid(pthread_self(), &companion->clock))
		die("a thread has no clock");
	__atomic_store_n(&companion->told, true, __ATOMIC_RELEASE);
}

static double cycles_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9) * (double)rte_get_tsc_hz();
}

/*
 * Returns the cycles that a contender's threads used; time of other processes is not included. With
 * two threads, the mean of both, so twice as many packets are half the cycles.
 */
static double cycles_had(const struct contender *c)
{
	double own = cycles_of(CLOCK_THREAD_CPUTIME_ID);

	if (!c->companion)
		return own;
	while (!__atomic_load_n(&c->companion->told, __ATOMIC_ACQUIRE))
		rte_pause();
	return (own + cycles_of(c->companion->clock)) / 2;
}

static void time_slice(const struct lab *lab, struct contender *c, unsigned round)
{
	uint64_t ticks = lab->slice * RTE_MAX(c->longer, 1u);
	double began, ended;
	uint64_t received, dropped, received_then, dropped_then;

	attach_traffic(c, round);
	if (lab->step)
		steps_begin();
	if (c->begin)
		c->begin(c->self);
	run_turns(c, ticks / WARM_PART);
	c->counted(c->self, &received_then, &dropped_then);
	began = cycles_had(c);
	spend_slice(lab, c, ticks);
	ended = cycles_had(c);
	c->counted(c->self, &received, &dropped);
	if (c->end)
		c->end(c->self);
	if (lab->step)
		steps_end();
	detach_traffic(c);
	received -= received_then;
	if (received == 0)
		die("%s received nothing", c->name);
	c->received += received;
	c->dropped += dropped - dropped_then;
	if (c->adapt && !lab->step)
		c->adapt(c->self, (double)(dropped - dropped_then) / (double)received);
	c->cycles[round] = (ended - began) / (double)received;
}

static json_t *result_of(const struct lab *lab, const struct contender *c)
{
	json_t *cycles = json_array();

	for (unsigned r = 0; r < lab->rounds; r++)
		json_array_append_new(cycles, json_real(c->cycles[r]));
	return json_pack("{s:o, s:f, s:I, s:I}", "cycles", cycles, "dropped",
		(double)c->dropped / (double)c->received, "packets", (json_int_t)c->received,
		"instructions", (json_int_t)c->steps);
}

void lab_ask(struct lab *lab, const char *question, struct contender *contenders, unsigned n)
{
	json_t *results = json_object();

	for (unsigned i = 0; i < n; i++) {
		contenders[i].cycles = need(lab->rounds * sizeof(double));
		commit_contender(lab, &contenders[i]);
	}
	/*
	 * Alternates the order, so that no contender always follows the one that leaves cold
	 * caches.
	 */
	for (unsigned r = 0; r < lab->rounds; r++)
		for (unsigned i = 0; i < n; i++)
			time_slice(lab, &contenders[r % 2 ? n - 1 - i : i], r);
	for (unsigned i = 0; i < n; i++) {
		json_object_set_new(results, contenders[i].name, result_of(lab, &contenders[i]));
		free(contenders[i].cycles);
	}
	/* In reverse, because a contender can borrow from one before it. */
	while (n-- > 0)
		if (contenders[n].close)
			contenders[n].close(contenders[n].self);
	json_object_set_new(lab->questions, question, results);
}
