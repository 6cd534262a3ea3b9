/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Detects stalled workers.
 */
#include "watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>

#include "instance.h"
#include "event.h"
#include "notify/notify.h"
#include "stuck.h"

static const struct watch_pace fast = {15 * MS_NS, 15 * MS_NS}, slow = {40 * MS_NS, 60 * MS_NS};

/* Shortest time between two lines of a thread, so that a machine with few CPUs fills no log. */
#define LOG_NS (10 * SECOND_NS)

/* Shortest stall of control that is logged. Telemetry also counts shorter ones. */
#define LOG_CONTROL_NS SECOND_NS

/* Time that the end of the process waits for the reader of the log. */
#define LOG_PATIENCE_S 1

struct watched_worker {
	uint32_t turn;
	unsigned same;     /* number of checks that found this turn, without the first */
	uint64_t since_ns; /* time of the first check that found this turn */
	uint64_t logged_ns;
	bool logged; /* the current stall has an event */
	struct watch_stalls stalls;
};

struct watch {
	uint64_t seen_ns; /* time of the last check; 0: none yet */
	struct watch_stalls control;
	struct watched_worker workers[CONFIG_WORKERS_MAX];
};

int watch_start(struct instance *inst)
{
	inst->watch = calloc(1, sizeof(*inst->watch));
	return inst->watch ? 0 : -ENOMEM;
}

void watch_stop(struct instance *inst)
{
	free(inst->watch);
	inst->watch = NULL;
}

struct watch_pace watch_pace(const struct config *config)
{
	for (unsigned i = 0; i < config->n_wires; i++)
		if (config->wires[i].distribute)
			return fast;
	return slow;
}

uint64_t watch_next(const struct instance *inst)
{
	return inst->watch->seen_ns + watch_pace(inst->config).most_ns;
}

uint64_t watch_standing(const struct instance *inst, unsigned worker, uint64_t now_ns)
{
	return stuck_worker(&inst->stuck, worker) ? now_ns - inst->watch->workers[worker].since_ns
						  : 0;
}

struct watch_stalls watch_worker_stalls(const struct instance *inst, unsigned worker)
{
	return inst->watch->workers[worker].stalls;
}

struct watch_stalls watch_control_stalls(const struct instance *inst)
{
	return inst->watch->control;
}

static void report_stall(const struct instance *inst, unsigned worker, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "running; worker %u (CPU %u) %s", worker,
		inst->config->workers[worker], what);
	notify_status(inst->notify, text);
}

static void begin_stall(struct instance *inst, unsigned worker, uint64_t now_ns)
{
	struct watched_worker *w = &inst->watch->workers[worker];

	stuck_mark(&inst->stuck.now, worker, true);
	w->stalls.n++;
	w->logged = w->logged_ns == 0 || now_ns - w->logged_ns >= LOG_NS;
	if (!w->logged)
		return;
	w->logged_ns = now_ns;
	event(WORKER_STUCK, event_count("worker", worker),
		event_count("cpu", inst->config->workers[worker]),
		event_real("ms", (double)(now_ns - w->since_ns) / MS_NS));
	report_stall(inst, worker, "stalled");
}

static void end_stall(struct instance *inst, unsigned worker, uint64_t now_ns)
{
	struct watched_worker *w = &inst->watch->workers[worker];
	uint64_t stood = now_ns - w->since_ns;

	stuck_mark(&inst->stuck.now, worker, false);
	stuck_mark(&inst->stuck.by_far, worker, false);
	w->stalls.longest_ns = RTE_MAX(w->stalls.longest_ns, stood);
	if (!w->logged)
		return;
	event(WORKER_CAME_ROUND, event_count("worker", worker),
		event_count("cpu", inst->config->workers[worker]),
		event_real("ms", (double)stood / MS_NS));
	report_stall(inst, worker, "runs again");
}

static void look_at_worker(struct instance *inst, unsigned worker, uint64_t now_ns)
{
	struct watched_worker *w = &inst->watch->workers[worker];
	uint32_t turn = __atomic_load_n(&inst->workers[worker].turn, __ATOMIC_RELAXED);
	uint64_t watchdog = inst->config->watchdog_ns;
	bool stuck = stuck_worker(&inst->stuck, worker);

	if (turn != w->turn || w->since_ns == 0) { /* or the first check */
		if (stuck)
			end_stall(inst, worker, now_ns);
		w->turn = turn;
		w->same = 0;
		w->since_ns = now_ns;
	} else if (++w->same >= 2 && !stuck) {
		begin_stall(inst, worker, now_ns);
	} else if (stuck) {
		stuck_mark(&inst->stuck.by_far, worker, now_ns - w->since_ns >= WATCH_BY_FAR_NS);
		if (watchdog && now_ns - w->since_ns >= watchdog) {
			/* Frees and closes nothing: the worker can continue at any moment. */
			event(WORKER_WATCHDOG, event_count("worker", worker),
				event_count("cpu", inst->config->workers[worker]));
			events_close(LOG_PATIENCE_S);
			abort();
		}
	}
}

/*
 * Counts a stall of control, and starts the checks of workers again. They might have stalled at the
 * same time, and had no turn since.
 */
static void restart_checks(struct instance *inst, uint64_t now_ns, uint64_t gap_ns)
{
	struct watch *watch = inst->watch;

	watch->control.n++;
	watch->control.longest_ns = RTE_MAX(watch->control.longest_ns, gap_ns);
	if (gap_ns >= LOG_CONTROL_NS)
		event(CONTROL_LATE, event_real("seconds", (double)gap_ns / SECOND_NS));
	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		struct watched_worker *w = &watch->workers[i];

		if (stuck_worker(&inst->stuck, i))
			continue;
		w->same = 0;
		w->since_ns = now_ns;
		w->turn = __atomic_load_n(&inst->workers[i].turn, __ATOMIC_RELAXED);
	}
}

static bool all_have_run(const struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		if (__atomic_load_n(&inst->workers[i].turn, __ATOMIC_RELAXED) ==
			inst->watch->workers[i].turn)
			return false;
	return true;
}

bool watch_run(struct instance *inst, uint64_t now_ns)
{
	struct watch_pace pace = watch_pace(inst->config);
	uint64_t before = inst->watch->seen_ns;

	if (before && now_ns - before < pace.least_ns)
		return false;
	inst->watch->seen_ns = now_ns;
	if (before && now_ns - before > pace.most_ns + WATCH_LATE_NS) {
		if (all_have_run(inst)) /* the machine is slow, but all workers run */
			notify_alive(inst->notify, now_ns);
		restart_checks(inst, now_ns, now_ns - before);
		return false;
	}
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		look_at_worker(inst, i, now_ns);
	if (stuck_workers(&inst->stuck) == 0)
		notify_alive(inst->notify, now_ns);
	return false;
}
