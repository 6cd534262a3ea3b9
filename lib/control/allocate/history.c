/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sliding history of arrivals and of their backlogs.
 */
#include "allocate/history.h"

#include <stdlib.h>

#include "base/time.h"

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

/* Advances to a step. Steps in which nothing was added, because nothing arrived, are empty. */
static void history_advance(struct history *h, uint64_t step)
{
	uint64_t behind = step > h->step ? step - h->step : 0;

	behind = behind < h->n ? behind : h->n;
	for (uint64_t k = 0; k < behind; k++)
		h->steps[(step - k) % h->n] = (struct history_step){0};
	h->step = step > h->step ? step : h->step;
}

/* Returns the part of the time from `from` to `to` that is in a step. */
static double part_in(const struct history *h, uint64_t step, uint64_t from, uint64_t to)
{
	uint64_t begin = step * h->step_ns, end = begin + h->step_ns;

	begin = begin > from ? begin : from;
	end = end < to ? end : to;
	return end > begin ? (double)(end - begin) / (double)(to - from) : 0;
}

void history_add(struct history *h, uint64_t from_ns, uint64_t now_ns, double bytes, double backlog)
{
	uint64_t step = from_ns / h->step_ns;
	struct history_step *newest;

	history_advance(h, now_ns / h->step_ns);
	if (step + h->n <= h->step)
		step = h->step - (h->n - 1);
	for (; step <= h->step; step++)
		h->steps[step % h->n].bytes += bytes * part_in(h, step, from_ns, now_ns);
	newest = &h->steps[h->step % h->n];
	newest->backlog = backlog > newest->backlog ? backlog : newest->backlog;
}

/* Returns the oldest of the newest n steps. */
static uint64_t oldest_step(const struct history *h, uint64_t now_ns, unsigned n)
{
	uint64_t step = now_ns / h->step_ns;

	return step >= n ? step - (n - 1) : 0;
}

/* Returns the seconds that the history covers from a step on. */
static double covered_seconds(const struct history *h, uint64_t now_ns, uint64_t step)
{
	uint64_t from = step * h->step_ns;

	from = from > h->begun_ns ? from : h->begun_ns;
	return now_ns > from ? (double)(now_ns - from) / SECOND_NS : 0;
}

/* Returns the bytes per second from a step on, less `without` bytes. */
static double rate_from(const struct history *h, uint64_t now_ns, uint64_t step, double without)
{
	double bytes = -without, seconds = covered_seconds(h, now_ns, step);

	for (; step <= h->step; step++)
		bytes += h->steps[step % h->n].bytes;
	return seconds > 0 && bytes > 0 ? bytes / seconds : 0;
}

double history_rate(const struct history *h, uint64_t now_ns)
{
	return rate_from(h, now_ns, oldest_step(h, now_ns, h->n), 0);
}

double history_recent(const struct history *h, uint64_t now_ns, double burst)
{
	return rate_from(h, now_ns, oldest_step(h, now_ns, HISTORY_RECENT), burst);
}

double history_backlog(const struct history *h, uint64_t now_ns)
{
	double most = 0;

	for (uint64_t k = oldest_step(h, now_ns, h->n); k <= h->step; k++) {
		double backlog = h->steps[k % h->n].backlog;

		most = backlog > most ? backlog : most;
	}
	return most;
}
