/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads the file again and puts its policies in force, at SIGHUP or at a client's request; and
 * other changes of the configuration (change.h).
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

#include "change.h"
#include "instance.h"
#include "config/load.h"
#include "kept.h"
#include "plain_thread.h"
#include "policy_txn.h"
#include "event.h"
#include "group_task.h"
#include "json/diagnostics.h"
#include "notify/notify.h"
#include "machine_errors.h"
#include "base/time.h"
#include "policy/diff.h"

/* Messages in the log; the client gets all of them. */
#define LOGGED_MAX 20 /* lines of a change */
#define AND_MORE   "and more; see --check, or /weir/config"

/* Time until a failed undo or record is tried again. */
#define AGAIN_NS (10 * SECOND_NS)

/*
 * Work of the thread: none, the first steps of a change (change.h), the last steps, or freeing of
 * large documents.
 */
enum phase { IDLE, READING, SAVING, CLEARING };

struct reload {
	struct instance *inst;
	enum phase phase;
	bool again;
	struct change_request asked; /* request of the queued reload */
	uint64_t serial;             /* number of the present or last change */
	uint64_t again_ns;           /* time of the next try after a failure */
	int event_fd;
	uint64_t began_ns;
	struct policy_txn *policy_txn;                   /* committing */
	struct reload_outcome last;                      /* last reload */
	struct reload_outcome changed;                   /* last change of any kind */
	struct reload_outcome previous[RELOAD_OUTCOMES]; /* changes before that, by serial modulo */
	bool joined, given_up;                           /* at the stop */
	bool wait_logged; /* the log has that a worker is waited for */
	json_t *standing; /* warnings of the running configuration, by their words */

	/* Used by the thread, until it has been joined. */
	pthread_t thread;
	uint64_t hz;
	struct change change;
	struct policy_txn *prepared;
	struct keyring *keyring;         /* NULL: plain gossip */
	struct telemetry_options groups; /* only the groups of the control socket */
	int error;
	char requester[REQUESTER_BYTES];
	char *messages;
	int keep_error;                 /* result of saving */
	char digest[CHANGE_DIGEST_MAX]; /* digest of the running configuration; "": unchanged */
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
	reload->change = (struct change){.request.fd = -1, .file = -1};
	reload->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (reload->event_fd < 0) {
		int ret = -errno;

		free(reload);
		return ret;
	}
	inst->reload = reload;
	return 0;
}

/* A thread that has finished reading only computes, and is joined at the stop. */
void reload_settle(struct instance *inst, const struct timespec *until)
{
	struct reload *reload = inst->reload;

	if (!reload || reload->phase == IDLE)
		return;
	if (pthread_clockjoin_np(reload->thread, NULL, CLOCK_MONOTONIC, until) == 0) {
		reload->joined = true;
		return;
	}
	if (__atomic_exchange_n(&inst->reload_gate, RELOAD_GIVEN_UP, __ATOMIC_ACQ_REL) ==
		RELOAD_PAST_READING)
		return;
	if (reload->phase == SAVING)
		event(CHANGE_HANGS, event_word("directory", inst->kept->directory));
	else
		event(RELOAD_HANGS, event_word("file", inst->file));
	pthread_detach(reload->thread);
	reload->given_up = inst->left_behind = true;
}

void reload_stop(struct instance *inst)
{
	struct reload *reload = inst->reload;

	if (!reload)
		return;
	if (reload->given_up) {
		inst->reload = NULL;
		return;
	}
	if (reload->phase != IDLE && !reload->joined)
		pthread_join(reload->thread, NULL);
	policy_txn_free(reload->prepared);
	keyring_destroy(reload->keyring);
	free(reload->messages);
	change_clear(&reload->change);
	policy_txn_free(reload->policy_txn);
	config_free(inst->loaded);
	free(reload->last.messages);
	free(reload->changed.messages);
	for (unsigned i = 0; i < RELOAD_OUTCOMES; i++)
		free(reload->previous[i].messages);
	json_decref(reload->standing);
	close(reload->event_fd);
	free(reload);
	inst->reload = NULL;
	inst->loaded = NULL;
}

