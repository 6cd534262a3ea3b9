/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weirctl: what a limiter does, asked at its socket (doc/operate/weirctl.md).
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "client.h"
#include "command.h"
#include "sockets.h"

#define EXIT_USAGE 2

#define WATCH_MS 1000

/* Where a terminal's cursor goes, and what is below it is gone. */
#define CLEAR "\033[H\033[J"

struct options {
	const char *socket, *limiter;
	bool json, help, version, watch;
	struct request request;
	const struct command *command;
};

static volatile sig_atomic_t stopped;

static void stop_watching(int number)
{
	(void)number;
	stopped = 1;
}

static void print_ctl_usage(FILE *out)
{
	fputs("Usage: weirctl [-s SOCKET | -n LIMITER] [--json] COMMAND\n"
	      "\n"
	      "Asks a running weir what it does.\n"
	      "\n",
		out);
	commands_help(out);
	fputs("  watch COMMAND                    any of these again every second, until Ctrl-C\n"
	      "\n"
	      "  -s, --socket SOCKET  its socket; without it the only one in " SOCKETS_DIRECTORY
	      "\n"
	      "  -n, --name LIMITER   likewise, by the limiter's name\n"
	      "      --json           what the server says, for programs\n"
	      "      --version        write the version\n"
	      "  -h, --help           write this\n"
	      "\n"
	      "Exit status: 0 done; 1 refused or failed, with the reason on standard error;\n"
	      "2 wrong usage.\n",
		out);
}

/* Says what makes no sense, and is false. */
static bool refuse_argument(const char *word, const char *why)
{
	fprintf(stderr, "weirctl: %s: %s\n", word, why);
	return false;
}

/* What stands behind the command, as far as that is known without asking. */
static bool check_request(const struct options *options)
{
	const struct command *command = options->command;
	const struct request *request = &options->request;
	size_t n_policies;

	if (command->wants && !request->word)
		return refuse_argument(command->name, "of which one?");
	if (options->watch && command->refused) /* it does something */
		return refuse_argument(command->name, "is not to be done every second");
	if (command->sorts && !policies_count(request->word, &n_policies))
		return refuse_argument(request->word, "expected how many");
	if (request->sort && !command->sorts)
		return refuse_argument(command->name, "is not sorted");
	if (request->sort && !policies_sort_known(request->sort))
		return refuse_argument(request->sort, "expected rate or drops");
	return true;
}

/* What stands behind the options. */
static bool parse_words(int n, char **words, struct options *options)
{
	const struct command *command;
	int most;

	if (n > 0 && strcmp(words[0], "watch") == 0) {
		options->watch = true;
		words++;
		n--;
	}
	if (n < 1)
		return false;
	command = command_find(words[0]);
	if (!command)
		return refuse_argument(words[0], "no such command");
	most = command->wants || command->takes ? 2 : 1;
	if (n > most)
		return refuse_argument(words[most], "one word too many");
	options->command = command;
	options->request.word = n == 2 ? words[1] : NULL;
	return check_request(options);
}

static bool parse_ctl_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"socket", required_argument, NULL, 's'},
		{"name", required_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},
		{"sort", required_argument, NULL, 'o'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "s:n:h", longs, NULL)) != -1) {
		switch (opt) {
		case 's':
			options->socket = optarg;
			break;
		case 'n':
			options->limiter = optarg;
			break;
		case 'j':
			options->json = true;
			break;
		case 'o':
			options->request.sort = optarg;
			break;
		case 'V':
			options->version = true;
			return true;
		case 'h':
			options->help = true;
			return true;
		default:
			return false;
		}
	}
	if (options->socket && options->limiter)
		return refuse_argument(options->limiter, "either -s or -n");
	return parse_words(argc - optind, argv + optind, options);
}

/* For free(); NULL: there is none, and it has been said why. */
static char *find_socket(const struct options *options)
{
	char *path = NULL;

	if (options->socket)
		return strdup(options->socket);
	if (!options->limiter)
		return sockets_only(SOCKETS_DIRECTORY, stderr);
	if (asprintf(&path, "%s/%s.sock", SOCKETS_DIRECTORY, options->limiter) < 0)
		path = NULL;
	return path;
}

/* What the server says null to. */
static void complain_null(const struct options *options)
{
	const char *word = options->request.word, *name = options->command->name;

	if (word && strcmp(name, "policy") == 0)
		fprintf(stderr, "weirctl: %s: no such policy; see weirctl policies\n", word);
	else if (word)
		fprintf(stderr, "weirctl: %s: no such policy, or it has no %s\n", word, name);
	else if (strcmp(name, "reload") == 0)
		fputs("weirctl: this limiter has no file to read again\n", stderr);
	else if (options->command->absent)
		fprintf(stderr, "weirctl: %s\n", options->command->absent);
	else
		fprintf(stderr, "weirctl: this weir knows nothing of %s: it is older\n", name);
}

static void complain_socket(const struct options *options, const char *path, int error)
{
	if (error == ENOENT)
		complain_null(options);
	else
		sockets_complain(path, error, stderr);
}

static int print_json_document(const json_t *document)
{
	int ret = json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));

	return ret || fputc('\n', stdout) == EOF ? -EIO : 0;
}

/* One answer; `first`: it is not a repetition. */
static int print_answer(
	struct client *client, const struct options *options, const char *path, bool first)
{
	const struct command *command = options->command;
	json_t *document = NULL;
	bool refused;
	int ret = command_gather(command, &client->source, &options->request, &document);

	if (ret) {
		complain_socket(options, path, -ret);
		json_decref(document);
		return EXIT_FAILURE;
	}
	if (options->watch && isatty(STDOUT_FILENO))
		fputs(CLEAR, stdout);
	else if (!first && !options->json)
		fputc('\n', stdout);
	refused = command->refused && command->refused(document, stderr);
	if (options->json)
		ret = print_json_document(document);
	else if (!refused)
		ret = command->print(document, stdout);
	json_decref(document);
	if (ret == 0 && fflush(stdout))
		ret = -errno;
	if (ret)
		fprintf(stderr, "weirctl: standard output: %s\n", strerror(-ret));
	return refused || ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int watch_answers(struct client *client, const struct options *options, const char *path)
{
	/* Once: who does not want to wait for an answer that does not come says it again. */
	const struct sigaction action = {
		.sa_handler = stop_watching, .sa_flags = (int)SA_RESETHAND};
	bool first = true;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!stopped) {
		int status = print_answer(client, options, path, first);

		if (status)
			return status;
		first = false;
		if (!stopped && !options->command->takes_a_while)
			client->source.pause(&client->source, WATCH_MS);
	}
	return EXIT_SUCCESS;
}

static int run_command(const struct options *options)
{
	char *path = find_socket(options);
	struct client client;
	int ret, status;

	if (!path)
		return EXIT_FAILURE;
	ret = client_open(&client, path);
	if (ret) {
		sockets_complain(path, -ret, stderr);
		free(path);
		return EXIT_FAILURE;
	}
	status = options->watch ? watch_answers(&client, options, path)
				: print_answer(&client, options, path, true);
	client_close(&client);
	free(path);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {0};

	setlocale(LC_CTYPE, "C.UTF-8"); /* what servers send, wherever this runs */
	if (!parse_ctl_options(argc, argv, &options)) {
		print_ctl_usage(stderr);
		return EXIT_USAGE;
	}
	if (options.help)
		print_ctl_usage(stdout);
	else if (options.version)
		puts("weirctl " WEIR_VERSION);
	else
		return run_command(&options);
	return EXIT_SUCCESS;
}
