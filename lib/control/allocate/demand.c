/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Interval counts → smoothed rates (section 3.1 of Raghavan et al., SIGCOMM 2007): the average
 * arrival rate of each estimate interval, filtered by an EWMA.
 */
#include "allocate/demand.h"

#include <math.h>

double demand_keep(double keep_per_second, double interval_s)
{
	return keep_per_second > 0 ? pow(keep_per_second, interval_s) : 0;
}

void demand_add(struct demand *demand, double rate, double keep)
{
	demand->sum = demand->sum * keep + rate * (1 - keep);
	demand->seen = demand->seen * keep + (1 - keep);
	demand->rate = demand->sum / demand->seen;
}

/*
 * Returns the bytes that the slot's holder sent since the last reading. A lower count began again
 * at 0. Either the slot was lent to another flow and has come back, or the count has wrapped (once
 * in 1 TB; the bytes before are left out). As a wrapped difference, the former would be a terabyte.
 */
static uint64_t slot_bytes(uint64_t before, uint64_t now)
{
	if (flow_slot_tag(before) != flow_slot_tag(now) ||
		flow_slot_count(now) < flow_slot_count(before))
		return flow_slot_count(now);
	return now - before;
}

void flow_rates_forget(struct flow_rates *rates)
{
	for (unsigned i = 0; i < FLOW_SLOTS; i++) {
		rates->rate[i] = (struct steady_rate){0};
		rates->age_s[i] = 0;
	}
}

unsigned flow_rates_add(struct flow_rates *rates, const uint64_t slots[FLOW_SLOTS],
	double interval_s, const struct steady_memory *memory, double out[FLOW_SLOTS])
{
	unsigned n = 0;

	rates->old_rate = 0;
	for (unsigned i = 0; i < FLOW_SLOTS; i++) {
		uint64_t bytes;
		double rate;

		if (slots[i] == 0)
			continue;
		if (flow_slot_tag(slots[i]) != flow_slot_tag(rates->seen[i])) {
			rates->rate[i] = (struct steady_rate){0};
			rates->silent_s[i] = 0;
			rates->age_s[i] = 0;
		}
		bytes = slot_bytes(rates->seen[i], slots[i]);
		rates->seen[i] = slots[i];
		rates->silent_s[i] = bytes ? 0 : rates->silent_s[i] + interval_s;
		rate = demand_steady(&rates->rate[i], (double)bytes / interval_s, memory);
		rates->age_s[i] += interval_s;
		if (rates->silent_s[i] >= FLOW_SILENT_S)
			continue;
		out[n++] = rate;
		rates->old_rate += rates->age_s[i] >= FLOW_OLD_S ? rate : 0;
	}
	return n;
}
