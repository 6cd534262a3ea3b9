/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"
#include "base/hash.h"
#include "deltas.h"

/* Domain numbers have 16 bits, because some collectors show them as two numbers of one byte. */
#define DOMAINS 65535

/* A limiter's stream. Its place is reused only if another limiter needs it. */
struct source_limiter {
	bool used, described;
	struct netflow stream;
	struct deltas deltas;
	struct records_counts counts;
	uint64_t end_ms;       /* wall clock: everything until then is sent */
	uint64_t steady_ms;    /* steady clock at that reading */
	uint64_t described_ms; /* time of the last templates */
};

struct records {
	enum netflow_version version;
	uint64_t refresh_ms;
	json_t *applications; /* number in hex to the policy name */
	struct source_limiter limiters[BOXES_MOST];
};

/* One limiter's turn. */
struct turn {
	struct records *records;
	struct source_limiter *limiter;
	const struct records_sink *sink;
	uint64_t start_ms, end_ms, steady_ms;
};

struct records *records_new(enum netflow_version version, uint64_t refresh_ms)
{
	struct records *records = calloc(1, sizeof(*records));

	if (!records)
		return NULL;
	records->version = version;
	records->refresh_ms = refresh_ms;
	records->applications = json_object();
	return records;
}

static void forget_limiter(struct source_limiter *limiter)
{
	deltas_free(&limiter->deltas);
	*limiter = (struct source_limiter){.used = false};
}

void records_free(struct records *records)
{
	if (!records)
		return;
	for (unsigned i = 0; i < BOXES_MOST; i++)
		forget_limiter(&records->limiters[i]);
	json_decref(records->applications);
	free(records);
}

/* --- numbers made of names -------------------------------------------------------------------- */

static bool is_domain(const struct records *records, uint32_t domain)
{
	for (unsigned i = 0; i < BOXES_MOST; i++)
		if (records->limiters[i].used && records->limiters[i].counts.domain == domain)
			return true;
	return false;
}

/* Returns whether the application has this name. A free application gets it. */
static bool claim_application(struct records *records, uint32_t application, const char *name)
{
	const char *whose;
	char key[8];

	snprintf(key, sizeof(key), "%06x", (unsigned)application);
	whose = json_string_value(json_object_get(records->applications, key));
	if (whose)
		return strcmp(whose, name) == 0;
	json_object_set_new(records->applications, key, json_string(name));
	return true;
}

/*
 * Chooses the application of a policy. It is the same at all limiters and after each start, except
 * if names collide. About three in 10,000 names do; the later one gets the next number.
 */
static uint32_t choose_application(struct records *records, const char *name)
{
	uint32_t hash = name_hash(name), application = (hash ^ hash >> 24) & NETFLOW_SELECTORS;

	while (!application || !claim_application(records, application, name))
		application = (application + 1) & NETFLOW_SELECTORS;
	return application;
}

/* --- limiters --------------------------------------------------------------------------------- */

/* Returns a free place, or that of a limiter that is no longer queried: one of BOXES_MOST. */
static struct source_limiter *free_limiter(struct records *records, const struct boxes *boxes)
{
	for (unsigned i = 0; i < BOXES_MOST; i++)
		if (!records->limiters[i].used)
			return &records->limiters[i];
	for (unsigned i = 0; i < BOXES_MOST; i++)
		if (boxes_find(boxes, records->limiters[i].counts.limiter, i) == BOXES_MOST) {
			forget_limiter(&records->limiters[i]);
			return &records->limiters[i];
		}
	return NULL;
}

static struct source_limiter *find_limiter(
	struct records *records, const struct boxes *boxes, const char *name, uint64_t now_ms)
{
	struct source_limiter *limiter;
	uint32_t domain;

	for (unsigned i = 0; i < BOXES_MOST; i++) {
		limiter = &records->limiters[i];
		if (limiter->used && strcmp(limiter->counts.limiter, name) == 0)
			return limiter;
	}
	limiter = free_limiter(records, boxes);
	if (!limiter)
		return NULL;
	/* Same domain after each start, unless names of two limiters of this machine collide. */
	domain = 1 + name_hash(name) % DOMAINS;
	while (is_domain(records, domain))
		domain = 1 + domain % DOMAINS;
	limiter->used = true;
	limiter->counts.domain = domain;
	snprintf(limiter->counts.limiter, sizeof(limiter->counts.limiter), "%s", name);
	netflow_open(&limiter->stream, records->version, domain, now_ms);
	return limiter;
}

/* --- datagrams -------------------------------------------------------------------------------- */

static void begin_datagram(const struct turn *turn)
{
	netflow_begin(&turn->limiter->stream, turn->sink->most);
}

static void end_datagram(const struct turn *turn)
{
	struct source_limiter *limiter = turn->limiter;
	size_t n = netflow_end(&limiter->stream, turn->end_ms);

	if (!n)
		return;
	if (turn->sink->send(turn->sink->context, limiter->stream.bytes, n))
		limiter->counts.datagrams++;
	else
		limiter->counts.failed++;
}