/* Prepares the configuration that was read and kept to be put in force. */
static int prepare_exchange(struct reload *reload, FILE *err)
{
	const struct complaint_sink to = complaint_sink_of(err);
	struct change *change = &reload->change;
	struct config *config = change->config;
	int ret;

	change->config = NULL;
	if (!policy_txn_pass_gate(reload->inst)) {
		config_free(config);
		return -ECANCELED;
	}
	if (!config)
		return 0;
	ret = policy_txn_prepare_config(
		reload->inst, config, reload->inst->file, reload->hz, err, &reload->prepared);
	reload->groups = (struct telemetry_options){0};
	if (ret == 0)
		ret = socket_groups_find(policy_txn_config(reload->prepared), &reload->groups, &to);
	if (ret == 0)
		ret = group_check_file(reload->inst, policy_txn_config(reload->prepared), err);
	if (ret == 0)
		ret = group_load_keys(
			reload->inst, policy_txn_config(reload->prepared), err, &reload->keyring);
	if (ret && reload->prepared) {
		policy_txn_free(reload->prepared);
		reload->prepared = NULL;
	}
	return ret;
}

static int prepare_reload(struct reload *reload, FILE *err)
{
	const char *path = reload->inst->file;
	struct stat file;
	int ret;

	/* Refuses pipes: reading one could block for ever, and so would the stop of the limiter. */
	if (reload->change.request.kind == CHANGE_RELOAD && stat(path, &file) == 0 &&
		!S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode)) {
		fprintf(err, "%s: no file that can be read again\n", path);
		return -EINVAL;
	}
	ret = change_read(&reload->change, reload->inst, err);
	if (ret == 0)
		ret = change_keep(&reload->change, reload->inst, err);
	return ret ? ret : prepare_exchange(reload, err);
}

static void wake_control(const struct reload *reload)
{
	const uint64_t done = 1;

	while (write(reload->event_fd, &done, sizeof(done)) < 0 && errno == EINTR)
		;
}

/* First work of the thread. */
static void *read_again(void *arg)
{
	struct reload *reload = arg;
	size_t size;
	FILE *err = open_memstream(&reload->messages, &size);

	if (reload->change.request.uid >= 0)
		requester_name((uid_t)reload->change.request.uid, reload->requester);
	else
		snprintf(reload->requester, sizeof(reload->requester), "nobody");
	reload->error = -ENOMEM;
	if (err) {
		reload->error = prepare_reload(reload, err);
		if (reload->error && ftell(err) == 0)
			fprintf(err, "%s\n", strerror(-reload->error));
		fclose(err);
	}
	if (reload->error && reload->messages)
		diagnostics_errors_first(reload->messages);
	wake_control(reload);
	return NULL;
}

/* Work of the thread after the change is in force, or refused. */
static void *save_change(void *arg)
{
	struct reload *reload = arg;

	reload->keep_error = change_end(
		&reload->change, reload->inst->kept, reload->error, reload->changed.messages);
	wake_control(reload);
	return NULL;
}

/*
 * Last work of the thread, when the outcome is available. It reads no more files, so a stop can
 * wait for it.
 */
static void *clear_change(void *arg)
{
	struct reload *reload = arg;

	policy_txn_pass_gate(reload->inst);
	reload->digest[0] = '\0';
	kept_digest(reload->inst->kept, reload->digest);
	change_clear(&reload->change);
	wake_control(reload);
	return NULL;
}

static int begin_phase(struct reload *reload, enum phase phase)
{
	static void *(*const runs[])(void *) = {
		[READING] = read_again, [SAVING] = save_change, [CLEARING] = clear_change};
	int ret;

	__atomic_store_n(&reload->inst->reload_gate, RELOAD_READING, __ATOMIC_RELEASE);
	ret = plain_thread_start(&reload->thread, runs[phase], reload);
	if (ret)
		event(RELOAD_NO_THREAD, event_word("why", strerror(-ret)));
	else
		reload->phase = phase;
	return ret;
}

/* Reload of the file without a requester. */
static const struct change_request reload_by_nobody = {
	.kind = CHANGE_RELOAD, .uid = -1, .gid = -1, .pid = -1, .fd = -1};

