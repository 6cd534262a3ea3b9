/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "import flowspec". A speaker's lines come on standard input; what is announced is
 * kept in memory, and each limiter is made to have just that below the prefix: soon after it has
 * changed, and every few seconds, whatever has become of the limiter meanwhile. Standard output is
 * not written to: what is there, exabgp takes for commands.
 */
#include "import/flowspec.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "ctl_options.h"
#include "import.h"
#include "keep_boxes.h"

#define GATHER_MS 50   /* updates that come together are one change */
#define GRACE_MS  2000 /* GoBGP has told all by then, and what was there before goes */

#define READ_STEP 65536
#define LINE_MOST (64U << 20)

struct follower {
	struct flowspec flowspec;
	struct boxes boxes;
	struct keeper *keeper;
	char *text; /* of standard input, without the end of its last line */
	size_t len, room;
	bool ended;
	bool skips;         /* the rest of a line that is too long */
	bool changed;       /* since limiters were told, */
	long long tell_ms;  /* which they are then */
	long long grace_ms; /* until then nothing that others have left goes */
};

static volatile sig_atomic_t flowspec_ends;

static void end_flowspec(int number)
{
	(void)number;
	flowspec_ends = 1;
}

/* --- the speaker ------------------------------------------------------------------------------ */

static void tell_soon(struct follower *f)
{
	if (!f->changed)
		f->tell_ms = keeper_clock_ms() + GATHER_MS;
	f->changed = true;
}

static void take_line(struct follower *f, const char *line, size_t len)
{
	bool was_complete = f->flowspec.complete;

	if (len > 0 && flowspec_line(&f->flowspec, line, len, stderr) == 1)
		tell_soon(f);
	if (f->flowspec.told_more) /* also where nothing of what is withdrawn was known */
		tell_soon(f);
	f->flowspec.told_more = false;
	if (f->flowspec.complete && !was_complete) {
		f->grace_ms = keeper_clock_ms() + GRACE_MS;
		tell_soon(f);
	}
}

static void take_lines(struct follower *f)
{
	char *at = f->text, *end;

	while ((end = memchr(at, '\n', f->len - (size_t)(at - f->text)))) {
		if (!f->skips)
			take_line(f, at, (size_t)(end - at));
		f->skips = false;
		at = end + 1;
	}
	f->len -= (size_t)(at - f->text);
	memmove(f->text, at, f->len);
	if (f->len < LINE_MOST)
		return;
	fputs("weirctl: a line of more than 64 MiB is passed over\n", stderr);
	f->skips = true;
	f->len = 0;
}

static void read_speaker(struct follower *f)
{
	ssize_t n;

	if (f->room - f->len < READ_STEP) {
		char *grown = realloc(f->text, f->len + 2 * READ_STEP);

		if (!grown) {
			fputs("weirctl: out of memory\n", stderr);
			f->ended = true;
			return;
		}
		f->text = grown;
		f->room = f->len + 2 * READ_STEP;
	}
	n = read(STDIN_FILENO, f->text + f->len, f->room - f->len);
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		f->ended = true;
	if (n <= 0)
		return;
	f->len += (size_t)n;
	take_lines(f);
}

/* What is announced, and who has told what; json_decref() of its policies is due. */
static struct keep_wanted wanted_of(struct follower *f)
{
	return (struct keep_wanted){.policies = flowspec_policies(&f->flowspec),
		.told = f->flowspec.told,
		.grace_ms = f->grace_ms};
}

static void tell_limiters(struct follower *f)
{
	struct keep_wanted wanted;

	if (f->flowspec.told && keeper_clock_ms() >= f->grace_ms) {
		json_decref(f->flowspec.told);
		f->flowspec.told = NULL;
	}
	wanted = wanted_of(f);
	if (wanted.policies)
		keeper_want(f->keeper, &wanted);
	f->changed = wanted.policies == NULL;
	f->tell_ms = keeper_clock_ms() + GATHER_MS;
	json_decref(wanted.policies);
}

/* A signal is let in while it waits, and at no other time. */
static void follow_speaker(struct follower *f, const sigset_t *waiting)
{
	while (!f->ended && !flowspec_ends) {
		struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
		long long left = f->changed ? f->tell_ms - keeper_clock_ms() : 0;
		const struct timespec until = {.tv_sec = left > 0 ? left / 1000 : 0,
			.tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};

		if (ppoll(&input, 1, f->changed ? &until : NULL, waiting) > 0)
			read_speaker(f);
		if (f->changed && keeper_clock_ms() >= f->tell_ms)
			tell_limiters(f);
	}
}

/* The session is over, and so is what was announced in it; or it stays, as it was at the end. */
static bool end_rules(struct follower *f, bool keep)
{
	struct keep_wanted last = keep ? wanted_of(f)
				       : (struct keep_wanted){.policies = json_array()};
	bool all = keeper_end(f->keeper, &last);

	f->keeper = NULL;
	json_decref(last.policies);
	return all;
}

static bool begin_following(struct follower *f, const struct options *options)
{
	const char *prefix = options->request.prefix;

	if (flowspec_init(&f->flowspec, prefix ? prefix : FLOWSPEC_PREFIX) < 0 ||
		!boxes_find(options, &f->boxes))
		return false;
	f->flowspec.keep = options->request.keep;
	f->flowspec.family = options->request.family;
	f->grace_ms = LLONG_MAX;
	tell_soon(f);
	f->keeper = keeper_start(&f->boxes, f->flowspec.prefix);
	return f->keeper != NULL;
}

static void free_follower(struct follower *f)
{
	free(f->text);
	boxes_free(&f->boxes);
	flowspec_free(&f->flowspec);
}

int flowspec_follow(const struct options *options)
{
	const struct sigaction ends = {.sa_handler = end_flowspec};
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	struct follower f = {0};
	sigset_t blocked, waiting;
	bool good;

	sigemptyset(&blocked);
	for (unsigned i = 0; i < 3; i++) {
		sigaddset(&blocked, signals[i]);
		sigaction(signals[i], &ends, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, &waiting); /* before there are threads, which keep it so */
	for (unsigned i = 0; i < 3; i++)
		sigdelset(&waiting, signals[i]);
	good = begin_following(&f, options);
	if (good) {
		follow_speaker(&f, &waiting);
		good = end_rules(&f, options->request.keep);
	}
	free_follower(&f);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
