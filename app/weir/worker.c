/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker.h"

#include <errno.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include "classify/classify.h"
#include "classify/parse.h"

/*
 * "sleep": half of what the wire has been quiet for, so that a packet after a pause waits at most
 * half as long again, up to a millisecond; a wire that is quiet for seconds may cost its next
 * packet four, because the wake-ups are what an idle box costs.
 */
#define SLEEP_MIN_NS  UINT64_C(50000)
#define SLEEP_MAX_NS  UINT64_C(1000000)
#define SLEEP_DEEP_NS UINT64_C(4000000)
#define DEEP_SHARE    256 /* of the quiet time, beyond the millisecond */

/* Headers that may have to be gathered from a chain of segments. */
#define GATHER 128

/* A burst on its way through the stages. */
struct burst {
	struct rte_mbuf *mbufs[BURST];
	struct packet packets[BURST];
	const uint8_t *data[BURST];
	uint32_t policies[BURST];
	uint8_t gathered[BURST][GATHER];
};

static void parse_burst(struct burst *burst, const struct path *path, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(burst->mbufs[i], void *));
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = burst->mbufs[i];
		uint32_t len = m->data_len;

		burst->data[i] = rte_pktmbuf_mtod(m, const uint8_t *);
		if (unlikely(m->nb_segs > 1 && len < GATHER)) {
			len = RTE_MIN(m->pkt_len, (uint32_t)GATHER);
			burst->data[i] = rte_pktmbuf_read(m, 0, len, burst->gathered[i]);
		}
		packet_parse(burst->data[i], len, &burst->packets[i]);
		if (path->rx_hash && m->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
			burst->packets[i].flow_hash = m->hash.rss;
	}
}

/* xorshift32: enough for the gap to the next sample, which only must not beat with the traffic. */
static uint32_t next_gap(struct worker *w, uint16_t period)
{
	uint32_t x = w->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	w->random = x;
	return 1 + (uint32_t)(((uint64_t)x * (2u * period - 1)) >> 32);
}

static inline void sample(struct worker *w, uint32_t policy, const struct limit_profile *profile,
	uint32_t hash, uint32_t bytes)
{
	uint32_t *countdown = &w->policies[policy].bucket.owner;

	if (likely(profile->sample_period == 0))
		return;
	if (*countdown > 1) {
		--*countdown;
		return;
	}
	*countdown = next_gap(w, profile->sample_period);
	flow_sample_add(&w->samples[policy], hash, (uint64_t)bytes * profile->sample_period);
}

static inline uint32_t charge(
	const struct limit_profile *profile, const struct rte_mbuf *m, const struct packet *packet)
{
	uint32_t bytes = m->pkt_len - (profile->without_l2 ? packet->l2_len : 0);

	return bytes + (uint32_t)profile->extra;
}

/* Whether the packet may pass. */
static inline bool police(struct worker *w, const struct limit_profile *profiles, uint32_t policy,
	const struct rte_mbuf *m, const struct packet *packet, uint64_t now)
{
	const struct limit_profile *profile = &profiles[policy];
	struct policy_state *state = &w->policies[policy];
	uint32_t bytes = charge(profile, m, packet);
	bool passes;

	sample(w, policy, profile, packet->flow_hash, bytes);
	passes = token_bucket_conforms(&state->bucket, &profile->bucket, now, bytes);
	counter_add(&state->passed_packets, passes);
	counter_add(&state->passed_bytes, passes ? bytes : 0);
	counter_add(&state->dropped_packets, !passes);
	counter_add(&state->dropped_bytes, passes ? 0 : bytes);
	return passes;
}

