/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes a doctor's findings as lines of text or JSON. Main thread.
 */
#ifndef WEIR_APP_FINDINGS_H
#define WEIR_APP_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

#define DOCTOR_WORDS 8192 /* bytes of all texts of a finding */
#define DOCTOR_FACTS 1024 /* bytes of the text of an "ok" row */

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_NA,     /* the check does not apply; only JSON has a row */
	DOCTOR_UNSEEN, /* this user cannot see the result */
	DOCTOR_WARN,   /* weir starts, with a drawback */
	DOCTOR_FAIL,   /* weir does not start, or cannot limit */
	DOCTOR_VERDICTS
};

struct doctor {
	const struct config *config;
	const char *file; /* name from the command line */
	const char *root; /* directory with proc and sys: "" except in tests */
	FILE *out;
	bool json;                 /* lines of JSON instead of text */
	bool brief;                /* one line for each finding, for the log of a start */
	const uint64_t *huge_free; /* bytes of free hugepages before the start; NULL: count now */
	const char *check;         /* name of the running check */
	const char *usual_remedy;  /* for findings without their own; can be NULL */
	bool found;                /* the running check has a finding */
	const char *not_applicable;
	unsigned n[DOCTOR_VERDICTS];
	char facts[DOCTOR_FACTS];
	size_t words_at;
	char words[DOCTOR_WORDS];
};

/* NULL members are left out. */
struct finding {
	enum doctor_verdict verdict;
	const char *place; /* path in the configuration, such as "ports.a" */
	const char *found, *expected;
	const char *remedy; /* a command to type */
};

/* Formats a text that lives until the next doctor_find(); "" without room. */
const char *doctor_words(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a finding. A warning or failure without a remedy gets the usual one of its check. */
void doctor_find(struct doctor *doctor, const struct finding *finding);

/* Adds a fact to the "ok" row of the running check: a value that it found. */
void doctor_add_fact(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Marks the running check as not applicable for the reason, unless it has facts or findings. */
void doctor_skip(struct doctor *doctor, const char *reason);

/* Begins a check. doctor_end_check() writes its "ok" row if it found no problem. */
void doctor_begin_check(struct doctor *doctor, const char *name, const char *usual_remedy);
void doctor_end_check(struct doctor *doctor);

/* Writes the last line: the numbers of findings, and if the machine is fit. */
void doctor_sum_up(const struct doctor *doctor);

/*
 * Writes a finding for each line of a log text such as `weir: PLACE: PROBLEM`. With `only`, lines
 * with another beginning are skipped.
 */
void doctor_find_lines(
	struct doctor *doctor, enum doctor_verdict verdict, char *text, const char *only);

/* Returns "" for 1, or "s". */
const char *doctor_plural(unsigned n);

#endif
