/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include "base/layer2.h"
#include "base/wire.h"
#include "classify/classify.h"
#include "counted.h"
#include "decide.h"
#include "distribute.h"
#include "drop.h"
#include "idle.h"
#include "in_flight.h"
#include "leases_end.h"
#include "shape_in.h"
#include "rx_rings.h"
#include "rx_wait.h"
#include "police/charge.h"
#include "police/sample.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "shape_out.h"
#include "specimen.h"
#include "stuck.h"
#include "tap.h"
#include "tap_lots.h"
#include "trying.h"
#include "tx.h"
#include "worker_data.h"
#include "tick.h"

/* A packet that is due sooner is waited for active: to fall asleep and wake takes as long. */
#define SLEEP_LEAST_NS UINT64_C(5000)

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

/* How often in a row the owner of a queue looks in vain, at its end, for what others give back. */
#define LAND_NS    500000
#define LAND_TURNS 2000

/* Bytes of transport headers, and of what is shown where there is none that is known. */
#define TAP_TCP     20u
#define TAP_UDP     8u
#define TAP_UNKNOWN 60u

/* One burst in so many is timed. */
#define TIMED_LOG2 4

static_assert(sizeof(struct policy_state) == CLASSIFY_LINE, "policies are the lines of frames");

/* So many bytes of a frame side by side, if they are not in its first segment. */
static void gather_bytes(struct rx_burst *burst, uint16_t i, uint32_t most)
{
	struct rte_mbuf *m = burst->mbufs[i];
	uint32_t len = RTE_MIN(m->pkt_len, most);

	if (m->data_len >= len)
		return;
	burst->frames.data[i] = rte_pktmbuf_read(m, 0, len, burst->gathered[i]);
	burst->frames.len[i] = len;
}

/* Whether headers go on behind what is there of a frame. */
static bool headers_go_on(const struct rx_burst *burst, uint16_t i)
{
	struct packet packet;

	packet_parse(burst->frames.data[i], burst->frames.len[i], &packet);
	if (burst->frames.tunnels)
		packet_enter_tunnels(burst->frames.data[i], burst->frames.len[i],
			burst->frames.tunnels, &packet);
	return packet.unparsed == UNPARSED_CHAIN_CUT;
}

/*
 * Gathers what the headers of frames in several segments are in, if the first one is too short for
 * them.
 */
static __rte_noinline void gather_chains(struct rx_burst *burst, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		burst->whole[i] = burst->mbufs[i]->pkt_len;
		if (burst->mbufs[i]->nb_segs == 1)
			continue;
		gather_bytes(burst, i, GATHER);
		if (headers_go_on(burst, i))
			gather_bytes(burst, i, GATHER_MOST);
	}
	burst->len = burst->whole;
}

/* Notes where the frames are. */
static void gather_frames(struct rx_burst *burst, uint16_t n)
{
	uint32_t segments = 0;

	for (uint16_t i = 0; i < n; i++) {
		burst->frames.data[i] = rte_pktmbuf_mtod(burst->mbufs[i], const uint8_t *);
		burst->frames.len[i] = burst->mbufs[i]->data_len;
		segments |= burst->mbufs[i]->nb_segs;
	}
	burst->len = burst->frames.len;
	if (unlikely(segments != 1))
		gather_chains(burst, n);
}

/*
 * gather_frames() from the notes of in_flight_fetch_headers(). Copies all of them, because a few
 * wide stores cost less than to count the packets.
 */
static inline void take_noted(
	struct rx_burst *burst, const struct in_flight_burst *noted, uint16_t n)
{
	memcpy(burst->frames.data, noted->data, sizeof(noted->data));
	memcpy(burst->frames.len, noted->len, sizeof(noted->len));
	burst->len = burst->frames.len;
	if (unlikely(noted->segments != 1))
		gather_chains(burst, n);
}

/* Whether a frame's IP packet goes on where the frame ends. */
static bool is_truncated(const struct rx_burst *burst, uint16_t i)
{
	struct packet packet;

	packet_parse(burst->frames.data[i], burst->frames.len[i], &packet);
	return packet_ip_end(&packet, burst->frames.data[i]) > burst->len[i];
}

/* Returns true if the outermost tag is 802.1Q. */
static bool is_tagged(const struct rx_burst *burst, uint16_t i)
{
	return burst->frames.len[i] >= ETHER_LEN &&
	       read_be16(burst->frames.data[i] + ETHER_LEN - 2) == RTE_ETHER_TYPE_VLAN;
}

