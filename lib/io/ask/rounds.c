/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queries of several limiters at the same time: each runs on the thread of its limiter (targets.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/targets.h"

/* Shortest pause, so that a limiter slower than the interval does not keep a CPU busy. */
#define PAUSE_LEAST_S 0.02

/* Descriptors of the caller that are polled. */
#define FDS_MAX 8

#define MS_PER_S 1000

static char *explain_error(struct target *target)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (target->of->explain)
		target->of->explain(target, target->of->context, out);
	else
		target_explain(target, out);
	fclose(out);
	return text;
}

/* Runs on the thread of the limiter. */
static void query_target(void *context)
{
	struct target *target = context;
	struct target_result *result = &target->result;
	int ret;

	target_open(target);
	ret = target->of->query(target, target->of->context, &result->document);
	target->error = result->error = -ret;
	if (ret == 0) {
		result->silent_since = 0;
		return;
	}
	json_decref(result->document);
	result->document = NULL;
	if (!result->silent_since)
		result->silent_since = time(NULL);
	result->why = explain_error(target);
	/* After other errors the rest of an answer can be in the connection. */
	if (target->error && target->error != ENOENT && target->error != EINVAL)
		target_close(target);
}

/* Moves the result to the caller. Only one thread may count the references of a document. */
static void end_query(struct target *target)
{
	target->fresh |= target->result.document || !target->last.silent_since;
	json_decref(target->last.document);
	free(target->last.why);
	target->last = target->result;
	target->result.document = NULL;
	target->result.why = NULL;
	target->ended_s = steady_s();
	target->busy = false;
}

/* Returns NULL if the thread cannot start. */
static struct target_thread *start_thread(void)
{
	struct target_thread *thread = calloc(1, sizeof(*thread));

	json_object_seed(0); /* not thread-safe at its first use */
	if (thread && offload_start(&thread->offload) == 0)
		return thread;
	free(thread);
	return NULL;
}

/* Begins a query; without a thread, it also ends here. */
static void begin_query(struct target *target)
{
	target->busy = true;
	target->began_s = steady_s();
	if (!target->thread)
		target->thread = start_thread();
	if (!target->thread) {
		query_target(target);
		end_query(target);
		return;
	}
	target->thread->job = (struct offload_job){.work = query_target, .context = target};
	offload_submit(&target->thread->offload, &target->thread->job);
}

void targets_begin(struct targets *targets)
{
	for (unsigned i = 0; i < targets->n; i++)
		if (!targets->each[i].busy)
			begin_query(&targets->each[i]);
}

/* Begins the queries that are due. Returns the time until the next one, at most `ms`. */
static int begin_due(struct targets *targets, int ms)
{
	for (unsigned i = 0; targets->interval_s > 0 && i < targets->n; i++) {
		struct target *target = &targets->each[i];
		double due = target->began_s + targets->interval_s, left;

		if (due < target->ended_s + PAUSE_LEAST_S)
			due = target->ended_s + PAUSE_LEAST_S;
		left = due - steady_s();
		if (target->busy)
			continue;
		if (left <= 0 || target->began_s == 0) {
			begin_query(target);
			ms = target->busy ? ms : 0;
		} else if (ms < 0 || left * MS_PER_S < ms) {
			ms = (int)(left * MS_PER_S) + 1;
		}
	}
	return ms;
}

unsigned targets_busy(const struct targets *targets)
{
	unsigned n = 0;

	for (unsigned i = 0; i < targets->n; i++)
		n += targets->each[i].busy;
	return n;
}

void targets_wait(struct targets *targets, struct pollfd *fds, unsigned n_fds, int ms)
{
	struct pollfd all[FDS_MAX + TARGETS_MAX] = {0};

	ms = begin_due(targets, ms);
	for (unsigned i = 0; i < n_fds; i++)
		all[i] = (struct pollfd){.fd = fds[i].fd, .events = fds[i].events};
	for (unsigned i = 0; i < targets->n; i++)
		all[n_fds + i] = (struct pollfd){
			.fd = targets->each[i].busy ? offload_fd(&targets->each[i].thread->offload)
						    : -1,
			.events = POLLIN};
	poll(all, n_fds + targets->n, ms);
	for (unsigned i = 0; i < n_fds; i++)
		fds[i].revents = all[i].revents;
	for (unsigned i = 0; i < targets->n; i++)
		if (targets->each[i].busy && offload_collect(&targets->each[i].thread->offload))
			end_query(&targets->each[i]);
}

void targets_finish(struct targets *targets)
{
	while (targets_busy(targets))
		targets_wait(targets, NULL, 0, -1);
}
