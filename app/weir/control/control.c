/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The control loop, on EAL's main lcore.
 */
#include "control.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include <rte_common.h>

#include "base/time.h"
#include "instance.h"
#include "telemetry/server.h"

/*
 * Lists the descriptors: that of the signals, one of each task, which a reload can open, and the
 * server's. Returns their number.
 */
static unsigned list_files(
	struct instance *inst, const struct task *tasks, unsigned n, struct pollfd *fds)
{
	for (unsigned i = 0; i < n; i++)
		fds[1 + i] = (struct pollfd){
			.fd = tasks[i].fd ? tasks[i].fd(inst) : -1, .events = POLLIN};
	return 1 + n + telemetry_pollfds(inst->telemetry, fds + 1 + n);
}

/* Returns the time of the next turn. */
static uint64_t first_due_task(const struct instance *inst, const struct task *tasks, unsigned n)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < n; i++) {
		uint64_t due = tasks[i].next_ns ? tasks[i].next_ns(inst) : UINT64_MAX;

		if (due < next)
			next = RTE_MIN(next, due + tasks[i].slack_ns);
	}
	return next;
}

static int timeout_ms(uint64_t now, uint64_t next)
{
	/* Rounded up: waking before the tick would mean waking twice. */
	return next > now ? (int)((next - now + MS_NS - 1) / MS_NS) : 0;
}

/* SIGTERM and SIGINT end the loop; tasks are called for SIGHUP. */
static int take_signal(struct instance *inst, const struct task *tasks, unsigned n, int signal_fd)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo != SIGHUP)
		return (int)info.ssi_signo;
	for (unsigned i = 0; i < n; i++)
		if (tasks[i].hang_up)
			tasks[i].hang_up(inst, (uid_t)info.ssi_uid);
	return 0;
}

static void run_tasks(struct instance *inst, const struct task *tasks, unsigned n,
	const struct pollfd *files, bool ready)
{
	bool news = false;

	for (unsigned i = 0; i < n; i++) {
		const struct task *task = &tasks[i];

		if (task->read && ready && files[i].revents)
			task->read(inst);
		if (task->run)
			news |= task->run(inst, control_now());
		if (task->publish && news) {
			task->publish(inst);
			news = false;
		}
	}
}

int control_run(struct instance *inst, const struct task *tasks, unsigned n, int signal_fd)
{
	struct pollfd fds[1 + TASKS_MOST + TELEMETRY_MAX_FDS] = {
		{.fd = signal_fd, .events = POLLIN}};

	for (;;) {
		unsigned n_fds = list_files(inst, tasks, n, fds);
		uint64_t next = first_due_task(inst, tasks, n);
		bool ready;

		for (unsigned i = 0; i < n; i++)
			if (tasks[i].rest)
				tasks[i].rest(inst);
		ready = poll(fds, n_fds, timeout_ms(control_now(), next)) > 0;

		if (ready && fds[0].revents) {
			int sig = take_signal(inst, tasks, n, signal_fd);

			if (sig)
				return sig;
		}
		run_tasks(inst, tasks, n, fds + 1, ready);
		if (ready)
			telemetry_serve(inst->telemetry);
	}
}
