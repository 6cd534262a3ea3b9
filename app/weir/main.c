/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The program weir: options, configuration, start, control loop and stop.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_version.h>
#include <sodium.h>

#include "base/time.h"
#include "check_files.h"
#include "clock.h"
#include "command/option.h"
#include "config/config_messages.h"
#include "config/key_table.h"
#include "config/load.h"
#include "doctor.h"
#include "eal.h"
#include "event.h"
#include "kept.h"
#include "ledger_store.h"
#include "notify/notify.h"
#include "numbers/policy_number.h"
#include "policy/config.h"
#include "policy/trial.h"
#include "secret/group_keys.h"
#include "start.h"

#define EXIT_USAGE 2

#define HELP_COLUMN 23
#define HELP_WIDTH  88

/* A refused configuration (EX_CONFIG in sysexits.h): a restart does not help. */
#define EXIT_REFUSED 78

/* EX_TEMPFAIL: a restart can find a missing file or group, or open an interface that is back. */
#define EXIT_MACHINE 75

/* Reason in the environment of a process that starts again with the last good configuration. */
#define START_FAILED "WEIR_START_FAILED"

/* The kernel may round a sleep up by so much; the default of 50 us would double a short one. */
#define TIMER_SLACK_NS 1000

/* Time that the end of the process waits for the reader of the log. */
#define LOG_PATIENCE_S 1

enum command {
	COMMAND_NONE,
	COMMAND_RUN,
	COMMAND_CHECK,
	COMMAND_DESCRIBE,
	COMMAND_DOCTOR,
	COMMAND_LEDGER,
	COMMAND_ACCEPT,
	COMMAND_KEY,
	COMMAND_IDENTITY,
	COMMAND_PUBLIC,
	COMMAND_EVENTS,
	COMMAND_MESSAGES,
	COMMAND_KEYS,
	COMMAND_NUMBERS,
	COMMAND_VERSION,
	COMMAND_HELP
};

struct options {
	char **argv;
	struct option_command command; /* one of enum command */
	const char *config;            /* or the other file that the command is about */
	const char *identity;
	const char *state;
	bool shadow;
	char **files; /* with --check, ended by a NULL */
	struct check_options check;
};

#define COMMAND_ROW(name, kind_, command_, ...)                                                    \
	{                                                                                          \
		name, .kind = (kind_), .least = COMMAND_##command_,                                \
		      .at = OPTION_AT(struct options, command, struct option_command), __VA_ARGS__ \
	}
#define COMMAND(name, command, ...)    COMMAND_ROW(name, OPTION_COMMAND, command, __VA_ARGS__)
#define COMMAND_OF(name, command, ...) COMMAND_ROW(name, OPTION_COMMAND_OF, command, __VA_ARGS__)
#define FLAG(name, member, text)       OPTION_ROW_FLAG(name, struct options, member, .help = text)

