/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "altered.h"

#include <rte_ether.h>

#include "base/layer2.h"
#include "base/wire.h"
#include "drop.h"
#include "packet/parse.h"
#include "rx.h"
#include "tap.h"
#include "tick.h"

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
