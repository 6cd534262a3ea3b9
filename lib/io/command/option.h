/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The options of programs and of their commands: what each has is a table, and what is wrong is
 * said here.
 */
#ifndef WEIR_COMMAND_OPTION_H
#define WEIR_COMMAND_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXIT_BAD 2 /* of all commands: it could not be run */

enum option_kind {
	OPTION_FLAG,       /* a bool, and no value */
	OPTION_TEXT,       /* a const char * */
	OPTION_NUMBER,     /* a uint64_t, from least to most */
	OPTION_UNSIGNED,   /* an unsigned, from least to most */
	OPTION_REAL,       /* a double, from low to high */
	OPTION_OTHER,      /* whatever take() makes of it */
	OPTION_COMMAND,    /* a struct option_command gets `least`; without a value */
	OPTION_COMMAND_OF, /* the same, with a value */
};

/* The action of a program: the options for it exclude each other. */
struct option_command {
	unsigned is;       /* 0: none was given */
	const char *value; /* NULL: none */
};

struct option_row {
	const char *name;
	char brief; /* 's' for -s; 0: none */
	enum option_kind kind;
	bool once; /* OPTION_TEXT: a second one is refused */
	size_t at; /* of the member in the command's options */
	uint64_t least, most;
	double low, high;
	/* False, and said on standard error, if the text makes no sense. */
	bool (*take)(const char *text, void *options);
	/* For help: the value in capitals, NULL for a flag; the meaning in a line. */
	const char *value, *help;
	unsigned of; /* bits of the commands that take it; 0: all commands */
};

/* Where a member is that has to be of a type: else this does not compile. */
#define OPTION_AT(options, member, type) \
	(offsetof(options, member) + 0 * sizeof(1 ? &((options *)0)->member : (type *)0))

#define OPTION_ROW_FLAG(text, options, member, ...)                                          \
	{                                                                                    \
		.name = (text), .kind = OPTION_FLAG, .at = OPTION_AT(options, member, bool), \
		##__VA_ARGS__                                                                \
	}
#define OPTION_ROW_TEXT(text, options, member, ...)                           \
	{                                                                     \
		.name = (text), .kind = OPTION_TEXT,                          \
		.at = OPTION_AT(options, member, const char *), ##__VA_ARGS__ \
	}
#define OPTION_ROW_NUMBER(text, options, member, from, to, ...)                                    \
	{                                                                                          \
		.name = (text), .kind = OPTION_NUMBER, .at = OPTION_AT(options, member, uint64_t), \
		.least = (from), .most = (to), ##__VA_ARGS__                                       \
	}
#define OPTION_ROW_UNSIGNED(text, options, member, from, to, ...)                          \
	{                                                                                  \
		.name = (text), .kind = OPTION_UNSIGNED,                                   \
		.at = OPTION_AT(options, member, unsigned), .least = (from), .most = (to), \
		##__VA_ARGS__                                                              \
	}
#define OPTION_ROW_REAL(text, options, member, from, to, ...)                                  \
	{                                                                                      \
		.name = (text), .kind = OPTION_REAL, .at = OPTION_AT(options, member, double), \
		.low = (from), .high = (to), ##__VA_ARGS__                                     \
	}
#define OPTION_ROW_OTHER(text, function, ...)                                           \
	{                                                                               \
		.name = (text), .kind = OPTION_OTHER, .take = (function), ##__VA_ARGS__ \
	}

struct option_set {
	const char *program; /* "weirctl": begins each message; NULL: no word does */
	const char *command; /* NULL: the program has none */
	/* --help of option_parse() writes both, with the rows between them if these have words. */
	const char *usage, *notes;
	unsigned column; /* begin of the meanings of rows in that help */
	const struct option_row *rows;
	unsigned n;
	const char
		*expected; /* "expected no more arguments": when there are too many, or too few */
	bool argument;     /* there is one, a const char *, beside the options */
	size_t argument_at;
};

/*
 * Reads options into `options` and moves all other words to the end of argv. *given gets the bits
 * of the given rows, unless it is NULL. Returns the index of the first other word. Returns -1 with
 * the reason on standard error, such as an unknown option with the nearest name.
 */
int option_read(
	const struct option_set *set, int argc, char **argv, void *options, unsigned *given);

/*
 * Writes a line for each row with one of the bits; for 0 of the rows that all commands take:
 * "  -s, --socket SOCKET  its socket". The meaning begins at a column, which counts from 0. `width`
 * is that of the longest line, bytes; 0: no line is broken.
 */
void option_print_rows(
	const struct option_set *set, unsigned of, unsigned column, unsigned width, FILE *out);

/*
 * Reads a command's line into its options. Negative: go on; else the exit status, and what there is
 * to say has been said.
 */
int option_parse(const struct option_set *set, int argc, char **argv, void *options);

/*
 * The number that `text` is, from least to most, which is all that it may hold. False, and said on
 * standard error, if it is none: `--seeds: "x": expected 1 to 100`.
 */
bool option_number(
	const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out);

/*
 * Numbers with commas between them, each as above, and no more than there is room for. How many
 * there are; 0, and said, if one is none.
 */
unsigned option_numbers(const char *name, const char *text, uint64_t least, uint64_t most,
	uint64_t *out, unsigned room);

/* Says what the set expects; EXIT_BAD. */
int option_refuse(const struct option_set *set);

#endif
