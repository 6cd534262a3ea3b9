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

#include "gossip/datagram.h"
#include "gossip/estimator.h"

/*
 * Body of a datagram of these estimators, after its fixed part (gossip/datagram.h):
 *
 *        0      4  generation of the masses, from 0
 *        4      4  datagrams with shares that the sender has sent to this receiver in this
 *                  generation, with this one; 0: it carries none
 *          and the shares, each
 *                    0  8  id of the policy
 *                    8  4  push weight (float)
 *                   12  4  demand (float), any sign
 *                   16  4  weight (float), any sign
 *          or totals of the shares handed to this receiver in this generation, each
 *                    0  8  id of the policy
 *                    8  8  push weight (double)
 *                   16  8  demand (double), any sign
 *                   24  8  weight (double), any sign
 */

#define SHARE_BYTES 20
#define TOTAL_BYTES 32

struct sums_round {
	uint32_t generation;
	uint32_t sequence;
};

struct sums_share {
	uint64_t policy;
	double push, demand, weight; /* floats, unless it is a total */
};

/*
 * Returns the number as a float carries it. Never inlined, because gcc 12 leaves out the conversion
 * of two numbers side by side.
 */
double share_narrow(double number);

/* Write and read like the functions of gossip/datagram.h. */
void sums_write_round(struct cursor *cursor, const struct sums_round *round);
void sums_read_round(struct cursor *cursor, struct sums_round *round);
void sums_write_share(struct cursor *cursor, const struct sums_share *share, bool total);
void sums_read_share(struct cursor *cursor, struct sums_share *share, bool total);

extern const struct estimator estimator_push_sum, estimator_compensated, estimator_flow_updating;

#endif
