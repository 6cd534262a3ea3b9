/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The state of a policy at one moment, and its numbers (numbers/number_table.h). Control.
 */
#ifndef WEIR_APP_POLICY_NOW_H
#define WEIR_APP_POLICY_NOW_H

#include "delays.h"
#include "instance.h"
#include "numbers/policy_number.h"
#include "show.h"
#include "telemetry/json_text.h"
#include "timed.h"
#include "trials.h"

/* The second limit of a policy with colours: of the group, and here. */
struct second_now {
	double rate, local_rate; /* units a second; NAN: none */
	uint64_t burst, local_burst;
};

/* The delay of 99 % of the packets, in microseconds; NAN: no packet left. */
struct delay_now {
	double minute, moment, total;
};

/* The values of the table are read from it: policy_now_look() fills it for /weir/policy_stats. */
struct policy_now {
	struct instance *inst;
	unsigned index;
	uint64_t at_ns;
	const struct policy *policy; /* with the limit in force, below */
	struct policy terms;
	struct timed_view timed;
	struct limiter_view view;
	struct limiter_overshoot over;
	struct show_peak peak;
	struct policy_totals totals;
	struct waiting waiting;
	bool has_total;
	struct show_total total;
	bool tried; /* there is a trial; otherwise it is zero */
	struct trial_now trial;
	char until[ZONE_TEXT_MAX]; /* room for the text of a value */
	/* Filled by policy_now_look_closer() for /weir/policy. */
	struct second_now second;
	struct loan_totals loans;
	struct source_table_stats sources;
	uint64_t backlogged;
	uint64_t left; /* packets that left the shaper */
	struct delay_now p99_us;
	bool closer;                 /* all of this is filled */
	struct delays_totals delays; /* large: unset unless packets wait */
};

void policy_now_look(struct policy_now *now, struct instance *inst, unsigned policy);
void policy_now_look_closer(struct policy_now *now);

/*
 * The value of a number. NONE: the policy does not have it. UNKNOWN: it has no value now. WORD is
 * borrowed from the policy or its struct policy_now.
 */
struct number_value {
	enum {
		VALUE_NONE,
		VALUE_UNKNOWN,
		VALUE_INTEGER,
		VALUE_REAL,
		VALUE_BOOLEAN,
		VALUE_WORD
	} type;
	union {
		uint64_t integer;
		double real;
		bool boolean;
		const char *word;
	};
};

/* Adds the numbers whose path is in this object, or in the reply if it is "". */
void policy_now_json(json_t *json, struct policy_now *now, const char *object);

/* Adds the names of the columns, and the values of a row. */
void policy_now_columns(struct json_text *text);
void policy_now_row(struct json_text *row, struct policy_now *now);

#endif
