/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Receives a burst of a path, and gathers the headers of its frames.
 */
#include "rx.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "base/layer2.h"
#include "base/wire.h"
#include "distribute.h"
#include "packet/parse.h"
#include "rx_rings.h"
#include "tap.h"
#include "tick.h"
#include "tx.h"

uint16_t rx_receive_shared(struct worker *w, struct path *path, struct rte_mbuf **mbufs, bool *busy)
{
	bool owned = rx_rings_owned(path->rings, w->index);
	bool timed = owned && rx_is_timed(w->counters.handings);
	uint64_t began = timed ? tick_now() : 0;
	uint16_t n = distribute_receive(w, path, mbufs, busy);

	if (!owned || !*busy)
		return n;
	if (timed)
		counter_add(&w->counters.handing_cycles, (tick_now() - began) << TIMED_LOG2);
	counter_add(&w->counters.handings, 1);
	return n;
}

/* Makes the first bytes of a frame, at most `most`, contiguous. */
static void gather_bytes(struct rx_burst *burst, uint16_t i, uint32_t most)
{
	struct rte_mbuf *m = burst->mbufs[i];
	uint32_t len = RTE_MIN(m->pkt_len, most);

	if (m->data_len >= len)
		return;
	burst->frames.data[i] = rte_pktmbuf_read(m, 0, len, burst->gathered[i]);
	burst->frames.len[i] = len;
}

/* Returns true if the headers continue after the gathered bytes of a frame. */
static bool headers_go_on(const struct rx_burst *burst, uint16_t i)
{
	struct packet packet;

	packet_parse(burst->frames.data[i], burst->frames.len[i], &packet);
	if (burst->frames.tunnels)
		packet_enter_tunnels(burst->frames.data[i], burst->frames.len[i],
			burst->frames.tunnels, &packet);
	return packet.unparsed == UNPARSED_CHAIN_CUT;
}

void rx_gather_chains(struct rx_burst *burst, uint16_t n)
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

void rx_gather(struct rx_burst *burst, uint16_t n)
{
	uint32_t segments = 0;

	for (uint16_t i = 0; i < n; i++) {
		burst->frames.data[i] = rte_pktmbuf_mtod(burst->mbufs[i], const uint8_t *);
		burst->frames.len[i] = burst->mbufs[i]->data_len;
		segments |= burst->mbufs[i]->nb_segs;
	}
	burst->len = burst->frames.len;
	if (unlikely(segments != 1))
		rx_gather_chains(burst, n);
}

/* --- altered frames --------------------------------------------------------------------------- */

/* Returns true if a frame's IP packet continues after the end of the frame. */
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

static bool is_oversize(const struct path *path, const struct rx_burst *burst, uint16_t i)
{
	if (burst->len[i] <= altered_frame_max(path))
		return false;
	return burst->len[i] > __atomic_load_n(&path->tagged_max, __ATOMIC_RELAXED) ||
	       !is_tagged(burst, i);
}

enum drop_reason altered_frame(const struct path *path, const struct rx_burst *burst, uint16_t i)
{
	if (is_oversize(path, burst, i))
		return DROP_OVERSIZE;
	return path->cuts && is_truncated(burst, i) ? DROP_TRUNCATED : DROP_REASONS;
}

uint16_t altered_drop(struct worker *w, struct path *path, struct rx_burst *burst, uint16_t n)
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
	rx_gather(burst, kept);
	return kept;
}
