/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is wrong with something that a configuration names, told to whoever knows how to say it: as
 * an error of the file's line, as a finding of the doctor, or as a line of text. Any thread.
 */
#ifndef WEIR_POLICY_COMPLAINT_H
#define WEIR_POLICY_COMPLAINT_H

#include <stdbool.h>
#include <stdio.h>

/* Texts last as long as the call. What is NULL is not said. */
struct complaint {
	const char *place; /* of the configuration, such as "gossip.key_files[1]"; or an option */
	const char *found, *expected;
	const char *remedy; /* a command to type */
	bool absent;        /* it is not on this machine, and nothing else is wrong with it */
};

struct complaint_sink {
	void (*take)(void *context, const struct complaint *complaint);
	void *context;
};

/* Says it. */
static inline void complaint_tell(const struct complaint_sink *to, const struct complaint *what)
{
	to->take(to->context, what);
}

/* `PLACE: FOUND: expected WHAT: REMEDY`, to a FILE as the context. */
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

/* Puts `NAME: ` before it, as of a file; the context of what follows. */
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
