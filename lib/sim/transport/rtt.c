/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * TCP's estimate of the round trip time and its timeout, as in Linux.
 */
#include "transport/rtt.h"

#define SAMPLE_MAX (UINT32_C(1) << 27) /* µs; longer times are not round trips */

void rtt_sample(struct rtt *rtt, uint32_t us, uint32_t una, uint32_t next)
{
	int64_t error, change;

	us = us ? us : 1;
	us = us < SAMPLE_MAX ? us : SAMPLE_MAX;
	if (rtt->smooth8 == 0) {
		rtt->smooth8 = 8 * us;
		rtt->dev4 = 2 * us;
		rtt->dev4_used = rtt->dev4 > RTO_MIN_US ? rtt->dev4 : RTO_MIN_US;
		rtt->dev4_most = rtt->dev4_used;
		rtt->round = next;
		return;
	}
	error = (int64_t)us - rtt_smoothed(rtt);
	rtt->smooth8 = (uint32_t)(rtt->smooth8 + error);
	/*
	 * Takes 3/4 of the deviation and 1/4 of the error. A round trip that shortens counts an
	 * eighth of that, because an estimate that is too long does no harm.
	 */
	change = (error < 0 ? -error : error) - rtt->dev4 / 4;
	if (error < 0 && change > 0)
		change >>= 3;
	rtt->dev4 = (uint32_t)(rtt->dev4 + change);
	if (rtt->dev4 > rtt->dev4_most)
		rtt->dev4_most = rtt->dev4;
	if (rtt->dev4_most > rtt->dev4_used)
		rtt->dev4_used = rtt->dev4_most;
	if (una > rtt->round) {
		if (rtt->dev4_most < rtt->dev4_used)
			rtt->dev4_used -= (rtt->dev4_used - rtt->dev4_most) / 4;
		rtt->round = next;
		rtt->dev4_most = RTO_MIN_US;
	}
}

void rtt_sample_least(struct rtt *rtt, uint32_t us)
{
	us = us ? us : 1;
	if (rtt->least == 0 || us < rtt->least)
		rtt->least = us;
}

uint32_t rtt_timeout(const struct rtt *rtt)
{
	uint32_t us = rtt_smoothed(rtt) + rtt->dev4_used;

	if (rtt->smooth8 == 0)
		return RTO_INIT_US;
	return us < RTO_MAX_US ? us : RTO_MAX_US;
}