static void next_datagram(const struct turn *turn)
{
	end_datagram(turn);
	begin_datagram(turn);
}

static bool is_due(const struct turn *turn, uint64_t described_ms)
{
	return turn->steady_ms - described_ms >= turn->records->refresh_ms;
}

/* Adds a policy's name: before its first record, after a change of its limit, and periodically. */
static void export_name(const struct turn *turn, struct delta *delta)
{
	struct netflow *stream = &turn->limiter->stream;

	if (delta->application && !is_due(turn, delta->described_ms) &&
		strcmp(delta->limit, delta->sent_limit) == 0)
		return;
	if (!delta->application)
		delta->application = choose_application(turn->records, delta->name);
	while (!netflow_add_name(stream, delta->application, delta->name, delta->limit))
		next_datagram(turn);
	delta->described_ms = turn->steady_ms;
	memcpy(delta->sent_limit, delta->limit, sizeof(delta->limit));
}

static void export_counts(const struct turn *turn, const struct delta *delta,
	const struct delta_counts *counts, enum netflow_status status)
{
	const struct netflow_record record = {.packets = counts->packets,
		.units = counts->units,
		.unit = delta->unit,
		.start_ms = turn->start_ms,
		.end_ms = turn->end_ms,
		.status = status,
		.application = delta->application};

	if (!counts->packets && !counts->units)
		return;
	while (!netflow_add_record(&turn->limiter->stream, &record))
		next_datagram(turn);
	turn->limiter->counts.records++;
}

/* Adds names first, and then records sorted by unit, so that there are few sets with few heads. */
static void export_deltas(const struct turn *turn)
{
	const struct deltas *deltas = &turn->limiter->deltas;

	for (size_t i = 0; i < deltas->n; i++) {
		struct delta *delta = &deltas->deltas[i];

		if (delta->passed.packets || delta->passed.units || delta->dropped.packets ||
			delta->dropped.units)
			export_name(turn, delta);
	}
	for (unsigned unit = 0; unit < NETFLOW_UNITS; unit++)
		for (size_t i = 0; i < deltas->n; i++) {
			const struct delta *delta = &deltas->deltas[i];

			if (delta->unit != unit)
				continue;
			export_counts(turn, delta, &delta->passed, NETFLOW_FORWARDED);
			export_counts(turn, delta, &delta->dropped, delta->status);
		}
}

/* --- a turn ----------------------------------------------------------------------------------- */

static void take_limiter(struct turn *turn, const struct metrics_of *of, uint64_t took_ms)
{
	struct source_limiter *limiter = turn->limiter;
	const json_t *uptime = member_at(of->document, "process.uptime_s");
	uint64_t since_ms = turn->steady_ms - limiter->steady_ms;
	/* If it does not report its age, its counters decide. */
	const bool has_restarted = limiter->deltas.begun && json_is_number(uptime) &&
				   json_number_value(uptime) * 1000 < (double)since_ms;

	turn->start_ms = limiter->deltas.begun && limiter->end_ms < turn->end_ms ? limiter->end_ms
										 : turn->end_ms;
	if (turn->end_ms < limiter->stream.boot_ms) /* the wall clock was set back */
		limiter->stream.boot_ms = turn->end_ms - turn->end_ms % 1000;
	deltas_read(&limiter->deltas, of, has_restarted);
	begin_datagram(turn);
	if (!limiter->described || is_due(turn, limiter->described_ms)) {
		/* First in a datagram, so there is room. */
		netflow_add_templates(&limiter->stream);
		netflow_add_domain(&limiter->stream, limiter->counts.limiter);
		limiter->described = true;
		limiter->described_ms = turn->steady_ms;
	}
	export_deltas(turn);
	end_datagram(turn);
	limiter->end_ms = turn->end_ms;
	limiter->steady_ms = turn->steady_ms + took_ms;
}

void records_take(struct records *records, const struct boxes *boxes,
	const struct records_time *began, const struct records_sink *sink)
{
	for (unsigned i = 0; i < boxes->n; i++) {
		const json_t *document = boxes->of[i].document;
		uint64_t took_ms = (uint64_t)(1000 * json_number_value(
							     json_object_get(document, "took_s")));
		struct turn turn = {.records = records,
			.sink = sink,
			.end_ms = began->wall_ms + took_ms,
			.steady_ms = began->steady_ms};

		/* Without a complete answer: during a reload there are no policies. */
		if (!json_is_true(json_object_get(document, "up")) || !boxes->of[i].policies.whole)
			continue;
		turn.limiter = find_limiter(records, boxes, boxes->of[i].limiter, began->wall_ms);
		if (turn.limiter)
			take_limiter(&turn, &boxes->of[i], took_ms);
	}
}

unsigned records_counts(const struct records *records, struct records_counts counts[BOXES_MOST])
{
	unsigned n = 0;

	for (unsigned i = 0; i < BOXES_MOST; i++)
		if (records->limiters[i].used)
			counts[n++] = records->limiters[i].counts;
	return n;
}
