/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "deltas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_POLICY "no policy"

/* The values of one name in this reading. */
struct reading {
	const char *name, *count;
	double limit, total; /* NAN: none */
	enum netflow_status status;
	struct delta_counts passed, dropped;
};

/*
 * Drops that are not counted by policies, and their status in flow records. All others are counted
 * by policies.
 */
static const struct {
	const char *reason;
	enum netflow_status status;
} reasons[] = {
	{"unparsed", NETFLOW_DROPPED_ACL},
	{"tx_full", NETFLOW_DROPPED_HARDWARE},
	{"ring_full", NETFLOW_DROPPED},
	{"oversize", NETFLOW_DROPPED_FRAGMENT},
	{"truncated", NETFLOW_DROPPED_LENGTH},
	{"rx_missed", NETFLOW_DROPPED_HARDWARE},
	{"rx_no_buffer", NETFLOW_DROPPED_HARDWARE},
	{"rx_errors", NETFLOW_DROPPED_HARDWARE},
	{"tx_errors", NETFLOW_DROPPED_HARDWARE},
};

#define REASONS (sizeof(reasons) / sizeof(*reasons))

/* --- the limit as text ------------------------------------------------------------------------ */

/* Writes a value in the style of configurations: "10Mbit/s". */
static void print_scaled(char *text, size_t room, double value, const char *unit)
{
	static const char *const scales[] = {"", "k", "M", "G", "T"};
	size_t scale = 0;

	while (value >= 999.95 && scale + 1 < sizeof(scales) / sizeof(*scales)) {
		value /= 1000;
		scale++;
	}
	snprintf(text, room, "%.4g%s%s", value, scales[scale], unit);
}

static void print_limit(char *text, size_t room, const struct reading *reading)
{
	bool bytes = reading->count && strcmp(reading->count, "bytes") == 0;
	char total[NETFLOW_DESCRIPTION + 1];

	if (!reading->count)
		snprintf(text, room, NO_POLICY);
	else if (!isnan(reading->limit) && bytes)
		print_scaled(text, room, reading->limit * 8, "bit/s");
	else if (!isnan(reading->limit))
		snprintf(text, room, "%.4g %.8s/s", reading->limit, reading->count);
	else if (!isnan(reading->total)) {
		print_scaled(total, sizeof(total), reading->total, bytes ? "B" : "");
		snprintf(text, room, "total %.12s", total);
	} else {
		snprintf(text, room, "no limit");
	}
}

/* --- values of a name ------------------------------------------------------------------------- */

static enum netflow_unit unit_of(const char *count)
{
	if (count && strcmp(count, "bytes") == 0)
		return NETFLOW_OCTETS;
	return count && strcmp(count, "flows") == 0 ? NETFLOW_FLOWS : NETFLOW_NOTHING;
}

/* Returns NULL without memory. */
static struct delta *append_delta(struct deltas *deltas, const char *name)
{
	struct delta *delta;

	if (deltas->n == deltas->room) {
		size_t room = deltas->room ? 2 * deltas->room : 64;
		struct delta *more = realloc(deltas->deltas, room * sizeof(*more));

		if (!more)
			return NULL;
		deltas->deltas = more;
		deltas->room = room;
	}
	delta = &deltas->deltas[deltas->n];
	*delta = (struct delta){.name = strdup(name)};
	if (!delta->name)
		return NULL;
	json_object_set_new(deltas->index, name, json_integer((json_int_t)deltas->n));
	deltas->n++;
	return delta;
}

/* Returns NULL if the name is new. Fastest if the guess is right. */
static struct delta *find_delta(struct deltas *deltas, const char *name, size_t guess)
{
	const json_t *found;

	if (guess < deltas->n && strcmp(deltas->deltas[guess].name, name) == 0)
		return &deltas->deltas[guess];
	found = json_object_get(deltas->index, name);
	return found ? &deltas->deltas[json_integer_value(found)] : NULL;
}

static bool went_back(const struct delta_counts *now, const struct delta_counts *before)
{
	return now->packets < before->packets || now->units < before->units;
}

static struct delta_counts counts_since(
	const struct delta_counts *now, const struct delta_counts *before)
{
	return (struct delta_counts){now->packets - before->packets, now->units - before->units};
}

/* Takes one reading. A new name after a complete reading has counted since that reading. */
static void take_reading(
	struct deltas *deltas, const struct reading *reading, size_t guess, bool restarted)
{
	static const struct delta_counts zero;
	struct delta *delta = find_delta(deltas, reading->name, guess);
	enum netflow_unit unit = unit_of(reading->count);
	bool known = delta || (deltas->begun && deltas->whole);

	if (!delta)
		delta = append_delta(deltas, reading->name);
	else if (delta->unit != unit)
		known = false; /* units of another kind have no difference */
	if (!delta)
		return;
	delta->unit = unit;
	delta->status = reading->status;
	delta->read = true;
	delta->passed = delta->dropped = (struct delta_counts){0, 0};
	/* A counter that went back was reset, and with it the policy's other counters. */
	restarted |= went_back(&reading->passed, &delta->all_passed) ||
		     went_back(&reading->dropped, &delta->all_dropped);
	if (known) {
		delta->passed = counts_since(
			&reading->passed, restarted ? &zero : &delta->all_passed);
		delta->dropped = counts_since(
			&reading->dropped, restarted ? &zero : &delta->all_dropped);
	}
	delta->all_passed = reading->passed;
	delta->all_dropped = reading->dropped;
	print_limit(delta->limit, sizeof(delta->limit), reading);
}