/* Takes the request over if it succeeds. */
static int begin_change(struct reload *reload, const struct change_request *request)
{
	struct kept *kept = reload->inst->kept;
	int ret;

	change_clear(&reload->change);
	reload->change.request = *request;
	if (kept) {
		reload->change.running = kept->confirm.running;
		reload->change.good = kept->confirm.good;
		reload->change.waits = confirm_waits(&kept->confirm);
	}
	if (request->kind == CHANGE_START) { /* kept_choose() left it to be kept */
		reload->change.document = kept->document;
		reload->change.line = kept->start;
		reload->change.about = json_incref(kept->about);
		kept->document = kept->start = NULL;
	}
	if (request->kind == CHANGE_CONFIRM)
		reload->change.number = reload->change.running;
	reload->serial++;
	reload->inst->reloading = true;
	reload->hz = reload->inst->clock.hz;
	reload->began_ns = control_now();
	ret = begin_phase(reload, READING);
	if (ret == 0)
		return 0;
	if (request->kind == CHANGE_START) {
		kept->document = reload->change.document;
		kept->start = reload->change.line;
		reload->change.document = reload->change.line = NULL;
	}
	reload->change.request = reload_by_nobody; /* the caller keeps it */
	change_clear(&reload->change);
	reload->inst->reloading = false;
	reload->again_ns = control_now() + AGAIN_NS;
	return ret;
}

static bool is_idle(const struct reload *reload)
{
	return reload->phase == IDLE && !reload->policy_txn;
}

/* Not while the keys for another roster are made: then two changes would exchange the keys. */
static bool can_begin(const struct reload *reload)
{
	return is_idle(reload) && !group_is_busy(reload->inst);
}

/* After a failure, the record of a start goes first: records have the order of the changes. */
static bool start_waits(const struct reload *reload)
{
	const struct kept *kept = reload->inst->kept;

	return kept && kept->start && reload->again_ns;
}

static void begin_reload(struct reload *reload, const struct change_request *request)
{
	reload->again = false;
	if (begin_change(reload, request) == 0)
		notify_reloading(reload->inst->notify, "reading the configuration again");
}

const char *reload_request_by(
	struct instance *inst, const char *by, const struct change_request *request)
{
	struct reload *reload = inst->reload;
	const char *answer = NULL;
	char state[80];
	int worker;

	if (reload && can_begin(reload) && !start_waits(reload)) {
		begin_reload(reload, request);
		answer = "started";
	} else if (reload) {
		reload->again = true;
		reload->asked = *request;
		answer = "queued";
	}
	worker = reload_waits_for(inst);
	if (worker >= 0)
		snprintf(state, sizeof(state), "queued until worker %d (CPU %u) comes round",
			worker, inst->config->workers[worker]);
	else
		snprintf(state, sizeof(state), "%s",
			answer ? answer : "of nothing: there is no file");
	event(RELOAD_ASKED, event_word("by", by), event_word("state", state),
		event_count("uid", (uint64_t)request->uid));
	return answer;
}

const char *reload_request(struct instance *inst, const char *by, uid_t uid)
{
	struct change_request request = reload_by_nobody;

	request.uid = uid;
	return reload_request_by(inst, by, &request);
}

/* Begins the change. Returns 0, or why it cannot begin; takes the request over. */
static int ask_change(struct reload *reload, struct change_request *request)
{
	struct kept *kept = reload ? reload->inst->kept : NULL;

	if (!kept)
		return -ENOSYS;
	if (!can_begin(reload) || reload->again || start_waits(reload))
		return -EAGAIN;
	if (request->kind == CHANGE_CONFIRM && !confirm_waits(&kept->confirm))
		return -EALREADY;
	if (request->kind == CHANGE_ROLLBACK && request->number == 0 &&
		confirm_waits(&kept->confirm))
		request->kind = CHANGE_UNDO;
	else if (request->kind != CHANGE_CONFIRM) {
		int ret = confirm_may_change(&kept->confirm, request->within_ns);

		if (ret)
			return ret;
	}
	return begin_change(reload, request);
}

int reload_change(struct instance *inst, struct change_request *request, uint64_t *serial)
{
	struct reload *reload = inst->reload;
	struct change refused = {.file = -1};
	int ret = ask_change(reload, request);

	if (ret == 0) {
		*serial = reload->serial;
		return 0;
	}
	refused.request = *request;
	change_clear(&refused);
	return ret;
}

static void log_message(enum change_kind kind, const char *message, bool error)
{
	if (kind == CHANGE_RELOAD && error)
		event(RELOAD_ERROR, event_word("message", message));
	else if (kind == CHANGE_RELOAD)
		event(RELOAD_WARNING, event_word("message", message));
	else if (error)
		event(CHANGE_ERROR, event_word("what", change_word(kind)),
			event_word("message", message));
	else
		event(CHANGE_WARNING, event_word("what", change_word(kind)),
			event_word("message", message));
}

