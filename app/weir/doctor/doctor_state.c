/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grp.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bypass.h"
#include "checks.h"
#include "etcd_share.h"
#include "gossip_socket.h"
#include "ledger_store.h"
#include "policy/kind.h"
#include "policy/value.h"
#include "secret/group_keys.h"
#include "secret/secret_file.h"
#include "socket_groups.h"
#include "store/store.h"
#include "telemetry/server.h"

#define STORE_ROOM (1 << 20) /* bytes: a store and its journal, when it is made */

/* ---- files of secrets, and groups: what those who read them complain of */

static void find_complaint(void *context, const struct complaint *complaint)
{
	doctor_find(context, &(struct finding){.verdict = DOCTOR_FAIL,
				     .place = complaint->place,
				     .found = complaint->found,
				     .expected = complaint->expected,
				     .remedy = complaint->remedy});
}

/* A start goes on without it. */
static void check_tls_file(struct doctor *doctor, const char *key, const char *file)
{
	if (!file[0] || access(file, R_OK) == 0)
		return;
	doctor_find(
		doctor, &(struct finding){.verdict = DOCTOR_WARN,
				.place = doctor_words(doctor, "ledger.etcd.%s", key),
				.found = doctor_words(doctor,
					"%s: %s: nothing is drawn of etcd before it can be read",
					file, strerror(errno)),
				.remedy = doctor_words(doctor, "ls -l %s", file)});
}

void check_secrets(struct doctor *doctor)
{
	const struct complaint_sink to = {find_complaint, doctor};
	const uid_t user = secret_checked_user();
	struct keyring *keyring = NULL;

	group_keys_load(&doctor->config->gossip, user, &to, &keyring);
	keyring_destroy(keyring);
	etcd_share_check(&doctor->config->ledger, user, &to);
	check_tls_file(doctor, "ca", doctor->config->ledger.etcd_ca);
	check_tls_file(doctor, "cert", doctor->config->ledger.etcd_cert);
	check_tls_file(doctor, "key", doctor->config->ledger.etcd_key);
}

void check_bypass(struct doctor *doctor)
{
	const struct complaint_sink to = {find_complaint, doctor};

	bypass_check(doctor->config, &to);
}

/* Whether this user may give a file to that group. */
static bool is_member(gid_t gid)
{
	gid_t groups[256];
	int n = getgroups(256, groups);
	bool found = geteuid() == 0 || getegid() == gid;

	for (int i = 0; i < n; i++)
		found |= groups[i] == gid;
	return found;
}

void check_groups(struct doctor *doctor)
{
	const struct complaint_sink to = {find_complaint, doctor};
	struct telemetry_options options = {0};

	if (socket_groups_find(doctor->config, &options, &to) || !options.group.name ||
		is_member(options.group.gid))
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = "control.group",
			.found = doctor_words(doctor,
				"\"%s\": user %u is not in it, and cannot give it the socket",
				options.group.name, (unsigned)geteuid()),
			.remedy = doctor_words(doctor, "usermod -aG %s USER", options.group.name)});
}

/* ---- sockets */

/* An address as it is written with its port, without brackets. */
static const char *listen_remedy(struct doctor *doctor, const char *address, int error)
{
	const char *colon = strrchr(address, ':');
	int len = colon ? (int)(colon - address) : 0;

	if (len > 1 && address[0] == '[') {
		address++;
		len -= 2;
	}
	if (error == -EADDRNOTAVAIL)
		return doctor_words(
			doctor, "ip -br address; ip address add %.*s dev INTERFACE", len, address);
	if (error == -EADDRINUSE)
		return doctor_words(doctor, "ss -ulpn 'sport = %s'", colon ? colon : ":0");
	return NULL;
}

void check_listen(struct doctor *doctor)
{
	const struct gossip_config *gossip = &doctor->config->gossip;
	int ret = gossip_socket_try(gossip);
	char text[ADDRESS_TEXT_MAX];

	if (ret == 0)
		return;
	address_format(&gossip->listen, text, sizeof(text));
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = "gossip.listen",
			.found = doctor_words(doctor, "cannot bind %s: %s", text,
				ret == -EADDRNOTAVAIL ? "no interface of this machine has it"
				: ret == -EADDRINUSE  ? "another process has it"
						      : strerror(-ret)),
			.remedy = listen_remedy(doctor, text, ret)});
}

