/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker.h"

#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include "classify/classify.h"
#include "decide.h"
#include "distribute.h"
#include "drop.h"
#include "police/other.h"

/*
 * "sleep": half of what the wire has been quiet for, so that a packet after a pause waits at most
 * half as long again, up to a millisecond; a wire that is quiet for seconds may cost its next
 * packet four, because the wake-ups are what an idle box costs.
 */
#define SLEEP_MIN_NS  UINT64_C(50000)
#define SLEEP_MAX_NS  UINT64_C(1000000)
#define SLEEP_DEEP_NS UINT64_C(4000000)
#define DEEP_SHARE    256 /* of the quiet time, beyond the millisecond */

/*
 * A table of sources is swept so many lines every so many turns of the loop, and every turn that
 * ends asleep: a microsecond or two each time, and minutes for the largest table there is.
 */
#define AGE_TURNS 64
#define AGE_LINES 16

/*
 * New limits that are taken in before a burst: each is a line to fetch, so that 100,000 that change
 * at once hold no packet up for more than a microsecond or two.
 */
#define LIMITS_A_TURN 16

/* One burst in so many is timed. */
#define TIMED_LOG2 4

/* Of frames in several segments what the headers are in, if the first one is too short for them. */
static __rte_noinline void gather_chains(struct burst *burst, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = burst->mbufs[i];
		uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)GATHER);

		burst->whole[i] = m->pkt_len;
		if (m->data_len >= len)
			continue;
		burst->frames.data[i] = rte_pktmbuf_read(m, 0, len, burst->gathered[i]);
		burst->frames.len[i] = len;
	}
	burst->len = burst->whole;
}

/* Where the frames are, all of which are being fetched when the first is read. */
static inline void gather(struct burst *burst, uint16_t n)
{
	uint32_t segments = 0;

	for (uint16_t i = 0; i < n; i++) {
		const struct rte_mbuf *m = burst->mbufs[i];
		const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

		rte_prefetch0(data);
		burst->frames.data[i] = data;
		burst->frames.len[i] = m->data_len;
		segments |= m->nb_segs;
	}
	burst->len = burst->frames.len;
	if (unlikely(segments != 1))
		gather_chains(burst, n);
}

void worker_transmit(struct worker *w, const struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t sent = 0;

	if (n)
		sent = rte_eth_tx_burst(path->tx_port, path->queue, mbufs, n);
	counter_add(&w->counters.tx_packets, sent);
	if (unlikely(sent < n)) {
		counter_add(&w->counters.dropped[DROP_TX_FULL], n - sent);
		drop_all(mbufs + sent, n - sent);
	}
}

static inline uint16_t receive(
	struct worker *w, const struct path *path, struct rte_mbuf **mbufs, bool *busy)
{
	if (unlikely(path->lanes != NULL))
		return distribute_receive(w, path, mbufs, busy);
	return rte_eth_rx_burst(path->rx_port, path->queue, mbufs, BURST);
}

static inline void pass_on(
	struct worker *w, const struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	if (likely(lanes_owned(path->lanes, w->index)))
		worker_transmit(w, path, mbufs, n);
	else
		distribute_give_back(w, path, mbufs, n);
}

/* A Weyl sequence, so that bursts of paths that take turns are all timed in their turn. */
static bool is_timed(uint64_t burst)
{
	return (uint32_t)burst * POLICE_WEYL <= UINT32_MAX >> TIMED_LOG2;
}

/* One burst of one path; returns whether there was anything. */
static bool forward(struct worker *w, const struct snapshot *snapshot, const struct path *path,
	struct burst *burst)
{
	struct rte_mbuf *dropped[BURST];
	bool busy = false;
	uint16_t n = receive(w, path, burst->mbufs, &busy), pass;
	uint64_t now;

	if (n == 0)
		return busy;
	now = rte_rdtsc();
	gather(burst, n);
	burst->rx_hash = path->rx_hash && w->tunnels == NULL; /* it is of the outside */
	burst->frames.tunnels = w->tunnels;
	burst->frames.fragments = __atomic_load_n(&w->fragments, __ATOMIC_ACQUIRE);
	burst->frames.now = now;
	classify_frames(snapshot->classifier, path->wire, path->direction, &burst->frames, n);
	pass = decide(w, burst, n, now, dropped);
	pass_on(w, path, burst->mbufs, pass);
	if (pass < n)
		drop_all(dropped, n - pass);
	decide_samples(burst);
	counter_add(&w->counters.rx_packets, n);
	if (unlikely(is_timed(w->counters.bursts)))
		counter_add(&w->counters.busy_cycles, (rte_rdtsc() - now) << TIMED_LOG2);
	counter_add(&w->counters.bursts, 1);
	w->idle_since = now;
	return true;
}

