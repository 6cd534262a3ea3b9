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
#include "classify/frames.h"
#include "distribute.h"
#include "police/extra.h"
#include "police/mark.h"

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

/* Headers that may have to be gathered from a chain of segments. */
#define GATHER 128

/* A burst on its way through the stages. */
struct burst {
	struct rte_mbuf *mbufs[BURST];
	struct frames frames;
	bool rx_hash;        /* mbufs may have a flow's hash */
	uint16_t unmarkable; /* of those that do not pass */
	uint8_t gathered[BURST][GATHER];
};

static void gather(struct burst *burst, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(burst->mbufs[i], void *));
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = burst->mbufs[i];
		uint32_t len = m->data_len;

		burst->frames.data[i] = rte_pktmbuf_mtod(m, const uint8_t *);
		if (unlikely(m->nb_segs > 1 && len < GATHER)) {
			len = RTE_MIN(m->pkt_len, (uint32_t)GATHER);
			burst->frames.data[i] = rte_pktmbuf_read(m, 0, len, burst->gathered[i]);
		}
		burst->frames.len[i] = len;
	}
}

/* All that is to be known of a packet, its flow's hash from the device if that tells it. */
static const struct packet *packet_of(struct burst *burst, uint16_t i)
{
	struct packet *packet = frames_packet(&burst->frames, i);
	const struct rte_mbuf *m = burst->mbufs[i];

	if (burst->rx_hash && m->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		packet->flow_hash = m->hash.rss;
	return packet;
}

/*
 * Marks a packet, if its bytes are ours alone and its IP header is in its first segment: to copy
 * what others share would take a buffer that may not be there.
 */
static bool mark(struct rte_mbuf *m, const struct packet *packet, int how)
{
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
	       mark_frame(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, packet, how);
}

/* judge() for policies that are not plain; out of line, as the others need the registers. */
static __rte_noinline bool judge_other(struct worker *w, const struct limit_profile *profile,
	struct burst *burst, uint16_t i, uint64_t now)
{
	uint32_t policy = burst->frames.policy[i], cost;
	struct policy_state *state = &w->policies[policy];
	struct policy_extra *extra = &w->extras[policy];
	const struct packet *packet = packet_of(burst, i);
	enum verdict verdict;
	bool marked;

	cost = police_cost(profile, extra, packet, burst->mbufs[i]->pkt_len, now);
	police_sample(
		&w->samples[policy], &state->meter.bucket.owner, &w->random, profile, packet, cost);
	verdict = police_charge(state, extra, profile, packet, burst->frames.data[i], cost, now);
	if (verdict != VERDICT_MARK)
		return verdict != VERDICT_DROP;
	marked = mark(burst->mbufs[i], packet, profile->mark);
	police_marked(state, extra, profile, packet, cost, now, marked);
	burst->unmarkable += !marked;
	return marked;
}

/* Samples, meters and counts a packet, and marks it if that is its fate; whether it may pass. */
static inline bool judge(struct worker *w, const struct limit_profile *profile, struct burst *burst,
	uint16_t i, uint64_t now)
{
	struct policy_state *state = &w->policies[burst->frames.policy[i]];
	const struct packet *packet = packet_of(burst, i);
	uint32_t bytes;

	if (unlikely(!profile->plain))
		return judge_other(w, profile, burst, i, now);
	bytes = police_bytes(profile, packet, burst->mbufs[i]->pkt_len);
	police_sample(&w->samples[burst->frames.policy[i]], &state->meter.bucket.owner, &w->random,
		profile, packet, bytes);
	return police_charge_plain(state, profile, bytes, now) == VERDICT_PASS;
}

static void prefetch_burst(
	struct worker *w, const struct limit_profile *profiles, struct burst *burst, uint16_t n)
{
	const uint32_t *policies = burst->frames.policy;

	for (uint16_t i = 0; i < n; i++)
		if (policies[i] != CLASSIFY_NONE) {
			rte_prefetch0(&w->policies[policies[i]]);
			rte_prefetch0(&profiles[policies[i]]);
		}
	if (likely(w->n_sourced == 0))
		return;
	for (uint16_t i = 0; i < n; i++)
		if (policies[i] != CLASSIFY_NONE)
			police_prefetch_source(&w->extras[policies[i]], &profiles[policies[i]],
				packet_of(burst, i), burst->frames.data[i]);
}

/* Leaves the packets that pass at the front of mbufs, in order; the others go to dropped. */
static uint16_t decide(struct worker *w, const struct snapshot *snapshot, struct burst *burst,
	uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	const struct limit_profile *profiles = snapshot_profiles_of(snapshot, w->index);
	uint16_t n_pass = 0, n_drop = 0, unmatched = 0;

	burst->unmarkable = 0;
	prefetch_burst(w, profiles, burst, n);
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = burst->mbufs[i];
		uint32_t policy = burst->frames.policy[i];
		bool passes = true;

		if (policy == CLASSIFY_NONE)
			unmatched++;
		else
			passes = judge(w, &profiles[policy], burst, i, now);
		/* Both stores, one of which counts: no branch on the verdict. */
		burst->mbufs[n_pass] = m;
		dropped[n_drop] = m;
		n_pass += passes;
		n_drop += !passes;
	}
	counter_add(&w->counters.unmatched_packets, unmatched);
	counter_add(&w->counters.dropped[DROP_LIMIT], n_drop - burst->unmarkable);
	counter_add(&w->counters.dropped[DROP_UNMARKABLE], burst->unmarkable);
	return n_pass;
}

void worker_transmit(struct worker *w, const struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t sent = 0;

	if (n)
		sent = rte_eth_tx_burst(path->tx_port, path->queue, mbufs, n);
	counter_add(&w->counters.tx_packets, sent);
	if (unlikely(sent < n)) {
		counter_add(&w->counters.dropped[DROP_TX_FULL], n - sent);
		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
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
	burst->rx_hash = path->rx_hash;
	classify_frames(snapshot->classifier, path->wire, path->direction, &burst->frames, n);
	pass = decide(w, snapshot, burst, n, now, dropped);
	pass_on(w, path, burst->mbufs, pass);
	if (pass < n)
		rte_pktmbuf_free_bulk(dropped, n - pass);
	counter_add(&w->counters.rx_packets, n);
	counter_add(&w->counters.bursts, 1);
	w->idle_since = now;
	counter_add(&w->counters.busy_cycles, rte_rdtsc() - now);
	return true;
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
	counter_add(&w->counters.sleeps, 1);
}

/* The next policy of those that have a table of sources, a little. */
static void age(struct worker *w, const struct snapshot *snapshot)
{
	uint32_t policy = w->sourced[w->aged++ % w->n_sourced];

	police_age(&w->extras[policy], &snapshot_profiles_of(snapshot, w->index)[policy],
		rte_rdtsc(), AGE_LINES);
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
	bool busy = false;

	for (unsigned i = 0; i < w->n_paths; i++)
		busy |= forward(w, snapshot, &w->paths[i], &burst);
	if (w->n_sourced && (++w->turns % AGE_TURNS == 0 || (!busy && w->idle == IDLE_SLEEP)))
		age(w, snapshot);
	rte_rcu_qsbr_quiescent(w->publisher->rcu, w->index);
	if (!busy) {
		counter_add(&w->counters.empty_polls, 1);
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
		[DROP_UNMARKABLE] = "unmarkable",
		[DROP_TX_FULL] = "tx_full",
		[DROP_RING_FULL] = "ring_full",
	};

	return names[reason];
}
