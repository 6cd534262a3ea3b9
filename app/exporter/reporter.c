/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "reporter.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "collector.h"
#include "records.h"

struct reporter {
	const struct reporter_options *options;
	struct round round;
	struct collector collector;
	struct records *records;
	pthread_t thread;
	int closing;          /* descriptor that is readable from reporter_close() on */
	pthread_mutex_t lock; /* protects all fields below */
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
	targets_finish(&reporter->round.targets);
	boxes = round_end(&reporter->round);
	if (!boxes)
		return;
	records_take(reporter->records, boxes, &began, &sink);
	boxes_free(boxes);
	pthread_mutex_lock(&reporter->lock);
	reporter->n_counts = records_counts(reporter->records, reporter->counts);
	pthread_mutex_unlock(&reporter->lock);
}

/* A turn that takes too long postpones the next ones. */
static void *report_turns(void *arg)
{
	struct reporter *reporter = arg;
	struct pollfd closing = {.fd = reporter->closing, .events = POLLIN};
	double due_s = steady_s();

	for (;;) {
		double left_s = fmax(due_s - steady_s(), 0);

		targets_wait(&reporter->round.targets, &closing, 1, (int)ceil(left_s * 1000));
		if (closing.revents)
			return NULL;
		if (steady_s() < due_s)
			continue;
		report_once(reporter);
		due_s = fmax(due_s + reporter->options->interval_s, steady_s());
	}
}

static void free_reporter(struct reporter *reporter)
{
	round_close(&reporter->round);
	collector_close(&reporter->collector);
	records_free(reporter->records);
	close(reporter->closing);
	pthread_mutex_destroy(&reporter->lock);
	free(reporter);
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
	pthread_mutex_init(&reporter->lock, NULL);
	reporter->closing = eventfd(0, EFD_CLOEXEC);
	ret = collector_open(&reporter->collector, options->collector);
	if (ret == 0)
		ret = reporter->closing < 0 ? -EMFILE : round_open(&reporter->round, boxes);
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

void reporter_note(struct reporter *reporter, const struct boxes *boxes)
{
	if (!reporter)
		return;
	pthread_mutex_lock(&reporter->lock);
	for (unsigned i = 0; i < reporter->n_counts; i++) {
		const struct records_counts *counts = &reporter->counts[i];
		unsigned k = boxes_find(boxes, counts->limiter, i);

		if (k != BOXES_MOST)
			json_object_set_new((json_t *)boxes->of[k].document, "netflow",
				json_pack("{s:I, s:I, s:I, s:I}", "domain",
					(json_int_t)counts->domain, "datagrams",
					(json_int_t)counts->datagrams, "records",
					(json_int_t)counts->records, "failed",
					(json_int_t)counts->failed));
	}
	pthread_mutex_unlock(&reporter->lock);
}

void reporter_close(struct reporter *reporter)
{
	if (!reporter)
		return;
	eventfd_write(reporter->closing, 1);
	pthread_join(reporter->thread, NULL);
	free_reporter(reporter);
}
