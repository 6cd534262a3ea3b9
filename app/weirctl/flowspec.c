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

#include "ask/member.h"
#include "command.h"
#include "ctl_options.h"
#include "import.h"
#include "import/edits.h"
#include "ask_boxes.h"
#include "running.h"
#include "sockets.h"

#define GATHER_MS  50    /* updates that come together are one change */
#define LOOK_MS    1000  /* between two looks whether limiters have what they should */
#define RETRY_MS   1000  /* after one that failed */
#define AGAIN_MS   60000 /* what a limiter refuses is tried again after so long */
#define GRACE_MS   2000  /* between all that one peer has, and what was there before going */
#define LAST_TRIES 5     /* at the end */

#define READ_STEP 65536
#define LINE_MOST (64U << 20)

/* A limiter, and what of it is known. */
struct kept_box {
	struct box *box;
	long long due_ms;   /* when it is looked at next */
	json_t *refused;    /* by name, policies that it does not take */
	long long again_ms; /* when they are tried again */
	json_int_t settled; /* the configuration's number that has all that it should, or 0 */
	int trouble;        /* why it was not to be had the last time, a positive errno; or 0 */
};

struct follower {
	struct flowspec flowspec;
	struct boxes boxes;
	struct kept_box *each;
	char *text; /* of standard input, without the end of its last line */
	size_t len, room;
	bool ended;
	bool skips;         /* the rest of a line that is too long */
	long long grace_ms; /* until then nothing that others have left goes */
};

static volatile sig_atomic_t flowspec_ends;

static void end_flowspec(int number)
{
	(void)number;
	flowspec_ends = 1;
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- a limiter -------------------------------------------------------------------------------- */

static const char *name_of(const json_t *object)
{
	return json_string_value(json_object_get(object, "name"));
}

static void say_trouble(struct kept_box *kept, int error)
{
	if (error && error != kept->trouble) {
		fprintf(stderr, "weirctl: ");
		if (error == ENOENT)
			fprintf(stderr,
				"%s: nothing is kept there: weir was started without "
				"--state",
				kept->box->path);
		else
			sockets_explain(kept->box->path, error, stderr);
		fputs("; it is tried again\n", stderr);
	} else if (!error && kept->trouble) {
		fprintf(stderr, "weirctl: %s: it is there again\n", kept->box->path);
	}
	kept->trouble = error;
}

/* Without those that this limiter has refused, as long as they are the same. */
static json_t *wanted_here(const struct kept_box *kept, const json_t *policies)
{
	json_t *wanted = json_array(), *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		if (!json_equal(json_object_get(kept->refused, name_of(policy)), policy))
			json_array_append(wanted, policy);
	}
	return wanted;
}

/* Leaves alone what is there from before, of which no peer has said anything. */
static void drop_removals(json_t *edits, const json_t *told)
{
	for (size_t i = json_array_size(edits); i-- > 0;) {
		const json_t *edit = json_array_get(edits, i);
		const char *verb = json_string_value(json_object_get(edit, "do"));

		if (verb && strcmp(verb, "remove") == 0 && !json_object_get(told, name_of(edit)))
			json_array_remove(edits, i);
	}
}

/* The words of a refusal that name the policy; NULL: it was not for that. */
static const char *words_about(const json_t *document, const char *name)
{
	const json_t *message;
	size_t i;

	json_array_foreach (member_at(document, "last.messages"), i, message) {
		const char *text = json_string_value(message);

		if (text && strstr(text, name))
			return text;
	}
	return NULL;
}

/* One edit is at fault; false: the limiter is. */
static bool note_refusal(
	struct kept_box *kept, const json_t *edit, const json_t *policies, const json_t *document)
{
	const char *name = name_of(edit), *words = words_about(document, name);
	json_t *policy;
	size_t i;

	if (!words)
		return false;
	fprintf(stderr, "weirctl: %s refuses %s: %s\n", kept->box->path, name, words);
	json_array_foreach (policies, i, policy) {
		if (strcmp(name_of(policy), name) == 0)
			json_object_set(kept->refused, name, policy);
	}
	if (json_object_size(kept->refused) == 1)
		kept->again_ms = now_ms() + AGAIN_MS;
	return true;
}

