/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "demand/demand.h"

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

/* Bytes that the slot's holder sent since the last reading; the count may have wrapped. */
static uint64_t slot_bytes(uint64_t before, uint64_t now)
{
	if (flow_slot_tag(before) != flow_slot_tag(now))
		return flow_slot_count(now);
	return (now - before) & FLOW_COUNT_MASK;
}

unsigned flow_rates_add(struct flow_rates *rates, const uint64_t slots[FLOW_SLOTS],
	double interval_s, double keep, double out[FLOW_SLOTS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < FLOW_SLOTS; i++) {
		if (slots[i] == 0)
			continue;
		if (flow_slot_tag(slots[i]) != flow_slot_tag(rates->seen[i]))
			rates->rate[i] = 0;
		demand_follow(&rates->rate[i],
			(double)slot_bytes(rates->seen[i], slots[i]) / interval_s, keep);
		rates->seen[i] = slots[i];
		out[n++] = rates->rate[i];
	}
	return n;
}
