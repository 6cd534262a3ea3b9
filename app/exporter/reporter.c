/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "reporter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector.h"
#include "records.h"

struct reporter {
	const struct reporter_options *options;
	struct round round;
	struct collector collector;
	struct records *records;
	pthread_t thread;
	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t ended;
	bool closing;
	struct records_counts counts[BOXES_MOST];
	unsigned n_counts;
};

static uint64_t clock_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool send_datagram(void *context, const uint8_t *bytes, size_t n)
{
	return collector_send(context, bytes, n);
}

static void report_once(struct reporter *reporter)
{
	static const struct looked_at nothing;
	const struct records_time began = {clock_ms(CLOCK_REALTIME), clock_ms(CLOCK_MONOTONIC)};
	struct boxes *boxes;
	const struct records_sink sink = {
		send_datagram, &reporter->collector, collector_room(&reporter->collector)};

	round_begin(&reporter->round, &nothing);
	while (targets_busy(&reporter->round.targets))
		targets_wait(&reporter->round.targets, NULL, 0, -1);
	boxes = round_end(&reporter->round);
	if (!boxes)
		return;
	records_take(reporter->records, boxes, &began, &sink);
	boxes_free(boxes);
	pthread_mutex_lock(&reporter->lock);
	reporter->n_counts = records_counts(reporter->records, reporter->counts);
	pthread_mutex_unlock(&reporter->lock);
}

/* Waits until due_ms of the clock that is never set. Returns false when the reporter closes. */
static bool await_turn(struct reporter *reporter, uint64_t due_ms)
{
	const struct timespec due = {
		.tv_sec = (time_t)(due_ms / 1000), .tv_nsec = (long)(due_ms % 1000) * 1000000};
	bool closing;
	int ret = 0;

	pthread_mutex_lock(&reporter->lock);
	while (!reporter->closing && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&reporter->ended, &reporter->lock, &due);
	closing = reporter->closing;
	pthread_mutex_unlock(&reporter->lock);
	return !closing;
}

/* A turn that takes too long postpones the next ones. */
static void *report_turns(void *arg)
{
	struct reporter *reporter = arg;
	uint64_t interval_ms = (uint64_t)reporter->options->interval_s * 1000;
	uint64_t due_ms = clock_ms(CLOCK_MONOTONIC);

	while (await_turn(reporter, due_ms)) {
		uint64_t now_ms;

		report_once(reporter);
		now_ms = clock_ms(CLOCK_MONOTONIC);
		due_ms += interval_ms;
		due_ms = due_ms < now_ms ? now_ms : due_ms;
	}
	return NULL;
}

static void free_reporter(struct reporter *reporter)
{
	round_close(&reporter->round);
	collector_close(&reporter->collector);
	records_free(reporter->records);
	pthread_cond_destroy(&reporter->ended);
	pthread_mutex_destroy(&reporter->lock);
	free(reporter);
}

static void prepare_waiting(struct reporter *reporter)
{
	pthread_condattr_t steady;

	pthread_mutex_init(&reporter->lock, NULL);
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&reporter->ended, &steady);
	pthread_condattr_destroy(&steady);
}

int reporter_open(const struct reporter_options *options, const struct boxes_options *boxes,
	struct reporter **out)
{
	struct reporter *reporter;
	int ret;

	*out = NULL;
	if (!options->collector)
		return 0;
	reporter = calloc(1, sizeof(*reporter));
	if (!reporter)
		return -ENOMEM;
	reporter->options = options;
	prepare_waiting(reporter);
	ret = collector_open(&reporter->collector, options->collector);
	if (ret == 0)
		ret = round_open(&reporter->round, boxes);
	if (ret == 0) {
		reporter->records = records_new(
			options->version, (uint64_t)options->refresh_s * 1000);
		ret = reporter->records ? 0 : -ENOMEM;
	}
	if (ret == 0)
		ret = -pthread_create(&reporter->thread, NULL, report_turns, reporter);
	if (ret) {
		free_reporter(reporter);
		return ret;
	}
	*out = reporter;
	return 0;
}

static json_t *counts_json(const struct records_counts *counts)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "domain", (json_int_t)counts->domain, "datagrams",
		(json_int_t)counts->datagrams, "records", (json_int_t)counts->records, "failed",
		(json_int_t)counts->failed);
}

void reporter_note(struct reporter *reporter, const struct boxes *boxes)
{
	if (!reporter)
		return;
	pthread_mutex_lock(&reporter->lock);
	for (unsigned i = 0; i < reporter->n_counts; i++)
		for (unsigned k = 0; k < boxes->n; k++)
			if (strcmp(boxes->of[k].limiter, reporter->counts[i].limiter) == 0)
				json_object_set_new((json_t *)boxes->of[k].document, "netflow",
					counts_json(&reporter->counts[i]));
	pthread_mutex_unlock(&reporter->lock);
}

void reporter_close(struct reporter *reporter)
{
	if (!reporter)
		return;
	pthread_mutex_lock(&reporter->lock);
	reporter->closing = true;
	pthread_cond_signal(&reporter->ended);
	pthread_mutex_unlock(&reporter->lock);
	pthread_join(reporter->thread, NULL);
	free_reporter(reporter);
}
