/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queries the limiters periodically and sends flow records of their counters (records.h), in a
 * thread of its own. The interface of flow records for the rest of the program.
 */
#ifndef WEIR_EXPORTER_REPORTER_H
#define WEIR_EXPORTER_REPORTER_H

#include "boxes.h"

struct reporter_options {
	const char *collector; /* see collector.h; NULL: no records */
	unsigned version;      /* 9 or 10 */
	unsigned interval_s, refresh_s;
};

struct reporter;

#ifdef WEIR_NETFLOW

/* Options of the program; `member` is a struct reporter_options. */
#define REPORTER_ROWS(options, member)                                                       \
	OPTION_ROW_TEXT("netflow", options, member.collector, .value = "ADDRESS:PORT",       \
		.help = "send flow records of passed and dropped traffic to a collector of " \
			"NetFlow or IPFIX"),                                                 \
		OPTION_ROW_UNSIGNED("netflow-version", options, member.version, 9, 10,       \
			.value = "N", .help = "9, or 10 for IPFIX; without it 9"),           \
		OPTION_ROW_UNSIGNED("netflow-interval", options, member.interval_s, 1, 3600, \
			.value = "S", .help = "records of so many seconds; without it 10"),  \
		OPTION_ROW_UNSIGNED("netflow-refresh", options, member.refresh_s, 1, 3600,   \
			.value = "S",                                                        \
			.help = "repeat templates and names after so long; without it 60"),
#define REPORTER_USUAL                                          \
	{                                                       \
		.version = 9, .interval_s = 10, .refresh_s = 60 \
	}

/* Returns 0 and *reporter (NULL: no collector), or a negative errno. The options are borrowed. */
int reporter_open(const struct reporter_options *options, const struct boxes_options *boxes,
	struct reporter **reporter);

/*
 * Adds "netflow", the totals sent about each limiter, to the limiters' documents. Any thread. A
 * reporter that is NULL does nothing.
 */
void reporter_note(struct reporter *reporter, const struct boxes *boxes);

/* Waits for a running turn. NULL does nothing. */
void reporter_close(struct reporter *reporter);

#else /* a build without flow records: no option, and no reporter */

#define REPORTER_ROWS(options, member)
#define REPORTER_USUAL \
	{              \
		0      \
	}

static inline int reporter_open(const struct reporter_options *options,
	const struct boxes_options *boxes, struct reporter **reporter)
{
	(void)options;
	(void)boxes;
	*reporter = NULL;
	return 0;
}

static inline void reporter_note(struct reporter *reporter, const struct boxes *boxes)
{
	(void)reporter;
	(void)boxes;
}

static inline void reporter_close(struct reporter *reporter)
{
	(void)reporter;
}

#endif
#endif
