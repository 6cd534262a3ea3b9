/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the doctor: roster, secrets, sockets and addresses, and the state on disk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bypass.h"
#include "checks.h"
#include "etcd_share.h"
#include "gossip_socket.h"
#include "ledger_store.h"
#include "limiter_task.h"
#include "policy/kind.h"
#include "policy/value.h"
#include "secret/group_keys.h"
#include "secret/secret_file.h"
#include "secret/trusted.h"
#include "machine_errors.h"
#include "store/store.h"
#include "telemetry/server.h"

#define COPY_BYTES (1 << 20)

static int copy_file(int from_directory, int to_directory, const char *name)
{
	int from = openat(from_directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(to_directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;
	ssize_t n = -1;

	if (from >= 0 && to >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode))
		do
			n = sendfile(to, from, NULL, COPY_BYTES);
		while (n > 0);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return n < 0 ? -EIO : 0;
}

/* Calls for each file of a directory until one fails. */
static int each_file(const char *directory, int to, int (*call)(int from, int to, const char *name))
{
	DIR *files = opendir(directory);
	const struct dirent *entry;
	int ret = files ? 0 : -errno;

	while (ret == 0 && (entry = readdir(files)))
		if (entry->d_name[0] != '.')
			ret = call(dirfd(files), to, entry->d_name);
	if (files)
		closedir(files);
	return ret;
}

static int remove_file(int from, int to, const char *name)
{
	(void)to;
	return unlinkat(from, name, 0) ? -errno : 0;
}

/* A start counts itself in the store, so it is tried with a copy. */
static int try_copy(const struct config *config, const char *copy)
{
	int to = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ledger_store opened;
	int ret = to < 0 ? -errno : each_file(config->ledger.store, to, copy_file);

	if (to >= 0)
		close(to);
	if (ret == 0 && ledger_store_open(copy, false, &opened) == 0) {
		ret = limiter_task_try(config, &opened);
		ledger_store_close(&opened);
	}
	return ret;
}

void check_roster(struct doctor *doctor)
{
	char above[] = "/tmp/weir-roster-XXXXXX", copy[sizeof(above) + sizeof("/store")];
	int ret;

	if (!mkdtemp(above))
		return;
	snprintf(copy, sizeof(copy), "%s/store", above);
	ret = mkdir(copy, 0700) ? -errno : try_copy(doctor->config, copy);
	each_file(copy, -1, remove_file);
	rmdir(copy);
	each_file(above, -1, remove_file); /* the store's sentinel is next to it */
	rmdir(above);
	if (ret == -EINVAL)
		doctor_find(
			doctor, &(struct finding){.verdict = DOCTOR_FAIL,
					.place = "ledger.store",
					.found = doctor_words(doctor,
						"%s: its records are of another roster or overlay",
						doctor->config->ledger.store),
					.expected = "the roster with which they were written",
					.remedy = "\"Start another ledger\" in "
						  "doc/operate/group.md"});
}

#define STORE_ROOM (1 << 20) /* bytes: a store and its journal, when it is made */

/* ---- files of secrets, and groups */

static void find_complaint(void *context, const struct complaint *complaint)
{
	doctor_find(context, &(struct finding){.verdict = DOCTOR_FAIL,
				     .place = complaint->place,
				     .found = complaint->found,
				     .expected = complaint->expected,
				     .remedy = complaint->remedy});
}

/* Weir starts without the file, so this is a warning. */
static void check_tls_file(struct doctor *doctor, const char *key, const char *file)
{
	if (!file[0] || access(file, R_OK) == 0)
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_WARN,
			.place = doctor_words(doctor, "ledger.etcd.%s", key),
			.found = doctor_words(doctor,
				"%s: %s; no quota comes from etcd until the file is readable", file,
				strerror(errno)),
			.remedy = doctor_words(doctor, "ls -l %s", file)});
}

static void add_file_fact(struct doctor *doctor, const char *key, const char *file)
{
	if (file[0])
		doctor_add_fact(doctor, "%s %s is usable", key, file);
}