void check_socket(struct doctor *doctor)
{
	const char *path = doctor->config->control_socket;
	int ret = telemetry_look(path);
	const char *slash = strrchr(path, '/'), *remedy = NULL;
	int len = slash ? (int)(slash - path) : 0;

	if (ret == 0)
		return;
	if (ret == -EADDRINUSE)
		remedy = doctor_words(doctor, "weirctl -s %s status", path);
	else if (ret == -EEXIST)
		remedy = doctor_words(doctor, "ls -l %s", path);
	else if (ret == -ENOENT)
		remedy = doctor_words(doctor, "mkdir -p %.*s", len, path);
	else if (ret == -EACCES)
		remedy = doctor_words(doctor, "chown USER %.*s", len, path);
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = "control.socket",
			.found = doctor_words(doctor, "%s: %s", path,
				ret == -EADDRINUSE ? "a weir that runs has it"
				: ret == -ENOENT   ? "the directories above it are not there"
				: ret == -EEXIST   ? "something that is no socket has this name"
						   : strerror(-ret)),
			.remedy = remedy});
}

/* ---- the ledger's store */

static void say_store(
	struct doctor *doctor, enum doctor_verdict verdict, const char *found, const char *remedy)
{
	doctor_find(doctor, &(struct finding){.verdict = verdict,
				    .place = "ledger.store",
				    .found = found,
				    .remedy = remedy});
}

/* The directory that is there of a path: itself, or the one above it. */
static const char *standing_directory(struct doctor *doctor, const char *path)
{
	size_t len = strlen(path);

	if (access(path, F_OK) == 0)
		return path;
	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? doctor_words(doctor, "%.*s", (int)len, path) : ".";
}

/* The start makes one that has lost its memory, if it can. */
static void check_new_store(struct doctor *doctor, const char *store)
{
	const char *directory = standing_directory(doctor, store);
	const char *new = doctor_words(doctor, "weir --new-ledger %s", doctor->file);

	if (access(directory, W_OK | X_OK))
		say_store(doctor, DOCTOR_FAIL,
			doctor_words(doctor, "%s: %s: no store is there, and none can be made",
				directory, strerror(errno)),
			errno == ENOENT ? doctor_words(doctor, "mkdir -p %s", directory)
					: doctor_words(doctor, "chown USER %s", directory));
	else
		say_store(doctor, DOCTOR_WARN,
			doctor_words(doctor,
				"%s: no store is there: this limiter would begin as one that has "
				"lost its memory, and let nothing pass of what is never exceeded "
				"until its neighbours have told it what they know",
				store),
			new);
}

static void check_store_room(struct doctor *doctor, const char *store)
{
	const char *directory = standing_directory(doctor, store);
	struct statvfs fs;

	if (statvfs(directory, &fs) || (fs.f_flag & ST_RDONLY))
		return;
	if (fs.f_bavail * fs.f_frsize < STORE_ROOM || (fs.f_files && fs.f_favail == 0))
		say_store(doctor, DOCTOR_WARN,
			doctor_words(doctor,
				"%s: the file system is full: what is not saved is not spent",
				directory),
			doctor_words(doctor, "df -h %s; df -i %s", directory, directory));
}

void check_ledger(struct doctor *doctor)
{
	const char *store = doctor->config->ledger.store;
	int ret;

	if (!store[0] || !config_needs_ledger(doctor->config))
		return;
	ret = store_look(store);
	if (ret == -ENOENT)
		check_new_store(doctor, store);
	else if (ret)
		say_store(doctor, DOCTOR_FAIL,
			doctor_words(doctor, "%s: %s", store, ledger_store_reason(ret)),
			ret == -EBUSY ? doctor_words(doctor, "fuser -v %s", store) : NULL);
	check_store_room(doctor, store);
}