static const struct option_row rows[] = {
	COMMAND_OF("config", RUN, .brief = 'c', .value = "CONFIG",
		.help = "run with this configuration until SIGTERM or SIGINT; SIGHUP reloads it"),
	OPTION_ROW_TEXT("state", struct options, state, .value = "DIRECTORY",
		.help = "with -c: keep the configuration in force and its history there; if "
			"CONFIG is refused at a start, the last good one runs. With --check: "
			"compare the roster with the members of the group there"),
	FLAG("shadow", shadow,
		"with -c: enforce nothing: all policies only count, and every packet passes"),
	COMMAND("check", CHECK, .value = "CONFIG...",
		.help = "check configurations and the files that they name, without a start; - is "
			"standard input"),
	FLAG("quiet", check.quiet, "with --check: print only errors"),
	FLAG("strict", check.strict, "with --check: warnings are errors"),
	FLAG("json", check.json,
		"with --check and --doctor: print JSON to standard output, an object per line"),
	COMMAND_OF("describe", DESCRIBE, .value = "CONFIG",
		.help = "describe the configuration in words, without a start"),
	COMMAND("doctor", DOCTOR, .value = "CONFIG",
		.help = "list problems of this machine that prevent a start or hurt performance, "
			"with remedies; changes nothing; run it as the user of weir"),
	COMMAND_OF("new-ledger", LEDGER, .value = "[IDENTITY] CONFIG",
		.help = "before the first start: create the empty ledger of hard limits and "
			"quotas. Without it the limiter starts like one that has lost its ledger, "
			"with no share. At the first limiter of a group omit IDENTITY: the "
			"command prints a new one. Use it at the others"),
	COMMAND_OF("accept-ledger", ACCEPT, .value = "CONFIG",
		.help = "accept a store that a start refused because it is older than its "
			"sentinel or comes from another machine. Only if this limiter runs "
			"nowhere else and never ran with a newer store"),
	COMMAND("new-key", KEY, .value = "[FILE]",
		.help = "write a new gossip key to a file that only its owner can read, or to "
			"standard output"),
	COMMAND_OF("new-identity", IDENTITY, .value = "FILE",
		.help = "write this limiter's secret to such a file, and its public key for the "
			"roster to standard output"),
	COMMAND_OF("public-key", PUBLIC, .value = "FILE",
		.help = "print the public key of such a file"),
	COMMAND("events", EVENTS, .help = "print all events of the log, as a table"),
	COMMAND("messages", MESSAGES,
		.help = "print all messages about configurations, as a table"),
	COMMAND("keys", KEYS, .help = "print the keys of a configuration, a line of JSON each"),
	COMMAND("numbers", NUMBERS, .help = "print the numbers of a policy, a line of JSON each"),
	COMMAND("version", VERSION, .help = "print the version"),
	COMMAND("help", HELP, .brief = 'h', .help = "print this help"),
};

static const struct option_set weir_options = {
	.program = "weir", .rows = rows, .n = sizeof(rows) / sizeof(*rows)};

static void print_usage(FILE *out)
{
	fputs("Usage: weir -c CONFIG [--state DIRECTORY] [--shadow] |\n"
	      "       --check [--state DIRECTORY] [--quiet] [--strict] [--json] CONFIG... |\n"
	      "       --describe CONFIG | --doctor [--json] CONFIG |\n",
		out);
	fputs("       --new-ledger [IDENTITY] CONFIG | --accept-ledger CONFIG |\n"
	      "       --new-key [FILE] | --new-identity FILE |\n"
	      "       --public-key FILE | --events | --messages | --keys | --numbers |\n"
	      "       --version | --help\n"
	      "\n"
	      "A rate limiter that enforces one limit together with its peers.\n"
	      "\n",
		out);
	option_print_rows(&weir_options, 0, HELP_COLUMN, HELP_WIDTH, out);
	fputs("\n"
	      "Exit status: 0 done; 1 refused or failed, with the reason on standard error;\n"
	      "2 wrong usage. With --doctor: 1 if something will fail. With -c: 78 if Weir\n"
	      "rejects the configuration, and a restart does not help. 75 if a restart can\n"
	      "help: a key, a password or a group is not usable yet, or a removed interface\n"
	      "is back.\n",
		out);
}

static int parse_weir_options(int argc, char **argv, struct options *options)
{
	int at = option_read(&weir_options, argc, argv, options, NULL);
	enum command command = options->command.is;
	bool asked;

	if (at < 0)
		return -EINVAL;
	options->config = options->command.value;
	if (command == COMMAND_LEDGER && at + 1 == argc) {
		options->identity = options->config;
		options->config = argv[at++];
	}
	if (command == COMMAND_KEY && at < argc)
		options->config = argv[at++];
	if (command == COMMAND_DOCTOR && at + 1 == argc)
		options->config = argv[at++];
	else if (command == COMMAND_DOCTOR)
		return -EINVAL;
	if ((options->state && command != COMMAND_RUN && command != COMMAND_CHECK) ||
		(options->shadow && command != COMMAND_RUN))
		return -EINVAL;
	options->check.state = options->state;
	if (command == COMMAND_CHECK) {
		options->files = argv + at;
		return at < argc ? 0 : -EINVAL;
	}
	asked = options->check.quiet || options->check.strict ||
		(options->check.json && command != COMMAND_DOCTOR);
	return command == COMMAND_NONE || at != argc || asked ? -EINVAL : 0;
}

