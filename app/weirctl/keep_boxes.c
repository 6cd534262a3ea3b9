/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "keep_boxes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/member.h"
#include "command.h"
#include "import.h"
#include "import/edits.h"
#include "import/flowspec_former.h"
#include "keep_pace.h"
#include "running.h"
#include "sockets.h"

#define LOOK_MS    1000  /* between two looks whether limiters have what they should */
#define RETRY_MS   1000  /* after one that failed */
#define SOON_MS    50    /* after one in which somebody else had changed something */
#define AGAIN_MS   60000 /* what a limiter refuses is tried again after so long */
#define LAST_TRIES 5     /* at the end */

/* A limiter, and what of it is known: its thread's alone, but for what says otherwise. */
struct kept_box {
	struct keeper *keeper;
	struct box *box;
	pthread_t thread;
	bool runs;        /* the keeper's owner's: it has a thread */
	bool done;        /* it has what it should at the end; written by the thread as it ends */
	unsigned version; /* of what it is made to have, */
	struct keep_wanted own; /* which is this */
	long long due_ms;       /* when it is looked at next */
	json_t *refused;        /* by name, policies that it does not take */
	long long again_ms;     /* when they are tried again */
	json_int_t settled;     /* the configuration's number that has all that it should, or 0 */
	struct keep_pace pace;  /* of what it has no room for, */
	bool told_waiting;      /* which has been said, */
	char *why;              /* with its words of why not */
	bool told_left;         /* that it has rules of before which stay */
	int trouble;            /* why it was not to be had the last time, a positive errno; or 0 */
};

struct keeper {
	const char *prefix;
	struct boxes *boxes;
	struct kept_box *each;
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t told;
	struct keep_wanted wanted;
	unsigned version; /* of that; 0: nothing has been wanted yet */
	bool ends;
};

long long keeper_clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static const char *name_of(const json_t *object)
{
	return json_string_value(json_object_get(object, "name"));
}

/* A line is whole, whoever else writes. */
static void say_trouble(struct kept_box *kept, int error)
{
	flockfile(stderr);
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
	funlockfile(stderr);
	kept->trouble = error;
}

static void say_refusal(const json_t *document)
{
	flockfile(stderr);
	change_refused(document, stderr);
	funlockfile(stderr);
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

/* Once, for whoever wonders at a rule that nobody seems to announce. */
static void say_left(struct kept_box *kept, size_t left)
{
	if (left == 0 || kept->told_left)
		return;
	kept->told_left = true;
	fprintf(stderr,
		"weirctl: %s: rules of before: %zu; each stays until its peer withdraws it, "
		"ends, or has told all that it has (End-of-RIB)\n",
		kept->box->path, left);
}

/* Leaves alone what is of before, as long as it may be somebody's. 0 or a negative errno. */
static int keep_former(
	struct kept_box *kept, json_t *wanted, const json_t *running, const char *prefix)
{
	size_t left = 0;
	int ret = 0;

	if (kept->own.told)
		ret = flowspec_keep_former(wanted, kept->own.told,
			json_object_get(running, "policies"), prefix, &left);
	say_left(kept, left);
	return ret;
}

/*
 * It is not for what the edit is: the limiter has no room for any, or the like. -ENOSPC; -EAGAIN:
 * not even for one that takes none.
 */
static int note_no_room(struct kept_box *kept, const json_t *edit, const json_t *document)
{
	const char *words = json_string_value(
		json_array_get(member_at(document, "last.messages"), 0));

	free(kept->why);
	kept->why = strdup(words ? words : "it was refused");
	pace_refused(&kept->pace, keeper_clock_ms());
	if (pace_is_add(edit))
		return -ENOSPC;
	say_refusal(document);
	return -EAGAIN;
}

/* Once, until all are there. */
static void say_waiting(struct kept_box *kept, size_t waiting, size_t all)
{
	if (waiting && !kept->told_waiting)
		fprintf(stderr,
			"weirctl: %s: %zu of %zu rules are not in force: %s; it is tried "
			"again, in the end once a minute\n",
			kept->box->path, waiting, all, kept->why ? kept->why : "");
	else if (!waiting && kept->told_waiting)
		fprintf(stderr, "weirctl: %s: all rules are in force\n", kept->box->path);
	kept->told_waiting = waiting > 0;
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
		kept->again_ms = keeper_clock_ms() + AGAIN_MS;
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
		say_refusal(document);
		ret = -EAGAIN;
	} else if (n == 1) {
		if (!note_refusal(kept, json_array_get(edits, 0), policies, document))
			ret = note_no_room(kept, json_array_get(edits, 0), document);
	}
	json_decref(document);
	for (unsigned half = 0; half < 2 && n > 1 && ret == 0; half++) {
		json_t *part = copy_part(edits, half ? n / 2 : 0, half ? n : n / 2);

		ret = send_edits(kept, part, policies);
		json_decref(part);
	}
	return ret;
}

