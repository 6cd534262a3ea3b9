/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The checks of a doctor, and their common part: findings, and facts about the machine. Each check
 * writes findings for problems, and adds facts for the "ok" row.
 */
#ifndef WEIR_APP_CHECKS_H
#define WEIR_APP_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

/* --- findings --------------------------------------------------------------------------------- */

/* A doctor's findings as lines of text or JSON. Main thread. */

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

/* --- machine ---------------------------------------------------------------------------------- */

/* Facts about the machine from /proc and /sys, or from a copy of a test. Any thread. */

#define MACHINE_PATH 512

/* Reads the first line of a file below root, without its newline. False if it cannot be read. */
bool machine_line(const char *root, char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns the number in such a line, or `otherwise`. */
long machine_number(const char *root, long otherwise, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool machine_has(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the last component of the target of a link. False if there is none. */
bool machine_link(const char *root, char *name, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads the value of a row ("NAME: VALUE") in a file like /proc/meminfo. */
bool machine_row(const char *root, const char *file, const char *row, char *value, size_t size);

/* Returns a value in bytes that a file like /proc/meminfo has in kB; 0 if it has none. */
uint64_t machine_kilobytes(const char *root, const char *file, const char *row);

/* Returns true if a list such as "0-3,8" has this CPU. */
bool cpu_list_has(const char *list, unsigned cpu);

/* --- checks ----------------------------------------------------------------------------------- */

/* doctor_cpus.c */
void check_cpus_exist(struct doctor *doctor);
void check_cpus_shared(struct doctor *doctor);
void check_cpus_isolated(struct doctor *doctor);
void check_numa(struct doctor *doctor);
void check_clock(struct doctor *doctor);

/* doctor_memory.c */
void check_hugepages(struct doctor *doctor);
void check_memory(struct doctor *doctor);

/* doctor_ports.c */
void check_pci(struct doctor *doctor);
void check_interfaces(struct doctor *doctor);
void check_twins(struct doctor *doctor);
void check_mtu(struct doctor *doctor);
void check_offloads(struct doctor *doctor);
void check_rights(struct doctor *doctor);
void check_eal(struct doctor *doctor);

/* doctor_state.c */
void check_bypass(struct doctor *doctor);
void check_secrets(struct doctor *doctor);
void check_listen(struct doctor *doctor);
void check_groups(struct doctor *doctor);
void check_socket(struct doctor *doctor);
void check_ledger(struct doctor *doctor);

/* A part of check_ledger(): the records of an intact store, against the roster. */
void check_roster(struct doctor *doctor);

#endif
