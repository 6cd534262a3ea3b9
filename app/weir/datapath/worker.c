/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The loop of a worker lcore: receive a burst, decide, send.
 */
#include "worker.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>
#include <rte_rcu_qsbr.h>

#include "decide.h"
#include "distribute.h"
#include "in_flight.h"
#include "leases_end.h"
#include "packet/parse.h"
#include "police/charge.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "rx.h"
#include "rx_rings.h"
#include "rx_wait.h"
#include "shape/shape.h"
#include "shape_steps.h"
#include "specimen.h"
#include "stuck.h"
#include "tick.h"
#include "policer.h"
#include "tx.h"
#include "worker_data.h"

/*
 * New limits to apply before a burst. Each needs a cache line, so a change of 100,000 limits delays
 * no packet by more than a microsecond or two.
 */
#define LIMITS_A_TURN 16

struct worker;

/* Lines of a table of sources to sweep at a time: a microsecond or two. */
#define AGE_LINES 16

static void apply_limit(
	struct worker *w, const struct limit_profile *limit, uint64_t now, bool ended)
{
	struct policy_state *state = &w->policies[limit->policy];

	police_limit(state, limit, now);
	if (unlikely(limit->shaped) && police_is_shaped(state))
		shaped_limit(w->shaper, state, limit, now, w->ticks_per_us * 1000000);
	w->ending[limit->policy] = limit->ending;
	if (unlikely(ended))
		expire_replaced(w, limit->policy, now);
}

static void worker_apply_limits(struct worker *w, const struct limit_profile *limits, unsigned n)
{
	uint64_t now = tick_now();
	bool ended;

	expire_look(w, now);
	shape_out_clock(w, now);
	ended = expire_lasts(w);
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[limits[i].policy]);
	for (unsigned i = 0; i < n; i++)
		apply_limit(w, &limits[i], now, ended);
}

/* Applies changed limits, some at a time. Returns true if there can be more. */
static inline bool worker_take_limits(struct worker *worker)
{
	struct limit_profile limits[LIMITS_A_TURN];
	unsigned n = limit_ring_take(&worker->limit_ring, limits, LIMITS_A_TURN);

	if (unlikely(n > 0))
		worker_apply_limits(worker, limits, n);
	return n == LIMITS_A_TURN;
}

/* Sweeps a part of the next table of sources; call it only if there is one. */
static void worker_age_table(struct worker *w)
{
	uint32_t policy = w->own.view.sourced[w->own.aged++ % w->own.view.n_sourced];

	policy_state_age(&w->policies[policy], tick_now(), AGE_LINES);
}

/* If a packet is due sooner, the worker polls: to fall asleep and wake up takes as long. */
#define SLEEP_LEAST_NS UINT64_C(5000)

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
	/* Applies all limits that control sent meanwhile, also those that it is still sending. */
	for (unsigned i = 0; i <= LIMIT_RING_MAX / LIMITS_A_TURN && worker_take_limits(w); i++)
		;
	counter_add(&w->counters.sleeps, 1);
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
	if (!undisturbed || w->own.view.n_sourced == 0)
		return;
	/* Sweeps the tables of sources as often as the pauses of the same time would. */
	for (uint64_t pauses = ns / SLEEP_DEEP_NS; pauses > 0; pauses--)
		worker_age_table(w);
}

/*
 * Pauses at most until a waiting packet is due. Takes the limits that control has sent meanwhile.
 * Called after a turn without work. The worker.
 */
static void worker_sleep(struct worker *w)
{
	uint64_t now, quiet_ns, longest, ns;
	struct timespec pause;

	if (w->idle == IDLE_POLL) {
		rte_pause();
		return;
	}
	now = tick_now();
	quiet_ns = (now - w->own.idle_since) / w->ticks_per_us * 1000;
	longest = quiet_ns < WAIT_AFTER_NS ? 0 : rx_wait_longest(w->wait);
	ns = until_due(w, now, longest ? longest : idle_sleep_ns(quiet_ns));
	if (ns < SLEEP_LEAST_NS) {
		rte_pause();
	} else if (longest) {
		wait_for_packets(w, ns);
	} else {
		pause = (struct timespec){.tv_nsec = (long)ns};
		fall_asleep(w);
		nanosleep(&pause, NULL);
		wake_up(w);
	}
}

/* Attempts in a row, with pauses, of the owner of a queue to get returned packets. */
#define DRAIN_PAUSE_NS 500000
#define DRAIN_TURNS    2000

static bool owns_queue(const struct worker *w, const struct path *path)
{
	return path->rings && rx_rings_owned(path->rings, w->index);
}

/*
 * Returns true if other workers can still return packets of this worker's queues. With `ended`,
 * they return no more, and only packets in the rings count.
 */
