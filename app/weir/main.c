/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_version.h>
#include <sodium.h>

#include "config/describe.h"
#include "config/load.h"
#include "eal.h"
#include "gossip_socket.h"
#include "log.h"
#include "new_ledger.h"
#include "policy/config.h"
#include "start.h"

#define EXIT_USAGE 2

/* The kernel may round a sleep up by so much; the default of 50 us would double a short one. */
#define TIMER_SLACK_NS 1000

static const char usage[] =
	"Usage: weir -c CONFIG | --check CONFIG | --new-ledger CONFIG | --new-key | --version | --help\n"
	"\n"
	"A rate limiter that enforces one limit together with its peers.\n"
	"\n"
	"  -c, --config CONFIG  run with this configuration until SIGTERM or SIGINT;\n"
	"                       SIGHUP: read it again, and change the policies\n"
	"      --check CONFIG   validate it and say what it would do; start nothing\n"
	"      --new-ledger CONFIG\n"
	"                       before the first start: make the empty store of what this\n"
	"                       limiter will have given away and spent; without it the\n"
	"                       limiter counts as one that has lost that, and begins with\n"
	"                       nothing of what is never to be exceeded\n"
	"      --new-key        write a new gossip key to standard output\n"
	"      --version        write the version\n"
	"  -h, --help           write this\n"
	"\n"
	"Exit status: 0 done; 1 refused or failed, with the reason on standard error;\n"
	"2 wrong usage.\n";

enum command {
	COMMAND_NONE,
	COMMAND_RUN,
	COMMAND_CHECK,
	COMMAND_LEDGER,
	COMMAND_KEY,
	COMMAND_VERSION,
	COMMAND_HELP
};

struct options {
	enum command command;
	const char *config;
};

static int parse_weir_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"check", required_argument, NULL, 'k'},
		{"new-ledger", required_argument, NULL, 'l'},
		{"new-key", no_argument, NULL, 'n'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static const char messages[] = "cklnVh";
	int opt;

	while ((opt = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
		const char *at = strchr(messages, opt);

		if (!at || options->command != COMMAND_NONE)
			return -EINVAL;
		options->command = (enum command)(COMMAND_RUN + (at - messages));
		options->config = optarg;
	}
	return options->command == COMMAND_NONE || optind != argc ? -EINVAL : 0;
}

static int check_and_describe(const struct config *config)
{
	uint8_t key[DATAGRAM_KEY];
	int ret = 0;

	config_describe(config, stdout);
	eal_describe(config, stdout);
	if (config->gossip.key_file[0])
		ret = gossip_key_load(config->gossip.key_file, key);
	sodium_memzero(key, sizeof(key));
	return ret;
}

/*
 * Blocked before EAL makes its threads, so that all inherit it and only the control loop is told.
 */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void log_startup(const struct config *config)
{
	log_info("%s: limiter %s of %u, %u worker(s), %u policies, %s; socket %s", WEIR_VERSION,
		config->limiter, config->gossip.n_roster, config->n_workers, config->n_policies,
		config->gossip.n_roster < 2  ? "alone"
		: config->gossip.key_file[0] ? "gossip sealed"
					     : "gossip INSECURE",
		config->control_socket);
}

static int run_limiter(const struct config *config, const char *file)
{
	int signal_fd = open_signals(), ret;
	static struct instance inst;

	if (signal_fd < 0) {
		fprintf(stderr, "weir: signalfd: %s\n", strerror(errno));
		return -errno;
	}
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	ret = eal_start(config);
	if (ret)
		return ret;
	ret = instance_start(&inst, config, file);
	if (ret == 0) {
		log_startup(config);
		log_info("stopping: %s", strsignal(instance_run(&inst, signal_fd)));
		instance_stop(&inst);
		if (inst.leaked == 0)
			log_info("stopped: every packet buffer is back in its pool");
		else
			ret = -ENOBUFS;
	}
	eal_stop();
	close(signal_fd);
	return ret;
}

static int with_config(const struct options *options)
{
	struct config *config;
	int ret = config_load(options->config, stderr, &config);

	if (ret)
		return ret;
	if (options->command == COMMAND_CHECK)
		ret = check_and_describe(config);
	else if (options->command == COMMAND_LEDGER)
		ret = new_ledger(config);
	else
		ret = run_limiter(config, options->config);
	config_free(config);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	int ret = 0;

	if (parse_weir_options(argc, argv, &options)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (sodium_init() < 0) {
		fputs("weir: libsodium cannot start: no source of randomness\n", stderr);
		return EXIT_FAILURE;
	}
	switch (options.command) {
	case COMMAND_RUN:
	case COMMAND_CHECK:
	case COMMAND_LEDGER:
		ret = with_config(&options);
		break;
	case COMMAND_KEY:
		ret = gossip_key_print();
		break;
	case COMMAND_VERSION:
		printf("weir %s (%s)\n", WEIR_VERSION, rte_version());
		break;
	default:
		fputs(usage, stdout);
	}
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