/* Checks each file, also after an error in another one. Returns the first error. */
static int check_all(const struct options *options)
{
	int ret = 0;

	for (char **file = options->files; *file; file++) {
		int other = check_config_file(*file, &options->check);

		ret = ret ? ret : other;
	}
	return ret;
}

static void log_startup(const struct config *config, const struct kept *kept, struct notify *notify)
{
	char text[512], runs[256] = "the file; nothing is kept";

	if (kept)
		kept_words(kept, runs, sizeof(runs));
	snprintf(text, sizeof(text),
		"running: limiter %s of %u, %u worker(s), %u policies; runs %s", config->limiter,
		config->gossip.n_roster, config->n_workers, config->n_policies, runs);
	notify_ready(notify, text);
	if (kept && kept->refused)
		event(LAST_GOOD, event_word("what", runs));
	else
		event(RUNS, event_word("what", runs));
	event(STARTED, event_word("version", WEIR_VERSION), event_word("limiter", config->limiter),
		event_count("limiters", config->gossip.n_roster),
		event_count("workers", config->n_workers),
		event_count("policies", config->n_policies),
		event_word("gossip", config->gossip.n_roster < 2  ? "alone"
				     : config->gossip.n_key_files ? "gossip sealed"
								  : "gossip INSECURE"),
		event_word("socket", config->control_socket));
	if (config->shadow)
		event(SHADOW);
}

/* Until a signal ends it. */
static int run_instance(struct instance *inst, int signal_fd, struct notify *notify)
{
	int number;

	log_startup(inst->config, inst->kept, notify);
	number = instance_run(inst, signal_fd);
	notify_stopping(notify, "stopping");
	event(STOPPING, event_word("signal", strsignal(number)));
	instance_stop(inst);
	if (inst->abandoned || inst->leaked > 0)
		return -EBUSY;
	event(STOPPED);
	return inst->restart ? -ERESTART : 0;
}

/* Packets flow from now on, where links are up. */
static void say_start_took(const struct instance *inst, uint64_t began_ns, uint64_t eal_ns)
{
	uint64_t all_ns = control_now() - began_ns;

	event(START_TOOK, event_real("seconds", (double)all_ns / SECOND_NS),
		event_real("eal", (double)eal_ns / SECOND_NS),
		event_real("ports", (double)inst->ports_took_ns / SECOND_NS),
		event_real("rest", (double)(all_ns - eal_ns - inst->ports_took_ns) / SECOND_NS));
}

/* Result of a start and of the run after it. */
struct start_outcome {
	bool started, left_behind;
	const char *failed_step;
};

static int run_started(struct config *config, const char *file, struct kept *kept, int signal_fd,
	struct notify *notify, struct start_outcome *outcome)
{
	static struct instance inst;
	const uint64_t huge_free = doctor_free_huge(""), began_ns = control_now();
	struct start_watch watch;
	int ret = start_watch_begin(&watch);
	uint64_t eal_ns;