/* Takes in limits that have changed; returns whether there may be more of them. */
static bool take_limits(struct worker *w)
{
	struct limit_profile limits[LIMITS_A_TURN];
	unsigned n = post_take(&w->post, limits, LIMITS_A_TURN);
	uint64_t now;

	if (likely(n == 0))
		return false;
	now = rte_rdtsc();
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[limits[i].policy]);
	for (unsigned i = 0; i < n; i++)
		police_limit(&w->policies[limits[i].policy], &limits[i], now);
	return n == LIMITS_A_TURN;
}

/* All that were sent while the worker slept; control may go on sending, but no packet waits. */
static void catch_up(struct worker *w)
{
	for (unsigned i = 0; i <= POST_MAX / LIMITS_A_TURN && take_limits(w); i++)
		;
}

static uint64_t sleep_after(uint64_t quiet_ns)
{
	uint64_t ns = RTE_MIN(quiet_ns / 2, SLEEP_MAX_NS);
	uint64_t deep = RTE_MIN(quiet_ns / DEEP_SHARE, SLEEP_DEEP_NS);

	return RTE_MAX(RTE_MAX(ns, deep), SLEEP_MIN_NS);
}

static void rest(struct worker *w)
{
	struct timespec ts = {0};
	uint64_t quiet_ns;

	if (w->idle == IDLE_POLL) {
		rte_pause();
		return;
	}
	quiet_ns = (rte_rdtsc() - w->idle_since) / w->ticks_per_us * 1000;
	ts.tv_nsec = (long)sleep_after(quiet_ns);
	/* Offline while asleep, so that control never waits for a sleeper. */
	rte_rcu_qsbr_thread_offline(w->publisher->rcu, w->index);
	nanosleep(&ts, NULL);
	rte_rcu_qsbr_thread_online(w->publisher->rcu, w->index);
	catch_up(w);
	counter_add(&w->counters.sleeps, 1);
}

/* The next policy of those that have a table of sources, a little. */
static void age(struct worker *w)
{
	uint32_t policy = w->sourced[w->aged++ % w->n_sourced];

	policy_state_age(&w->policies[policy], rte_rdtsc(), AGE_LINES);
}

void worker_begin(struct worker *w)
{
	struct rte_rcu_qsbr *rcu = w->publisher->rcu;

	rte_rcu_qsbr_thread_register(rcu, w->index);
	rte_rcu_qsbr_thread_online(rcu, w->index);
	w->idle_since = rte_rdtsc();
}

void worker_end(struct worker *w)
{
	struct rte_rcu_qsbr *rcu = w->publisher->rcu;

	rte_rcu_qsbr_thread_offline(rcu, w->index);
	rte_rcu_qsbr_thread_unregister(rcu, w->index);
}

void worker_turn(struct worker *w)
{
	const struct snapshot *snapshot = publisher_current(w->publisher);
	struct burst burst;
	bool more = take_limits(w), busy = false;

	w->sourced = snapshot->sourced;
	w->n_sourced = snapshot->n_sourced;
	for (unsigned i = 0; i < w->n_paths; i++)
		busy |= forward(w, snapshot, &w->paths[i], &burst);
	if (w->n_sourced && (++w->turns % AGE_TURNS == 0 || (!busy && w->idle == IDLE_SLEEP)))
		age(w);
	rte_rcu_qsbr_quiescent(w->publisher->rcu, w->index);
	if (!busy) {
		counter_add(&w->counters.empty_polls, 1);
		if (!more)
			rest(w);
	}
}

int worker_run(void *arg)
{
	struct worker *w = arg;

	worker_begin(w);
	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED))
		worker_turn(w);
	worker_end(w);
	return 0;
}

const char *drop_reason_name(enum drop_reason reason)
{
	static const char *const names[DROP_REASONS] = {
		[DROP_LIMIT] = "limit",
		[DROP_QUOTA] = "quota",
		[DROP_UNMARKABLE] = "unmarkable",
		[DROP_TX_FULL] = "tx_full",
		[DROP_RING_FULL] = "ring_full",
	};

	return names[reason];
}
