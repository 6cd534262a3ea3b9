/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "health.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ask/source.h"

#define PERCENT 100

const char *const health_names[] = {
	[HEALTH_OK] = "OK",
	[HEALTH_WARNING] = "WARNING",
	[HEALTH_CRITICAL] = "CRITICAL",
	[HEALTH_UNKNOWN] = "UNKNOWN",
};

enum health_state health_worse(enum health_state a, enum health_state b)
{
	static const int ranks[] = {
		[HEALTH_OK] = 0, [HEALTH_UNKNOWN] = 1, [HEALTH_WARNING] = 2, [HEALTH_CRITICAL] = 3};

	return ranks[a] > ranks[b] ? a : b;
}

static double number_at(const json_t *status, const char *path)
{
	const json_t *value = member_at(status, path);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static double count_at(const json_t *status, const char *path)
{
	const json_t *value = member_at(status, path);

	return json_is_array(value) ? (double)json_array_size(value) : NAN;
}

static double alarms_of(const json_t *status)
{
	return count_at(status, "health.alarms");
}

/* A single limiter has no peers to lose. */
static double peers_lost_of(const json_t *status)
{
	double limiters = count_at(status, "peers.peers");

	return limiters > 0 ? limiters - 1 - number_at(status, "peers.alive") : 0;
}

static double links_down_of(const json_t *status)
{
	const json_t *ports = member_at(status, "ports"), *port;
	double down = json_is_array(ports) ? 0 : NAN;
	size_t i;

	json_array_foreach (ports, i, port) {
		const char *link = json_string_value(json_object_get(port, "link"));

		down += link && strcmp(link, "UP") != 0;
	}
	return down;
}

/* 1: it waits for neighbours; 2: the disk fails. */
static double ledger_of(const json_t *status)
{
	const char *state = json_string_value(member_at(status, "ledger.state"));

	if (!state)
		return NAN;
	if (strcmp(state, "failing") == 0)
		return 2;
	return strcmp(state, "recovering") == 0 || strcmp(state, "other_ledger") == 0;
}

static double reload_failed_of(const json_t *status)
{
	if (!member_at(status, "config"))
		return NAN;
	return json_is_false(member_at(status, "config.last_reload.ok")) &&
	       !json_is_true(member_at(status, "config.last_reload.superseded"));
}

static double totals_spent_of(const json_t *status)
{
	return number_at(status, "health.totals_spent");
}

/* Returns packets a second that were lost without a decision of a policy. */
static double losing_of(const json_t *status)
{
	static const char *const reasons[] = {"tx_full", "ring_full", "pool_full", "rx_missed",
		"rx_no_buffer", "rx_errors", "tx_errors"};
	const json_t *rates = member_at(status, "rates.drops_pps");
	double sum = rates ? 0 : NAN;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		sum += json_number_value(json_object_get(rates, reasons[i]));
	return sum;
}

static double dropping_of(const json_t *status)
{
	const json_t *rates = member_at(status, "rates.drops_pps"), *rate;
	double sum = rates ? 0 : NAN;
	const char *reason;

	json_object_foreach ((json_t *)rates, reason, rate)
		sum += json_number_value(rate);
	return sum;
}

/* Returns the load of the busiest worker. */
static double busy_of(const json_t *status)
{
	const json_t *worker;
	double most = NAN;
	size_t i;

	json_array_foreach (member_at(status, "process.workers"), i, worker)
		most = fmax(most, number_at(worker, "busy_share") * PERCENT);
	return most;
}

static double control_busy_of(const json_t *status)
{
	return number_at(status, "process.control.busy_share") * PERCENT;
}

static double received_of(const json_t *status)
{
	return number_at(status, "rates.rx_pps");
}

static double sent_of(const json_t *status)
{
	return number_at(status, "rates.tx_pps");
}

static double uptime_of(const json_t *status)
{
	return number_at(status, "process.uptime_s");
}

#define NONE             \
	{                \
		NAN, NAN \
	}
const struct health_metric health_metrics[HEALTH_METRICS + 1] = {
	{"alarms", "", {1, NAN}, alarms_of, NULL, NULL},
	{"peers_lost", "", {1, NAN}, peers_lost_of, "peer is lost", "peers are lost"},
	{"links_down", "", {NAN, 1}, links_down_of, "link is down", "links are down"},
	{"ledger", "", {1, 2}, ledger_of, "the ledger is", "the ledger is"},
	{"reload_failed", "", {1, NAN}, reload_failed_of, NULL, NULL},
	{"totals_spent", "", {1, NAN}, totals_spent_of, NULL, NULL},
	{"losing", "", {1, NAN}, losing_of, "packet a second is lost", "packets a second are lost"},
	{"dropping", "", NONE, dropping_of, "packet a second is dropped",
		"packets a second are dropped"},
	{"busy", "%", NONE, busy_of, "% of a worker is busy", "% of a worker are busy"},
	{"control_busy", "%", NONE, control_busy_of, "% of control is busy",
		"% of control are busy"},
	{"received", "", NONE, received_of, "packet a second comes in", "packets a second come in"},
	{"sent", "", NONE, sent_of, "packet a second leaves", "packets a second leave"},
	{"uptime", "s", NONE, uptime_of, "second since the start", "seconds since the start"},
	{0},
};

enum health_state health_of(double value, const struct health_limits *limits)
{
	if (value >= limits->critical)
		return HEALTH_CRITICAL;
	return value >= limits->warning ? HEALTH_WARNING : HEALTH_OK;
}

json_t *health_word(const struct health_metric *metric, const json_t *status)
{
	double value = metric->of(status);

	if (!metric->one)
		return NULL;
	if (metric->of == ledger_of)
		return json_sprintf(
			"%s %s", metric->one, json_string_value(member_at(status, "ledger.state")));
	return json_sprintf("%.6g %s", value, value == 1 ? metric->one : metric->many);
}

json_t *health_line(const json_t *status)
{
	json_t *line = json_string(health_names[health_state(status)]);
	const char *separator = ": ";

	for (const struct health_metric *metric = health_metrics; line && metric->name; metric++) {
		bool ok = health_of(metric->of(status), &metric->limits) == HEALTH_OK;
		json_t *word = ok ? NULL : health_word(metric, status), *shorter = line;

		if (!word)
			continue;
		line = json_sprintf(
			"%s%s%s", json_string_value(line), separator, json_string_value(word));
		separator = ", ";
		json_decref(shorter);
		json_decref(word);
	}
	return line;
}

enum health_state health_state(const json_t *status)
{
	enum health_state worst = HEALTH_OK;

	for (const struct health_metric *metric = health_metrics; metric->name; metric++)
		worst = health_worse(worst, health_of(metric->of(status), &metric->limits));
	return worst;
}
