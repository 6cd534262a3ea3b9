/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The stop while a file cannot be read or a directory cannot be written. It waits for work that
 * ends by itself, and abandons work that might never end. Disks hang and threads are missing where
 * the test requests it. Threads are real; the test plays control and both workers.
 */
#include "instance_world.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "config/load.h"
#include "event.h"
#include "kept.h"
#include "policy_txn.h"
#include "reload.h"

#define A(limit) "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'}"
#define GBIT     UINT64_C(1000000000)

#define PATIENCE_S  60
#define ROUNDS_MOST 100
#define RESTS_NS    UINT64_C(5000000000) /* less than the time until it is tried again */

/* ---- where a disk hangs */

enum place { NOWHERE, AT_FILE, AT_POLICIES, AT_DIRECTORY };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	enum place shut, waits;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};

static void turn_gate(enum place shut)
{
	pthread_mutex_lock(&gate.lock);
	gate.shut = shut;
	pthread_cond_broadcast(&gate.turned);
	pthread_mutex_unlock(&gate.lock);
}

static void pass_gate(enum place at)
{
	pthread_mutex_lock(&gate.lock);
	gate.waits = at;
	pthread_cond_broadcast(&gate.turned);
	while (gate.shut == at)
		pthread_cond_wait(&gate.turned, &gate.lock);
	gate.waits = NOWHERE;
	pthread_mutex_unlock(&gate.lock);
}

/* Waits until a thread waits at this gate. */
static void await_at_gate(enum place at)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.waits != at)
		pthread_cond_wait(&gate.turned, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

int __real_config_load_with(const struct config_load *load, struct config **out);
int __wrap_config_load_with(const struct config_load *load, struct config **out);

int __wrap_config_load_with(const struct config_load *load, struct config **out)
{
	pass_gate(AT_FILE);
	return __real_config_load_with(load, out);
}

int __real_policy_txn_prepare_config(struct instance *inst, struct config *config, const char *file,
	uint64_t hz, FILE *err, struct policy_txn **out);
int __wrap_policy_txn_prepare_config(struct instance *inst, struct config *config, const char *file,
	uint64_t hz, FILE *err, struct policy_txn **out);

int __wrap_policy_txn_prepare_config(struct instance *inst, struct config *config, const char *file,
	uint64_t hz, FILE *err, struct policy_txn **out)
{
	pass_gate(AT_POLICIES);
	return __real_policy_txn_prepare_config(inst, config, file, hz, err, out);
}

int __real_change_end(struct change *change, struct kept *kept, int error, const char *messages);
int __wrap_change_end(struct change *change, struct kept *kept, int error, const char *messages);

int __wrap_change_end(struct change *change, struct kept *kept, int error, const char *messages)
{
	pass_gate(AT_DIRECTORY);
	return __real_change_end(change, kept, error, messages);
}

/* ---- threads that cannot be created */

static int threads_had = -1; /* number of threads that can still be created; -1: all */

typedef void *thread_function(void *context);
int __real_pthread_create(
	pthread_t *out, const pthread_attr_t *as, thread_function *f, void *context);
int __wrap_pthread_create(
	pthread_t *out, const pthread_attr_t *as, thread_function *f, void *context);

int __wrap_pthread_create(
	pthread_t *out, const pthread_attr_t *as, thread_function *f, void *context)
{
	if (threads_had == 0)
		return EAGAIN;
	threads_had -= threads_had > 0;
	return __real_pthread_create(out, as, f, context);
}

static unsigned joins;

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_join(pthread_t thread, void **result)
{
	joins++;
	return __real_pthread_join(thread, result);
}

/* ---- a limiter */

struct hang_world {
	struct instance_world w;
	struct kept *kept; /* NULL: it keeps no records */
	char directory[32];
	struct config *chosen;
	uint64_t since; /* number of the next event */
};

static void open_hanging(struct hang_world *h)
{
	*h = (struct hang_world){0};
	instance_world_open(&h->w, A("1Gbit/s"));
	h->w.inst.file = h->w.file;
	assert_int_equal(reload_start(&h->w.inst), 0);
	h->since = events_number();
}

static void await_thread(struct hang_world *h)
{
	struct pollfd fd = {.fd = reload_fd(&h->w.inst), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, PATIENCE_S * 1000), 1);
}

