/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The stages of a gathered burst while a capture runs: they also put packets into the tap. The
 * worker's own thread.
 */
#ifndef WEIR_APP_BURST_DECIDE_TAPPED_H
#define WEIR_APP_BURST_DECIDE_TAPPED_H

#include <stdint.h>

struct path;
struct rte_mbuf;
struct rx_burst;
struct tap;
struct worker;

/* Does the same as burst_decide(). The tap can want packets of this burst, or none. */
uint16_t burst_decide_tapped(struct worker *worker, struct tap *tap, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped);

#endif
