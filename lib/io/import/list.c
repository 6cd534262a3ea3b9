/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void list_refuse_at(struct subscriber_list *list, unsigned line, enum column column,
	const char *found, const char *expected, const char *remedy)
{
	char words[LIST_TEXT_MOST + 8];

	if (!diagnostics_count(list->diagnostics, false))
		return;
	snprintf(words, sizeof(words), "\"%.64s\"", found);
	for (char *c = words; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c)) /* a terminal might obey it */
			*c = '?';
	diagnostic_write(list->diagnostics, &(struct diagnostic){.file = list->terms->file,
						    .line = line,
						    .place = list->columns.title[column],
						    .found = words,
						    .expected = expected,
						    .remedy = remedy});
}

void list_say(struct subscriber_list *list, unsigned line, bool warning, const char *text)
{
	if (diagnostics_count(list->diagnostics, warning))
		diagnostic_write(list->diagnostics, &(struct diagnostic){.warning = warning,
							    .file = list->terms->file,
							    .line = line,
							    .text = text});
}

void list_make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if (!isalnum((unsigned char)*text) && strchr("_.-", *text) == NULL)
			*text = '_';
}