void check_secrets(struct doctor *doctor)
{
	const struct gossip_config *gossip = &doctor->config->gossip;
	const struct ledger_config *ledger = &doctor->config->ledger;
	const struct complaint_sink to = {find_complaint, doctor};
	const uid_t user = secret_checked_user();
	struct keyring *keyring = NULL;

	doctor_skip(doctor, "no key, identity or password file is configured");
	for (unsigned i = 0; i < gossip->n_key_files; i++)
		add_file_fact(doctor, "gossip.key_file", gossip->key_files[i]);
	add_file_fact(doctor, "gossip.identity_file", gossip->identity_file);
	add_file_fact(doctor, "ledger.etcd.password_file", ledger->etcd_password_file);
	add_file_fact(doctor, "ledger.etcd.ca", ledger->etcd_ca);
	add_file_fact(doctor, "ledger.etcd.cert", ledger->etcd_cert);
	add_file_fact(doctor, "ledger.etcd.key", ledger->etcd_key);
	group_keys_load(gossip, user, &to, &keyring);
	keyring_destroy(keyring);
	etcd_share_check(ledger, user, &to);
	check_tls_file(doctor, "ca", ledger->etcd_ca);
	check_tls_file(doctor, "cert", ledger->etcd_cert);
	check_tls_file(doctor, "key", ledger->etcd_key);
}

void check_bypass(struct doctor *doctor)
{
	const struct complaint_sink to = {find_complaint, doctor};

	if (config_has_programs(doctor->config))
		doctor_add_fact(doctor, "/sys/fs/bpf is a writable BPF file system");
	else
		doctor_skip(doctor, "no wire has XDP programs");
	bypass_check(doctor->config, &to);
	/* A program that an earlier process of this limiter has left is of use to the next. */
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		const char *name = doctor->config->ports[i].name;
		bool served;

		if (!bypass_find_own(doctor->config, i, &served))
			continue;
		if (served)
			doctor_find(doctor,
				&(struct finding){.verdict = DOCTOR_FAIL,
					.place = doctor_words(doctor, "ports.%s", name),
					.found = doctor_words(doctor,
						"a running weir named %s serves it",
						doctor->config->limiter),
					.remedy = doctor_words(doctor, "systemctl stop weir@%s",
						doctor->config->limiter)});
		else
			doctor_add_fact(doctor,
				"ports.%s has the XDP program of an earlier weir named %s, which "
				"no process serves; the start replaces it",
				name, doctor->config->limiter);
	}
}

void check_groups(struct doctor *doctor)
{
	const struct complaint_sink to = {find_complaint, doctor};
	struct telemetry_options options = {0};
	gid_t groups[256];
	int n = getgroups(256, groups);
	bool member;

	doctor_skip(doctor, "no group is configured");
	if (socket_groups_find(doctor->config, &options, &to) || !options.group.name[0])
		return;
	doctor_add_fact(doctor, "group %s has gid %u, and user %u can give it the socket",
		options.group.name, (unsigned)options.group.gid, (unsigned)geteuid());
	member = geteuid() == 0 || getegid() == options.group.gid;
	for (int i = 0; i < n; i++)
		member |= groups[i] == options.group.gid;
	if (member)
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = "control.group",
			.found = doctor_words(doctor,
				"\"%s\": user %u is no member, so it cannot give it the socket",
				options.group.name, (unsigned)geteuid()),
			.remedy = doctor_words(doctor, "usermod -aG %s USER", options.group.name)});
}

/* ---- sockets */

/* Takes the address of "ADDRESS:PORT" or "[ADDRESS]:PORT". */
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

	if (gossip->listen_len == 0 && ret == 0) {
		doctor_skip(doctor, "no gossip: the limiter is alone");
		return;
	}
	address_format(&gossip->listen, text, sizeof(text));
	doctor_add_fact(doctor, "gossip.listen %s is free", text);
	if (ret == 0)
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = ret == -EADDRNOTAVAIL ? DOCTOR_WARN : DOCTOR_FAIL,
			.place = "gossip.listen",
			.found = doctor_words(doctor, "cannot bind %s: %s", text,
				ret == -EADDRNOTAVAIL
					? "no interface of this machine has this address; "
					  "weir starts without its peers and tries again"
				: ret == -EADDRINUSE ? "another process uses this port"
						     : strerror(-ret)),
			.remedy = listen_remedy(doctor, text, ret)});
}