static inline uint32_t longest_of_path(const struct path *path)
{
	return __atomic_load_n(&path->frame_max, __ATOMIC_RELAXED);
}

static bool is_oversize(const struct path *path, const struct rx_burst *burst, uint16_t i)
{
	if (burst->len[i] <= longest_of_path(path))
		return false;
	return burst->len[i] > __atomic_load_n(&path->tagged_max, __ATOMIC_RELAXED) ||
	       !is_tagged(burst, i);
}

/* The reason why a frame is not for this wire, or DROP_REASONS. */
static enum drop_reason altered_frame(
	const struct path *path, const struct rx_burst *burst, uint16_t i)
{
	if (is_oversize(path, burst, i))
		return DROP_OVERSIZE;
	return path->cuts && is_truncated(burst, i) ? DROP_TRUNCATED : DROP_REASONS;
}

/*
 * Drops frames that a device has merged or cut, and frames that are longer than the ports of the
 * wire take. Gathers the others again; returns their number.
 */
static __rte_noinline uint16_t drop_altered(
	struct worker *w, struct path *path, struct rx_burst *burst, uint16_t n)
{
	struct rte_mbuf *dropped[BURST];
	uint16_t kept = 0, longer = 0, cut = 0;

	for (uint16_t i = 0; i < n; i++) {
		enum drop_reason why = altered_frame(path, burst, i);

		if (why != DROP_REASONS) {
			dropped[longer + cut] = burst->mbufs[i];
			tap_dropped(w, (uint16_t)(path - w->paths), &burst->mbufs[i], 1, why,
				tick_now());
		} else {
			burst->mbufs[kept++] = burst->mbufs[i];
		}
		longer += why == DROP_OVERSIZE;
		cut += why == DROP_TRUNCATED;
	}
	if (kept == n)
		return n;
	worker_drops(w, path, DROP_OVERSIZE, longer);
	worker_drops(w, path, DROP_TRUNCATED, cut);
	drop_all(dropped, longer + cut);
	gather_frames(burst, kept);
	return kept;
}

/* The longest frame's length: with vectors, where a question of each would be a branch. */
static inline uint32_t longest_of(const uint32_t *len, uint16_t n)
{
	uint32_t longest = 0;

	for (uint16_t i = 0; i < n; i++)
		longest = RTE_MAX(longest, len[i]);
	return longest;
}

/* A Weyl sequence, so that bursts of paths that take turns are all timed in their turn. */
static bool is_timed(uint64_t burst)
{
	return (uint32_t)burst * POLICE_WEYL <= UINT32_MAX >> TIMED_LOG2;
}

/* An owner hands out what comes, and sends what came back: that is timed as bursts are. */
static __rte_noinline uint16_t receive_shared(
	struct worker *w, struct path *path, struct rte_mbuf **mbufs, bool *busy)
{
	bool owned = rx_rings_owned(path->rings, w->index);
	bool timed = owned && is_timed(w->counters.handings);
	uint64_t began = timed ? tick_now() : 0;
	uint16_t n = distribute_receive(w, path, mbufs, busy);

	if (!owned || !*busy)
		return n;
	if (timed)
		counter_add(&w->counters.handing_cycles, (tick_now() - began) << TIMED_LOG2);
	counter_add(&w->counters.handings, 1);
	return n;
}

static inline uint16_t receive_burst(
	struct worker *w, struct path *path, struct rte_mbuf **mbufs, bool *busy)
{
	if (unlikely(path->rings != NULL))
		return receive_shared(w, path, mbufs, busy);
	return rte_eth_rx_burst(path_rx(path), path->queue, mbufs, BURST);
}

/* Finds the policies of the n packets of a burst that has been gathered. */
static __rte_always_inline void look_up_burst(
	struct worker *w, const struct path *path, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	burst->rx_hash = path->rx_hash && w->tunnels == NULL; /* it is of the outside */
	burst->frames.fragments = __atomic_load_n(&w->fragments, __ATOMIC_ACQUIRE);
	burst->frames.whole = burst->len;
	burst->frames.now = now;
	burst->frames.lines = w->policies;
	burst->frames.wide = w->own.wide;
	burst->path = (uint16_t)(path - w->paths);
	if (unlikely(path->clock && w->own.view.kinds >> POLICE_SHAPED & 1) && !path->rings)
		shape_in_stamp_all(burst->mbufs, n, path->clock, now, w->ticks_per_us);
	classify_frames(w->own.view.classifier, path->wire, path->direction, &burst->frames, n);
}

