/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Output of a replay: a row of CSV for each packet, and a summary in JSON. doc/operate/replay.md
 * has the columns and keys.
 */
#ifndef WEIR_SIM_REPLAY_REPORT_H
#define WEIR_SIM_REPLAY_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/capture.h"
#include "policy/config.h"
#include "replay_decide.h"

struct tally {
	uint64_t packets, amount; /* amount: bytes, or units that the policy charges */
};

struct replay_report {
	const struct config *config;
	FILE *rows;                             /* NULL: no rows */
	char *row_buffer;                       /* buffer of `rows` */
	struct tally total, unmatched, refused; /* bytes of frames */
	uint64_t unparsed[UNPARSED_REASONS];
	uint64_t reasons[REASONS];                 /* packets */
	struct tally (*policies)[DECIDE_VERDICTS]; /* charged units */
	struct policy_totals *trials;              /* by policy */
	uint64_t earliest_ns, latest_ns;
	uint64_t last_ns; /* time of the previous packet */
	uint64_t steps_back, longest_step_ns;
	uint64_t cut; /* packets that were not captured completely */

	/* Counted by the caller. */
	uint64_t unsupported; /* packets skipped because of their link type */
	uint64_t untimed;
	bool complete; /* the capture was read to its end */
};

/*
 * rows is NULL, or a file just opened for writing, which the report closes. Returns 0 or -ENOMEM.
 */
int replay_report_init(struct replay_report *report, const struct config *config, FILE *rows);

/* Counts a decided packet, and writes its row. A failed write is reported at the end. */
void replay_report_add(
	struct replay_report *report, const struct frame *frame, const struct decision *decision);

/* Returns true if a row could not be written, so that the replay can stop. */
bool replay_report_failed(const struct replay_report *report);

/* Closes the rows. Returns 0, or a negative errno if a row could not be written. */
int replay_report_finish(struct replay_report *report);

/* Writes the summary. Returns 0 or a negative errno. */
int replay_report_summary(const struct replay_report *report, FILE *out);

void replay_report_free(struct replay_report *report);

#endif
