/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Live views, and the word "watch", which repeats any command.
 */
#include "follow.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "answers.h"
#include "terminal.h"

/* Time after the interval when present answers are shown though others are missing. */
#define GRACE_S 1.0

/* Answers within this time are drawn together on a terminal. */
#define DRAW_S   0.05
#define MS_PER_S 1000

/* Moves the cursor of a terminal to the top, and clears the screen. */
#define CLEAR "\033[H\033[J"

/* Start of the text about a limiter that is gone, before its reason. */
#define GONE_FORMAT "gone since %Y-%m-%dT%H:%M:%SZ: "
#define GONE_LENGTH strlen("gone since 2026-11-22T12:00:03Z: ")

struct follow {
	const struct follow_view *view;
	struct targets targets;
	int signals;
	unsigned long times; /* number of pictures so far */
	double shown_s;      /* time of the last one */
};

static int open_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaddset(&set, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Takes the signals that have come. Returns false if one ends the program; *redraw: the others. */
static bool take_signals(const struct follow *follow, bool *redraw)
{
	struct signalfd_siginfo info;

	while (read(follow->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGTSTP && info.ssi_signo != SIGWINCH)
			return false;
		if (info.ssi_signo == SIGTSTP) {
			terminal_leave();
			raise(SIGSTOP); /* returns when the process is continued */
			if (follow->view->read_keys && follow->times)
				terminal_enter();
		}
		*redraw = true;
	}
	return true;
}

/* "gone since 2026-11-22T12:00:03Z: SOCKET: no answer: …" */
static void explain_gone(struct target *target, const void *context, FILE *out)
{
	char when[64];
	struct tm tm;

	gmtime_r(&target->result.silent_since, &tm);
	strftime(when, sizeof(when), GONE_FORMAT, &tm);
	fputs(when, out);
	answers_explain(target, context, out);
}

/* Returns true if each limiter has a new answer or is gone. *news: any of that was not shown. */
static bool all_are_new(const struct targets *targets, bool *news)
{
	bool all = true;

	*news = false;
	for (unsigned i = 0; i < targets->n; i++) {
		*news |= targets->each[i].fresh;
		all = all && (targets->each[i].fresh || targets->each[i].last.silent_since);
	}
	return all;
}

/*
 * If no limiter has answered yet and all are gone, reports why on standard error. Otherwise returns
 * false.
 */
static bool all_are_gone(const struct targets *targets)
{
	for (unsigned i = 0; i < targets->n; i++)
		if (!targets->each[i].last.silent_since)
			return false;
	for (unsigned i = 0; i < targets->n; i++) {
		const char *why = targets->each[i].last.why;

		fprintf(stderr, "weirctl: %s\n", why ? why + GONE_LENGTH : strerror(ENOMEM));
	}
	return true;
}

/* Returns true if news are shown now. Otherwise *left_s is the time until then; below 0: none. */
static bool is_due(const struct follow *follow, bool news, bool all, double *left_s)
{
	bool screen = follow->view->read_keys != NULL;
	double wait = screen ? DRAW_S : follow->targets.interval_s + GRACE_S;

	*left_s = news ? follow->shown_s + wait - steady_s() : -1;
	return news && ((all && !screen) || *left_s <= 0);
}

static int show_results(struct follow *follow, void *context)
{
	int ret;

	if (follow->times++ == 0 && follow->view->read_keys)
		terminal_enter();
	follow->shown_s = steady_s();
	ret = follow->view->show(context, &follow->targets);
	for (unsigned i = 0; i < follow->targets.n; i++)
		follow->targets.each[i].fresh = false;
	return ret;
}

static int run_loop(struct follow *follow, unsigned long count, void *context)
{
	bool (*read_keys)(void *context) = follow->view->read_keys;
	unsigned long rounds = 0;
	double left_s = -1;

	for (;;) {
		struct pollfd fds[] = {{.fd = follow->signals, .events = POLLIN},
			{.fd = read_keys && follow->times ? STDIN_FILENO : -1, .events = POLLIN}};
		bool redraw = false, news, all;

		targets_wait(
			&follow->targets, fds, 2, left_s < 0 ? -1 : (int)(left_s * MS_PER_S) + 1);
		if (!take_signals(follow, &redraw) || (fds[1].revents && !read_keys(context)))
			return EXIT_SUCCESS;
		all = all_are_new(&follow->targets, &news);
		if (!follow->times && all && all_are_gone(&follow->targets))
			return EXIT_FAILURE;
		redraw = (redraw || fds[1].revents) && read_keys && follow->times;
		if (!is_due(follow, news, all, &left_s) && !redraw)
			continue;
		left_s = -1;
		if (show_results(follow, context))
			return EXIT_FAILURE;
		if (news && ++rounds == count)
			return EXIT_SUCCESS;
	}
}

/* Running queries would delay the end, so their threads end with the process. */
int follow_run(const struct options *options, const struct follow_view *view, void *context)
{
	static struct follow follow;
	int status = EXIT_FAILURE;

	follow = (struct follow){.view = view, .shown_s = steady_s()};
	if (!answers_find(options, &follow.targets))
		return status;
	follow.targets.interval_s = options->request.interval_s;
	follow.targets.explain = explain_gone;
	if (view->query)
		follow.targets.query = view->query;
	follow.signals = open_signals();
	if (follow.signals >= 0)
		status = run_loop(&follow, options->request.count, context);
	else
		fprintf(stderr, "weirctl: signals: %s\n", strerror(errno));
	terminal_leave();
	return status;
}

/* --- watch ----------------------------------------------------------------------------------- */

struct watch {
	const struct options *options;
	bool begun;
};

static int write_watched_json(const struct targets *targets, FILE *out)
{
	const struct target_result *only = &targets->each[0].last;
	json_t *document = targets->n == 1 && !only->document
				   ? json_pack("{s:s}", "error", only->why ? only->why : "?")
				   : answers_json(targets);
	int ret = answers_write_json(document, out);

	json_decref(document);
	return ret;
}

static int write_watched(struct watch *watch, const struct targets *targets, FILE *out)
{
	unsigned width = 0, rows;
	bool terminal = terminal_size(&width, &rows);
	int ret;

	if (watch->options->json)
		return write_watched_json(targets, out);
	if (terminal)
		fputs(CLEAR, out);
	else if (watch->begun)
		fputc('\n', out);
	watch->begun = true;
	ret = answers_write_tables(targets, watch->options, out, watch->options->wide ? 0 : width);
	/* A terminal always shows the limiters that are gone, a file only when they go. */
	for (unsigned i = 0; i < targets->n; i++) {
		const struct target *target = &targets->each[i];

		if (target->last.silent_since && (terminal || target->fresh))
			fprintf(out, "%s: %s\n", target->name,
				target->last.why ? target->last.why : "gone");
	}
	return ret;
}

/* Writes all output in one step, so that nothing flickers. */
static int show_watched(void *context, const struct targets *targets)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret = out ? write_watched(context, targets, out) : -ENOMEM;

	if (out)
		fclose(out);
	if (ret == 0 && fwrite(text, 1, size, stdout) != size)
		ret = -EIO;
	free(text);
	return answers_end(0, ret) ? -EIO : 0;
}

int watch_run(const struct options *options)
{
	static const struct follow_view view = {.show = show_watched};
	struct watch watch = {.options = options};

	return follow_run(options, &view, &watch);
}