static json_t *copy_part(const json_t *array, size_t from, size_t to)
{
	json_t *part = json_array();

	for (size_t i = from; i < to; i++)
		json_array_append(part, json_array_get(array, i));
	return part;
}

/*
 * Sends all at once. Where that is refused, halves are tried, and halves of these: so that one rule
 * that a limiter does not take keeps no other away. 0 or a negative errno.
 */
static int send_edits(struct kept_box *kept, const json_t *edits, const json_t *policies)
{
	size_t n = json_array_size(edits);
	json_t *document = NULL;
	int ret = n > 0 ? make_edit(&kept->box->client.source, edits, &document) : 0;

	if (ret || n == 0)
		return ret;
	if (!change_refused(document, NULL)) {
		json_decref(document);
		return 0;
	}
	if (!member_at(document, "last")) { /* nothing was judged */
		change_refused(document, stderr);
		ret = -EAGAIN;
	} else if (n == 1) {
		if (!note_refusal(kept, json_array_get(edits, 0), policies, document)) {
			change_refused(document, stderr);
			ret = -EAGAIN;
		}
	}
	json_decref(document);
	for (unsigned half = 0; half < 2 && n > 1 && ret == 0; half++) {
		json_t *part = copy_part(edits, half ? n / 2 : 0, half ? n : n / 2);

		ret = send_edits(kept, part, policies);
		json_decref(part);
	}
	return ret;
}

/* The number of the configuration that runs; 0: it is not known. */
static json_int_t running_number(struct kept_box *kept)
{
	json_t *change = NULL;
	json_int_t number = 0;

	if (source_get(&kept->box->client.source, "/weir/change", &change) == 0)
		number = json_integer_value(member_at(change, "runs.number"));
	json_decref(change);
	return number;
}

/* Whether there was nothing to be done, in *same. */
static int sync_policies(struct kept_box *kept, const json_t *policies, const char *prefix,
	const json_t *told, bool *same)
{
	json_t *running = NULL, *wanted = NULL, *edits = NULL;
	struct import_counts counts;
	int ret = ask_running(&kept->box->client.source, &running);

	if (ret)
		return ret;
	wanted = wanted_here(kept, policies);
	edits = import_edits(json_object_get(running, "policies"), wanted, prefix, &counts);
	*same = edits && json_array_size(edits) == 0;
	if (edits && told)
		drop_removals(edits, told);
	ret = edits ? send_edits(kept, edits, policies) : -ENOMEM;
	json_decref(edits);
	json_decref(wanted);
	json_decref(running);
	return ret;
}

/* Reads all that runs only if something has changed here, or there. */
static int sync_open(
	struct kept_box *kept, const json_t *policies, const char *prefix, const json_t *told)
{
	json_int_t number = running_number(kept);
	bool same = false;
	int ret;

	if (json_object_size(kept->refused) > 0 && now_ms() >= kept->again_ms) {
		json_object_clear(kept->refused);
		kept->settled = 0;
	}
	if (number > 0 && number == kept->settled)
		return 0;
	ret = sync_policies(kept, policies, prefix, told, &same);
	kept->settled = ret == 0 && same ? number : 0;
	return ret;
}

/*
 * Makes the limiter have these policies. `told`, unless NULL: what else it has stays, but for those
 * that were told of. Whether it does.
 */
static bool sync_box(
	struct kept_box *kept, const json_t *policies, const char *prefix, const json_t *told)
{
	int ret = box_open(kept->box);

	if (ret == 0)
		ret = sync_open(kept, policies, prefix, told);
	if (ret && ret != -EAGAIN && ret != -ESTALE) {
		say_trouble(kept, ret == -ENXIO || kept->box->error ? kept->box->error : -ret);
		box_close(kept->box);
	} else {
		say_trouble(kept, 0);
	}
	kept->due_ms = now_ms() + (ret == 0 || ret == -EAGAIN ? LOOK_MS
					  : ret == -ESTALE    ? GATHER_MS
							      : RETRY_MS);
	return ret == 0;
}