	if (ret)
		fprintf(stderr, "weir: no thread for signals during the start: %s\n",
			strerror(-ret));
	ret = eal_start(config);
	eal_ns = control_now() - began_ns;
	if (ret == -EACCES || ret == -ENOMEM)
		doctor_explain_memory(config, huge_free, false, "", stderr);
	if (ret) {
		outcome->failed_step = "EAL";
		start_watch_end(&watch);
		return ret;
	}
	ret = instance_start(&inst, config, file, kept, notify);
	outcome->failed_step = inst.failed_step;
	outcome->started = ret == 0;
	start_watch_end(&watch);
	if (outcome->started) {
		say_start_took(&inst, began_ns, eal_ns);
		ret = run_instance(&inst, signal_fd, notify);
	}
	outcome->left_behind = inst.left_behind || inst.abandoned;
	if (!inst.abandoned) /* a worker could still use memory that EAL frees */
		eal_stop();
	if (!outcome->started && ret == -ENOMEM)
		doctor_explain_memory(config, huge_free, true, "", stderr);
	return ret;
}

/* Creates the thread of the log before EAL binds this thread to the CPU of control. */
static int run_limiter(struct config *config, const char *file, struct kept *kept,
	const char *warnings, struct start_outcome *outcome)
{
	struct notify *notify = NULL;
	int signal_fd, ret;
	sigset_t set;

	/* Blocked before EAL creates its threads: all inherit it, and only control gets signals. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signal_fd < 0) {
		fprintf(stderr, "weir: signalfd: %s\n", strerror(errno));
		return -errno;
	}
	ret = notify_open(&notify);
	if (ret)
		fprintf(stderr, "weir: NOTIFY_SOCKET: %s; the service manager gets no status\n",
			strerror(-ret));
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	ret = events_open(STDERR_FILENO, &config->log);
	if (ret) {
		fprintf(stderr, "weir: the log's thread: %s\n", strerror(-ret));
	} else {
		fputs(warnings, stderr);
		ret = run_started(config, file, kept, signal_fd, notify, outcome);
		events_close(LOG_PATIENCE_S);
		if (outcome->left_behind)
			_exit(ret ? EXIT_FAILURE : EXIT_SUCCESS); /* a thread can still run */
	}
	notify_close(notify);
	close(signal_fd);
	return ret;
}

/* Copies the text of the last error of a failed start; "" if it has none. */
static void find_cause(const char *step, char cause[EVENT_TEXT])
{
	bool of_driver = strcmp(step, "EAL") == 0; /* other steps have events of their own */
	bool more = true;
	json_t *row;

	cause[0] = '\0';
	for (uint64_t number = 1; more && (row = events_from(&number)); number++) {
		const char *event = json_string_value(json_object_get(row, "event"));
		const char *level = json_string_value(json_object_get(row, "level"));
		const char *text = json_string_value(json_object_get(row, "text"));

		more = strcmp(event, "not_started") !=
		       0; /* the summary, which follows the errors */
		if (more && strcmp(level, "error") == 0 &&
			(of_driver || strcmp(event, "driver") != 0))
			snprintf(cause, EVENT_TEXT, "%s", text);
		json_decref(row);
	}
}

/*
 * Starts again with the last good configuration, by exec, because EAL starts once in a process.
 * Returns only on an error.
 */
static void start_last_good(
	char **argv, char **environment, const struct start_outcome *outcome, int error)
{
	char failed[EVENT_TEXT + 256], cause[EVENT_TEXT];
	size_t n = 0;

	while (environment[n])
		n++;
	find_cause(outcome->failed_step, cause);
	snprintf(failed, sizeof(failed), START_FAILED "=its start failed: %s: %s%s%s",
		outcome->failed_step, strerror(-error), cause[0] ? ": " : "", cause);
	environment[n] = failed;
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	execve("/proc/self/exe", argv, environment);
	fprintf(stderr, "weir: the last good configuration cannot be started: %s\n",
		strerror(errno));
}

