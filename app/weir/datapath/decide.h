/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A classified burst → which of its packets pass. The worker's own thread.
 */
#ifndef WEIR_APP_DECIDE_H
#define WEIR_APP_DECIDE_H

#include <stdint.h>

#include "rx_burst.h"
#include "worker_data.h"

/*
 * Charges the n packets of a burst, which arrived at tick `now`, and counts them. Leaves those that
 * pass at the front of burst->mbufs, in order, and returns how many; the others go to `dropped`,
 * but for burst->n_held that wait, and are the shaper's.
 * decide_samples() is due when the packets are on their way.
 */
uint16_t decide(struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped);

/* Adds those of the burst that were sampled to their policies' samples. */
static inline void decide_samples(const struct rx_burst *burst)
{
	for (unsigned i = 0; i < burst->n_sampled; i++) {
		const struct sampled *sampled = &burst->sampled[i];

		flow_sample_add(sampled->sample, sampled->hash, sampled->bytes);
	}
}

#endif
