/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-exporter: the state of this machine's limiters, for Prometheus, for people and for
 * collectors of flow records (doc/operate/monitoring.md).
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/signalfd.h>
#include <unistd.h>

#include "command/option.h"
#include "web.h"

#define EXIT_USAGE 2

#define ADDRESS     "127.0.0.1:9947"
#define PATIENCE_MS 4000
#define INTERVAL_MS 1000
#define PEERS       1024

#define HELP_COLUMN 29
#define HELP_WIDTH  88

struct options {
	const char *listen;
	struct boxes_options boxes;
	struct reporter_options reporter;
	struct host_names hosts;
	unsigned interval_ms;
	bool help, version, metrics;
};

static bool refuse_word(const char *what, const char *why)
{
	fprintf(stderr, "weir-exporter: %s: %s\n", what, why);
	return false;
}

static bool take_socket(const char *path, void *options)
{
	struct boxes_options *boxes = &((struct options *)options)->boxes;

	if (boxes->n_sockets == BOXES_MOST)
		return refuse_word(path, "too many sockets");
	boxes->sockets[boxes->n_sockets++] = path;
	return true;
}

static bool take_host(const char *name, void *options)
{
	struct host_names *hosts = &((struct options *)options)->hosts;

	if (!host_name_valid(name))
		return refuse_word(name, "expected the name of a host, without a port");
	if (hosts->n == HOSTS_MOST)
		return refuse_word(name, "too many names");
	hosts->names[hosts->n++] = name;
	return true;
}

#define UNSIGNED(name, member, least, most, words, meaning) \
	OPTION_ROW_UNSIGNED(                                \
		name, struct options, member, least, most, .value = (words), .help = (meaning))

static const struct option_row rows[] = {
	OPTION_ROW_TEXT("listen", struct options, listen, .value = "ADDRESS:PORT",
		.help = "another address; [::1]:9947 of IPv6, :9947 is all. There is no TLS and no "
			"password: beyond this machine put a proxy before it"),
	OPTION_ROW_OTHER("socket", take_socket, .brief = 's', .value = "SOCKET",
		.help = "a limiter's socket; may be repeated. Without it all of " TARGETS_DIRECTORY
			"/*.sock, looked up at each request"),
	OPTION_ROW_OTHER("host", take_host, .value = "NAME",
		.help = "also answer who takes it for that name; may be repeated. Without it: "
			"addresses, localhost and the machine's name"),
	UNSIGNED("timeout", boxes.patience_ms, 10, 60000, "MS",
		"how long a limiter may take to answer; without it 4000"),
	UNSIGNED("interval", interval_ms, 200, 60000, "MS",
		"of the page, from one look to the next; without it 1000"),
	UNSIGNED("max-policies", boxes.most.policies, 0, 1000000, "N",
		"metrics of the first N policies only; without it all"),
	UNSIGNED("max-peers", boxes.most.peers, 0, 16384, "N",
		"metrics of the first N peers only; without it 1024"),
	REPORTER_ROWS(struct options, reporter) /* none in a build without flow records */
	OPTION_ROW_FLAG("metrics", struct options, metrics, .help = "write a table of all metrics"),
	OPTION_ROW_FLAG("version", struct options, version, .help = "print the version"),
	OPTION_ROW_FLAG("help", struct options, help, .brief = 'h', .help = "print this help"),
};

static const struct option_set exporter_options = {
	.program = "weir-exporter", .rows = rows, .n = sizeof(rows) / sizeof(*rows)};

static bool parse_exporter_options(int argc, char **argv, struct options *options)
{
	struct targets targets = {0};
	int at = option_read(&exporter_options, argc, argv, options, NULL), taken = 0;
	unsigned n = 0;

	if (at < 0)
		return false;
	if (at < argc)
		return refuse_word(argv[at], "one word too many");
	while (n < options->boxes.n_sockets && taken == 0)
		taken = targets_add(&targets, NULL, options->boxes.sockets[n++]);
	targets_free(&targets);
	return taken == 0 ||
	       refuse_word(options->boxes.sockets[n - 1], "another socket has that name, too");
}

static void print_usage(void)
{
	fputs("Usage: weir-exporter [OPTION…]\n"
	      "\n"
	      "Serves the metrics of the limiters of this machine at http://" ADDRESS
	      "/metrics, and\n"
	      "a page that shows them at http://" ADDRESS "/.\n\n",
		stdout);
	option_print_rows(&exporter_options, 0, HELP_COLUMN, HELP_WIDTH, stdout);
	fputs("\nExit status: 0 done; 1 failed, with the reason on standard error; 2 wrong usage.\n",
		stdout);
}

/* Prints the metrics in the format of doc/operate/monitoring.md. */
static void print_metrics(void)
{
	static const char *const types[] = {"gauge", "counter", "info"};
	static const char *const ends[] = {"", "_total", "_info"};

	for (const struct metric *metric = metrics; metric->name; metric++)
		printf("| `%s%s` | %s | %s%s%s | %s |\n", metric->name, ends[metric->type],
			types[metric->type], metric->label ? metric->label : "",
			metric_has_label(metric) ? ", " : "",
			metric_has_label(metric) ? metric->value : "", metric->help);
}

static int refuse_address(const char *address, int ret)
{
	refuse_word(address, ret == -EINVAL ? "expected ADDRESS:PORT, in digits" : strerror(-ret));
	return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

static int serve_web(const struct options *options, struct reporter *reporter, int signal_fd)
{
	struct web *web;
	int ret = web_open(options->listen, &options->boxes, &options->hosts, options->interval_ms,
		reporter, &web);

	if (ret)
		return refuse_address(options->listen, ret);
	fprintf(stderr, "weir-exporter: " WEIR_VERSION " at http://%s/ and /metrics\n",
		options->listen);
	web_run(web, signal_fd);
	web_close(web);
	return EXIT_SUCCESS;
}

static int serve_limiters(const struct options *options)
{
	struct reporter *reporter;
	int signal_fd, ret;
	sigset_t set;

	/* Blocks signals before any thread starts, so that only the loop gets them. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signal_fd < 0) {
		refuse_word("signalfd", strerror(errno));
		return EXIT_FAILURE;
	}
	json_object_seed(0); /* before the threads that would do it */
	ret = reporter_open(&options->reporter, &options->boxes, &reporter);
	if (ret)
		ret = refuse_address(options->reporter.collector, ret);
	else
		ret = serve_web(options, reporter, signal_fd);
	reporter_close(reporter);
	close(signal_fd);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = {.listen = ADDRESS,
		.interval_ms = INTERVAL_MS,
		.reporter = REPORTER_USUAL,
		.boxes = {.directory = TARGETS_DIRECTORY,
			.patience_ms = PATIENCE_MS,
			.most = {UINT_MAX, PEERS}}};

	if (!parse_exporter_options(argc, argv, &options)) {
		fputs("weir-exporter: see --help\n", stderr);
		return EXIT_USAGE;
	}
	if (options.help) {
		print_usage();
	} else if (options.version) {
		puts("weir-exporter " WEIR_VERSION);
	} else if (options.metrics) {
		print_metrics();
	} else {
		host_names_complete(&options.hosts);
		return serve_limiters(&options);
	}
	if (fflush(stdout) || ferror(stdout)) {
		perror("weir-exporter: standard output");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