/* And decides them. */
static __rte_always_inline uint16_t judge_burst(struct worker *w, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	look_up_burst(w, path, burst, n, now);
	return decide(w, burst, n, now, dropped);
}

/* Bytes of a packet up to where its transport header ends, as far as that is known. */
static uint32_t header_bytes(const struct rx_burst *burst)
{
	const uint8_t *data = burst->frames.data[0];
	uint32_t len = burst->frames.len[0];
	struct packet packet;

	packet_parse(data, len, &packet);
	if (packet.l4_off == 0)
		return packet.l2_len + TAP_UNKNOWN;
	if (packet.proto == POLICE_TCP && packet.l4_off + TAP_TCP <= len)
		return packet.l4_off + (data[packet.l4_off + TAP_TCP - 8] >> 4) * 4u;
	return packet.l4_off + TAP_UDP;
}

/* What has been said of a packet by what was counted since. */
static void tap_judged(struct worker *w, struct tap *tap, const struct rx_burst *burst,
	const struct rte_mbuf *m, bool pass, const uint64_t *dropped, const struct counted *before)
{
	static const uint8_t passed[] = {
		[VERDICT_PASS] = TAP_PASS, [VERDICT_MARK] = TAP_MARK, [VERDICT_COUNT] = TAP_COUNT};
	struct tap_record what = {.tick = burst->frames.now,
		.slot = burst->frames.policy[0],
		.reason = DROP_REASONS,
		.path = burst->path};

	if (!pass && burst->n_held == 0)
		for (unsigned i = 0; i < DROP_REASONS; i++)
			if (w->counters.dropped[i] != dropped[i])
				what.reason = (uint8_t)i;
	what.verdict = burst->n_held ? TAP_WAIT
		       : pass        ? passed[counted_verdict(before, w)]
				     : TAP_DROP;
	tap_take(tap, m, &what, tap->whole ? UINT32_MAX : header_bytes(burst));
}

/* judge_burst() one by one, for who wants to know what becomes of each. */
static __rte_noinline uint16_t judge_tapped(struct worker *w, struct tap *tap,
	const struct path *path, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	struct rte_mbuf *all[BURST], *passing[BURST], **mbufs = burst->mbufs;
	uint16_t n_pass = 0, n_dropped = 0, n_held = 0;

	memcpy(all, mbufs, n * sizeof(*all));
	for (uint16_t i = 0; i < n; i++) {
		uint64_t dropped_before[DROP_REASONS];
		struct counted before;
		bool pass;

		burst->mbufs[0] = all[i];
		gather_frames(burst, 1);
		look_up_burst(w, path, burst, 1, now);
		memcpy(dropped_before, w->counters.dropped, sizeof(dropped_before));
		before = counted_before(w, burst->frames.policy[0]);
		pass = decide(w, burst, 1, now, &dropped[n_dropped]) == 1;
		decide_samples(burst);
		tap_judged(w, tap, burst, all[i], pass, dropped_before, &before);
		if (pass)
			passing[n_pass++] = all[i];
		n_held += burst->n_held;
		n_dropped += !pass && burst->n_held == 0;
	}
	memcpy(mbufs, passing, n_pass * sizeof(*passing));
	burst->n_held = n_held;
	burst->n_sampled = 0;
	return n_pass;
}

/* judge_burst(), and who sent some of it is noted. */
static __rte_noinline uint16_t judge_by_lot(struct worker *w, struct tap *tap,
	const struct path *path, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	struct tap_lots lots;
	uint16_t pass;

	look_up_burst(w, path, burst, n, now);
	tap_lots_draw(tap, burst, n, &lots);
	pass = decide(w, burst, n, now, dropped);
	tap_lots_take(tap, &lots, burst->mbufs, pass, dropped, n - pass - burst->n_held);
	return pass;
}

/* judge_burst() while there is a tap, which may want this burst or not. */
static __rte_noinline uint16_t judge_aside_of_tap(struct worker *w, struct tap *tap,
	const struct path *path, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	tap->parents = w->own.view.parents;
	if (tap->by_lot)
		return judge_by_lot(w, tap, path, burst, n, now, dropped);
	if (tap_examines(tap, n, now))
		return judge_tapped(w, tap, path, burst, n, now, dropped);
	return judge_burst(w, path, burst, n, now, dropped);
}