/* Those that it is time for. */
static void sync_boxes(struct follower *f)
{
	json_t *policies = flowspec_policies(&f->flowspec);

	if (f->flowspec.told && now_ms() >= f->grace_ms) {
		json_decref(f->flowspec.told);
		f->flowspec.told = NULL;
	}
	for (unsigned i = 0; policies && i < f->boxes.n; i++)
		if (f->each[i].due_ms <= now_ms())
			sync_box(&f->each[i], policies, f->flowspec.prefix, f->flowspec.told);
	json_decref(policies);
}

/* --- the speaker ------------------------------------------------------------------------------ */

static void hasten_looks(struct follower *f)
{
	long long at = now_ms() + GATHER_MS;

	for (unsigned i = 0; i < f->boxes.n; i++) {
		f->each[i].settled = 0;
		if (f->each[i].due_ms > at)
			f->each[i].due_ms = at;
	}
}

static void take_line(struct follower *f, const char *line, size_t len)
{
	bool was_complete = f->flowspec.complete;

	if (len > 0 && flowspec_line(&f->flowspec, line, len, stderr) == 1)
		hasten_looks(f);
	if (f->flowspec.complete && !was_complete)
		f->grace_ms = now_ms() + GRACE_MS;
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

static struct timespec time_left(const struct follower *f)
{
	long long due = f->each[0].due_ms, left;

	for (unsigned i = 1; i < f->boxes.n; i++)
		if (f->each[i].due_ms < due)
			due = f->each[i].due_ms;
	left = due - now_ms();
	if (left < 0)
		left = 0;
	return (struct timespec){.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
}

/* A signal is let in while it waits, and at no other time. */
static void follow_speaker(struct follower *f, const sigset_t *waiting)
{
	while (!f->ended && !flowspec_ends) {
		struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
		const struct timespec left = time_left(f);

		if (ppoll(&input, 1, &left, waiting) > 0)
			read_speaker(f);
		sync_boxes(f);
	}
}

/* The session is over, and so is what was announced in it; or it stays, as it was at the end. */
static bool end_rules(struct follower *f, bool keep)
{
	json_t *policies = keep ? flowspec_policies(&f->flowspec) : json_array();
	bool all = policies != NULL;

	for (unsigned i = 0; policies && i < f->boxes.n; i++) {
		bool done = false;

		for (unsigned k = 0; !done && k < LAST_TRIES; k++) {
			if (k)
				poll(NULL, 0, RETRY_MS);
			f->each[i].settled = 0;
			done = sync_box(&f->each[i], policies, f->flowspec.prefix,
				keep ? f->flowspec.told : NULL);
		}
		if (!done)
			fprintf(stderr, "weirctl: %s: its rules are left behind\n",
				f->each[i].box->path);
		all = all && done;
	}
	json_decref(policies);
	return all;
}

static bool begin_following(struct follower *f, const struct options *options)
{
	const char *prefix = options->request.prefix;

	if (flowspec_init(&f->flowspec, prefix ? prefix : FLOWSPEC_PREFIX) < 0 ||
		!boxes_find(options, &f->boxes))
		return false;
	f->each = calloc(f->boxes.n, sizeof(*f->each));
	for (unsigned i = 0; f->each && i < f->boxes.n; i++)
		f->each[i] = (struct kept_box){.box = &f->boxes.each[i], .refused = json_object()};
	f->flowspec.keep = options->request.keep;
	f->grace_ms = LLONG_MAX;
	return f->each != NULL;
}

static void free_follower(struct follower *f)
{
	for (unsigned i = 0; f->each && i < f->boxes.n; i++)
		json_decref(f->each[i].refused);
	free(f->each);
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
	bool good = begin_following(&f, options);

	sigemptyset(&blocked);
	for (unsigned i = 0; i < 3; i++) {
		sigaddset(&blocked, signals[i]);
		sigaction(signals[i], &ends, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, &waiting);
	for (unsigned i = 0; i < 3; i++)
		sigdelset(&waiting, signals[i]);
	if (good)
		follow_speaker(&f, &waiting);
	if (good)
		good = end_rules(&f, options->request.keep);
	free_follower(&f);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