static void log_errors(const struct reload_outcome *last, enum change_kind kind)
{
	const char *line = last->messages;

	for (unsigned n = 0; *line && n < LOGGED_MAX; n++) {
		size_t len = strcspn(line, "\n");
		char message[EVENT_TEXT];

		snprintf(message, sizeof(message), "%.*s", (int)len, line);
		log_message(kind, message, !diagnostics_is_warning(line, len));
		line += len + (line[len] == '\n');
	}
	if (*line)
		log_message(kind, AND_MORE, false);
}

/* Copies a warning without its file, line and indices, which can change while the warning stays. */
static void copy_words(char words[EVENT_TEXT], const char *message)
{
	const char *at = strstr(message, "warning: ");
	size_t n = 0;

	for (at = at ? at : message; *at && n + 1 < EVENT_TEXT; at++)
		if (*at < '0' || *at > '9' || at == message || at[-1] != '[')
			words[n++] = *at;
		else
			at += strspn(at, "0123456789") - 1;
	words[n] = '\0';
}

/* Logs a warning when it begins and when it has ended, however many changes it lasts. */
static void log_warnings(
	struct reload *reload, const struct reload_outcome *last, enum change_kind kind)
{
	json_t *now = json_object(), *message;
	unsigned begun = 0, ended = 0;
	const char *words;

	for (const char *line = last->messages; *line;) {
		size_t len = strcspn(line, "\n");
		char text[EVENT_TEXT], key[EVENT_TEXT];

		snprintf(text, sizeof(text), "%.*s", (int)len, line);
		copy_words(key, text);
		json_object_set_new(now, key, json_string(text));
		line += len + (line[len] == '\n');
	}
	json_object_foreach (now, words, message)
		if (!json_object_get(reload->standing, words) && begun++ < LOGGED_MAX)
			log_message(kind, json_string_value(message), false);
	if (begun > LOGGED_MAX)
		log_message(kind, AND_MORE, false);
	json_object_foreach (reload->standing, words, message)
		if (!json_object_get(now, words) && ended++ < LOGGED_MAX)
			event(CHANGE_WARNING_ENDED, event_word("what", change_word(kind)),
				event_word("message", json_string_value(message)));
	json_decref(reload->standing);
	reload->standing = now;
}

/* Logs the outcome of a change that is no reload. */
static void log_change(const struct reload *reload)
{
	const struct reload_outcome *last = &reload->changed;

	if (last->error)
		event(CHANGE_REFUSED, event_word("what", last->what), event_word("who", last->who));
	else
		event(CHANGE_DONE, event_word("what", last->what),
			event_count("generation", reload->inst->publisher.current->generation),
			event_count("added", last->added), event_count("removed", last->removed),
			event_count("changed", last->changed),
			event_count("unchanged", last->unchanged),
			event_count("ms", last->took_ns / MS_NS), event_word("who", last->who));
}

static void log_outcome(struct reload *reload)
{
	const struct reload_outcome *last = &reload->changed;
	enum change_kind kind = reload->change.request.kind;

	if (last->error)
		log_errors(last, kind);
	else if (kind != CHANGE_UNDO) /* an undo has no messages */
		log_warnings(reload, last, kind);
	if (kind != CHANGE_RELOAD)
		log_change(reload);
	else if (last->error)
		event(RELOAD_REFUSED, event_word("file", reload->inst->file),
			event_word("who", last->who));
	else
		event(RELOAD_DONE,
			event_count("generation", reload->inst->publisher.current->generation),
			event_count("added", last->added), event_count("removed", last->removed),
			event_count("changed", last->changed),
			event_count("unchanged", last->unchanged),
			event_count("ms", last->took_ns / MS_NS), event_word("who", last->who));
}

