/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The control loop, on EAL's main lcore: sleeps until some task has something to do, a client asks,
 * or a signal comes. It knows the tasks by their rows alone.
 */
#ifndef WEIR_APP_CONTROL_H
#define WEIR_APP_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct instance;

/* What control does beside others; a step that a task has no use for is NULL. */
struct task {
	const char *name;

	/* What becomes readable when it has something to do, or -1. */
	int (*fd)(const struct instance *inst);

	/* When it has something to do that nobody tells; UINT64_MAX: never. */
	uint64_t (*next_ns)(const struct instance *inst);

	/* After that it waits for a turn that another task causes, but not for longer than this. */
	uint64_t slack_ns;

	/* What `fd` says has come. */
	void (*read)(struct instance *inst);

	/* At each turn: does what is due, and does not wait. True if there is news to tell. */
	bool (*run)(struct instance *inst, uint64_t now_ns);

	/* At a turn in which a task before it had news. */
	void (*tell)(struct instance *inst);

	/* Called last before the loop waits. Clients have their answers. */
	void (*rest)(struct instance *inst);

	/* SIGHUP has come, of a process of that user. */
	void (*hang_up)(struct instance *inst, uid_t uid);
};

#define TASKS_MOST 32

/*
 * Goes through n tasks, at most TASKS_MOST, in their order, until SIGTERM or SIGINT arrives at
 * signal_fd. Returns the signal.
 */
int control_run(struct instance *inst, const struct task *tasks, unsigned n, int signal_fd);

#endif
