/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "reload.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "instance.h"
#include "config/load.h"
#include "policy_txn.h"
#include "log.h"
#include "base/time.h"
#include "policy/diff.h"

/* Messages that go to the log; the client gets them all. */
#define LOGGED_MAX 20

enum state { IDLE, READING, FINISHING };

struct reload {
	struct instance *inst;
	enum state state;
	bool again;
	int event_fd;
	uint64_t began_ns;
	struct policy_txn *policy_txn; /* committing */
	struct reload_outcome last;

	/* the thread's, until it has been joined */
	pthread_t thread;
	uint64_t hz;
	struct policy_txn *prepared;
	int error;
	char *messages;
};

int reload_start(struct instance *inst)
{
	struct reload *reload;

	if (!inst->file)
		return 0;
	reload = calloc(1, sizeof(*reload));
	if (!reload)
		return -ENOMEM;
	reload->inst = inst;
	reload->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (reload->event_fd < 0) {
		free(reload);
		return -errno;
	}
	inst->reload = reload;
	return 0;
}

void reload_stop(struct instance *inst)
{
	struct reload *reload = inst->reload;

	if (!reload)
		return;
	if (reload->state == READING) {
		pthread_join(reload->thread, NULL);
		policy_txn_free(reload->prepared);
		free(reload->messages);
	}
	policy_txn_free(reload->policy_txn);
	config_free(inst->loaded);
	free(reload->last.messages);
	close(reload->event_fd);
	free(reload);
	inst->reload = NULL;
	inst->loaded = NULL;
}

/* Nobody may write to a pipe again: it would be waited for, and so would the end of the box. */
static int prepare_reload(struct reload *reload, FILE *err)
{
	const char *path = reload->inst->file;
	struct stat file;

	if (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode)) {
		fprintf(err, "%s: no file that can be read again\n", path);
		return -EINVAL;
	}
	return policy_txn_prepare(reload->inst, path, reload->hz, err, &reload->prepared);
}

/* The thread. */
static void *read_again(void *arg)
{
	struct reload *reload = arg;
	const uint64_t done = 1;
	size_t size;
	FILE *err = open_memstream(&reload->messages, &size);

	reload->error = -ENOMEM;
	if (err) {
		reload->error = prepare_reload(reload, err);
		fclose(err);
	}
	while (write(reload->event_fd, &done, sizeof(done)) < 0 && errno == EINTR)
		;
	return NULL;
}

/* Never under control's real-time class, if it has one: a long computation would hold it up. */
static int start_reload_thread(struct reload *reload)
{
	const struct sched_param no_priority = {0};
	pthread_attr_t attr;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &no_priority);
	ret = pthread_create(&reload->thread, &attr, read_again, reload);
	pthread_attr_destroy(&attr);
	return -ret;
}

static void reload_begin_thread(struct reload *reload)
{
	int ret;

	reload->again = false;
	reload->prepared = NULL;
	reload->messages = NULL;
	reload->hz = reload->inst->clock.hz;
	reload->began_ns = control_now();
	ret = start_reload_thread(reload);
	if (ret)
		log_err("reload: no thread: %s", strerror(-ret));
	else
		reload->state = READING;
}

const char *reload_request(struct instance *inst)
{
	struct reload *reload = inst->reload;

	if (!reload)
		return NULL;
	if (reload->state != IDLE) {
		reload->again = true;
		return "queued";
	}
	reload_begin_thread(reload);
	return "started";
}

static void log_messages(const struct reload_outcome *last)
{
	const char *line = last->messages;

	for (unsigned n = 0; *line && n < LOGGED_MAX; n++) {
		int len = (int)strcspn(line, "\n");

		if (last->error)
			log_err("reload: %.*s", len, line);
		else
			log_warn("reload: %.*s", len, line);
		line += len + (line[len] == '\n');
	}
	if (*line)
		log_warn("reload: and more; see --check, or /weir/config");
}

static void log_outcome(const struct reload *reload)
{
	const struct reload_outcome *last = &reload->last;

	log_messages(last);
	if (last->error)
		log_err("reload: %s refused; nothing has changed", reload->inst->file);
	else
		log_info("reload: generation %" PRIu64 ", policies: %u added, %u removed, %u "
			 "changed, %u unchanged; %" PRIu64 " ms",
			reload->inst->publisher.current->generation, last->added, last->removed,
			last->changed, last->unchanged, last->took_ns / MS_NS);
}

static void note_outcome(struct reload *reload, const struct config_diff *diff)
{
	struct reload_outcome *last = &reload->last;

	free(last->messages);
	*last = (struct reload_outcome){
		.known = true,
		.error = reload->error,
		.took_ns = control_now() - reload->began_ns,
		.messages = reload->messages ? reload->messages : strdup("out of memory\n"),
	};
	reload->messages = NULL;
	clock_gettime(CLOCK_REALTIME, &last->when);
	if (diff) {
		last->added = diff->added;
		last->removed = diff->removed;
		last->changed = diff->changed;
		last->unchanged = diff->n - diff->added - diff->changed;
	}
	log_outcome(reload);
}

/* The thread has ended: what it has prepared is put in force. */
static void commit_reload(struct reload *reload)
{
	struct policy_txn *x = reload->prepared;
	bool exchanged = false;

	pthread_join(reload->thread, NULL);
	if (reload->error == 0 && !policy_txn_is_empty(x)) {
		reload->error = policy_txn_commit(x);
		exchanged = reload->error == 0;
	}
	note_outcome(reload, reload->error == 0 ? policy_txn_diff(x) : NULL);
	if (exchanged) {
		reload->policy_txn = x;
		reload->state = FINISHING;
	} else {
		policy_txn_free(x);
		reload->state = IDLE;
	}
}

void reload_advance(struct instance *inst)
{
	struct reload *reload = inst->reload;
	uint64_t done;

	if (!reload)
		return;
	if (reload->state == READING && read(reload->event_fd, &done, sizeof(done)) > 0)
		commit_reload(reload);
	if (reload->state == FINISHING && policy_txn_finish(reload->policy_txn)) {
		policy_txn_free(reload->policy_txn);
		reload->policy_txn = NULL;
		reload->state = IDLE;
	}
	if (reload->state == IDLE && reload->again)
		reload_begin_thread(reload);
}

int reload_fd(const struct instance *inst)
{
	return inst->reload ? inst->reload->event_fd : -1;
}

const char *reload_state(const struct instance *inst)
{
	static const char *const names[] = {
		[IDLE] = "idle",
		[READING] = "reading",
		[FINISHING] = "finishing",
	};

	return names[inst->reload ? inst->reload->state : IDLE];
}

bool reload_finishing(const struct instance *inst)
{
	return inst->reload && inst->reload->state == FINISHING;
}

const struct reload_outcome *reload_last(const struct instance *inst)
{
	return inst->reload ? &inst->reload->last : NULL;
}