static void finish_policies(struct hang_world *h)
{
	for (unsigned i = 0; i < ROUNDS_MOST && reload_finishing(&h->w.inst); i++) {
		instance_world_turn_all(&h->w);
		reload_advance(&h->w.inst);
	}
	assert_false(reload_finishing(&h->w.inst));
}

/* Runs until all work has ended. */
static void come_to_rest(struct hang_world *h)
{
	for (unsigned i = 0; i < ROUNDS_MOST; i++) {
		const char *now = reload_state(&h->w.inst);

		if (strcmp(now, "reading") == 0 || strcmp(now, "saving") == 0)
			await_thread(h);
		instance_world_turn_all(&h->w);
		reload_advance(&h->w.inst);
		now = reload_state(&h->w.inst);
		if (strcmp(now, "idle") == 0 && !(h->kept && h->kept->start))
			return;
	}
	fail_msg("it does not come to an end: %s", reload_state(&h->w.inst));
}

static void open_keeping(struct hang_world *h)
{
	open_hanging(h);
	strcpy(h->directory, "/tmp/weir-hangs-XXXXXX");
	assert_non_null(mkdtemp(h->directory));
	assert_int_equal(kept_open(h->directory, stderr, &h->kept), 0);
	assert_int_equal(kept_choose(h->kept, h->w.file, stderr, &h->chosen), 0);
	h->w.inst.kept = h->kept;
	reload_advance(&h->w.inst);
	come_to_rest(h);
	h->since = events_number();
}

static void close_hanging(struct hang_world *h)
{
	char command[64];

	instance_world_close(&h->w);
	kept_close(h->kept);
	config_free(h->chosen);
	if (!h->kept)
		return;
	snprintf(command, sizeof(command), "rm -r %s", h->directory);
	assert_int_equal(system(command), 0);
}

/* Counts new events of this name, which must have this text. */
static unsigned count_said(const struct hang_world *h, const char *name, const char *text)
{
	unsigned n = 0;

	for (uint64_t number = h->since; number < events_number(); number++) {
		json_t *said = events_get(number);

		if (strcmp(json_string_value(json_object_get(said, "event")), name) == 0) {
			assert_string_equal(json_string_value(json_object_get(said, "text")), text);
			n++;
		}
		json_decref(said);
	}
	return n;
}

static const char *words_of(const char *subject, const char *words)
{
	static char text[256];

	snprintf(
		text, sizeof(text), "%s %s in time; the stop does not wait for it", subject, words);
	return text;
}

static unsigned count_file_hangs(const struct hang_world *h)
{
	char subject[64];

	snprintf(subject, sizeof(subject), "reload: %s", h->w.file);
	return count_said(h, "reload_hangs", words_of(subject, "cannot be read"));
}

static unsigned count_directory_hangs(const struct hang_world *h)
{
	return count_said(h, "change_hangs", words_of(h->directory, "cannot be written"));
}

static void begin_reading(struct hang_world *h)
{
	instance_world_write(&h->w, A("2Gbit/s"));
	assert_string_equal(reload_request(&h->w.inst, "test", 0), "started");
}

static void expect_as_before(const struct hang_world *h)
{
	assert_int_equal(h->w.inst.policies[0].limit_bps, GBIT);
	assert_int_equal(h->w.inst.publisher.current->generation, 1);
}

static const struct timespec long_ago = {0};

/* ---- the stop */

/* Without a running reload there is nothing to wait for. */
TEST(test_nothing_to_settle)
{
	ENDED_BY(close_hanging) struct hang_world h;
	struct reload *reload;

	open_hanging(&h);
	reload = h.w.inst.reload;
	h.w.inst.reload = NULL;
	reload_settle(&h.w.inst, &long_ago);
	h.w.inst.reload = reload;
	reload_settle(&h.w.inst, &long_ago);
	assert_false(h.w.inst.left_behind);
	assert_int_equal(events_number(), h.since);
	begin_reading(&h); /* which is still possible */
	await_thread(&h);
	reload_advance(&h.w.inst);
	finish_policies(&h);
	assert_int_equal(h.w.inst.policies[0].limit_bps, 2 * GBIT);
}

