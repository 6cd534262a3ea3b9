/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weirctl: queries limiters at their sockets (doc/operate/weirctl.md).
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "answers.h"
#include "ctl_options.h"
#include "terminal.h"

static int run_command(const struct options *options)
{
	unsigned width = 0, rows;
	struct targets targets;
	int status;

	if (options->command->run)
		return options->command->run(options);
	if (options->request.follow)
		return events_follow(options);
	if (options->watch)
		return watch_run(options);
	if (!answers_find(options, &targets))
		return EXIT_FAILURE;
	if (options->wide || !terminal_size(&width, &rows))
		width = 0;
	targets_begin(&targets);
	targets_finish(&targets);
	status = answers_write(&targets, options, stdout, width);
	targets_free(&targets);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	int status = EXIT_SUCCESS, at;

	if (import_is_called(argc, argv, &at))
		return import_moved(argc, argv, at);
	setlocale(LC_CTYPE, "C.UTF-8"); /* encoding of servers, in any locale */
	if (!options_parse(argc, argv, commands, &options)) {
		help_usage(options.command, stderr);
		fprintf(stderr, "See weirctl %s%s--help.\n",
			options.command ? options.command->name : "", options.command ? " " : "");
		return EXIT_USAGE;
	}
	if (options.version)
		puts("weirctl " WEIR_VERSION);
	else if (!options.help)
		status = run_command(&options);
	else if (options.command)
		help_of(options.command, stdout);
	else
		help_all(commands, stdout);
	if (status == EXIT_SUCCESS && (fflush(stdout) || ferror(stdout))) {
		perror("weirctl: standard output");
		status = EXIT_FAILURE;
	}
	return status;
}
