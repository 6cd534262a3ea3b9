/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The options of programs and of their commands. Each command has a table of options. The functions
 * here read the options and report mistakes.
 */
#ifndef WEIR_COMMAND_OPTION_H
#define WEIR_COMMAND_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXIT_BAD 2 /* exit status of all commands: could not be run */

enum option_kind {
	OPTION_FLAG,       /* a bool, and no value */
	OPTION_TEXT,       /* a const char * */
	OPTION_NUMBER,     /* a uint64_t, from least to most */
	OPTION_UNSIGNED,   /* an unsigned, from least to most */
	OPTION_REAL,       /* a double, from low to high */
	OPTION_OTHER,      /* any type, set by take() */
	OPTION_COMMAND,    /* `least` is stored in a struct option_command; without a value */
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
	bool once; /* OPTION_TEXT: a second one is rejected */
	size_t at; /* offset of the member in the command's options */
	uint64_t least, most;
	double low, high;
	/* Reads the value. Returns false, with a message on standard error, if it is invalid. */
	bool (*take)(const char *text, void *options);
	/* For help: the value in capitals, NULL for a flag; the meaning in one line. */
	const char *value, *help;
	unsigned of; /* bits of the commands that take it; 0: all commands */
};

/* The offset of a member; does not compile if the member has another type. */
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
	const char *program; /* "weirctl": begins each message; NULL: no prefix */
	const char *command; /* NULL: the program has none */
	/* For --help of option_parse(): the text before and after the rows that have a `help`. */
	const char *usage, *notes;
	unsigned column; /* column in that help where the meanings begin */
	const struct option_row *rows;
	unsigned n;
	const char *expected; /* "expected no more arguments": message for too many or too few */
	bool argument; /* there is one argument, a const char *, in addition to the options */
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
 * Writes a line for each row that has one of the bits; 0: for the rows that all commands take.
 * Example: " -s, --socket SOCKET its socket". The meaning begins at `column`, counted from 0.
 * `width` is the longest line in bytes; 0: lines are not broken.
 */
void option_print_rows(
	const struct option_set *set, unsigned of, unsigned column, unsigned width, FILE *out);

/*
 * Reads a command's line into its options. Returns a negative number to go on. Otherwise returns
 * the exit status, after the help or the message was written.
 */
int option_parse(const struct option_set *set, int argc, char **argv, void *options);

/*
 * Reads a number from least to most; the text must contain nothing more. Returns false, with a
 * message on standard error, for any other text: `--seeds: "x": expected 1 to 100`.
 */
bool option_number(
	const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out);

/*
 * Reads numbers that are separated by commas, at most `room`. Returns how many, or 0 with a message
 * if one is invalid or there are too many.
 */
unsigned option_numbers(const char *name, const char *text, uint64_t least, uint64_t most,
	uint64_t *out, unsigned room);

/* Reports the set's `expected`. Returns EXIT_BAD. */
int option_refuse(const struct option_set *set);

#endif
