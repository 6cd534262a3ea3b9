/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The control loop, on EAL's main lcore. It sleeps until a task is due, a client sends a request,
 * or a signal arrives. It uses the tasks only by their rows.
 */
#ifndef WEIR_APP_CONTROL_H
#define WEIR_APP_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct instance;

/* One task of control. A step that it does not need is NULL. */
struct task {
	const char *name;

	/* Returns the descriptor that becomes readable when the task has something to do, or -1. */
	int (*fd)(const struct instance *inst);

	/*
	 * Returns when the task is due even if its descriptor is not readable; UINT64_MAX: never.
	 */
	uint64_t (*next_ns)(const struct instance *inst);

	/* Time after that in which the task can wait for a turn that another one causes. */
	uint64_t slack_ns;

	/* Called when `fd` is readable. */
	void (*read)(struct instance *inst);

	/*
	 * Called at each turn: does the work that is due, without waiting. Returns true if a later
	 * task's `publish` must be called.
	 */
	bool (*run)(struct instance *inst, uint64_t now_ns);

	/* Called at a turn in which the `run` of this or an earlier task returned true. */
	void (*publish)(struct instance *inst);

	/* Called last before the loop waits. Clients have their answers. */
	void (*rest)(struct instance *inst);

	/* Called after a SIGHUP from a process of that user. */
	void (*hang_up)(struct instance *inst, uid_t uid);
};

#define TASKS_MOST 32

/*
 * Goes through n tasks, at most TASKS_MOST, in their order, until SIGTERM or SIGINT arrives at
 * signal_fd. Returns the signal.
 */
int control_run(struct instance *inst, const struct task *tasks, unsigned n, int signal_fd);

#endif