/* The stop waits for a reload that ends in time, once. */
TEST(test_in_time)
{
	struct timespec until;
	struct hang_world h;

	open_hanging(&h);
	begin_reading(&h);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	reload_settle(&h.w.inst, &until);
	assert_false(h.w.inst.left_behind);
	assert_int_equal(count_file_hangs(&h), 0);
	expect_as_before(&h);
	joins = 0;
	close_hanging(&h);
	assert_int_equal(joins, 0);
}

static void *left[2]; /* memory that abandoned threads keep, so that it is not reported as a leak */

/*
 * A reload of a file that hangs is abandoned. If the file is read later, it does not come into
 * force.
 */
TEST(test_file_hangs)
{
	struct hang_world h;
	int fd;

	open_hanging(&h);
	turn_gate(AT_FILE);
	begin_reading(&h);
	await_at_gate(AT_FILE);
	reload_settle(&h.w.inst, &long_ago);
	assert_true(h.w.inst.left_behind);
	assert_int_equal(count_file_hangs(&h), 1);
	assert_int_equal(count_directory_hangs(&h), 0);
	fd = reload_fd(&h.w.inst);
	left[0] = h.w.inst.reload;
	turn_gate(NOWHERE);
	await_thread(&h); /* the thread no longer needs the instance */
	expect_as_before(&h);
	reload_stop(&h.w.inst);
	assert_null(h.w.inst.reload);
	assert_int_equal(reload_fd(&h.w.inst), -1);
	close_hanging(&h);
	assert_int_equal(close(fd), 0); /* left open for the thread */
}

/* Computation ends by itself, so the stop waits for it without a timeout. */
TEST(test_computes)
{
	ENDED_BY(close_hanging) struct hang_world h;

	open_hanging(&h);
	turn_gate(AT_POLICIES);
	begin_reading(&h);
	await_at_gate(AT_POLICIES);
	reload_settle(&h.w.inst, &long_ago);
	assert_false(h.w.inst.left_behind);
	assert_int_equal(count_file_hangs(&h), 0);
	turn_gate(NOWHERE);
	joins = 0;
	reload_stop(&h.w.inst);
	assert_int_equal(joins, 1);
	expect_as_before(&h);
}

/* A directory that hangs has its own event. The new configuration is in force. */
TEST(test_directory_hangs)
{
	struct config *loaded;
	struct hang_world h;
	int fd;

	open_keeping(&h);
	turn_gate(AT_DIRECTORY);
	begin_reading(&h);
	await_thread(&h);
	reload_advance(&h.w.inst);
	await_at_gate(AT_DIRECTORY);
	finish_policies(&h);
	assert_string_equal(reload_state(&h.w.inst), "saving");
	assert_null(reload_last_change(&h.w.inst)); /* not yet durable */
	reload_settle(&h.w.inst, &long_ago);
	assert_true(h.w.inst.left_behind);
	assert_int_equal(count_directory_hangs(&h), 1);
	assert_int_equal(count_file_hangs(&h), 0);
	assert_int_equal(h.w.inst.policies[0].limit_bps, 2 * GBIT);
	fd = reload_fd(&h.w.inst);
	left[1] = h.w.inst.reload;
	loaded = h.w.inst.loaded;
	turn_gate(NOWHERE);
	await_thread(&h);
	close_hanging(&h);
	config_free(loaded); /* normally freed by the end of the process */
	assert_int_equal(close(fd), 0);
}

/* ---- threads that cannot be created */

#define NO_THREAD "reload: no thread: Resource temporarily unavailable"

