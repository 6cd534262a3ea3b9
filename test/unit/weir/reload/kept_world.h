/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter that keeps good configurations, and requests to it. The thread that reads and saves is
 * real; the test plays control and both workers.
 */
#ifndef WEIR_TEST_KEPT_WORLD_H
#define WEIR_TEST_KEPT_WORLD_H

#include "instance_world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include "config/load.h"
#include "event.h"
#include "kept.h"
#include "reload.h"

#define A(limit) "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'}"
#define B        "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s'}"
#define GBIT     UINT64_C(1000000000)

#define PATIENCE_MS 60000
#define ROUNDS_MOST 100

struct kept_world {
	struct instance_world w;
	char directory[32];
	char *said; /* messages of the start */
	size_t size;
	uint64_t serial; /* serial number of the last change */
	int chosen;      /* result of kept_choose() */
	struct config *config;
};

/* Chooses the configuration that a start would run now. */
static inline void choose(struct kept_world *k, const char *policies)
{
	FILE *err = open_memstream(&k->said, &k->size);

	if (policies)
		instance_world_write(&k->w, policies);
	assert_int_equal(kept_open(k->directory, err, &k->w.inst.kept), 0);
	k->chosen = kept_choose(k->w.inst.kept, k->w.file, err, &k->config);
	fclose(err);
}

/* Ends like a process, normally or not. */
static inline void forget(struct kept_world *k)
{
	reload_stop(&k->w.inst);
	kept_close(k->w.inst.kept);
	k->w.inst.kept = NULL;
	config_free(k->config);
	k->config = NULL;
	free(k->said);
	k->said = NULL;
}

/* Runs until all work, and the work that follows from it, has ended. */
static inline void settle(struct kept_world *k)
{
	struct instance *inst = &k->w.inst;

	for (unsigned i = 0; i < ROUNDS_MOST; i++) {
		struct pollfd fd = {.fd = reload_fd(inst), .events = POLLIN};
		bool busy = strcmp(reload_state(inst), "reading") == 0 ||
			    strcmp(reload_state(inst), "saving") == 0;

		if (busy)
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		instance_world_turn_all(&k->w);
		reload_advance(inst);
		if (strcmp(reload_state(inst), "idle") == 0 && !inst->kept->start)
			return;
	}
	fail_msg("it does not come to an end: %s", reload_state(inst));
}

static inline void open_kept(struct kept_world *k)
{
	*k = (struct kept_world){.directory = "/tmp/weir-change-XXXXXX"};
	assert_non_null(mkdtemp(k->directory));
	instance_world_open(&k->w, A("1Gbit/s"));
	choose(k, NULL);
	assert_int_equal(k->chosen, 0);
	k->w.inst.file = k->w.file;
	assert_int_equal(reload_start(&k->w.inst), 0);
	settle(k);
	assert_int_equal(k->w.inst.kept->confirm.running, 1);
	assert_int_equal(k->w.inst.kept->confirm.good, 1);
}

/* Closes the instance before its records. */
static inline void close_kept(struct kept_world *k)
{
	struct kept *kept = k->w.inst.kept;
	char command[64];

	instance_world_close(&k->w);
	kept_close(kept);
	config_free(k->config);
	free(k->said);
	snprintf(command, sizeof(command), "rm -r %s", k->directory);
	assert_int_equal(system(command), 0);
}

static inline struct change_request request_of(enum change_kind kind)
{
	return (struct change_request){
		.kind = kind, .uid = getuid(), .gid = getgid(), .pid = getpid(), .fd = -1};
}

/* Starts a change. Returns 0, or the reason of an immediate rejection. */
static inline int ask(struct kept_world *k, struct change_request *request)
{
	return reload_change(&k->w.inst, request, &k->serial);
}

/* Runs a change to its end. Returns 0 or its error. */
static inline int change(struct kept_world *k, struct change_request *request)
{
	const struct reload_outcome *last;

	assert_int_equal(ask(k, request), 0);
	settle(k);
	last = reload_last_change(&k->w.inst);
	assert_non_null(last);
	assert_int_equal(last->serial, k->serial);
	assert_int_equal(last->kept_error, 0);
	return last->error;
}

static inline struct change_request edit_of(const char *text)
{
	struct change_request request = request_of(CHANGE_POLICY);

	request.edit = json_loads(text, 0, NULL);
	assert_non_null(request.edit);
	return request;
}

static inline struct change_request limit_of(const char *limit)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"limit\":\"%s\"}}",
		limit);
	return edit_of(text);
}

static inline void reload_to(struct kept_world *k, const char *policies)
{
	struct change_request request = request_of(CHANGE_RELOAD);

	instance_world_write(&k->w, policies);
	assert_int_equal(change(k, &request), 0);
}

static inline int sealed(const char *text, int seals)
{
	int fd = memfd_create("configuration", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Returns the text of the file, which is a configuration. */
static inline char *text_of_file(const struct kept_world *k)
{
	char *text = calloc(1, 65536);
	FILE *file = fopen(k->w.file, "r");

	assert_non_null(file);
	assert_true(fread(text, 1, 65535, file) > 0);
	fclose(file);
	return text;
}

/* Changes a byte of a record, like a faulty disk. */
static inline void damage(const struct kept_world *k, const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", k->directory, name);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "?", 1, lseek(fd, 0, SEEK_END) - 4), 1);
	close(fd);
}

static inline const json_t *line(const struct kept_world *k, const char *key)
{
	const json_t *history = k->w.inst.kept->history;

	return json_object_get(json_array_get(history, json_array_size(history) - 1), key);
}

static inline void expect_words(const struct kept_world *k, const char *expected)
{
	char words[256];

	kept_words(k->w.inst.kept, words, sizeof(words));
	if (!strstr(words, expected))
		fail_msg("got \"%s\", expected \"%s\"", words, expected);
}

/* Counts new events whose text begins with these words. */
static inline unsigned times_said(uint64_t since, const char *text)
{
	unsigned n = 0;

	for (; since < events_number(); since++) {
		json_t *row = events_get(since);
		const char *words = json_string_value(json_object_get(row, "text"));

		n += words && strncmp(words, text, strlen(text)) == 0;
		json_decref(row);
	}
	return n;
}

/* Expects a rejection with this message, and an unchanged running configuration. */
static inline void expect_refused(
	struct kept_world *k, struct change_request *request, const char *said)
{
	const struct reload_outcome *last;
	unsigned n = k->w.inst.n_policies;
	uint64_t limit = k->w.inst.policies[0].limit_bps;

	assert_int_equal(ask(k, request), 0);
	settle(k);
	last = reload_last_change(&k->w.inst);
	assert_true(last->error < 0);
	if (!strstr(last->messages, said))
		fail_msg("got \"%s\", expected \"%s\"", last->messages, said);
	assert_int_equal(k->w.inst.n_policies, n);
	assert_int_equal(k->w.inst.policies[0].limit_bps, limit);
}

#endif