void check_socket(struct doctor *doctor)
{
	const char *path = doctor->config->control_socket;
	int ret = telemetry_look(path);
	const char *slash = strrchr(path, '/'), *remedy = NULL;
	int len = slash ? (int)(slash - path) : 0;

	doctor_add_fact(doctor, "%s can be created", path);
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
	doctor_find(
		doctor, &(struct finding){.verdict = DOCTOR_FAIL,
				.place = "control.socket",
				.found = doctor_words(doctor, "%s: %s", path,
					ret == -EADDRINUSE ? "a running weir uses it"
					: ret == -ENOENT   ? "its directory is missing"
					: ret == -EEXIST   ? "a file with this name is not a socket"
							   : strerror(-ret)),
				.remedy = remedy});
}

/* ---- the ledger's store */

static void find_store_problem(
	struct doctor *doctor, enum doctor_verdict verdict, const char *found, const char *remedy)
{
	doctor_find(doctor, &(struct finding){.verdict = verdict,
				    .place = "ledger.store",
				    .found = found,
				    .remedy = remedy});
}

/* Returns the path if it exists, or the directory above it. */
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

/*
 * Returns the remedy for a missing store. In a group, --new-ledger without the identity of the
 * group's ledger separates this limiter from the others. After an earlier start it also declares
 * shares and units unused that the neighbours have records of.
 */
static const char *new_store_remedy(struct doctor *doctor)
{
	if (doctor->config->gossip.n_roster <= 1)
		return doctor_words(doctor, "weir --new-ledger %s", doctor->file);
	return doctor_words(doctor,
		"if this limiter has run before, none: start it, and wait for its neighbours. Only "
		"before its first start: weir --new-ledger IDENTITY %s, with the identity that "
		"weirctl ledger shows at another limiter. Omit IDENTITY only at the first limiter "
		"of a new group",
		doctor->file);
}

/* A start creates a missing store, which then is in the state "recovering". */
static void check_new_store(struct doctor *doctor, const char *store)
{
	const char *directory = standing_directory(doctor, store);

	if (access(directory, W_OK | X_OK))
		find_store_problem(doctor, DOCTOR_FAIL,
			doctor_words(doctor, "%s: %s: the store is missing and cannot be created",
				directory, strerror(errno)),
			errno == ENOENT ? doctor_words(doctor, "mkdir -p %s", directory)
					: doctor_words(doctor, "chown USER %s", directory));
	else
		find_store_problem(doctor, DOCTOR_WARN,
			doctor_words(doctor,
				"%s: the store is missing; hard limits would pass nothing until "
				"the neighbours have reported their state",
				store),
			new_store_remedy(doctor));
}

static void check_store_room(struct doctor *doctor, const char *store)
{
	const char *directory = standing_directory(doctor, store);
	struct statvfs fs;

	if (statvfs(directory, &fs) || (fs.f_flag & ST_RDONLY))
		return;
	doctor_add_fact(doctor, "%llu MB free for the store",
		(unsigned long long)fs.f_bavail * fs.f_frsize >> 20);
	if (fs.f_bavail * fs.f_frsize < STORE_ROOM || (fs.f_files && fs.f_favail == 0))
		find_store_problem(doctor, DOCTOR_WARN,
			doctor_words(doctor,
				"%s: the file system is full; weir spends nothing that it cannot save",
				directory),
			doctor_words(doctor, "df -h %s; df -i %s", directory, directory));
}

void check_ledger(struct doctor *doctor)
{
	const char *store = doctor->config->ledger.store;
	struct trusted_refusal refusal;
	int ret;

	doctor_skip(doctor, "no policy needs a store");
	if (!store[0] || !config_needs_ledger(doctor->config))
		return;
	if (ledger_store_check(store, secret_checked_user(), &refusal)) {
		find_store_problem(doctor, DOCTOR_FAIL,
			doctor_words(doctor, "%s: %s", store, refusal.what), refusal.remedy);
		return;
	}
	ret = store_look(store);
	doctor_add_fact(doctor, "%s is intact", store);
	if (ret == 0)
		check_roster(doctor);
	else if (ret == -ENOENT)
		check_new_store(doctor, store);
	else
		find_store_problem(doctor, DOCTOR_FAIL,
			doctor_words(doctor, "%s: %s", store, ledger_store_reason(ret)),
			doctor_words(doctor, ret == -EBUSY ? "fuser -v %s" : "ls -la %s", store));
	check_store_room(doctor, store);
}