/* --- documents -------------------------------------------------------------------------------- */

/* Columns of a limiter's rows. */
struct delta_columns {
	size_t name, count, limit, total, waiting;
	size_t passed_packets, passed_units, dropped_packets, dropped_units;
};

static uint64_t count_at(const struct policy_page *page, size_t row, size_t column)
{
	const char *value = policy_value(page, row, column);

	return value && *value != '-' && *value != '"' ? strtoull(value, NULL, 10) : 0;
}

/* Reads a policy. Its drops are those of its meter or, if it is shaped, of its queue. */
static void read_policy(struct reading *reading, const struct policy_page *page, size_t row,
	const struct delta_columns *columns)
{
	*reading = (struct reading){
		.name = policy_text(page, row, columns->name),
		.count = policy_text(page, row, columns->count),
		.limit = policy_number(page, row, columns->limit),
		.total = policy_number(page, row, columns->total),
		.status = isnan(policy_number(page, row, columns->waiting))
				  ? NETFLOW_DROPPED_POLICER
				  : NETFLOW_DROPPED_QUEUE,
		.passed = {count_at(page, row, columns->passed_packets),
			count_at(page, row, columns->passed_units)},
		.dropped = {count_at(page, row, columns->dropped_packets),
			count_at(page, row, columns->dropped_units)},
	};
	if (unit_of(reading->count) == NETFLOW_NOTHING)
		reading->passed.units = reading->dropped.units = 0;
}

static void read_policies(
	struct deltas *deltas, const struct policy_pages *policies, bool restarted)
{
	const struct delta_columns columns = {
		.name = policy_column(policies, "name"),
		.count = policy_column(policies, "count"),
		.limit = policy_column(policies, "limit_per_s"),
		.total = policy_column(policies, "quota_units"),
		.waiting = policy_column(policies, "waiting_packets"),
		.passed_packets = policy_column(policies, "passed_packets"),
		.passed_units = policy_column(policies, "passed_units"),
		.dropped_packets = policy_column(policies, "dropped_packets"),
		.dropped_units = policy_column(policies, "dropped_units"),
	};
	struct reading reading;
	size_t guess = 0;

	for (const struct policy_page *page = policies->first; page; page = page->next)
		for (size_t i = 0; i < page->n; i++, guess++) {
			read_policy(&reading, page, i, &columns);
			if (reading.name && reading.count)
				take_reading(deltas, &reading, guess, restarted);
		}
}

static uint64_t dropped_by(const json_t *document, const char *reason)
{
	json_int_t dropped = json_integer_value(
		json_object_get(json_object_get(document, "drops"), reason));

	return dropped > 0 ? (uint64_t)dropped : 0;
}

/* Reads packets without a policy: unmatched packets, and drops that are counted only by reason. */
static void read_others(struct deltas *deltas, const json_t *document, bool restarted)
{
	struct reading reading = {.name = "(unmatched)",
		.status = NETFLOW_DROPPED_ACL,
		.dropped = {dropped_by(document, "unmatched"), 0}};
	const json_t *worker;
	char name[32];
	size_t i;

	json_array_foreach (json_object_get(document, "workers"), i, worker)
		reading.passed.packets += (uint64_t)json_integer_value(
			json_object_get(worker, "unmatched_packets"));
	take_reading(deltas, &reading, SIZE_MAX, restarted);
	for (i = 0; i < REASONS; i++) {
		snprintf(name, sizeof(name), "(%s)", reasons[i].reason);
		reading = (struct reading){.name = name,
			.status = reasons[i].status,
			.dropped = {dropped_by(document, reasons[i].reason), 0}};
		take_reading(deltas, &reading, SIZE_MAX, restarted);
	}
}

/* Removes the names that were not in this reading. */
static void forget_gone(struct deltas *deltas)
{
	size_t kept = 0;

	for (size_t i = 0; i < deltas->n; i++)
		if (deltas->deltas[i].read)
			kept++;
	if (kept == deltas->n)
		return;
	json_object_clear(deltas->index);
	kept = 0;
	for (size_t i = 0; i < deltas->n; i++) {
		if (!deltas->deltas[i].read) {
			free(deltas->deltas[i].name);
			continue;
		}
		deltas->deltas[kept] = deltas->deltas[i];
		json_object_set_new(
			deltas->index, deltas->deltas[kept].name, json_integer((json_int_t)kept));
		kept++;
	}
	deltas->n = kept;
}

void deltas_read(struct deltas *deltas, const struct metrics_of *of, bool restarted)
{
	bool whole = json_integer_value(json_object_get(
			     json_object_get(of->document, "left_out"), "policies")) <= 0;

	if (!deltas->index)
		deltas->index = json_object();
	for (size_t i = 0; i < deltas->n; i++) {
		deltas->deltas[i].read = false;
		deltas->deltas[i].passed = deltas->deltas[i].dropped = (struct delta_counts){0, 0};
	}
	read_policies(deltas, &of->policies, restarted);
	read_others(deltas, of->document, restarted);
	if (whole)
		forget_gone(deltas);
	deltas->begun = true;
	deltas->whole = whole;
}

void deltas_free(struct deltas *deltas)
{
	for (size_t i = 0; i < deltas->n; i++)
		free(deltas->deltas[i].name);
	free(deltas->deltas);
	json_decref(deltas->index);
	*deltas = (struct deltas){0};
}