static int run_config(const struct options *options, struct config *config, struct kept *kept,
	const char *warnings)
{
	struct start_outcome outcome = {0};
	char **environment;
	size_t n = 0;
	bool again;
	int ret;

	/* Copied before notify_open() takes its part, with room for one more string. */
	while (environ[n])
		n++;
	environment = calloc(n + 2, sizeof(*environment));
	if (environment)
		memcpy(environment, environ, n * sizeof(*environment));
	ret = run_limiter(config, options->config, kept, warnings, &outcome);
	again = ret && ret != -ECANCELED && !outcome.started && outcome.failed_step &&
		environment && kept_can_go_back(kept);
	config_free(config);
	kept_close(kept);
	if (again)
		start_last_good(options->argv, environment, &outcome, ret);
	free(environment);
	if (ret == -ERESTART)
		return EXIT_MACHINE;
	return ret && ret != -ECANCELED ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Messages go to standard error until the log is open. */
static int run_file(const struct options *options)
{
	struct kept *kept = NULL;
	struct config *config = NULL;
	char *warnings = NULL;
	size_t size;
	FILE *messages = open_memstream(&warnings, &size);
	int ret = messages ? kept_open(options->state, messages, &kept) : -ENOMEM;

	if (ret == 0 && kept)
		kept->start_failed = getenv(START_FAILED);
	unsetenv(START_FAILED);
	if (ret == 0)
		ret = kept_choose(kept, options->config, messages, &config);
	if (ret == 0 && options->shadow)
		config_force_shadow(config);
	if (messages)
		fclose(messages);
	if (ret) {
		fputs(warnings ? warnings : "weir: out of memory\n", stderr);
		ret = ret == -ENOMEM ? EXIT_FAILURE : ret == -ENOKEY ? EXIT_MACHINE : EXIT_REFUSED;
		kept_close(kept);
	} else {
		ret = run_config(options, config, kept, warnings);
	}
	free(warnings);
	return ret;
}

/* Returns 0, a logged error, or 1 if the doctor has found a failure. */
static int with_config(const struct options *options)
{
	bool json = options->check.json;
	struct diagnostics diagnostics;
	struct config_load load = {
		.path = options->config, .diagnostics = &diagnostics, .also = check_config_files};
	struct config *config;
	int ret;

	diagnostics_init(
		&diagnostics, json ? stdout : stderr, json ? DIAGNOSTICS_JSON : DIAGNOSTICS_TEXT);
	ret = config_load_with(&load, &config);
	if (ret)
		return ret;
	if (options->command.is == COMMAND_DOCTOR)
		ret = doctor_run(config, options->config, options->check.json, stdout) > 0;
	else if (options->command.is == COMMAND_ACCEPT)
		ret = accept_ledger(config);
	else
		ret = new_ledger(config, options->identity);
	config_free(config);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = {.argv = argv};
	int ret = 0;

	if (parse_weir_options(argc, argv, &options)) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (sodium_init() < 0) {
		fputs("weir: libsodium cannot start: no source of randomness\n", stderr);
		return EXIT_FAILURE;
	}
	switch (options.command.is) {
	case COMMAND_RUN:
		return run_file(&options);
	case COMMAND_DOCTOR:
	case COMMAND_LEDGER:
	case COMMAND_ACCEPT:
		ret = with_config(&options);
		break;
	case COMMAND_CHECK:
		ret = check_all(&options);
		break;
	case COMMAND_DESCRIBE:
		ret = describe_config_file(options.config);
		break;
	case COMMAND_KEY:
		ret = group_keys_new(options.config);
		break;
	case COMMAND_IDENTITY:
		ret = group_keys_new_identity(options.config);
		break;
	case COMMAND_PUBLIC:
		ret = group_keys_show_identity(options.config);
		break;
	case COMMAND_EVENTS:
		events_describe(stdout);
		break;
	case COMMAND_MESSAGES:
		config_print_messages(stdout);
		break;
	case COMMAND_KEYS:
		ret = config_print_keys(stdout);
		break;
	case COMMAND_NUMBERS:
		ret = numbers_print(stdout);
		break;
	case COMMAND_VERSION:
		printf("weir %s (%s)\n", WEIR_VERSION, rte_version());
		break;
	default:
		print_usage(stdout);
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "weir: standard output: %s\n", strerror(errno));
		ret = -EIO;
	}
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
