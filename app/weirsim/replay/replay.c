/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weirsim replay`: runs a capture through the limiter's parser, classifier and meters, in the
 * capture's own time. doc/operate/replay.md has its output and exit statuses.
 */
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "capture/capture.h"
#include "command/option.h"
#include "config/load.h"
#include "policy/config.h"
#include "policy/value.h"
#include "replay_decide.h"
#include "replay_report.h"

#define EXIT_CUT 3

#define HELP_COLUMN 27

#define READ_BUFFER (1U << 20)

struct replay_options {
	const char *config, *pcap, *wire, *direction, *limiters, *verdicts, *json;
	bool help;
};

struct replay {
	const struct replay_options *options;
	struct config *config;
	struct decide_params params;
	struct capture capture;
	struct decider *decider; /* created with the first packet */
	struct replay_report report;
	uint64_t now_ns; /* time of the last packet read */
	struct frame frames[DECIDE_BURST];
};

#define TEXT(name, member, words, meaning)                                                   \
	OPTION_ROW_TEXT(name, struct replay_options, member, .once = true, .value = (words), \
		.help = (meaning))

static const struct option_row option_rows[] = {
	TEXT("config", config, "CONFIG", "a limiter's configuration"),
	TEXT("pcap", pcap, "FILE", "pcap or pcapng; - is standard input"),
	TEXT("wire", wire, "NAME", "where the capture was taken (default: the first wire)"),
	TEXT("direction", direction, "D", "a-to-b or b-to-a (default: a-to-b)"),
	TEXT("limiters", limiters, "N",
		"enforce limit/N, like one of N limiters without gossip (default: 1)"),
	TEXT("verdicts", verdicts, "FILE", "write a row of CSV for each packet"),
	TEXT("json", json, "FILE", "write the summary here instead of to standard output"),
	OPTION_ROW_FLAG(
		"help", struct replay_options, help, .brief = 'h', .help = "print this help"),
};

static const struct option_set set = {
	.program = "weirsim",
	.command = "replay",
	.rows = option_rows,
	.n = sizeof(option_rows) / sizeof(*option_rows),
	.expected = "weirsim: expected --config CONFIG, --pcap FILE and options",
};

static int print_replay_help(void)
{
	fputs("Usage: weirsim replay --config CONFIG --pcap FILE [OPTION...]\n"
	      "\n"
	      "Runs the packets of a capture through a limiter's policies.\n"
	      "\n",
		stdout);
	option_print_rows(&set, 0, HELP_COLUMN, 0, stdout);
	fputs("\n"
	      "Exit status: 0 done; 1 refused or failed, with the reason on standard error;\n"
	      "2 wrong usage; 3 the capture ends in the middle of a packet. The output then\n"
	      "covers the packets before it.\n",
		stdout);
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int find_wire(const struct config *config, const char *name, unsigned *wire)
{
	*wire = 0;
	if (!name)
		return 0;
	for (unsigned i = 0; i < config->n_wires; i++) {
		if (strcmp(config->wires[i].name, name) == 0) {
			*wire = i;
			return 0;
		}
	}
	fprintf(stderr, "weirsim: --wire \"%s\": the configuration has", name);
	for (unsigned i = 0; i < config->n_wires; i++)
		fprintf(stderr, "%s \"%s\"", i > 0 ? "," : "", config->wires[i].name);
	fputs(config->n_wires > 0 ? "\n" : " no wire\n", stderr);
	return -EINVAL;
}

static int find_direction(const char *name, enum direction *direction)
{
	*direction = DIRECTION_A_TO_B;
	if (!name || strcmp(name, direction_name(DIRECTION_A_TO_B)) == 0)
		return 0;
	*direction = DIRECTION_B_TO_A;
	if (strcmp(name, direction_name(DIRECTION_B_TO_A)) == 0)
		return 0;
	fprintf(stderr, "weirsim: --direction \"%s\": expected \"%s\" or \"%s\"\n", name,
		direction_name(DIRECTION_A_TO_B), direction_name(DIRECTION_B_TO_A));
	return -EINVAL;
}

static int find_limiters(const char *text, unsigned *limiters)
{
	unsigned long n;
	char *end;

	*limiters = 1;
	if (!text)
		return 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || n < 1 || n > CONFIG_ROSTER_MAX) {
		fprintf(stderr, "weirsim: --limiters \"%s\": expected 1 to %d\n", text,
			CONFIG_ROSTER_MAX);
		return -EINVAL;
	}
	*limiters = (unsigned)n;
	return 0;
}

static int find_params(struct replay *r)
{
	int ret = find_wire(r->config, r->options->wire, &r->params.wire);

	r->params.config = r->config;
	if (ret == 0)
		ret = find_direction(r->options->direction, &r->params.direction);
	if (ret == 0)
		ret = find_limiters(r->options->limiters, &r->params.limiters);
	return ret;
}

static int complain_replay(const char *what, int ret)
{
	fprintf(stderr, "weirsim: %s: %s\n", what, strerror(-ret));
	return ret;
}

static int open_replay_file(const char *name, const char *mode, FILE **out)
{
	*out = fopen(name, mode);
	return *out ? 0 : complain_replay(name, -errno);
}

static int open_files(struct replay *r)
{
	FILE *rows = NULL, *file = stdin;
	int ret = 0;

	if (strcmp(r->options->pcap, "-") != 0)
		ret = open_replay_file(r->options->pcap, "re", &file);
	capture_init(&r->capture, file);
	if (ret == 0 && r->options->verdicts)
		ret = open_replay_file(r->options->verdicts, "we", &rows);
	if (ret)
		return ret;
	setvbuf(file, NULL, _IOFBF, READ_BUFFER);
	__fsetlocking(file, FSETLOCKING_BYCALLER); /* no lock for each of libpcap's reads */
	ret = replay_report_init(&r->report, r->config, rows);
	return ret ? complain_replay("report", ret) : 0;
}

/*
 * Starts EAL, whose memory holds the classifier's tables. It takes the present CPU for its main
 * lcore and binds this thread to it. The affinity is restored, because nothing here polls.
 */
static int start_eal(void)
{
	char lcore[32];
	char *args[] = {(char[]){"weirsim"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
		(char[]){"--no-pci"}, (char[]){"--no-telemetry"}, (char[]){"--log-level=1"},
		(char[]){"-m"}, (char[]){"1024"}, lcore};
	cpu_set_t cpus;
	int ret;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	snprintf(lcore, sizeof(lcore), "--lcores=0@%d", sched_getcpu());
	ret = rte_eal_init(sizeof(args) / sizeof(args[0]), args);
	if (ret < 0) {
		fprintf(stderr, "weirsim: EAL did not start: %s\n", rte_strerror(rte_errno));
		return rte_errno ? -rte_errno : -EINVAL;
	}
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return 0;
}

/* Reports the first unsupported packet; the summary has their number. */
static void skip_unsupported(struct replay *r, const struct capture_packet *packet)
{
	const char *name = pcap_datalink_val_to_description(packet->link);

	if (r->report.unsupported++ == 0)
		fprintf(stderr,
			"weirsim: %s: link type %d (%s) is not supported: capture on an Ethernet "
			"device\n",
			r->options->pcap, packet->link, name ? name : "unknown");
}

/* Reads up to a burst. Returns the last result of capture_next(). */
static int read_capture_burst(struct replay *r, unsigned *n)
{
	struct capture_packet packet;
	int ret = 1;

	*n = 0;
	while (*n < DECIDE_BURST && (ret = capture_next(&r->capture, &packet)) == 1) {
		if (!link_supported(packet.link)) {
			skip_unsupported(r, &packet);
			continue;
		}
		/* A packet without a time gets that of the previous one. */
		r->report.untimed += !packet.timed;
		r->now_ns = packet.timed ? packet.time_ns : r->now_ns;
		packet.time_ns = r->now_ns;
		link_frame(&packet, &r->frames[*n]);
		r->frames[(*n)++].index = packet.number;
	}
	return ret;
}

static int decide_burst(struct replay *r, unsigned n)
{
	struct decision decisions[DECIDE_BURST];
	int ret = 0;

	if (n == 0)
		return 0;
	if (!r->decider) {
		r->params.start_ns = r->frames[0].time_ns;
		ret = decider_create(&r->params, &r->decider);
		if (ret)
			return complain_replay("limits", ret);
	}
	decide(r->decider, r->frames, n, decisions);
	for (unsigned i = 0; i < n; i++)
		replay_report_add(&r->report, &r->frames[i], &decisions[i]);
	return 0;
}

/*
 * Returns 0, -ENODATA for a truncated capture, or another error; all except ENODATA are reported.
 */
static int run_replay(struct replay *r)
{
	unsigned n;
	int read = 1, ret = 0;

	while (read == 1 && ret == 0 && !replay_report_failed(&r->report)) {
		read = read_capture_burst(r, &n);
		ret = decide_burst(r, n);
	}
	r->report.complete = read == 0;
	if (read < 0)
		fprintf(stderr, "weirsim: %s: %s%s\n", r->options->pcap,
			read == -ENODATA ? "warning: " : "", capture_error(&r->capture));
	if (ret == 0 && read == 0 && r->report.total.packets == 0 && r->report.unsupported > 0)
		ret = -EPROTONOSUPPORT;
	return ret ? ret : read < 0 ? read : 0;
}

static int write_summary(const struct replay *r)
{
	const char *name = r->options->json ? r->options->json : "standard output";
	FILE *out = stdout;
	int ret = 0;

	if (r->options->json)
		ret = open_replay_file(r->options->json, "we", &out);
	if (ret)
		return ret;
	ret = replay_report_summary(&r->report, out);
	if (r->options->json && fclose(out) != 0 && ret == 0)
		ret = -errno;
	return ret ? complain_replay(name, ret) : 0;
}

/* Writes the results also if the capture is truncated. */
static int replay_capture(struct replay *r)
{
	int ret = run_replay(r), rows, summary;

	if (r->report.steps_back > 0)
		fprintf(stderr,
			"weirsim: %s: warning: time steps back %" PRIu64 " times, by up to %" PRIu64
			" ns\n",
			r->options->pcap, r->report.steps_back, r->report.longest_step_ns);
	for (unsigned i = 0; i < r->config->n_policies; i++)
		decider_tried(r->decider, i, &r->report.trials[i]);
	rows = replay_report_finish(&r->report);
	if (rows)
		complain_replay(r->options->verdicts, rows);
	summary = write_summary(r);
	return rows ? rows : summary ? summary : ret;
}

static int with_files(struct replay *r)
{
	int ret = find_params(r);

	if (ret == 0)
		ret = open_files(r);
	if (ret == 0)
		ret = start_eal();
	if (ret == 0) {
		ret = replay_capture(r);
		decider_destroy(r->decider);
		rte_eal_cleanup();
	}
	replay_report_free(&r->report);
	capture_free(&r->capture);
	return ret;
}

/*
 * Refuses policies that shape: a replay decides packets on arrival, and has no time of departure.
 */
static int refuse_shaped(const struct config *config, const char *file)
{
	for (unsigned i = 0; i < config->n_policies; i++) {
		if (config->policies[i].action != ACTION_SHAPE)
			continue;
		fprintf(stderr,
			"weirsim: %s: policies[%u].action: \"shape\": nothing waits in a replay\n",
			file, i);
		return -EINVAL;
	}
	return 0;
}

int replay_main(int argc, char **argv)
{
	struct replay_options options = {0};
	static struct replay r;
	int at = option_read(&set, argc, argv, &options, NULL), ret;

	if (at < 0)
		return EXIT_BAD;
	if (options.help)
		return print_replay_help();
	if (!options.config || !options.pcap || at != argc)
		return option_refuse(&set);
	signal(SIGPIPE, SIG_IGN); /* a closed output is an error to report */
	r.options = &options;
	ret = config_load(options.config, stderr, &r.config);
	if (ret == 0)
		ret = refuse_shaped(r.config, options.config);
	if (ret == 0)
		ret = with_files(&r);
	config_free(r.config);
	return ret == 0 ? EXIT_SUCCESS : ret == -ENODATA ? EXIT_CUT : EXIT_FAILURE;
}
