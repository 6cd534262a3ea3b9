/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The uptime of the process, and how busy its threads are.
 */
#include "busy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>

#include "base/counter.h"
#include "instance.h"

struct busy_threads {
	uint64_t started_ns, seen_ns;
	struct busy_share control;                     /* at the last look */
	struct busy_share workers[CONFIG_WORKERS_MAX]; /* at the last look */
};

/* Returns the CPU time of this thread. */
static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static uint64_t worker_busy_ns(const struct instance *inst, unsigned worker)
{
	const struct worker_counters *c = &inst->workers[worker].counters;
	uint64_t cycles = counter_read(&c->busy_cycles) + counter_read(&c->handing_cycles);

	return (uint64_t)((double)cycles * SECOND_NS / (double)inst->clock.hz);
}

/* Cycles are an estimate, which can be a little too high. */
static struct busy_share share_after(
	const struct busy_share *before, uint64_t busy_ns, uint64_t elapsed_ns)
{
	double share = (double)(busy_ns - RTE_MIN(before->busy_ns, busy_ns)) / (double)elapsed_ns;

	return (struct busy_share){busy_ns, RTE_MIN(share, 1.0)};
}

uint64_t busy_uptime_ns(const struct instance *inst)
{
	return control_now() - inst->busy->started_ns;
}

struct busy_share busy_worker(const struct instance *inst, unsigned worker)
{
	return (struct busy_share){worker_busy_ns(inst, worker), inst->busy->workers[worker].share};
}

struct busy_share busy_control(const struct instance *inst)
{
	return (struct busy_share){thread_ns(), inst->busy->control.share};
}

int busy_start(struct instance *inst)
{
	struct busy_threads *busy = calloc(1, sizeof(*busy));

	if (!busy)
		return -ENOMEM;
	inst->busy = busy;
	busy->started_ns = busy->seen_ns = control_now();
	busy->control = (struct busy_share){thread_ns(), NAN};
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		busy->workers[i].share = NAN;
	return 0;
}

void busy_stop(struct instance *inst)
{
	free(inst->busy);
	inst->busy = NULL;
}

uint64_t busy_next(const struct instance *inst)
{
	return inst->busy->seen_ns + BUSY_PERIOD_NS;
}

bool busy_run(struct instance *inst, uint64_t now_ns)
{
	struct busy_threads *busy = inst->busy;
	uint64_t elapsed = now_ns - busy->seen_ns;

	if (elapsed < BUSY_PERIOD_NS)
		return false;
	busy->seen_ns = now_ns;
	busy->control = share_after(&busy->control, thread_ns(), elapsed);
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		busy->workers[i] = share_after(&busy->workers[i], worker_busy_ns(inst, i), elapsed);
	return false;
}
