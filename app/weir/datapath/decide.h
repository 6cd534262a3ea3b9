/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides which packets of a classified burst pass. The worker's own thread.
 */
#ifndef WEIR_APP_DECIDE_H
#define WEIR_APP_DECIDE_H

#include <stdint.h>

#include "rx_burst.h"
#include "worker_data.h"

/*
 * Charges and counts the n packets of a burst, which arrived at tick `now`. Leaves the passing
 * packets at the front of burst->mbufs, in order, and returns their number. The others go to
 * `dropped`, except for burst->n_held packets that wait and belong to the shaper. Call
 * decide_samples() after the packets are transmitted.
 */
uint16_t decide(struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped);

/* Adds the sampled packets of the burst to their policies' samples. */
static inline void decide_samples(const struct rx_burst *burst)
{
	for (unsigned i = 0; i < burst->n_sampled; i++) {
		const struct sampled *sampled = &burst->sampled[i];

		flow_sample_add(sampled->sample, sampled->hash, sampled->bytes);
	}
}

#endif