enum drop_reason worker_judge(
	struct worker *w, const struct path *path, struct rx_burst *burst, uint64_t now, bool *pass)
{
	struct rte_mbuf *dropped[BURST];
	enum drop_reason why;

	burst->frames.tunnels = w->tunnels;
	gather_frames(burst, 1);
	why = altered_frame(path, burst, 0);
	*pass = why == DROP_REASONS && judge_burst(w, path, burst, 1, now, dropped) == 1;
	return why;
}

/* The flow of a burst's first packet. */
static __rte_noinline void see_flow(struct path *path, struct rx_burst *burst)
{
	struct packet packet;

	packet_parse(burst->frames.data[0], burst->frames.len[0], &packet);
	path_see(path, packet_hash(&packet, burst->frames.data[0]));
}

/* Whether it is the turn of one that is not timed, or nothing has come this way yet. */
static inline bool shows_flow(const struct worker *w, const struct path *path)
{
	return is_timed(w->counters.bursts + 1) || path->flows == 0;
}

/*
 * All that is done with the n packets of a burst, one at least, whose headers are here; of `next`,
 * whose first mbufs are on their way, the rest begins to be fetched between the stages.
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
	take_noted(burst, noted, n);
	in_flight_fetch(next, IN_FLIGHT_SECOND);
	if (unlikely(shows_flow(w, path)))
		see_flow(path, burst);
	if (unlikely(path->cuts || longest_of(burst->len, n) > longest_of_path(path))) {
		n = drop_altered(w, path, burst, n);
		if (n == 0) {
			in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
			in_flight_fetch_headers(next, IN_FLIGHT_SECOND);
			return;
		}
	}
	tap = __atomic_load_n(&w->tap, __ATOMIC_ACQUIRE);
	if (unlikely(tap != NULL)) {
		in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
		pass = judge_aside_of_tap(w, tap, path, burst, n, now, dropped);
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
	if (unlikely(is_timed(w->counters.bursts)))
		counter_add(&w->counters.busy_cycles, (tick_now() - now) << TIMED_LOG2);
	counter_add(&w->counters.bursts, 1);
	w->own.idle_since = now;
}

/* The burst that waits for its headers, if any; returns whether there was one. */
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

/* Fetches the rest where no other burst is worked on; timed like a burst. */
static void fetch_rest(struct worker *w, const struct in_flight_next *next)
{
	bool timed = is_timed(w->counters.bursts);
	uint64_t began = timed ? tick_now() : 0;

	in_flight_fetch(next, IN_FLIGHT_SECOND);
	in_flight_fetch_headers(next, IN_FLIGHT_FIRST);
	in_flight_fetch_headers(next, IN_FLIGHT_SECOND);
	if (timed)
		counter_add(&w->counters.busy_cycles, (tick_now() - began) << TIMED_LOG2);
}

/*
 * Receives a burst of one path, and finishes that which came before, of whatever path, while this
 * one comes from memory; returns whether there was anything. What came less than full is finished
 * as well, as nobody knows when the next one comes; and so is what others have handed over, whose
 * headers they have read.
 */
static bool forward_path(struct worker *w, struct path *path, struct rx_burst *burst)
{
	struct in_flight_next next = in_flight_room(w->in_flight), none = {.n = 0};
	bool busy = false, worked;
	uint16_t n = receive_burst(w, path, next.burst->mbufs, &busy);
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

static void apply_limit(
	struct worker *w, const struct limit_profile *limit, uint64_t now, bool ended)
{
	struct policy_state *state = &w->policies[limit->policy];

	police_limit(state, limit, now);
	if (unlikely(limit->shaped) && police_is_shaped(state))
		shaped_limit(w->shaper, state, limit, now, w->ticks_per_us * 1000000);
	w->ending[limit->policy] = limit->ending;
	if (unlikely(ended))
		expire_told(w, limit->policy, now);
}

/* Takes in limits that have changed; returns whether there may be more of them. */
static bool take_limits(struct worker *w)
{
	struct limit_profile limits[LIMITS_A_TURN];
	unsigned n = limit_ring_take(&w->limit_ring, limits, LIMITS_A_TURN);
	uint64_t now;
	bool ended;

	if (likely(n == 0))
		return false;
	now = tick_now();
	expire_look(w, now);
	shape_out_clock(w, now);
	ended = expire_lasts(w);
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[limits[i].policy]);
	for (unsigned i = 0; i < n; i++)
		apply_limit(w, &limits[i], now, ended);
	return n == LIMITS_A_TURN;
}

