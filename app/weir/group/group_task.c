/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The members of the group, which change while packets flow: by an operator at any limiter, or by a
 * new name in the file of one.
 */
#include "group_task.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <sodium.h>

#include "base/hash.h"
#include "base/time.h"
#include "limiter_task.h"
#include "change/replace.h"
#include "event.h"
#include "gossip/keyring.h"
#include "gossip_socket.h"
#include "group/roster.h"
#include "instance.h"
#include "limiter/limiter.h"
#include "members/exchange.h"
#include "members/members.h"
#include "plain_thread.h"
#include "policy/kind.h"
#include "publish.h"
#include "secret/group_keys.h"

#define GROUP_FILE "group"

/* Time until a roster that could not be exchanged, or kept, is tried again. */
#define AGAIN_NS (10 * SECOND_NS)

/*
 * A limiter that was just removed can send for a moment. One that sends when the members have been
 * the same for this time has returned. Time until the same one is attended again, and of the alarm.
 */
#define SETTLED_NS  (5 * SECOND_NS)
#define REST_NS     (30 * SECOND_NS)
#define RETURNED_NS (60 * SECOND_NS)

struct group_task {
	struct members *set;
	struct gossip_config *live; /* the instance's, whose roster changes */
	struct gossip_config keys;  /* the last file's, for its keys; its roster is not used */
	int directory;              /* --state; -1: the set is not kept */
	int event_fd;
	uint64_t serial;          /* members_serial() of the set that was prepared last */
	uint64_t again_ns;        /* the next try after a failure; 0: none */
	char trouble[GROUP_TEXT]; /* "": none */
	uint64_t settled_ns;      /* time of the last change of the set */

	/* Limiters that were removed and send gossip, one at a time. */
	struct stray *stray; /* NULL: none is attended */
	uint32_t rests_id;   /* the last one, which is not attended until rests_ns */
	uint64_t rests_ns;
	char returned[GROUP_TEXT]; /* the last one that had other members, for the alarm */
	uint64_t returned_ns;      /* end of the alarm */

	/* While the thread runs, these are its own. */
	bool busy;
	pthread_t thread;
	bool for_stray;            /* its roster is for `stray` */
	struct gossip_config next; /* keys in force, and the new roster, which is owned */
	struct keyring *keyring;
	void *content; /* the bytes of the file */
	size_t len;
	int error, keep_error;
	char *messages;
};

bool group_is_busy(const struct instance *inst)
{
	return inst->group && inst->group->busy;
}

const char *group_trouble(const struct instance *inst)
{
	const struct group_task *group = inst->group;

	if (group && group->trouble[0])
		return group->trouble;
	return group && control_now() < group->returned_ns ? group->returned : NULL;
}

static const char *own_name(const struct group_task *group)
{
	return group->live->roster[group->live->self].name;
}

/* Returns the index of a name, or n. */
static unsigned find_name(const struct peer_config *roster, unsigned n, const char *name)
{
	unsigned i = 0;

	while (i < n && strcmp(roster[i].name, name) != 0)
		i++;
	return i;
}