/* Sends what there may be room for. 0 or a negative errno. */
static int send_paced(
	struct kept_box *kept, json_t *edits, const json_t *policies, const json_t *wanted)
{
	long long now_ms = keeper_clock_ms();
	size_t waiting = pace_hold(&kept->pace, edits, now_ms);
	int ret = send_edits(kept, edits, policies);

	if (ret)
		return ret;
	pace_taken(&kept->pace, edits, waiting, now_ms);
	say_waiting(kept, waiting, json_array_size(wanted));
	return 0;
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

/* Whether there was nothing to be done now, in *same. */
static int sync_policies(
	struct kept_box *kept, const json_t *policies, const char *prefix, bool *same)
{
	json_t *running = NULL, *wanted = NULL, *edits = NULL;
	struct import_counts counts;
	int ret = ask_running(&kept->box->client.source, &running);

	if (ret)
		return ret;
	wanted = wanted_here(kept, policies);
	ret = keep_former(kept, wanted, running, prefix);
	edits = import_edits(json_object_get(running, "policies"), wanted, prefix, &counts);
	if (ret == 0)
		ret = edits ? send_paced(kept, edits, policies, wanted) : -ENOMEM;
	*same = json_array_size(edits) == 0;
	json_decref(edits);
	json_decref(wanted);
	json_decref(running);
	return ret;
}

/* Reads all that runs only if something has changed here, or there. */
static int sync_open(struct kept_box *kept, const json_t *policies, const char *prefix)
{
	json_int_t number = running_number(kept);
	bool same = false;
	int ret;

	if (json_object_size(kept->refused) > 0 && keeper_clock_ms() >= kept->again_ms) {
		json_object_clear(kept->refused);
		kept->settled = 0;
	}
	if (pace_is_due(&kept->pace, keeper_clock_ms()))
		kept->settled = 0;
	if (number > 0 && number == kept->settled)
		return 0;
	ret = sync_policies(kept, policies, prefix, &same);
	kept->settled = ret == 0 && same ? number : 0;
	return ret;
}

/* Beside what has no room others may have been left unsent. */
static long long pause_after(const struct kept_box *kept, int ret)
{
	if (ret == -ESTALE || ret == -ENOSPC)
		return SOON_MS;
	if (ret == -EAGAIN && kept->pace.pause_ms > LOOK_MS)
		return kept->pace.pause_ms;
	return ret == 0 || ret == -EAGAIN ? LOOK_MS : RETRY_MS;
}

/* Makes the limiter have these policies, and what of before it may not lose. Whether it does. */
static bool sync_box(struct kept_box *kept, const json_t *policies, const char *prefix)
{
	int ret = box_open(kept->box);

	if (ret == 0)
		ret = sync_open(kept, policies, prefix);
	if (ret && ret != -EAGAIN && ret != -ESTALE && ret != -ENOSPC) {
		say_trouble(kept, ret == -ENXIO || kept->box->error ? kept->box->error : -ret);
		box_close(kept->box);
		kept->pace = (struct keep_pace){0}; /* it may start again with more room */
	} else {
		say_trouble(kept, 0);
	}
	kept->due_ms = keeper_clock_ms() + pause_after(kept, ret);
	return ret == 0;
}

/* --- its thread ------------------------------------------------------------------------------ */

static struct timespec at_ms(long long ms)
{
	return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* Until it is time to look, what is wanted has changed, or all ends; under the lock. */
static void await_look(struct kept_box *kept)
{
	struct keeper *keeper = kept->keeper;

	while (!keeper->ends &&
		(keeper->version == 0 ||
			(keeper->version == kept->version && keeper_clock_ms() < kept->due_ms))) {
		const struct timespec due = at_ms(kept->due_ms);

		if (keeper->version == 0)
			pthread_cond_wait(&keeper->told, &keeper->lock);
		else
			pthread_cond_timedwait(&keeper->told, &keeper->lock, &due);
	}
}

static struct keep_wanted copy_wanted(const struct keep_wanted *wanted)
{
	return (struct keep_wanted){.policies = json_deep_copy(wanted->policies),
		.told = json_deep_copy(wanted->told),
		.grace_ms = wanted->grace_ms};
}

static void free_wanted(struct keep_wanted *wanted)
{
	json_decref(wanted->policies);
	json_decref(wanted->told);
	*wanted = (struct keep_wanted){0};
}

/* A copy of what is wanted: documents are counted by one thread at a time. Whether all ends. */
static bool next_wanted(struct kept_box *kept)
{
	struct keeper *keeper = kept->keeper;
	bool ends;

	pthread_mutex_lock(&keeper->lock);
	await_look(kept);
	ends = keeper->ends;
	if (kept->version != keeper->version) {
		free_wanted(&kept->own);
		kept->own = copy_wanted(&keeper->wanted);
		kept->version = keeper->version;
		kept->settled = 0;
	}
	pthread_mutex_unlock(&keeper->lock);
	if (kept->own.told && keeper_clock_ms() >= kept->own.grace_ms) {
		json_decref(kept->own.told);
		kept->own.told = NULL;
		kept->settled = 0;
	}
	return ends;
}

static bool sync_wanted(struct kept_box *kept)
{
	const json_t *policies = kept->own.policies;

	return policies && sync_box(kept, policies, kept->keeper->prefix);
}

/* What all have at the end; tried a few times. */
static void sync_last(struct kept_box *kept)
{
	const struct timespec pause = at_ms(RETRY_MS);

	for (unsigned k = 0; kept->own.policies && !kept->done && k < LAST_TRIES; k++) {
		if (k)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		kept->settled = 0;
		kept->done = sync_wanted(kept);
	}
}

static void *keep_box(void *context)
{
	struct kept_box *kept = context;

	while (!next_wanted(kept))
		sync_wanted(kept);
	sync_last(kept);
	free_wanted(&kept->own);
	return NULL;
}

/* --- all of them ----------------------------------------------------------------------------- */

static void init_lock(struct keeper *keeper)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&keeper->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&keeper->told, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static bool start_keeping(struct keeper *keeper, unsigned i)
{
	struct kept_box *kept = &keeper->each[i];

	*kept = (struct kept_box){
		.keeper = keeper, .box = &keeper->boxes->each[i], .refused = json_object()};
	kept->runs = kept->refused && pthread_create(&kept->thread, NULL, keep_box, kept) == 0;
	return kept->runs;
}

struct keeper *keeper_start(struct boxes *boxes, const char *prefix)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	bool good = true;

