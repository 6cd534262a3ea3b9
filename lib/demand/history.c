/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "demand/history.h"

#include <stdlib.h>

#define NS_PER_S 1e9

struct history *history_create(uint64_t length_ns, uint64_t step_ns, uint64_t now_ns)
{
	uint64_t n = length_ns / step_ns;
	struct history *h;

	n = n > HISTORY_STEPS_MIN ? n : HISTORY_STEPS_MIN;
	n = n < HISTORY_STEPS_MAX ? n : HISTORY_STEPS_MAX;
	h = calloc(1, sizeof(*h) + n * sizeof(h->steps[0]));
	if (!h)
		return NULL;
	h->step_ns = step_ns;
	h->begun_ns = now_ns;
	h->step = now_ns / step_ns;
	h->n = (unsigned)n;
	return h;
}

/* Steps in which nothing was added, as nothing had arrived, are empty. */
static void advance(struct history *h, uint64_t step)
{
	uint64_t behind = step > h->step ? step - h->step : 0;

	behind = behind < h->n ? behind : h->n;
	for (uint64_t k = 0; k < behind; k++)
		h->steps[(step - k) % h->n] = (struct history_step){0};
	h->step = step > h->step ? step : h->step;
}

void history_add(struct history *h, uint64_t now_ns, double bytes, double backlog)
{
	struct history_step *newest;

	advance(h, now_ns / h->step_ns);
	newest = &h->steps[h->step % h->n];
	newest->bytes += bytes;
	newest->backlog = backlog > newest->backlog ? backlog : newest->backlog;
}

/* The oldest step that still counts. */
static uint64_t oldest(const struct history *h, uint64_t now_ns)
{
	uint64_t step = now_ns / h->step_ns;

	return step >= h->n ? step - (h->n - 1) : 0;
}

/* Seconds that the history covers. */
static double covered(const struct history *h, uint64_t now_ns)
{
	uint64_t from = oldest(h, now_ns) * h->step_ns;

	from = from > h->begun_ns ? from : h->begun_ns;
	return now_ns > from ? (double)(now_ns - from) / NS_PER_S : 0;
}

double history_rate(const struct history *h, uint64_t now_ns)
{
	double bytes = 0, seconds = covered(h, now_ns);

	for (uint64_t k = oldest(h, now_ns); k <= h->step; k++)
		bytes += h->steps[k % h->n].bytes;
	return seconds > 0 ? bytes / seconds : 0;
}

double history_backlog(const struct history *h, uint64_t now_ns)
{
	double most = 0;

	for (uint64_t k = oldest(h, now_ns); k <= h->step; k++) {
		double backlog = h->steps[k % h->n].backlog;

		most = backlog > most ? backlog : most;
	}
	return most;
}
