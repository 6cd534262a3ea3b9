/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A problem with something that a configuration names, passed to a sink. The sink reports it as an
 * error of a line of the file, as a finding of the doctor, or as a line of text. Any thread.
 */
#ifndef WEIR_POLICY_COMPLAINT_H
#define WEIR_POLICY_COMPLAINT_H

#include <stdbool.h>
#include <stdio.h>

/* Texts last as long as the call. NULL fields are omitted. */
struct complaint {
	const char *place; /* in the configuration, such as "gossip.key_files[1]"; or an option */
	const char *found, *expected;
	const char *remedy; /* a command to type */
	bool absent;        /* missing on this machine, without another problem */
};

struct complaint_sink {
	void (*take)(void *context, const struct complaint *complaint);
	void *context;
};

/* Passes the complaint to the sink. */
static inline void complaint_write(const struct complaint_sink *to, const struct complaint *what)
{
	to->take(to->context, what);
}

/* Prints `PLACE: FOUND: expected WHAT: REMEDY`. The context is a FILE. */
static inline void complaint_print(void *file, const struct complaint *what)
{
	FILE *out = (FILE *)file;

	fprintf(out, "%s: %s", what->place, what->found);
	if (what->expected)
		fprintf(out, ": expected %s", what->expected);
	if (what->remedy)
		fprintf(out, ": %s", what->remedy);
	fputc('\n', out);
}

/* Context of complaint_print_named(), which prints `NAME: ` first, such as the name of a file. */
struct complaint_output {
	const char *name;
	FILE *out;
};

static inline void complaint_print_named(void *output, const struct complaint *what)
{
	const struct complaint_output *named = (const struct complaint_output *)output;

	fprintf(named->out, "%s: ", named->name);
	complaint_print(named->out, what);
}

static inline struct complaint_sink complaint_sink_of(FILE *out)
{
	return (struct complaint_sink){complaint_print, out};
}

#endif
