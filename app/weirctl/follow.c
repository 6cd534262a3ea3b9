/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "follow.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/signalfd.h>

#define NS_PER_S 1e9

/* Shortest pause, so that a limiter slower than the interval does not keep a CPU busy. */
#define PAUSE_LEAST_S 0.02

/* State of a limiter. */
struct followed {
	json_t *document;  /* new document; NULL: already taken, or none */
	time_t gone_since; /* 0: it answers */
	char *why;         /* why it is gone */
};

struct one {
	struct follow *follow;
	struct box *box;
	struct followed known;
};

struct follow {
	const struct options *options;
	follow_fn ask;
	struct one *each;
	pthread_mutex_t lock; /* protects the state of all */
	int news, signals;
};

double follow_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / NS_PER_S;
}

static void pause_s(double seconds)
{
	const struct timespec ts = {.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * NS_PER_S)};

	nanosleep(&ts, NULL);
}

/* Takes over the document and the text. */
static void publish_answer(struct one *one, json_t *document, char *why)
{
	struct follow *follow = one->follow;
	struct followed *known = &one->known;

	pthread_mutex_lock(&follow->lock);
	json_decref(known->document);
	free(known->why);
	known->document = document;
	known->why = why;
	if (document)
		known->gone_since = 0;
	else if (!known->gone_since)
		known->gone_since = time(NULL);
	pthread_mutex_unlock(&follow->lock);
	eventfd_write(follow->news, 1);
}

/* Returns false after an invalid request, which leaves the connection open. */
static bool hangs_up(int error)
{
	return error != ENOENT && error != EINVAL;
}

static void *follow_box(void *context)
{
	struct one *one = context;
	const struct options *options = one->follow->options;
	struct box *box = one->box;

	for (;;) {
		double began = follow_now(), left;
		json_t *document = NULL;
		char *why = NULL;
		int ret = box_open(box);

		if (ret == 0) {
			ret = one->follow->ask(box, &options->request, &document);
			box->error = -ret;
		}
		if (ret) {
			json_decref(document);
			document = NULL;
			why = box_explain(box, options->command, &options->request);
		}
		if (ret && hangs_up(box->error))
			box_close(box);
		publish_answer(one, document, why);
		left = began + options->request.interval_s - follow_now();
		pause_s(left > PAUSE_LEAST_S ? left : PAUSE_LEAST_S);
	}
	return NULL;
}

static int take_signals(void)
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

struct follow *follow_start(struct boxes *boxes, const struct options *options, follow_fn ask)
{
	struct follow *follow = calloc(1, sizeof(*follow));
	pthread_t thread;

	if (!follow)
		return NULL;
	json_object_seed(0); /* not thread-safe at its first use */
	*follow = (struct follow){.options = options, .ask = ask};
	pthread_mutex_init(&follow->lock, NULL);
	follow->each = calloc(boxes->n, sizeof(*follow->each));
	follow->news = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	follow->signals = take_signals();
	for (unsigned i = 0; follow->each && i < boxes->n; i++) {
		follow->each[i] = (struct one){.follow = follow, .box = &boxes->each[i]};
		if (pthread_create(&thread, NULL, follow_box, &follow->each[i]))
			return NULL; /* the process ends, and all threads with it */
		pthread_detach(thread);
	}
	return follow->each && follow->news >= 0 && follow->signals >= 0 ? follow : NULL;
}

static unsigned event_of(uint32_t number)
{
	return number == SIGWINCH ? FOLLOW_SIZE : number == SIGTSTP ? FOLLOW_PAUSE : FOLLOW_END;
}

unsigned follow_wait(struct follow *follow, int ms, bool keys)
{
	struct pollfd files[] = {{.fd = follow->news, .events = POLLIN},
		{.fd = follow->signals, .events = POLLIN},
		{.fd = keys ? STDIN_FILENO : -1, .events = POLLIN}};
	struct signalfd_siginfo info;
	unsigned events = 0;
	eventfd_t n;

	poll(files, sizeof(files) / sizeof(*files), ms);
	if (eventfd_read(follow->news, &n) == 0)
		events |= FOLLOW_NEWS;
	while (read(follow->signals, &info, sizeof(info)) == sizeof(info))
		events |= event_of(info.ssi_signo);
	if (files[2].revents)
		events |= FOLLOW_KEY;
	return events;
}

/*
 * Moves the document and copies the text to the caller: only one thread may count its references.
 */
static struct followed take_known(struct follow *follow, unsigned box)
{
	struct followed *known = &follow->each[box].known, copy;

	pthread_mutex_lock(&follow->lock);
	copy = *known;
	copy.why = known->why ? strdup(known->why) : NULL;
	known->document = NULL;
	pthread_mutex_unlock(&follow->lock);
	return copy;
}

/* "gone since 2026-11-22T12:00:03Z: SOCKET: no answer: …", for free(). */
static char *gone_text(const struct followed *known)
{
	char when[sizeof("2026-01-01T00:00:00Z") + 8], *text = NULL;
	struct tm tm;

	gmtime_r(&known->gone_since, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (asprintf(&text, "gone since %s: %s", when, known->why ? known->why : "?") < 0)
		return NULL;
	return text;
}

struct boxes follow_shown(const struct boxes *boxes)
{
	struct boxes shown = {.each = calloc(boxes->n, sizeof(*shown.each)), .n = boxes->n};

	for (unsigned i = 0; shown.each && i < boxes->n; i++)
		shown.each[i].name = boxes->each[i].name;
	return shown;
}

void follow_free(struct boxes *shown)
{
	for (unsigned i = 0; shown->each && i < shown->n; i++) {
		json_decref(shown->each[i].document);
		free(shown->each[i].why);
	}
	free(shown->each);
}

bool follow_take(struct follow *follow, struct boxes *shown, bool *news)
{
	bool all = true;

	*news = false;
	for (unsigned i = 0; i < shown->n; i++) {
		struct followed known = take_known(follow, i);
		struct box *box = &shown->each[i];

		if (known.document || known.gone_since) {
			json_decref(box->document);
			box->document = known.document;
			box->fresh = known.document != NULL;
			free(box->why);
			box->why = known.gone_since ? gone_text(&known) : NULL;
		}
		box->gone_since = known.gone_since;
		free(known.why);
		*news |= box->fresh || box->gone_since != box->gone_shown;
		all = all && (box->fresh || box->gone_since);
	}
	return all;
}

void follow_done(struct boxes *shown)
{
	for (unsigned i = 0; i < shown->n; i++) {
		shown->each[i].fresh = false;
		shown->each[i].gone_shown = shown->each[i].gone_since;
	}
}

bool follow_in_vain(const struct boxes *shown)
{
	for (unsigned i = 0; i < shown->n; i++)
		if (!shown->each[i].gone_since)
			return false;
	for (unsigned i = 0; i < shown->n; i++) {
		const char *why = shown->each[i].why ? strstr(shown->each[i].why, "Z: ") : NULL;

		fprintf(stderr, "weirctl: %s\n", why ? why + 3 : strerror(ENOMEM));
	}
	return true;
}
