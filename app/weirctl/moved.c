/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "moved.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_options.h"
#include "exits.h"

#define PROGRAM "weir-import"

/* Returns true if the word after this option is its value. */
static bool option_takes_word(const char *word)
{
	for (const struct option_help *row = option_rows; row->name; row++) {
		if (row->argument != required_argument)
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
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	static char name[] = PROGRAM;
	int n = 1;

	if (!words) {
		fputs("weirctl: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	words[0] = name;
	for (int i = 1; i < argc; i++)
		if (i != at)
			words[n++] = argv[i];
	fputs("weirctl: import: the program " PROGRAM " replaces this command\n", stderr);
	execvp(PROGRAM, words);
	perror("weirctl: " PROGRAM);
	fputs("weirctl: install the package " PROGRAM "\n", stderr);
	free(words);
	return EXIT_USAGE;
}