static void note_outcome(struct reload *reload, const struct config_diff *diff)
{
	struct reload_outcome *last = &reload->changed;
	struct reload_outcome *oldest = &reload->previous[last->serial % RELOAD_OUTCOMES];

	free(oldest->messages);
	*oldest = *last;
	*last = (struct reload_outcome){
		.known = true,
		.error = reload->error,
		.took_ns = control_now() - reload->began_ns,
		.messages = reload->messages ? reload->messages : strdup("out of memory\n"),
	};
	reload->messages = NULL;
	snprintf(last->who, sizeof(last->who), "%s", reload->requester);
	clock_gettime(CLOCK_REALTIME, &last->when);
	if (diff) {
		last->added = diff->added;
		last->removed = diff->removed;
		last->changed = diff->changed;
		last->unchanged = diff->n - diff->added - diff->changed;
	}
	last->what = change_word(reload->change.request.kind);
	last->serial = reload->serial;
	if (reload->change.request.kind == CHANGE_RELOAD) {
		free(reload->last.messages);
		reload->last = *last;
		reload->last.messages = strdup(last->messages ? last->messages : "");
		reload->last.superseded = last->error == -EBUSY && reload->change.waits;
	}
	if (diff || last->error)
		log_outcome(reload);
}

static void log_keys(const struct keyring *previous, const struct keyring *keyring)
{
	uint32_t seals = keyring_name(keyring, true), also = keyring_also(keyring);
	char key[16], other[16];

	if (seals == keyring_name(previous, true) && also == keyring_also(previous))
		return;
	snprintf(key, sizeof(key), "%08x", seals);
	snprintf(other, sizeof(other), "%08x", also);
	if (also)
		event(GOSSIP_KEYS, event_word("key", key), event_word("also", other));
	else
		event(GOSSIP_KEY, event_word("key", key));
}

/* Sets the service manager's status text, which stays until the next one. */
static void log_end(const struct reload *reload)
{
	const struct reload_outcome *last = &reload->changed;
	char text[256];

	if (last->error)
		snprintf(text, sizeof(text), "running; the last %s was refused: %s", last->what,
			last->messages);
	else
		snprintf(text, sizeof(text), "running: %u policies, generation %" PRIu64,
			reload->inst->n_policies, reload->inst->publisher.current->generation);
	notify_ready(reload->inst->notify, text);
}

/* Gives the control socket to the groups of the configuration; reload->groups has the previous. */
static int exchange_groups(struct reload *reload)
{
	struct telemetry_group *group = &reload->groups.group, now = *group;
	struct telemetry_group *operators = &reload->groups.operators, now_operators = *operators;
	struct instance *inst = reload->inst;
	int ret = inst->telemetry ? telemetry_regroup(inst->telemetry, group, operators) : 0;

	if (ret) {
		free(reload->messages);
		if (asprintf(&reload->messages,
			    "%s: control.group: cannot give the socket to group \"%s\": %s: add "
			    "weir's user to the group\n",
			    inst->file, now.name, strerror(-ret)) < 0)
			reload->messages = NULL;
	} else if (strcmp(group->name, now.name) != 0 || group->gid != now.gid ||
		   strcmp(operators->name, now_operators.name) != 0 ||
		   operators->gid != now_operators.gid) {
		event(CONTROL_GROUPS, event_word("group", now.name[0] ? now.name : "(none)"),
			event_word("operators",
				now_operators.name[0] ? now_operators.name : "(none)"));
	}
	return ret;
}

/* Puts the prepared configuration in force, if any. Returns true if workers get a new snapshot. */
static bool put_in_force(struct reload *reload)
{
	struct policy_txn *x = reload->prepared;
	const struct gossip_config *gossip = x ? &policy_txn_config(x)->gossip : NULL;
	struct instance *inst = reload->inst;
	bool exchanged = false, shadow = instance_in_shadow(inst);
	struct keyring *before;
	struct log_config log;
	double overshoot_alarm = 0;
	uint64_t alarm_ns = 0;

	if (reload->error == 0 && x)
		reload->error = exchange_groups(reload);
	/* Copied now: the transaction no longer owns its configuration after the commit. */
	if (reload->error == 0 && x) {
		alarm_ns = gossip->differs_alarm_ns;
		overshoot_alarm = gossip->overshoot_alarm;
	}
	log = reload->error || !x ? events_configured() : policy_txn_config(x)->log;
	if (reload->error == 0 && x && !policy_txn_is_empty(x)) {
		reload->error = policy_txn_commit(x);
		exchanged = reload->error == 0;
		if (!exchanged)
			exchange_groups(reload);
		if (instance_in_shadow(inst) && !shadow)
			event(SHADOW);
		else if (shadow && !instance_in_shadow(inst))
			event(SHADOW_ENDED);
	}
	if (reload->error == 0 && x) {
		group_take_file(inst, gossip);
		inst->differs_alarm_ns = alarm_ns;
		limiter_set_overshoot_alarm(inst->limiter, overshoot_alarm);
	}
	events_configure(&log);
	/* Replaces the keys between two datagrams; wipes the previous ones. */
	if (reload->error == 0 && reload->keyring) {
		log_keys(inst->keyring, reload->keyring);
		before = limiter_rekey(inst->limiter, reload->keyring);
		inst->keyring = reload->keyring;
		reload->keyring = before;
	}
	keyring_destroy(reload->keyring);
	reload->keyring = NULL;
	return exchanged;
}

