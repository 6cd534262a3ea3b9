/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-exporter: what the limiters of this machine do, for Prometheus, for people and for
 * collectors of flow records (doc/operate/monitoring.md).
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/signalfd.h>
#include <unistd.h>

#include "web.h"

#define EXIT_USAGE 2

#define ADDRESS     "127.0.0.1:9947"
#define DIRECTORY   "/run/weir"
#define PATIENCE_MS 4000
#define INTERVAL_MS 1000
#define PEERS       1024
#define VERSION     9
#define REPORT_S    10
#define REFRESH_S   60

static const char usage[] =
	"Usage: weir-exporter [OPTION…]\n"
	"\n"
	"Serves the metrics of the limiters of this machine at http://" ADDRESS "/metrics, and\n"
	"a page that shows them at http://" ADDRESS "/.\n"
	"\n"
	"      --listen ADDRESS:PORT  another address; [::1]:9947 of IPv6, :9947 is all. There is\n"
	"                             no TLS and no password: beyond this machine put a proxy\n"
	"                             before it\n"
	"  -s, --socket SOCKET        a limiter's socket; may be repeated. Without it all of\n"
	"                             " DIRECTORY "/*.sock, looked up at each request\n"
	"      --host NAME            also answer who takes it for that name; may be repeated.\n"
	"                             Without it: addresses, localhost and the machine's name\n"
	"      --timeout MS           how long a limiter may take to answer; without it 4000\n"
	"      --interval MS          of the page, from one look to the next; without it 1000\n"
	"      --max-policies N       metrics of the first N policies only; without it all\n"
	"      --max-peers N          metrics of the first N peers only; without it 1024\n"
	"      --netflow ADDRESS:PORT send flow records of what policies pass and drop to a\n"
	"                             collector of NetFlow or IPFIX\n"
	"      --netflow-version N    9, or 10 for IPFIX; without it 9\n"
	"      --netflow-interval S   records of so many seconds; without it 10\n"
	"      --netflow-refresh S    tell templates and names again so often; without it 60\n"
	"      --metrics              write a table of all metrics\n"
	"      --version              write the version\n"
	"  -h, --help                 write this\n"
	"\n"
	"Exit status: 0 done; 1 failed, with the reason on standard error; 2 wrong usage.\n";

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

static bool take_number(
	const char *name, const char *text, unsigned least, unsigned most, unsigned *out)
{
	char *end, why[64];
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && value >= least && value <= most) {
		*out = (unsigned)value;
		return true;
	}
	snprintf(why, sizeof(why), "\"%.16s\": expected %u to %u", text, least, most);
	return refuse_word(name, why);
}

static bool take_socket(struct boxes_options *boxes, const char *path)
{
	if (boxes->n_sockets == BOXES_MOST)
		return refuse_word(path, "too many sockets");
	boxes->sockets[boxes->n_sockets++] = path;
	return true;
}

static bool take_host(struct host_names *hosts, const char *name)
{
	if (!host_name_valid(name))
		return refuse_word(name, "expected the name of a host, without a port");
	if (hosts->n == HOSTS_MOST)
		return refuse_word(name, "too many names");
	hosts->names[hosts->n++] = name;
	return true;
}

static bool take_option(int opt, struct options *options)
{
	struct boxes_options *boxes = &options->boxes;
	struct reporter_options *reporter = &options->reporter;

	switch (opt) {
	case 'l':
		options->listen = optarg;
		return true;
	case 's':
		return take_socket(boxes, optarg);
	case 'o':
		return take_host(&options->hosts, optarg);
	case 't':
		return take_number("--timeout", optarg, 10, 60000, &boxes->patience_ms);
	case 'i':
		return take_number("--interval", optarg, 200, 60000, &options->interval_ms);
	case 'p':
		return take_number("--max-policies", optarg, 0, 1000000, &boxes->most.policies);
	case 'e':
		return take_number("--max-peers", optarg, 0, 16384, &boxes->most.peers);
	case 'n':
		reporter->collector = optarg;
		return true;
	case 'v':
		return take_number("--netflow-version", optarg, 9, 10, &reporter->version);
	case 'N':
		return take_number("--netflow-interval", optarg, 1, 3600, &reporter->interval_s);
	case 'r':
		return take_number("--netflow-refresh", optarg, 1, 3600, &reporter->refresh_s);
	case 'm':
		return options->metrics = true;
	case 'V':
		return options->version = true;
	case 'h':
		return options->help = true;
	default:
		return false;
	}
}

static bool parse_exporter_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"listen", required_argument, NULL, 'l'},
		{"socket", required_argument, NULL, 's'},
		{"host", required_argument, NULL, 'o'},
		{"timeout", required_argument, NULL, 't'},
		{"interval", required_argument, NULL, 'i'},
		{"max-policies", required_argument, NULL, 'p'},
		{"max-peers", required_argument, NULL, 'e'},
		{"netflow", required_argument, NULL, 'n'},
		{"netflow-version", required_argument, NULL, 'v'},
		{"netflow-interval", required_argument, NULL, 'N'},
		{"netflow-refresh", required_argument, NULL, 'r'},
		{"metrics", no_argument, NULL, 'm'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *twice;
	int opt;

	while ((opt = getopt_long(argc, argv, "s:h", longs, NULL)) != -1)
		if (!take_option(opt, options))
			return false;
	if (optind < argc)
		return refuse_word(argv[optind], "one word too many");
	twice = boxes_ambiguous(&options->boxes);
	return !twice || refuse_word(twice, "another socket has that name, too");
}

/* As doc/operate/monitoring.md has it. */
static void print_metrics(void)
{
	static const char *const types[] = {"gauge", "counter", "info"};
	static const char *const ends[] = {"", "_total", "_info"};

	for (const struct metric *metric = metrics; metric->name; metric++)
		printf("| `%s%s` | %s | %s%s%s | %s |\n", metric->name, ends[metric->type],
			types[metric->type], metric->label ? metric->label : "",
			metric_is_told(metric) ? ", " : "",
			metric_is_told(metric) ? metric->value : "", metric->help);
}

/* Blocked before there is any thread, so that only the loop is told. */
static int open_exporter_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
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
	int signal_fd = open_exporter_signals(), ret;
	struct reporter *reporter;

	if (signal_fd < 0) {
		refuse_word("signalfd", strerror(errno));
		return EXIT_FAILURE;
	}
	json_object_seed(0); /* before there are threads that would */
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
		.reporter = {NULL, VERSION, REPORT_S, REFRESH_S},
		.boxes = {.directory = DIRECTORY,
			.patience_ms = PATIENCE_MS,
			.most = {UINT_MAX, PEERS}}};

	if (!parse_exporter_options(argc, argv, &options)) {
		fputs("weir-exporter: --help says what there is\n", stderr);
		return EXIT_USAGE;
	}
	if (options.help)
		fputs(usage, stdout);
	else if (options.version)
		puts("weir-exporter " WEIR_VERSION);
	else if (options.metrics)
		print_metrics();
	else {
		host_names_complete(&options.hosts);
		return serve_limiters(&options);
	}
	if (fflush(stdout) || ferror(stdout)) {
		perror("weir-exporter: standard output");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
