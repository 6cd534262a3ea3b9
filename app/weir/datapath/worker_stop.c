/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker_stop.h"

#include <stdbool.h>
#include <time.h>

#include "distribute.h"
#include "rx_rings.h"
#include "stuck.h"
#include "worker_data.h"

/* Attempts in a row, with pauses, of the owner of a queue to get returned packets. */
#define DRAIN_PAUSE_NS 500000
#define DRAIN_TURNS    2000

static bool owns_queue(const struct worker *w, const struct path *path)
{
	return path->rings && rx_rings_owned(path->rings, w->index);
}

/*
 * Returns true if other workers can still return packets of this worker's queues. With `ended`,
 * they return no more, and only packets in the rings count.
 */
static bool expects_packets(const struct worker *w, bool ended)
{
	for (unsigned i = 0; i < w->n_paths; i++)
		if (owns_queue(w, &w->paths[i]) && (!ended || distribute_waits(&w->paths[i])))
			return true;
	return false;
}

/*
 * The worker sleeps between its looks, because others can need this CPU. It ends after some time,
 * because a worker can have failed to start, or be stalled now.
 */
void worker_drain(struct worker *w)
{
	const struct timespec pause = {.tv_nsec = DRAIN_PAUSE_NS};
	unsigned landed = __atomic_add_fetch(w->landed, 1, __ATOMIC_ACQ_REL);
	unsigned expected = w->n_workers - (unsigned)__builtin_popcountll(stuck_workers(w->stuck));

	for (unsigned vain = 0; vain < DRAIN_TURNS && expects_packets(w, landed >= expected);) {
		if (distribute_collect(w)) {
			vain = 0;
		} else {
			vain++;
			nanosleep(&pause, NULL);
		}
		landed = __atomic_load_n(w->landed, __ATOMIC_ACQUIRE);
	}
	for (unsigned i = 0; i < w->n_paths; i++)
		if (owns_queue(w, &w->paths[i]))
			distribute_drop(w, &w->paths[i]);
	for (unsigned i = 0; i < w->n_paths; i++)
		if (owns_queue(w, &w->paths[i]))
			distribute_end(w, &w->paths[i]);
}