/*
 * Updates the kept state after a change. A new configuration is the last good one, unless it must
 * be confirmed.
 */
static void note_in_force(struct reload *reload)
{
	struct kept *kept = reload->inst->kept;
	const struct change_request *request = &reload->change.request;

	if (!kept || reload->error || request->kind == CHANGE_CONFIRM)
		return;
	if (request->kind == CHANGE_UNDO)
		confirm_undone(&kept->confirm);
	else if (reload->change.number)
		confirm_change(
			&kept->confirm, reload->change.number, control_now(), request->within_ns);
	else if (request->kind != CHANGE_START)
		kept->confirm.running = 0; /* the last good one stays */
	if (reload->change.about) {
		json_decref(kept->about);
		kept->about = json_incref(reload->change.about);
	}
	if (request->kind != CHANGE_START) {
		free(kept->refused);
		kept->refused = NULL;
	}
	if ((request->kind == CHANGE_APPLY || request->kind == CHANGE_ROLLBACK) &&
		!request->within_ns)
		reload->last.superseded = reload->last.error != 0;
}

/* Called when the thread has ended reading. */
static void commit_reload(struct reload *reload)
{
	struct policy_txn *x = reload->prepared;
	bool exchanged;

	pthread_join(reload->thread, NULL);
	reload->phase = IDLE;
	exchanged = put_in_force(reload);
	note_in_force(reload);
	note_outcome(reload, reload->error == 0 && x ? policy_txn_diff(x) : NULL);
	if (x || reload->error)
		log_end(reload);
	reload->prepared = NULL;
	if (exchanged)
		reload->policy_txn = x;
	else
		policy_txn_free(x);
	if (reload->inst->kept && begin_phase(reload, SAVING) == 0)
		reload->changed.known = false; /* published when it is durable */
}

/* A confirmation that is not durable is refused: the change waits on. */
static void end_confirmation(struct reload *reload)
{
	struct reload_outcome *last = &reload->changed;
	struct kept *kept = reload->inst->kept;

	reload->error = last->error = reload->keep_error;
	if (reload->error == 0) {
		confirm_accept(&kept->confirm);
		reload->last.superseded = reload->last.error != 0;
		return;
	}
	free(last->messages);
	if (asprintf(&last->messages,
		    "%s: cannot keep the confirmation: %s: the change still waits for it\n",
		    kept->directory, strerror(-reload->error)) < 0)
		last->messages = NULL;
}

/* Called when the outcome is durable: makes it available. */
static void end_change(struct reload *reload)
{
	struct change *change = &reload->change;
	struct kept *kept = reload->inst->kept;
	int error = reload->keep_error ? reload->keep_error : change->keep_error;

	pthread_join(reload->thread, NULL);
	reload->phase = IDLE;
	/* If no record runs, a refused or empty change does not change that. */
	if (error || kept->confirm.running) {
		if (!error && kept->trouble)
			event(CHANGE_KEPT, event_word("directory", kept->directory));
		free(kept->trouble);
		kept->trouble = error ? strdup(strerror(-error)) : NULL;
		if (error)
			event(CHANGE_NOT_KEPT, event_word("directory", kept->directory),
				event_word("why", strerror(-error)));
	}
	if (change->request.kind == CHANGE_CONFIRM)
		end_confirmation(reload);
	if (change->file >= 0) {
		if (kept->running_file >= 0)
			close(kept->running_file);
		kept->running_file = change->file;
		change->file = -1;
	}
	if (change->line)
		kept_remember(kept, json_incref(change->line));
	reload->again_ns = reload->error ? control_now() + AGAIN_NS : 0;
	reload->changed.kept_error = error;
	reload->changed.known = true;
	if (begin_phase(reload, CLEARING))
		change_clear(change);
}

