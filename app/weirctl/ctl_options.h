/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Command line of weirctl.
 */
#ifndef WEIR_WEIRCTL_CTL_OPTIONS_H
#define WEIR_WEIRCTL_CTL_OPTIONS_H

#include "command.h"
#include "command/option.h"

#define BOXES_MAX 256 /* in one call */

/* A limiter as it was named: by one of the two, or by both in a group file. */
struct box_name {
	const char *socket;  /* path; NULL: by `limiter` */
	const char *limiter; /* NULL: named by its socket's file */
};

struct options {
	const struct command *all; /* commands */
	const struct command *command;
	struct request request;
	struct box_name boxes[BOXES_MAX];
	unsigned n_boxes;
	const char *group;  /* file that names more limiters; NULL */
	const char *output; /* for the program of the command; NULL */
	double timeout_s;   /* for each answer */
	bool json, wide, help, version, watch;
	int argc; /* all words, in the order of getopt_long() */
	char **argv;
	int command_at; /* index of the command in argv */
};

/* Rows of options; `of` is a bit of command.options. */
extern const struct option_set option_rows;

/*
 * Returns false for invalid options, reported on standard error; `command` is set if it was found.
 */
bool options_parse(int argc, char **argv, const struct command *all, struct options *options);

/*
 * Times on a command line: "90s", "10min" or "10m", "2h", "1d", "1.5h". If a number without a unit is a time, in
 * seconds.
 */
enum typed_unit { TYPED_UNIT_NEEDED, TYPED_UNIT_OPTIONAL };

/* Returns the seconds, or NaN if the text is no time. */
double typed_time(const char *text, enum typed_unit unit);

/* Returns the seconds, or 0 if the text is no time of whole seconds from 1 to `most`. */
unsigned long typed_seconds(const char *text, enum typed_unit unit, unsigned long most);

/* Print help texts, which are also the source of completion (tools/manual). */
void help_all(const struct command *all, FILE *out);

/* Prints usage, description, options and an example of a command. */
void help_of(const struct command *command, FILE *out);

/* Prints the usage line of a command, or of weirctl (NULL). */
void help_usage(const struct command *command, FILE *out);

/*
 * Returns true if the first word that is no option is "import", a command of earlier releases; *at is
 * its index.
 */
bool import_is_called(int argc, char **argv, int *at);

/*
 * Names the new program and runs it with the other words. Returns the exit status of wrong usage if
 * the program is not installed, and otherwise does not return.
 */
int import_moved(int argc, char **argv, int at);

#endif
