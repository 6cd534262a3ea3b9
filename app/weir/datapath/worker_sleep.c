/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker_sleep.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_pause.h>
#include <rte_rcu_qsbr.h>

#include "idle.h"
#include "rx_wait.h"
#include "shape/shape.h"
#include "tick.h"
#include "worker_data.h"
#include "worker_limits.h"

/* If a packet is due sooner, the worker polls: to fall asleep and wake up takes as long. */
#define SLEEP_LEAST_NS UINT64_C(5000)

/* Returns the nanoseconds since the last packet, at this tick. */
static uint64_t quiet_ns(const struct worker *w, uint64_t now)
{
	return (now - w->own.idle_since) / w->ticks_per_us * 1000;
}

/* Returns ns, or the time until a waiting packet is due if that is less. */
static uint64_t until_due(const struct worker *w, uint64_t now, uint64_t ns)
{
	uint64_t due;

	if (!shaper_waits(w->shaper))
		return ns;
	due = shaper_next(w->shaper, now) - now;
	return RTE_MIN(ns, due / w->ticks_per_us * 1000);
}

/* Returns true if the worker must take something that control has published. Both threads. */
static bool has_news(const struct worker *w)
{
	return !limit_ring_is_taken(&w->limit_ring) ||
	       publisher_current(w->publisher)->generation !=
		       __atomic_load_n(&w->generation, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&w->asked, __ATOMIC_RELAXED) != NULL ||
	       __atomic_load_n(w->stop, __ATOMIC_RELAXED);
}

void worker_wake(const struct worker *w)
{
	if (w->wait && rx_wait_is_announced(w->wait) && has_news(w))
		rx_wait_end(w->wait);
}

/* Offline while asleep, so that control never waits for a sleeper. */
static void fall_asleep(struct worker *w)
{
	rte_rcu_qsbr_thread_offline(w->publisher->rcu, w->index);
}

static void wake_up(struct worker *w)
{
	rte_rcu_qsbr_thread_online(w->publisher->rcu, w->index);
	worker_catch_up(w);
	counter_add(&w->counters.sleeps, 1);
}

static void pause_for(struct worker *w, uint64_t ns)
{
	struct timespec ts = {.tv_nsec = (long)ns};

	fall_asleep(w);
	nanosleep(&ts, NULL);
	wake_up(w);
}

/* Sweeps the tables of sources as often as the pauses of the same time would. */
static void age_after_wait(struct worker *w, uint64_t ns)
{
	if (w->own.view.n_sourced == 0)
		return;
	for (uint64_t pauses = ns / SLEEP_DEEP_NS; pauses > 0; pauses--)
		worker_age_table(w);
}

static void wait_for_packets(struct worker *w, uint64_t ns)
{
	bool undisturbed;

	rx_wait_announce(w->wait);
	if (has_news(w)) {
		rx_wait_cancel(w->wait);
		return;
	}
	fall_asleep(w);
	undisturbed = rx_wait(w->wait, ns);
	wake_up(w);
	if (undisturbed)
		age_after_wait(w, ns);
}

void worker_sleep(struct worker *w)
{
	uint64_t now, quiet, longest, ns;

	if (w->idle == IDLE_POLL) {
		rte_pause();
		return;
	}
	now = tick_now();
	quiet = quiet_ns(w, now);
	longest = quiet < WAIT_AFTER_NS ? 0 : rx_wait_longest(w->wait);
	ns = until_due(w, now, longest ? longest : idle_sleep_ns(quiet));
	if (ns < SLEEP_LEAST_NS)
		rte_pause();
	else if (longest)
		wait_for_packets(w, ns);
	else
		pause_for(w, ns);
}