/* All that were sent while the worker slept; control may go on sending, but no packet waits. */
static void catch_up(struct worker *w)
{
	for (unsigned i = 0; i <= LIMIT_RING_MAX / LIMITS_A_TURN && take_limits(w); i++)
		;
}

/* The next policy of those that have a table of sources, a little. */
static void age_source_table(struct worker *w)
{
	struct worker_own *own = &w->own;
	uint32_t policy = own->view.sourced[own->aged++ % own->view.n_sourced];

	policy_state_age(&w->policies[policy], tick_now(), AGE_LINES);
}

/* Nanoseconds since the last packet, at this tick. */
static uint64_t quiet_ns(const struct worker *w, uint64_t now)
{
	return (now - w->own.idle_since) / w->ticks_per_us * 1000;
}

/* Not beyond when a packet is due that waits. */
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
	catch_up(w);
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
		age_source_table(w);
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

static void sleep_when_idle(struct worker *w)
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

/*
 * Goes by the newest snapshot, once nothing waits any more where that leads nobody. Returns whether
 * there is more of that to do. What the former one leads to is there until generation says that it
 * is left: control waits for it.
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
		.conserved = newest->conserved,
		.n_conserved = newest->n_conserved,
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
	bool more = take_limits(w), busy = shape_out_due(w);

	busy |= inherit_snapshot(w);
	if (unlikely(__atomic_load_n(&w->asked, __ATOMIC_RELAXED) != NULL))
		specimen_take(w);
	for (unsigned i = 0; i < w->n_paths; i++)
		busy |= forward_path(w, &w->paths[i], &burst);
	if (own->view.n_sourced &&
		(++own->turns % AGE_TURNS == 0 || (!busy && w->idle == IDLE_SLEEP)))
		age_source_table(w);
	/* Release: who sees the turn over sees what it has done to packets. */
	__atomic_store_n(&w->turn, w->turn + 1, __ATOMIC_RELEASE);
	if (unlikely(w->beat != NULL))
		__atomic_store_n(w->beat, w->turn, __ATOMIC_RELAXED);
	rte_rcu_qsbr_quiescent(w->publisher->rcu, w->index);
	if (!busy) {
		counter_add(&w->counters.empty_polls, 1);
		expire_look(w, tick_now()); /* control waits for it before it renews */
		if (!more)
			sleep_when_idle(w);
	}
}

/* Whether there is anything that others have given back, or may, of queues that are this one's. */
static bool shares_queues(const struct worker *w, bool now)
{
	for (unsigned i = 0; i < w->n_paths; i++) {
		const struct path *path = &w->paths[i];

		if (path->rings && rx_rings_owned(path->rings, w->index) &&
			(!now || distribute_waits(path)))
			return true;
	}
	return false;
}

/* What a device does not take any more, when everybody has ended: counted, and freed. */
static void drop_untransmitted(struct worker *w)
{
	for (unsigned i = 0; i < w->n_paths; i++) {
		struct path *path = &w->paths[i];

		if (path->rings && rx_rings_owned(path->rings, w->index))
			distribute_drop(w, path);
	}
}

/*
 * All that workers hold is on its way when the last has ended; who owns queues that others give
 * back to sees that it leaves. Asleep, as they may need this CPU; and not for ever, as one may have
 * failed to start, or get stuck now.
 */
static void drain_at_stop(struct worker *w)
{
	const struct timespec moment = {.tv_nsec = LAND_NS};
	unsigned landed = __atomic_add_fetch(w->landed, 1, __ATOMIC_ACQ_REL);
	unsigned expected = w->n_workers - (unsigned)__builtin_popcountll(stuck_workers(w->stuck));

	for (unsigned vain = 0; vain < LAND_TURNS && shares_queues(w, landed >= expected);) {
		if (distribute_collect(w)) {
			vain = 0;
		} else {
			vain++;
			nanosleep(&moment, NULL);
		}
		landed = __atomic_load_n(w->landed, __ATOMIC_ACQUIRE);
	}
	drop_untransmitted(w);
	for (unsigned i = 0; i < w->n_paths; i++)
		if (w->paths[i].rings && rx_rings_owned(w->paths[i].rings, w->index))
			distribute_end(w, &w->paths[i]);
}

int worker_run(void *arg)
{
	struct worker *w = arg;

	worker_begin(w);
	while (!__atomic_load_n(w->stop, __ATOMIC_RELAXED))
		worker_turn(w);
	worker_end(w);
	drain_at_stop(w);
	return 0;
}
