/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The stages of a gathered burst: classify its packets, then decide them.
 */

#include <string.h>

#include "counted.h"
#include "burst_decide.h"
#include "packet/parse.h"
#include "rx.h"
#include "tap.h"

/* Bytes of transport headers, and of a packet to show if its transport header is unknown. */
#define TAP_TCP     20u
#define TAP_UDP     8u
#define TAP_UNKNOWN 60u

/* Returns the bytes of a packet up to the end of its transport header, or an estimate. */
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

/* Puts a decided packet into the tap. Finds its verdict in the counters that have changed. */
static void tap_decided(struct worker *w, struct tap *tap, const struct rx_burst *burst,
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

/* Decides the packets one by one, and puts each with its verdict into the tap. */
static __rte_noinline uint16_t decide_one_by_one(struct worker *w, struct tap *tap,
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
		rx_gather(burst, 1);
		look_up_burst(w, path, burst, 1, now);
		memcpy(dropped_before, w->counters.dropped, sizeof(dropped_before));
		before = counted_before(w, burst->frames.policy[0]);
		pass = decide(w, burst, 1, now, &dropped[n_dropped]) == 1;
		decide_samples(burst);
		tap_decided(w, tap, burst, all[i], pass, dropped_before, &before);
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

/* Decides the whole burst, and puts addresses of random packets into the tap. */
static __rte_noinline uint16_t decide_and_sample(struct worker *w, struct tap *tap,
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

uint16_t burst_decide_tapped(struct worker *w, struct tap *tap, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	tap->parents = w->own.view.parents;
	if (tap->by_lot)
		return decide_and_sample(w, tap, path, burst, n, now, dropped);
	if (tap_examines(tap, n, now))
		return decide_one_by_one(w, tap, path, burst, n, now, dropped);
	return burst_decide(w, path, burst, n, now, dropped);
}