/* Without a thread for reading, an event reports it and no reload is running. */
TEST(test_no_thread)
{
	ENDED_BY(close_hanging) struct hang_world h;

	open_hanging(&h);
	threads_had = 0;
	begin_reading(&h);
	threads_had = -1;
	assert_string_equal(reload_state(&h.w.inst), "idle");
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
	reload_advance(&h.w.inst);
	expect_as_before(&h);
	begin_reading(&h);
	await_thread(&h);
	reload_advance(&h.w.inst);
	finish_policies(&h);
	assert_int_equal(h.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
}

/* Without a thread, a change is refused, and its descriptor and its edits are released once. */
TEST(test_no_thread_for_a_change)
{
	struct change_request request = {
		.kind = CHANGE_APPLY, .uid = -1, .gid = -1, .pid = -1, .edit = json_object()};
	json_t *const edit = json_incref(request.edit);
	ENDED_BY(close_hanging) struct hang_world h;
	uint64_t serial;
	int fd;

	open_keeping(&h);
	fd = request.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	threads_had = 0;
	assert_int_equal(reload_change(&h.w.inst, &request, &serial), -EAGAIN);
	threads_had = -1;
	assert_string_equal(reload_state(&h.w.inst), "idle");
	assert_false(h.w.inst.reloading);
	assert_int_equal(edit->refcount, 1);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), fd); /* its number is free */
	begin_reading(&h);
	come_to_rest(&h);
	assert_int_equal(h.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(edit->refcount, 1);
	assert_int_equal(close(fd), 0);
	json_decref(edit);
}

/* Without a thread, the record of a start and an undo are tried again, but not in each turn. */
TEST(test_no_thread_for_what_is_due)
{
	ENDED_BY(close_hanging) struct hang_world h;
	json_t *start;

	open_keeping(&h);
	h.kept->start = start = json_object();
	threads_had = 0;
	for (unsigned i = 0; i < ROUNDS_MOST; i++)
		reload_advance(&h.w.inst);
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
	assert_ptr_equal(h.kept->start, start);
	assert_true(reload_due_ns(&h.w.inst) > control_now() + RESTS_NS);
	h.kept->start = NULL;
	h.kept->confirm.until_ns = 1; /* long ago */
	for (unsigned i = 0; i < ROUNDS_MOST; i++)
		reload_advance(&h.w.inst);
	threads_had = -1;
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
	assert_true(reload_due_ns(&h.w.inst) > control_now() + RESTS_NS);
	h.kept->confirm.until_ns = 0;
	h.kept->start = start;
	assert_string_equal(reload_request(&h.w.inst, "test", 0), "queued"); /* behind the record */
	h.kept->start = NULL;
	json_decref(start);
	come_to_rest(&h);
}

/*
 * Without a thread for saving, the configuration is in force anyway, and the outcome is reported
 * immediately.
 */
TEST(test_no_thread_to_save)
{
	const struct reload_outcome *last;
	ENDED_BY(close_hanging) struct hang_world h;

	open_keeping(&h);
	threads_had = 1; /* the reading thread */
	begin_reading(&h);
	await_thread(&h);
	reload_advance(&h.w.inst);
	threads_had = -1;
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
	last = reload_last_change(&h.w.inst);
	assert_non_null(last);
	assert_int_equal(last->error, 0);
	assert_int_equal(last->changed, 1);
	finish_policies(&h);
	assert_string_equal(reload_state(&h.w.inst), "idle");
	assert_int_equal(h.w.inst.policies[0].limit_bps, 2 * GBIT);
}

/* Without a thread for freeing, control frees the memory itself. */
TEST(test_no_thread_to_clear)
{
	ENDED_BY(close_hanging) struct hang_world h;

	open_keeping(&h);
	threads_had = 2; /* the reading and the saving thread */
	begin_reading(&h);
	await_thread(&h);
	reload_advance(&h.w.inst);
	await_thread(&h);
	reload_advance(&h.w.inst);
	threads_had = -1;
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
	assert_non_null(reload_last_change(&h.w.inst));
	assert_int_equal(reload_last_change(&h.w.inst)->kept_error, 0);
	finish_policies(&h);
	assert_string_equal(reload_state(&h.w.inst), "idle");
	assert_int_equal(h.kept->confirm.good, 2);
	begin_reading(&h);
	come_to_rest(&h);
	assert_int_equal(count_said(&h, "reload_no_thread", NO_THREAD), 1);
}

TEST_GROUP(instance_world_start, instance_world_stop)
