/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The program weirsim: passes each command to its room.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_main.h"
#include "replay.h"
#include "run.h"

#define EXIT_USAGE 2

static int sim_help_main(int argc, char **argv);
static int sim_version_main(int argc, char **argv);

static const struct command {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "run a scenario: a group of limiters in virtual time", run_main},
	{"replay", "run a capture through a limiter's policies", replay_main},
	{"plan", "propose which source should be sent to which limiter", plan_main},
	{"--help", "print this help", sim_help_main},
	{"--version", "print the version", sim_version_main},
};

static void write_sim_usage(FILE *out)
{
	fputs("Usage: weirsim COMMAND [OPTION...]\n\n"
	      "Weir without a network: the appliance's own code in another time than now.\n\n",
		out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\nSee weirsim COMMAND --help.\n", out);
}

static int sim_help_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	write_sim_usage(stdout);
	return EXIT_SUCCESS;
}

static int sim_version_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("weirsim %s\n", WEIR_VERSION);
	return EXIT_SUCCESS;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	int status = command->run(argc, argv);

	if (status == EXIT_SUCCESS && (fflush(stdout) || ferror(stdout))) {
		perror("weirsim: standard output");
		status = EXIT_FAILURE;
	}
	return status;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run_command(&commands[i], argc - 1, argv + 1);
	write_sim_usage(stderr);
	return EXIT_USAGE;
}