static bool expects_packets(const struct worker *w, bool ended)
{
	for (unsigned i = 0; i < w->n_paths; i++)
		if (owns_queue(w, &w->paths[i]) && (!ended || distribute_waits(&w->paths[i])))
			return true;
	return false;
}

/*
 * Notes that this worker has ended. If it owns shared queues, it transmits the packets that other
 * workers return until all have ended, or for a time, and then drops the rest. The worker.
 *
 * The worker sleeps between its looks, because others can need this CPU. It ends after some time,
 * because a worker can have failed to start, or be stalled now.
 */
static void worker_drain(struct worker *w)
{
	const struct timespec pause = {.tv_nsec = DRAIN_PAUSE_NS};
	unsigned landed = __atomic_add_fetch(w->landed, 1, __ATOMIC_ACQ_REL);
	unsigned expected = w->n_workers - (unsigned)__builtin_popcountll(stuck_workers(w->stuck));

	for (unsigned vain = 0; vain < DRAIN_TURNS && expects_packets(w, landed >= expected);) {
		if (distribute_collect(w)) {
			vain = 0;
		} else {
			vain++;
			nanosleep(&pause, NULL);
		}
		landed = __atomic_load_n(w->landed, __ATOMIC_ACQUIRE);
	}
	for (unsigned i = 0; i < w->n_paths; i++)
		if (owns_queue(w, &w->paths[i]))
			distribute_drop(w, &w->paths[i]);
	for (unsigned i = 0; i < w->n_paths; i++)
		if (owns_queue(w, &w->paths[i]))
			distribute_end(w, &w->paths[i]);
}

/*
 * Turns between two sweeps of a part of a table of sources. A part is also swept in each turn that
 * ends asleep. The whole of the largest table takes minutes.
 */
#define AGE_TURNS 64

static_assert(sizeof(struct policy_state) == CLASSIFY_LINE, "policies are the lines of frames");

/* Notes the flow of a burst's first packet. */
static __rte_noinline void see_flow(struct path *path, struct rx_burst *burst)
{
	struct packet packet;

	packet_parse(burst->frames.data[0], burst->frames.len[0], &packet);
	path_see(path, packet_hash(&packet, burst->frames.data[0]));
}

/* Returns true for the burst before a timed one, which is not timed, and until a flow is noted. */
static inline bool shows_flow(const struct worker *w, const struct path *path)
{
	return rx_is_timed(w->counters.bursts + 1) || path->flows == 0;
}

/*
 * Does everything with the n packets of a burst, at least one, whose headers have arrived. Between
 * the stages it begins to fetch the rest of `next`, whose first mbufs are being fetched.
 */
static void finish_burst(struct worker *w, struct path *path, struct rx_burst *burst, uint16_t n,
	struct in_flight_burst *noted, const struct in_flight_next *next)
{
	struct rte_mbuf *dropped[BURST];
	uint64_t now = tick_now();
	uint16_t pass, n_dropped;
	struct tap *tap;

	expire_look(w, now);
	worker_receives(w, path, n);
	burst->mbufs = noted->mbufs;
	burst->frames.tunnels = w->tunnels;
	rx_gather_noted(burst, noted, n);
	in_flight_fetch(next, IN_FLIGHT_SECOND);
	if (unlikely(shows_flow(w, path)))
		see_flow(path, burst);
	if (unlikely(altered_is_possible(path, burst, n))) {
		n = altered_drop(w, path, burst, n);
		if (n == 0) {
			in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
			in_flight_fetch_headers(next, IN_FLIGHT_SECOND);
			return;
		}
	}
	tap = __atomic_load_n(&w->tap, __ATOMIC_ACQUIRE);
	if (unlikely(tap != NULL)) {
		in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
		pass = burst_decide_tapped(w, tap, path, burst, n, now, dropped);
	} else {
		look_up_burst(w, path, burst, n, now);
		in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
		pass = decide(w, burst, n, now, dropped);
	}
	in_flight_fetch_headers(next, IN_FLIGHT_SECOND);
	tx_pass_on(w, path, burst->mbufs, pass);
	n_dropped = n - pass - burst->n_held;
	if (n_dropped)
		drop_all(dropped, n_dropped);
	decide_samples(burst);
	if (unlikely(rx_is_timed(w->counters.bursts)))
		counter_add(&w->counters.busy_cycles, (tick_now() - now) << TIMED_LOG2);
	counter_add(&w->counters.bursts, 1);
	w->own.idle_since = now;
}

/* Finishes the burst in flight. Returns false if there is none. */
static bool finish_in_flight(
	struct worker *w, struct rx_burst *burst, const struct in_flight_next *next)
{
	struct in_flight *flight = w->in_flight;
	uint16_t n = flight->n;

	if (n == 0)
		return false;
	flight->n = 0;
	finish_burst(w, flight->path, burst, n, &flight->bursts[flight->at], next);
	return true;
}

