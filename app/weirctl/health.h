/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether a limiter is well, by numbers of the document of "status" and thresholds for them. Pure.
 */
#ifndef WEIR_WEIRCTL_HEALTH_H
#define WEIR_WEIRCTL_HEALTH_H

#include <jansson.h>

/* As Nagios has them, also as exit statuses. */
enum health_state {
	HEALTH_OK,
	HEALTH_WARNING,
	HEALTH_CRITICAL,
	HEALTH_UNKNOWN,
};

extern const char *const health_names[];

/* The worse of two: CRITICAL, WARNING, UNKNOWN, OK. */
enum health_state health_worse(enum health_state a, enum health_state b);

/* The values from which on something is wrong; NAN: none. */
struct health_limits {
	double warning, critical;
};

struct health_metric {
	const char *name, *unit; /* of Nagios: "", "%", "s" */
	struct health_limits limits;
	double (*of)(const json_t *status); /* NAN: the limiter does not say */
	const char *one, *many;             /* what is wrong: "peer lost"; NULL: an alarm says it */
};

/* Ended by one without a name. */
extern const struct health_metric health_metrics[];
#define HEALTH_METRICS 13

/* What a value means. */
enum health_state health_of(double value, const struct health_limits *limits);

/* Returns the problem in words, a new reference, or NULL if an alarm describes it. */
json_t *health_word(const struct health_metric *metric, const json_t *status);

/* The state of a limiter, and the reasons of one that is not OK: "CRITICAL: 1 link is down". */
json_t *health_line(const json_t *status);

/* The state of a limiter, by the metrics' own thresholds. */
enum health_state health_state(const json_t *status);

#endif
