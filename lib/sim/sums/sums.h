/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Estimators of papers, for comparisons in weirsim: see gossip_params.study. No limiter has them.
 *
 *   push-sum       Raghavan et al., SIGCOMM 2007, after Kempe et al., FOCS 2003: shares of a mass,
 *                  handed to random peers. A lost datagram takes its shares with it, so the sums
 *                  are wrong after the first loss.
 *   compensated    the same with section 4.2 of the first paper: the newest datagram counts once
 *                  more for each that was lost before it. Right on average only.
 *   flow updating  push-sum in which each datagram carries the totals that its sender has ever
 *                  handed to its receiver, so the next one repairs a loss. Flow updating (Jesus,
 *                  Baquero, Almeida, DAIS 2009) applied to push-sum (Almeida et al., OPODIS 2011;
 *                  with push weights Eyal, Keidar, Rom, SSS 2011).
 */
#ifndef WEIR_SUMS_SUMS_H
#define WEIR_SUMS_SUMS_H

#include "gossip/estimator.h"

extern const struct estimator estimator_push_sum, estimator_compensated, estimator_flow_updating;

#endif
