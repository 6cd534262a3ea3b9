/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Health of a limiter: numbers of the document of "status" and thresholds for them. Pure.
 */
#ifndef WEIR_WEIRCTL_HEALTH_H
#define WEIR_WEIRCTL_HEALTH_H

#include <jansson.h>

/* States of Nagios, also as exit statuses. */
enum health_state {
	HEALTH_OK,
	HEALTH_WARNING,
	HEALTH_CRITICAL,
	HEALTH_UNKNOWN,
};

extern const char *const health_names[];

/* Returns the worse of two: CRITICAL, WARNING, UNKNOWN, OK. */
enum health_state health_worse(enum health_state a, enum health_state b);

/* Smallest values that are wrong; NAN: none. */
struct health_limits {
	double warning, critical;
};

struct health_metric {
	const char *name, *unit; /* Nagios units: "", "%", "s" */
	struct health_limits limits;
	double (*of)(const json_t *status); /* NAN: the limiter does not report it */
	const char *one, *many;             /* problem: "peer lost"; NULL: an alarm describes it */
};

/* The last one has no name. */
extern const struct health_metric health_metrics[];
#define HEALTH_METRICS 13

/* Returns the state for a value. */
enum health_state health_of(double value, const struct health_limits *limits);

/* Returns the problem in words, a new reference, or NULL if an alarm describes it. */
json_t *health_word(const struct health_metric *metric, const json_t *status);

/* Returns the state of a limiter, with the reasons if it is not OK: "CRITICAL: 1 link is down". */
json_t *health_line(const json_t *status);

/* Returns the state of a limiter, by the metrics' own thresholds. */
enum health_state health_state(const json_t *status);

#endif
