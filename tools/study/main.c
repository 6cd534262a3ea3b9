/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker_main.h"
#include "gdrl_main.h"
#include "penalty_main.h"
#include "quota_main.h"

#define EXIT_USAGE 2

static int study_help_main(int argc, char **argv);
static int study_version_main(int argc, char **argv);

static const struct command {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"gdrl", "equal indicators under a limit that is never exceeded: the GDRL paper's figures",
		gdrl_main},
	{"quota", "use up a total that is never exceeded, and count messages", quota_main},
	{"penalty", "waits of packets when one bucket is split into parts", penalty_main},
	{"brokers", "effect of good places for sources: figures of a paper", broker_main},
	{"--help", "write this", study_help_main},
	{"--version", "write the version", study_version_main},
};

static void write_study_usage(FILE *out)
{
	fputs("Usage: weir-study COMMAND [OPTION...]\n\n"
	      "The figures of the papers that Weir is made from, repeated with its own libraries.\n\n",
		out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\nSee \"weir-study COMMAND --help\" for more.\n", out);
}

static int study_help_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	write_study_usage(stdout);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int study_version_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("weir-study %s\n", WEIR_VERSION);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	write_study_usage(stderr);
	return EXIT_USAGE;
}
