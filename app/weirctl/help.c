/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "help".
 */
#include "ctl_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"

#define TEXT_WIDTH    76
#define OPTION_COLUMN 25

void help_usage(const struct command *command, FILE *out)
{
	if (command)
		fprintf(out, "Usage: weirctl [OPTIONS] %s%s%s\n", command->name,
			*command->words ? " " : "", command->words);
	else
		fputs("Usage: weirctl [-s SOCKET | -n LIMITER | -g FILE] [--json] COMMAND\n", out);
}

void help_all(const struct command *all, FILE *out)
{
	help_usage(NULL, out);
	fputs("\nShows and changes the state of a running weir.\n\n", out);
	for (const struct command *each = all; each->name; each++) {
		char words[80];

		snprintf(words, sizeof(words), "%s%s%s", each->name, *each->words ? " " : "",
			each->words);
		if (strlen(words) > 24) /* the text is in the next line */
			fprintf(out, "  %s\n%*s%s\n", words, 28, "", each->help);
		else
			fprintf(out, "  %-24s  %s\n", words, each->help);
	}
	fputc('\n', out);
	option_print_rows(&option_rows, 0, OPTION_COLUMN, 0, out);
	fputs("\nA command can be shortened while it is unambiguous. See weirctl COMMAND --help.\n"
	      "-s and -n can be repeated: the request goes to each of these limiters.\n"
	      "\n"
	      "Exit status: 0 done; 1 refused or failed, with the reason on standard error;\n"
	      "2 wrong usage. status: 3 if a limiter has a problem.\n",
		out);
}

/* Prints a paragraph no wider than a terminal. */
static void print_wrapped(const char *text, FILE *out)
{
	while (*text) {
		size_t n = strlen(text);

		if (n > TEXT_WIDTH)
			for (n = TEXT_WIDTH; n > 0 && text[n] != ' '; n--)
				;
		fprintf(out, "%.*s\n", (int)n, text);
		text += n;
		text += *text == ' ';
	}
}

void help_of(const struct command *command, FILE *out)
{
	help_usage(command, out);
	fprintf(out, "\n%s.\n", command->help);
	if (command->more) {
		fputc('\n', out);
		print_wrapped(command->more, out);
	}
	if (command->options) {
		fputc('\n', out);
		option_print_rows(&option_rows, command->options, OPTION_COLUMN, 0, out);
	}
	fprintf(out, "\nExample: weirctl %s\n\nOptions of all commands: ", command->example);
	for (unsigned i = 0; i < option_rows.n; i++) {
		const struct option_row *row = &option_rows.rows[i];

		if (!row->of)
			fprintf(out, "%s%s%.1s%s--%s", i > 0 ? ", " : "", row->brief ? "-" : "",
				&row->brief, row->brief ? ", " : "", row->name);
	}
	fputc('\n', out);
}

static json_t *help_json(const struct command *command)
{
	/* The command changes nothing, needs no word and ends by itself. */
	const bool only_reads = !command->changes && !command->wants && !command->run &&
				(*command->words == '\0' || *command->words == '[');

	return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:b, s:b, s:b}", "command", command->name,
		"words", command->words, "help", command->help, "more", command->more, "example",
		command->example, "changes", command->changes, "wants", command->wants,
		"only_reads", only_reads);
}

/* Prints the help of a command; without a word, of all. */
int help_run(const struct options *options)
{
	const char *word = options->request.word;
	const struct command *command = word ? command_meant(options->all, word, stderr) : NULL;
	json_t *array;
	int ret = 0;

	if (word && !command)
		return EXIT_FAILURE;
	if (!options->json && !word) {
		help_all(options->all, stdout);
	} else if (!options->json) {
		help_of(command, stdout);
	} else {
		array = word ? help_json(command) : json_array();
		for (const struct command *each = options->all; !word && each->name; each++)
			json_array_append_new(array, help_json(each));
		ret = answers_write_json(array, stdout);
		json_decref(array);
	}
	return answers_end(EXIT_SUCCESS, ret);
}
