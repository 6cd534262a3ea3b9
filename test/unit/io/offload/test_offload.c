/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "offload/offload.h"

#define LIMIT_MS 60000
#define JOBS     100

struct task {
	struct offload_job job;
	unsigned number;
	unsigned *done; /* number of finished tasks, counted only by the thread */
	unsigned turn;
};

static void count_turn(void *context)
{
	struct task *task = context;

	task->turn = ++*task->done;
}

static void submit_tasks(struct offload *offload, struct task tasks[JOBS], unsigned *done)
{
	for (unsigned i = 0; i < JOBS; i++) {
		tasks[i] = (struct task){
			.job = {count_turn, &tasks[i], NULL}, .number = i, .done = done};
		offload_submit(offload, &tasks[i].job);
	}
}

static bool is_readable(const struct offload *offload, int timeout_ms)
{
	struct pollfd fd = {.fd = offload_fd(offload), .events = POLLIN};

	return poll(&fd, 1, timeout_ms) == 1;
}

/* Jobs finish in order, each once, and the descriptor shows whether there are more. */
TEST(test_jobs_are_done_in_order)
{
	static struct task tasks[JOBS];
	struct offload offload;
	unsigned done = 0;

	assert_int_equal(offload_start(&offload), 0);
	assert_false(is_readable(&offload, 0));
	assert_null(offload_collect(&offload));
	for (unsigned round = 1; round < 4; round++) {
		submit_tasks(&offload, tasks, &done);
		for (unsigned i = 0; i < JOBS; i++) {
			struct task *task;

			assert_true(is_readable(&offload, LIMIT_MS));
			task = offload_collect(&offload);
			assert_ptr_equal(task, &tasks[i]);
			assert_int_equal(task->turn, (round - 1) * JOBS + i + 1);
		}
		assert_false(is_readable(&offload, 0));
		assert_null(offload_collect(&offload));
	}
	assert_true(offload_stop(&offload, LIMIT_MS));
}

/* The next new descriptor. */
static int next_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

TEST(test_stop_does_the_rest)
{
	static struct task tasks[JOBS];
	struct offload offload;
	unsigned done = 0;
	int next = next_descriptor();

	assert_int_equal(offload_start(&offload), 0);
	submit_tasks(&offload, tasks, &done);
	assert_true(offload_stop(&offload, LIMIT_MS));
	assert_int_equal(done, JOBS);
	assert_int_equal(next_descriptor(), next);
	assert_int_equal(offload_start(&offload), 0);
	assert_true(offload_stop(&offload, LIMIT_MS));
}

static int pipe_ends[2];
static int hung_done; /* atomics only */

static void hang_on_pipe(void *context)
{
	char byte;

	__atomic_store_n(&hung_done, read(pipe_ends[0], &byte, 1) == 1, __ATOMIC_RELEASE);
}

/* A hanging job is abandoned, and can still end. */
TEST(test_hung_work_is_left_behind)
{
	static struct offload offload; /* stays valid */
	static struct offload_job job = {.work = hang_on_pipe};

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(offload_start(&offload), 0);
	offload_submit(&offload, &job);
	assert_false(offload_stop(&offload, 50));
	assert_int_equal(write(pipe_ends[1], "x", 1), 1);
	for (unsigned i = 0; i < LIMIT_MS && !__atomic_load_n(&hung_done, __ATOMIC_ACQUIRE); i++)
		poll(NULL, 0, 1);
	assert_true(__atomic_load_n(&hung_done, __ATOMIC_ACQUIRE));
}

/* A finished job does not return those submitted after it. */
TEST(test_others_are_not_done)
{
	struct offload_job jobs[] = {{.work = hang_on_pipe, .context = &jobs[0]},
		{.work = hang_on_pipe, .context = &jobs[1]}};
	struct offload offload;

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(offload_start(&offload), 0);
	offload_submit(&offload, &jobs[0]);
	offload_submit(&offload, &jobs[1]);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(write(pipe_ends[1], "x", 1), 1);
		assert_true(is_readable(&offload, LIMIT_MS));
		assert_ptr_equal(offload_collect(&offload), &jobs[i]);
		assert_null(offload_collect(&offload));
		assert_false(is_readable(&offload, 0));
	}
	assert_true(offload_stop(&offload, LIMIT_MS));
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void leave_error(void *context)
{
	errno = EINTR;
}

/* An errno left by a job, or by its collector, has no effect. */
TEST(test_errors_left)
{
	struct offload_job job = {.work = leave_error};
	struct offload offload;

	assert_int_equal(offload_start(&offload), 0);
	for (unsigned i = 0; i < 3; i++) {
		errno = EINTR;
		offload_submit(&offload, &job);
		assert_true(is_readable(&offload, LIMIT_MS));
		errno = EINTR;
		assert_ptr_equal(offload_collect(&offload), job.context);
		assert_false(is_readable(&offload, 0));
	}
	assert_true(offload_stop(&offload, LIMIT_MS));
}

struct surroundings {
	int policy;
	sigset_t blocked;
};

static void look_around(void *context)
{
	struct surroundings *around = context;

	around->policy = sched_getscheduler(0);
	pthread_sigmask(SIG_SETMASK, NULL, &around->blocked);
}

/*
 * The thread blocks signals and has the default scheduling policy, also if its creator has another.
 */
TEST(test_thread)
{
	const struct sched_param none = {0};
	struct surroundings around;
	struct offload_job job = {.work = look_around, .context = &around};
	struct offload offload;
	sigset_t mine;

	assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	assert_int_equal(offload_start(&offload), 0);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	offload_submit(&offload, &job);
	assert_true(is_readable(&offload, LIMIT_MS));
	assert_ptr_equal(offload_collect(&offload), &around);
	assert_true(offload_stop(&offload, LIMIT_MS));
	assert_int_equal(around.policy, SCHED_OTHER);
	assert_int_equal(sigismember(&around.blocked, SIGXFSZ), 1);
	assert_int_equal(sigismember(&around.blocked, SIGTERM), 1);
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_int_equal(sigismember(&mine, SIGXFSZ), 0);
}

/* Makes the kernel refuse another scheduling class, like the sandbox of a service. */
static int forbid_classes(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setscheduler, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {.len = COUNT(steps), .filter = steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* A thread of a usual process starts in a sandbox. */
TEST(test_sandbox)
{
	struct offload offload;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(forbid_classes() ? 2 : offload_start(&offload) != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