	if (!keeper)
		return NULL;
	keeper->each = calloc(boxes->n, sizeof(*keeper->each));
	keeper->boxes = boxes;
	keeper->prefix = prefix;
	init_lock(keeper);
	json_object_seed(0); /* not by two threads at once */
	for (unsigned i = 0; keeper->each && good && i < boxes->n; i++)
		good = start_keeping(keeper, i);
	if (keeper->each && good)
		return keeper;
	fputs("weirctl: out of memory\n", stderr);
	keeper_end(keeper, NULL);
	return NULL;
}

/* Takes over what the one has. */
static void replace_wanted(struct keeper *keeper, const struct keep_wanted *wanted)
{
	free_wanted(&keeper->wanted);
	keeper->wanted = *wanted;
	keeper->version++;
	pthread_cond_broadcast(&keeper->told);
}

void keeper_want(struct keeper *keeper, const struct keep_wanted *wanted)
{
	const struct keep_wanted own = copy_wanted(wanted);

	pthread_mutex_lock(&keeper->lock);
	replace_wanted(keeper, &own);
	pthread_mutex_unlock(&keeper->lock);
}

static void let_end(struct keeper *keeper, const struct keep_wanted *last)
{
	const struct keep_wanted own = last ? copy_wanted(last) : (struct keep_wanted){0};

	pthread_mutex_lock(&keeper->lock);
	replace_wanted(keeper, &own);
	keeper->ends = true;
	pthread_mutex_unlock(&keeper->lock);
}

bool keeper_end(struct keeper *keeper, const struct keep_wanted *last)
{
	bool all = true;

	let_end(keeper, last);
	for (unsigned i = 0; keeper->each && i < keeper->boxes->n; i++) {
		struct kept_box *kept = &keeper->each[i];

		if (kept->runs)
			pthread_join(kept->thread, NULL);
		if (last && !kept->done)
			fprintf(stderr, "weirctl: %s: its rules are left behind\n",
				kept->box->path);
		all = all && kept->done;
		json_decref(kept->refused);
		free(kept->why);
	}
	free_wanted(&keeper->wanted);
	pthread_cond_destroy(&keeper->told);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper->each);
	free(keeper);
	return all;
}