/* Begins the next due work: the record of a start, a queued reload, or an undo. */
static void begin_what_is_due(struct reload *reload)
{
	struct kept *kept = reload->inst->kept;
	struct change_request request = reload_by_nobody;
	bool rests = control_now() < reload->again_ns;

	if (kept && kept->start && !rests) { /* the chosen configuration of the start runs */
		request.kind = CHANGE_START;
		begin_change(reload, &request);
	} else if (reload->again && !start_waits(reload)) {
		begin_reload(reload, &reload->asked);
	} else if (kept && confirm_due(&kept->confirm, control_now()) && !rests) {
		request.kind = CHANGE_UNDO;
		begin_change(reload, &request);
	}
}

/* Logs at most one line for a reload that waits, and another when it has ended. */
static void log_waiting(struct reload *reload)
{
	int worker = reload_waits_for(reload->inst);

	if (worker < 0 || reload->wait_logged || !stuck_by_far(&reload->inst->stuck))
		return;
	reload->wait_logged = true;
	event(RELOAD_WAITS, event_count("worker", (uint64_t)worker),
		event_count("cpu", reload->inst->config->workers[worker]));
}

void reload_advance(struct instance *inst)
{
	struct reload *reload = inst->reload;
	uint64_t done;

	if (!reload)
		return;
	if (reload->phase != IDLE && read(reload->event_fd, &done, sizeof(done)) > 0) {
		if (reload->phase == READING) {
			commit_reload(reload);
		} else if (reload->phase == SAVING) {
			end_change(reload);
		} else {
			pthread_join(reload->thread, NULL);
			reload->phase = IDLE;
			if (reload->digest[0])
				kept_put_digest(reload->inst->kept, reload->digest);
		}
	}
	if (reload->policy_txn && policy_txn_finish(reload->policy_txn)) {
		policy_txn_free(reload->policy_txn);
		reload->policy_txn = NULL;
		if (reload->wait_logged)
			event(RELOAD_OVER);
		reload->wait_logged = false;
	}
	log_waiting(reload);
	if (can_begin(reload))
		begin_what_is_due(reload);
	inst->reloading = !is_idle(reload);
}

int reload_fd(const struct instance *inst)
{
	return inst->reload ? inst->reload->event_fd : -1;
}

const char *reload_state(const struct instance *inst)
{
	const struct reload *reload = inst->reload;

	if (!reload || is_idle(reload))
		return "idle";
	if (reload->phase == READING)
		return "reading";
	return reload->policy_txn ? "finishing" : "saving";
}

bool reload_finishing(const struct instance *inst)
{
	return inst->reload && inst->reload->policy_txn;
}

uint64_t reload_due_ns(const struct instance *inst)
{
	const struct reload *reload = inst->reload;
	const struct kept *kept = inst->kept;

	if (!reload || !kept || !is_idle(reload))
		return UINT64_MAX;
	if (start_waits(reload))
		return reload->again_ns;
	if (!confirm_waits(&kept->confirm))
		return UINT64_MAX;
	return kept->confirm.until_ns > reload->again_ns ? kept->confirm.until_ns
							 : reload->again_ns;
}

int reload_waits_for(const struct instance *inst)
{
	uint64_t by_far = stuck_by_far(&inst->stuck), stuck = stuck_workers(&inst->stuck);

	stuck = by_far ? by_far : stuck; /* the others might only have no CPU for a moment */
	return reload_finishing(inst) && stuck ? __builtin_ctzll(stuck) : -1;
}

const struct reload_outcome *reload_last(const struct instance *inst)
{
	return inst->reload ? &inst->reload->last : NULL;
}

const struct reload_outcome *reload_last_change(const struct instance *inst)
{
	return inst->reload && inst->reload->changed.known ? &inst->reload->changed : NULL;
}

const struct reload_outcome *reload_change_of(const struct instance *inst, uint64_t serial)
{
	const struct reload_outcome *last = reload_last_change(inst), *previous;

	if (!inst->reload || (last && last->serial == serial))
		return last;
	previous = &inst->reload->previous[serial % RELOAD_OUTCOMES];
	return previous->known && previous->serial == serial ? previous : NULL;
}
