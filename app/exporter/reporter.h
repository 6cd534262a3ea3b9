/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Asks the limiters now and then, and sends flow records of what they have done (records.h), in a
 * thread of its own.
 */
#ifndef WEIR_EXPORTER_REPORTER_H
#define WEIR_EXPORTER_REPORTER_H

#include "boxes.h"

struct reporter_options {
	const char *collector; /* see collector.h; NULL: nobody wants records */
	unsigned version;      /* 9 or 10 */
	unsigned interval_s, refresh_s;
};

struct reporter;

/* 0 and *reporter (NULL: nobody wants records), or a negative errno. The options are borrowed. */
int reporter_open(const struct reporter_options *options, const struct boxes_options *boxes,
	struct reporter **reporter);

/* Adds "netflow", what was sent of each, to the documents of limiters. Any thread. Also of NULL. */
void reporter_note(struct reporter *reporter, const struct boxes *boxes);

/* Waits for a turn that is under way. Also of NULL. */
void reporter_close(struct reporter *reporter);

#endif
