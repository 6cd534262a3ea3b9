/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "moved.h"

#include <stdio.h>
#include <string.h>

#include "ctl_options.h"
#include "hand_over.h"

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
