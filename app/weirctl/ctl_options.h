/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What weirctl was called with.
 */
#ifndef WEIR_WEIRCTL_CTL_OPTIONS_H
#define WEIR_WEIRCTL_CTL_OPTIONS_H

#include "command.h"
#include "command/option.h"

#define BOXES_MAX 256 /* in one call */

/* A box, as it was named: one of the two, or both by a group file. */
struct box_name {
	const char *socket;  /* the path; NULL: by its limiter */
	const char *limiter; /* NULL: named by its socket's file */
};

struct options {
	const struct command *all; /* commands */
	const struct command *command;
	struct request request;
	struct box_name boxes[BOXES_MAX];
	unsigned n_boxes;
	const char *group;  /* a file that names more; NULL */
	const char *output; /* for the program that has the command; NULL */
	double timeout_s;   /* for each answer */
	bool json, wide, help, version, watch;
	int argc; /* all words, in the order of getopt_long() */
	char **argv;
	int command_at; /* index of the command in argv */
};

/* Rows of options; `of` is a bit of command.options. */
extern const struct option_set option_rows;

/* False: it makes no sense, and standard error says why; `command` is set if it is known. */
bool options_parse(int argc, char **argv, const struct command *all, struct options *options);

#endif