/* Adds the limiters of a file. Changes by an operator prevail over it. */
static int seed_members(struct members *set, const struct gossip_config *file)
{
	for (unsigned i = 0; i < file->n_roster; i++) {
		const struct peer_config *peer = &file->roster[i];
		struct member_address address = member_address_of(peer);
		int ret = members_seed(set, peer->name, &address, peer_key(peer));

		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Makes the roster of the members: first the limiters of the present one in its order. This limiter
 * is in it even if it was removed, so that it learns when it is added again. The caller
 * frees it.
 */
static int make_roster(const struct group_task *group, struct peer_config **out, unsigned *n)
{
	const struct gossip_config *live = group->live;
	struct peer_config *roster = calloc(members_count(group->set) + 1, sizeof(*roster));
	const struct member_entry *member;
	unsigned position = 0;
	struct roster *present;
	int ret = roster ? group_keys_roster(live, &present) : -ENOMEM;

	*n = 0;
	*out = roster;
	if (ret) {
		free(roster);
		return ret;
	}
	for (unsigned i = 0; i < live->n_roster; i++) {
		member = members_find(group->set, live->roster[i].name);
		if (member)
			roster[(*n)++] = peer_of_member(member);
		else if (i == live->self)
			roster[(*n)++] = live->roster[i];
	}
	while ((member = members_present(group->set, &position)))
		if (roster_find(present, member->id) == present->n)
			roster[(*n)++] = peer_of_member(member);
	roster_destroy(present);
	return 0;
}

static bool is_member(const struct group_task *group)
{
	return members_find(group->set, own_name(group));
}

int group_read_kept(int directory, struct members **out)
{
	int fd = openat(directory, GROUP_FILE, O_RDONLY | O_CLOEXEC), ret = -EIO;
	off_t len = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	uint8_t *content = len > 0 ? malloc((size_t)len) : NULL;

	if (fd < 0)
		return -errno;
	if (content && pread(fd, content, (size_t)len, 0) == len)
		ret = members_decode(content, (size_t)len, out);
	free(content);
	close(fd);
	return ret;
}

/* Reads the set that was kept. A damaged one is reported, and not used. */
static void read_kept(struct group_task *group, const char *directory)
{
	int ret = group_read_kept(group->directory, &group->set);

	if (ret && ret != -ENOENT)
		event(GROUP_NOT_READ, event_word("directory", directory),
			event_word("why", strerror(-ret)));
}

/* Makes the members the roster of the start. */
static int begin_with_members(struct instance *inst, struct group_task *group, bool kept)
{
	struct gossip_config *live = group->live;
	struct peer_config *roster;
	unsigned n;
	int ret = make_roster(group, &roster, &n);

	if (ret)
		return ret;
	live->self = find_name(roster, n, own_name(group));
	free(live->roster);
	live->roster = roster;
	live->n_roster = n;
	group->serial = members_serial(group->set);
	inst->removed = !is_member(group);
	inst->joining = live->join && !kept;
	if (inst->removed)
		event(GROUP_LEFT, event_word("limiter", own_name(group)));
	return 0;
}

static int open_group(struct instance *inst, struct group_task *group)
{
	bool kept;
	int ret = 0;

	group->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (group->event_fd < 0)
		return -errno;
	if (inst->state_directory)
		group->directory = open(inst->state_directory, O_DIRECTORY | O_CLOEXEC);
	if (group->directory >= 0)
		read_kept(group, inst->state_directory);
	kept = group->set;
	if (!kept)
		ret = members_create(&group->set);
	if (ret == 0)
		ret = seed_members(group->set, group->live);
	inst->members = group->set;
	return ret ? ret : begin_with_members(inst, group, kept);
}

int group_start(struct instance *inst)
{
	struct gossip_config *live = inst->live_gossip;
	struct group_task *group;
	int ret;

	if (!live || live->listen_len == 0 || live->n_roster < 2)
		return 0;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->live = live;
	group->keys = *live;
	group->directory = group->event_fd = -1;
	inst->group = group;
	ret = open_group(inst, group);
	if (ret)
		group_stop(inst);
	return ret;
}

static void drop_prepared(struct group_task *group)
{
	keyring_destroy(group->keyring);
	free(group->next.roster);
	free(group->content);
	free(group->messages);
	group->keyring = NULL;
	group->next.roster = NULL;
	group->content = NULL;
	group->messages = NULL;
}

void group_settle(struct instance *inst, const struct timespec *until)
{
	struct group_task *group = inst->group;

	if (!group || !group->busy)
		return;
	if (pthread_clockjoin_np(group->thread, NULL, CLOCK_MONOTONIC, until) == 0) {
		group->busy = false;
		return;
	}
	pthread_detach(group->thread);
	inst->left_behind = true;
	inst->group = NULL; /* the thread's */
}

void group_stop(struct instance *inst)
{
	struct group_task *group = inst->group;

	if (!group)
		return;
	if (group->busy)
		pthread_join(group->thread, NULL);
	drop_prepared(group);
	stray_destroy(group->stray);
	members_destroy(group->set);
	if (group->event_fd >= 0)
		close(group->event_fd);
	if (group->directory >= 0)
		close(group->directory);
	free(group);
	inst->group = NULL;
	inst->members = NULL;
}

/* Work of the thread. */
static void *prepare_roster(void *arg)
{
	const uint64_t done = 1;
	struct group_task *group = arg;
	struct replacement file = {.directory = group->directory,
		.name = GROUP_FILE,
		.aside = GROUP_FILE ".new",
		.mode = 0640};
	const struct iovec content = {group->content, group->len};
	size_t size;
	FILE *err = open_memstream(&group->messages, &size);

	group->keep_error = group->content && group->directory >= 0
				    ? replace_file(&file, &content, 1)
				    : 0;
	group->error = -ENOMEM;
	if (err) {
		const struct complaint_sink to = complaint_sink_of(err);

		group->error = group_keys_load(&group->next, geteuid(), &to, &group->keyring);
		fclose(err);
	}
	while (write(group->event_fd, &done, sizeof(done)) < 0 && errno == EINTR)
		;
	return NULL;
}

/* Takes part in the group, or gives the others the part of this limiter. */
static void set_part(struct instance *inst, bool removed, bool joining)
{
	if (inst->removed == removed && inst->joining == joining)
		return;
	if (removed && !inst->removed)
		event(GROUP_LEFT, event_word("limiter", own_name(inst->group)));
	else if (!removed && !joining)
		event(GROUP_TAKES_PART, event_word("limiter", own_name(inst->group)),
			event_count("limiters", inst->group->live->n_roster));
	inst->removed = removed;
	inst->joining = joining;
	limiter_leave(inst->limiter, removed || joining);
	publish(inst);
}

/* Starts the thread with the roster in group->next. */
static int start_thread(struct group_task *group, bool for_stray)
{
	int ret = plain_thread_start(&group->thread, prepare_roster, group);

	group->for_stray = for_stray;
	group->busy = ret == 0;
	return ret;
}

/* Begins to prepare the roster of the present set. */
static int begin_prepare(struct group_task *group)
{
	struct peer_config *roster;
	unsigned n;
	int ret = make_roster(group, &roster, &n);

	if (ret)
		return ret;
	group->next = group->keys;
	group->next.roster = roster;
	group->next.n_roster = n;
	group->next.self = find_name(roster, n, own_name(group));
	group->len = members_bytes(group->set);
	group->content = malloc(group->len);
	if (!group->content)
		return -ENOMEM;
	members_encode(group->set, group->content);
	group->serial = members_serial(group->set);
	group->settled_ns = control_now();
	return start_thread(group, false);
}

/* Logs which limiters of one roster are not in the other. */
static void log_missing(
	const struct peer_config *roster, unsigned n, const struct roster *other, bool joined)
{
	for (unsigned i = 0; i < n; i++) {
		if (roster_find(other, name_hash(roster[i].name)) < other->n)
			continue;
		if (joined)
			event(GROUP_JOINED, event_word("limiter", roster[i].name));
		else
			event(GROUP_PARTED, event_word("limiter", roster[i].name));
	}
}

static void log_members(const struct gossip_config *before, const struct gossip_config *after)
{
	struct roster *was, *is;

	if (group_keys_roster(before, &was))
		return;
	if (group_keys_roster(after, &is) == 0) {
		log_missing(after->roster, after->n_roster, was, true);
		log_missing(before->roster, before->n_roster, is, false);
		roster_destroy(is);
	}
	roster_destroy(was);
}

/* Exchanges the roster. The set stays, even if that fails. */
static int exchange_roster(struct instance *inst, struct group_task *group)
{
	struct gossip_config *next = &group->next;
	int ret;

	if (!is_member(group)) { /* its roster stays until it is added again */
		set_part(inst, true, inst->joining);
		return 0;
	}
	ret = limiter_task_regroup(inst, group->live, next, &group->keyring);
	if (ret)
		return ret;
	log_members(next, group->live);
	set_part(inst, false, inst->joining);
	return 0;
}

/* Sets the text of the alarm; "" ends it. */
__attribute__((format(printf, 2, 3))) static void set_trouble(
	struct group_task *group, const char *format, ...)
{
	char text[GROUP_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strcmp(group->trouble, text) == 0)
		return;
	memcpy(group->trouble, text, sizeof(text));
	if (text[0])
		event(GROUP_TROUBLE, event_word("why", text));
	else
		event(GROUP_WELL);
}

/* Called when the thread has ended. */
static void commit_roster(struct instance *inst, struct group_task *group)
{
	const char *messages = group->messages ? group->messages : "out of memory";
	int ret = group->error;
	char line[GROUP_TEXT / 2];

	pthread_join(group->thread, NULL);
	group->busy = false;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(messages, "\n"), messages);
	if (ret == 0)
		ret = exchange_roster(inst, group);
	if (ret == -ENOTSUP)
		set_trouble(group,
			"the group has other members than this limiter, whose ledger has their "
			"parts: stop all, see doc/operate/group.md");
	else if (group->error)
		set_trouble(group, "the keys for the group's new roster: %s", line);
	else if (ret)
		set_trouble(group, "the group's new roster: %s", strerror(-ret));
	else if (group->keep_error)
		set_trouble(group, "the members of the group are not kept: %s",
			strerror(-group->keep_error));
	else
		set_trouble(group, "%s", "");
	group->again_ns = ret || group->keep_error ? control_now() + AGAIN_NS : 0;
	drop_prepared(group);
}

/* Leaves a limiter alone for a time. */
static void rest_stray(
	struct instance *inst, struct group_task *group, uint32_t id, uint64_t now_ns)
{
	group->rests_id = id;
	group->rests_ns = now_ns + REST_NS;
	gossip_socket_drop_stray(inst->gossip);
}

/*
 * Called when the thread has ended. Without keys for the pair, such as a missing public key, the
 * limiter is not attended.
 */
static void commit_stray(struct instance *inst, struct group_task *group, uint64_t now_ns)
{
	const struct gossip_stray *datagram = &inst->gossip->stray;

	pthread_join(group->thread, NULL);
	group->busy = false;
	if (group->error == 0 && stray_create(&group->next, group->keyring, group->set, datagram,
					 now_ns, &group->stray) == 0)
		group->keyring = NULL; /* the stray's */
	else
		rest_stray(inst, group, datagram->id, now_ns);
	drop_prepared(group);
}

static void note_returned(struct group_task *group, uint64_t now_ns)
{
	const struct member_entry *ended = members_ended(group->set, stray_id(group->stray));

	if (!ended || !stray_differs(group->stray, now_ns) ||
		now_ns - group->settled_ns < SETTLED_NS)
		return;
	if (now_ns >= group->returned_ns)
		event(GROUP_RETURNED, event_word("limiter", ended->name));
	snprintf(group->returned, sizeof(group->returned),
		"limiter %s was removed, but runs and may enforce a part of the limits: it gets "
		"the present members, and then enforces nothing; stop it, or add it again",
		ended->name);
	group->returned_ns = now_ns + RETURNED_NS;
}

/* Sends the members to a limiter that was one. */
static void attend_stray(struct instance *inst, struct group_task *group, uint64_t now_ns)
{
	struct gossip_stray *datagram = &inst->gossip->stray;

	if (datagram->len > 0 && stray_id(group->stray) == datagram->id)
		stray_receive(group->stray, datagram, now_ns);
	gossip_socket_drop_stray(inst->gossip);
	stray_run(group->stray, inst->gossip, now_ns);
	note_returned(group, now_ns);
	if (members_ended(group->set, stray_id(group->stray)) &&
		!stray_is_over(group->stray, now_ns))
		return;
	rest_stray(inst, group, stray_id(group->stray), now_ns);
	stray_destroy(group->stray);
	group->stray = NULL;
}

/* Begins to attend the limiter whose datagram was kept. */
static void find_stray(struct instance *inst, struct group_task *group, uint64_t now_ns)
{
	const struct gossip_stray *datagram = &inst->gossip->stray;
	const struct member_entry *ended = datagram->len > 0
						   ? members_ended(group->set, datagram->id)
						   : NULL;
	bool rests = datagram->id == group->rests_id && now_ns < group->rests_ns;
	struct peer_config *pair = NULL;

	if (ended && !rests && !inst->removed && !inst->joining)
		pair = calloc(2, sizeof(*pair));
	if (pair) { /* makes keys for this limiter and that one */
		pair[0] = group->live->roster[group->live->self];
		pair[1] = peer_of_member(ended);
		group->next = group->keys;
		group->next.roster = pair;
		group->next.n_roster = 2;
		group->next.self = 0;
	}
	if (pair && start_thread(group, true) == 0)
		return;
	if (pair)
		rest_stray(inst, group, datagram->id, now_ns);
	else
		gossip_socket_drop_stray(inst->gossip);
	drop_prepared(group);
}

/* A limiter that leaves has left when its workers have no limits any more. */
static void end_leaving(struct instance *inst, struct group_task *group)
{
	const struct member_entry *own = members_find(group->set, own_name(group));

	if (!own || own->state != MEMBER_LEAVING)
		return;
	set_part(inst, true, inst->joining);
	if (publish_is_done(inst))
		members_left(group->set, own_name(group));
}

void group_count(const struct instance *inst, unsigned *alive, unsigned *confirmed)
{
	const struct gossip_config *gossip = &inst->config->gossip;

	*alive = *confirmed = 0;
	for (unsigned i = 0; i < gossip->n_roster; i++) {
		const struct peer *peer = gossip_peer(limiter_gossip(inst->limiter), i);

		if (i == gossip->self || !peer || !peer->alive)
			continue;
		++*alive;
		*confirmed += exchange_confirmed(limiter_exchange(inst->limiter), i);
	}
}

/* A limiter has joined when its roster has the members that all active neighbours have. */
static void end_joining(struct instance *inst, const struct group_task *group)
{
	unsigned alive, confirmed;

	if (!inst->joining || group->busy || members_serial(group->set) != group->serial)
		return;
	group_count(inst, &alive, &confirmed);
	if (alive > 0 && confirmed == alive)
		set_part(inst, inst->removed, false);
}

int group_fd(const struct instance *inst)
{
	return inst->group ? inst->group->event_fd : -1;
}

uint64_t group_next(const struct instance *inst)
{
	const struct group_task *group = inst->group;
	uint64_t next = group && group->again_ns && !group->busy ? group->again_ns : UINT64_MAX;

	if (group && group->stray && stray_next(group->stray) < next)
		next = stray_next(group->stray);
	return next;
}

bool group_run(struct instance *inst, uint64_t now_ns)
{
	struct group_task *group = inst->group;
	uint64_t done;

	if (!group)
		return false;
	if (group->busy && read(group->event_fd, &done, sizeof(done)) > 0) {
		if (group->for_stray)
			commit_stray(inst, group, now_ns);
		else
			commit_roster(inst, group);
	}
	end_leaving(inst, group);
	end_joining(inst, group);
	if (group->stray)
		attend_stray(inst, group, now_ns);
	if (group->busy || inst->reloading)
		return false;
	if (members_serial(group->set) == group->serial &&
		(group->again_ns == 0 || now_ns < group->again_ns)) {
		if (!group->stray)
			find_stray(inst, group, now_ns);
		return false;
	}
	if (begin_prepare(group)) {
		drop_prepared(group);
		group->again_ns = now_ns + AGAIN_NS;
	}
	return false;
}

void group_take_file(struct instance *inst, const struct gossip_config *file)
{
	struct group_task *group = inst->group;

	if (!group)
		return;
	group->keys = *file;
	if (seed_members(group->set, file))
		set_trouble(group, "the names of the file: out of memory");
}