/* Leaves the packets that pass at the front of mbufs, in order; the others go to dropped. */
static uint16_t decide(struct worker *w, const struct snapshot *snapshot, struct burst *burst,
	uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	const struct limit_profile *profiles = snapshot_profiles_of(snapshot, w->index);
	uint16_t n_pass = 0, n_drop = 0, unmatched = 0;

	for (uint16_t i = 0; i < n; i++)
		if (burst->policies[i] != CLASSIFY_NONE) {
			rte_prefetch0(&w->policies[burst->policies[i]]);
			rte_prefetch0(&profiles[burst->policies[i]]);
		}
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = burst->mbufs[i];
		uint32_t policy = burst->policies[i];
		bool passes = true;

		if (policy == CLASSIFY_NONE)
			unmatched++;
		else
			passes = police(w, profiles, policy, m, &burst->packets[i], now);
		/* Both stores, one of which counts: no branch on the verdict. */
		burst->mbufs[n_pass] = m;
		dropped[n_drop] = m;
		n_pass += passes;
		n_drop += !passes;
	}
	counter_add(&w->counters.unmatched_packets, unmatched);
	counter_add(&w->counters.dropped[DROP_LIMIT], n_drop);
	return n_pass;
}

static void transmit(struct worker *w, const struct path *path, struct rte_mbuf **mbufs, uint16_t n)
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

/* One burst of one path; returns whether there was anything. */
static bool forward(struct worker *w, const struct snapshot *snapshot, const struct path *path,
	struct burst *burst)
{
	struct rte_mbuf *dropped[BURST];
	uint16_t n = rte_eth_rx_burst(path->rx_port, path->queue, burst->mbufs, BURST);
	uint16_t pass;
	uint64_t now;

	if (n == 0)
		return false;
	now = rte_rdtsc();
	parse_burst(burst, path, n);
	classify_burst(snapshot->classifier, path->wire, path->direction, burst->packets,
		burst->data, n, burst->policies);
	pass = decide(w, snapshot, burst, n, now, dropped);
	transmit(w, path, burst->mbufs, pass);
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

int worker_run(void *arg)
{
	struct worker *w = arg;
	struct rte_rcu_qsbr *rcu = w->publisher->rcu;
	struct burst burst;

	rte_rcu_qsbr_thread_register(rcu, w->index);
	rte_rcu_qsbr_thread_online(rcu, w->index);
	w->idle_since = rte_rdtsc();
	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED)) {
		const struct snapshot *snapshot = publisher_current(w->publisher);
		bool busy = false;

		for (unsigned i = 0; i < w->n_paths; i++)
			busy |= forward(w, snapshot, &w->paths[i], &burst);
		rte_rcu_qsbr_quiescent(rcu, w->index);
		if (!busy) {
			counter_add(&w->counters.empty_polls, 1);
			rest(w);
		}
	}
	rte_rcu_qsbr_thread_offline(rcu, w->index);
	rte_rcu_qsbr_thread_unregister(rcu, w->index);
	return 0;
}

static void *alloc_lines(size_t n, size_t size, int socket)
{
	return rte_zmalloc_socket("worker", (n ? n : 1) * size, RTE_CACHE_LINE_SIZE, socket);
}

int worker_init(struct worker *w, unsigned n_policies)
{
	int socket = (int)rte_lcore_to_socket_id(w->lcore);

	w->policies = alloc_lines(n_policies, sizeof(*w->policies), socket);
	w->samples = alloc_lines(n_policies, sizeof(*w->samples), socket);
	w->random = 0x9e3779b9u * (w->index + 1);
	w->ticks_per_us = RTE_MAX(rte_get_tsc_hz() / 1000000, UINT64_C(1));
	return w->policies && w->samples ? 0 : -ENOMEM;
}

void worker_free(struct worker *w)
{
	rte_free(w->policies);
	rte_free(w->samples);
	w->policies = NULL;
	w->samples = NULL;
}

const char *drop_reason_name(enum drop_reason reason)
{
	static const char *const names[DROP_REASONS] = {
		[DROP_LIMIT] = "limit",
		[DROP_TX_FULL] = "tx_full",
	};

	return names[reason];
}