/* Fetches the rest of a burst while no other is decided. Timed like a burst. */
static void fetch_rest(struct worker *w, const struct in_flight_next *next)
{
	bool timed = rx_is_timed(w->counters.bursts);
	uint64_t began = timed ? tick_now() : 0;

	in_flight_fetch(next, IN_FLIGHT_SECOND);
	in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
	in_flight_fetch_headers(next, IN_FLIGHT_SECOND);
	if (timed)
		counter_add(&w->counters.busy_cycles, (tick_now() - began) << TIMED_LOG2);
}

/*
 * Receives a burst of one path. Finishes the burst in flight, of any path, while this one is
 * fetched. Returns true if any packet moved. A small burst is finished as well, because the time of
 * the next one is unknown. So are packets from other workers, which have read their headers.
 */
static bool forward_path(struct worker *w, struct path *path, struct rx_burst *burst)
{
	struct in_flight_next next = in_flight_room(w->in_flight), none = {.n = 0};
	bool busy = false, worked;
	uint16_t n = rx_receive(w, path, next.burst->mbufs, &busy);
	bool waits = n >= w->in_flight->least && !path->rings;

	next.n = waits ? n : 0;
	in_flight_fetch(&next, IN_FLIGHT_FIRST);
	worked = finish_in_flight(w, burst, &next);
	if (n == 0)
		return busy || worked;
	next.n = n;
	if (!waits || !worked)
		fetch_rest(w, &next);
	if (waits)
		in_flight_put(w->in_flight, path, n);
	else
		finish_burst(w, path, burst, n, next.burst, &none);
	return true;
}

/*
 * Changes to the newest snapshot, once no packet waits for a policy that it lacks. Returns true if
 * that needs more calls. Control keeps the data of the previous snapshot until it sees the new
 * generation.
 */
static bool inherit_snapshot(struct worker *w)
{
	const struct snapshot *newest = publisher_current(w->publisher);

	if (likely(newest->generation == w->own.view.generation))
		return false;
	if (!try_changes(w, newest) || !shape_out_leaving(w, newest))
		return true;
	w->own.view = (struct snapshot){
		.generation = newest->generation,
		.classifier = newest->classifier,
		.sourced = newest->sourced,
		.n_sourced = newest->n_sourced,
		.hard = newest->hard,
		.n_hard = newest->n_hard,
		.kinds = newest->kinds,
		.parents = newest->parents,
		.retargeted = newest->retargeted,
	};
	w->own.tried = 0;
	expire_added(w);
	__atomic_store_n(&w->generation, newest->generation, __ATOMIC_RELEASE);
	return false;
}

void worker_begin(struct worker *w)
{
	struct rte_rcu_qsbr *rcu = w->publisher->rcu;

	rte_rcu_qsbr_thread_register(rcu, w->index);
	rte_rcu_qsbr_thread_online(rcu, w->index);
	inherit_snapshot(w);
	w->own.idle_since = tick_now();
}

void worker_finish(struct worker *w)
{
	const struct in_flight_next none = {.n = 0};
	struct rx_burst burst;

	finish_in_flight(w, &burst, &none);
}

void worker_end(struct worker *w)
{
	struct rte_rcu_qsbr *rcu = w->publisher->rcu;

	worker_finish(w);
	shape_out_all(w);
	rte_rcu_qsbr_thread_offline(rcu, w->index);
	rte_rcu_qsbr_thread_unregister(rcu, w->index);
}

void worker_turn(struct worker *w)
{
	struct worker_own *own = &w->own;
	struct rx_burst burst;
	bool more = worker_take_limits(w), busy = shape_out_due(w);

	busy |= inherit_snapshot(w);
	if (unlikely(__atomic_load_n(&w->asked, __ATOMIC_RELAXED) != NULL))
		specimen_take(w);
	for (unsigned i = 0; i < w->n_paths; i++)
		busy |= forward_path(w, &w->paths[i], &burst);
	if (own->view.n_sourced &&
		(++own->turns % AGE_TURNS == 0 || (!busy && w->idle == IDLE_SLEEP)))
		worker_age_table(w);
	/* Release: a thread that sees the turn end sees its effects on packets. */
	__atomic_store_n(&w->turn, w->turn + 1, __ATOMIC_RELEASE);
	if (unlikely(w->beat != NULL))
		__atomic_store_n(w->beat, w->turn, __ATOMIC_RELAXED);
	rte_rcu_qsbr_quiescent(w->publisher->rcu, w->index);
	if (!busy) {
		counter_add(&w->counters.empty_polls, 1);
		expire_look(w, tick_now()); /* control waits for it before it renews */
		if (!more)
			worker_sleep(w);
	}
}

int worker_run(void *arg)
{
	struct worker *w = arg;

	worker_begin(w);
	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED))
		worker_turn(w);
	worker_end(w);
	worker_drain(w);
	return 0;
}
