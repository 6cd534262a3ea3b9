/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker.h"

#include <assert.h>

#include <rte_mbuf.h>

#include "altered.h"
#include "decide.h"
#include "drop.h"
#include "in_flight.h"
#include "burst_decide.h"
#include "burst_decide_tapped.h"
#include "leases_end.h"
#include "packet/parse.h"
#include "rx.h"
#include "shape_out.h"
#include "specimen.h"
#include "tick.h"
#include "trying.h"
#include "tx.h"
#include "worker_data.h"
#include "worker_limits.h"
#include "worker_sleep.h"
#include "worker_stop.h"

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
