/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands that are programs in Python, each with a package of its own, and "import", a command of
 * earlier releases.
 */
#include "ctl_options.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM_MAX 32

/* Runs the program at a path. Returns only if that fails: true if there is such a file. */
static bool run_at(const char *path, char **words)
{
	int error;

	execv(path, words);
	error = errno;
	if (access(path, F_OK))
		return false;
	/* The file is there: the interpreter in its first line is not. */
	fprintf(stderr, "weirctl: %s: %s\n", path,
		error == ENOENT ? "no Python: install the package python3" : strerror(error));
	return true;
}

/* Runs the program in the place where it is installed or built. */
static bool run_from_own_folder(const char *command, const char *program, char **words)
{
	char own[PATH_MAX], path[PATH_MAX + 2 * PROGRAM_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	const char *folder;

	if (n < 0)
		return false;
	own[n] = '\0';
	folder = dirname(own);
	snprintf(path, sizeof(path), "%s/%s", folder, program);
	if (run_at(path, words))
		return true;
	snprintf(path, sizeof(path), "%s/../%s/%s", folder, command, program);
	return run_at(path, words);
}

/*
 * Runs the program weir-COMMAND with all words except the command, which is argv[at]. The program
 * is in the directory of weirctl, in the build directory, or on the PATH. Returns the exit status
 * of wrong usage, with the reason on standard error, if it cannot run.
 */
static int hand_over(const char *command, int argc, char **argv, int at)
{
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	char program[PROGRAM_MAX];
	int n = 1;

	if (!words) {
		fputs("weirctl: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	snprintf(program, sizeof(program), "weir-%s", command);
	words[0] = program;
	for (int i = 1; i < argc; i++)
		if (i != at)
			words[n++] = argv[i];
	if (!run_from_own_folder(command, program, words)) {
		execvp(program, words);
		fprintf(stderr, "weirctl: %s: %s: install the package %s\n", program,
			strerror(errno), program);
	}
	free(words);
	return EXIT_USAGE;
}

int hand_over_run(const struct options *options)
{
	return hand_over(options->command->name, options->argc, options->argv, options->command_at);
}

/* Returns true if the word after this option is its value. */
static bool option_takes_word(const char *word)
{
	for (unsigned i = 0; i < option_rows.n; i++) {
		const struct option_row *row = &option_rows.rows[i];

		if (row->kind == OPTION_FLAG)
			continue;
		if (row->brief && word[1] == row->brief)
			return word[2] == '\0';
		if (word[1] == '-' && strncmp(word + 2, row->name, strlen(word + 2)) == 0)
			return true;
	}
	return false;
}

bool import_is_called(int argc, char **argv, int *at)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-')
		i += 1 + option_takes_word(argv[i]);
	*at = i;
	return i < argc && strcmp(argv[i], "import") == 0;
}

int import_moved(int argc, char **argv, int at)
{
	fputs("weirctl: import: the program weir-import replaces this command\n", stderr);
	return hand_over("import", argc, argv, at);
}
