/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A doctor's findings as lines of text, or of JSON. Main thread.
 */
#ifndef WEIR_APP_FINDINGS_H
#define WEIR_APP_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

#define DOCTOR_WORDS 8192 /* bytes of all texts of a finding */

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_UNSEEN, /* it may be well: this user cannot see it */
	DOCTOR_WARN,   /* it starts, and something hurts */
	DOCTOR_FAIL,   /* it does not start, or does not what it is for */
	DOCTOR_VERDICTS
};

struct doctor {
	const struct config *config;
	const char *file; /* as it was named */
	const char *root; /* of /proc and /sys */
	FILE *out;
	bool json;                 /* lines of JSON instead of text */
	bool brief;                /* or as a start says what ends it: one line each */
	const uint64_t *huge_free; /* bytes of hugepages before that start; NULL: as of now */
	const char *check;         /* that is at work */
	bool said;                 /* it has found something */
	unsigned n[DOCTOR_VERDICTS];
	size_t words_at;
	char words[DOCTOR_WORDS];
};

/* What is NULL is not said. */
struct finding {
	enum doctor_verdict verdict;
	const char *place; /* of the configuration, such as "ports.a" */
	const char *found, *expected;
	const char *remedy; /* a command to type */
};

/* Words of the next finding, which last until it is said; "" where there is no more room. */
const char *doctor_words(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void doctor_find(struct doctor *doctor, const struct finding *finding);

/* Says last how many there were, and whether the machine is fit. */
void doctor_sum_up(const struct doctor *doctor);

/*
 * A finding for each line of a text such as `weir: PLACE: WHAT`, as other rooms complain; of those
 * alone that begin with `only`, if it is not NULL.
 */
void doctor_find_lines(
	struct doctor *doctor, enum doctor_verdict verdict, char *text, const char *only);

/* "" and "s". */
const char *doctor_plural(unsigned n);

#endif
