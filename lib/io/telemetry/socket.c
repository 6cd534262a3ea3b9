/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Creates the socket's file, and decides which existing files it can replace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <grp.h>

#include "telemetry/server.h"
#include "telemetry/telemetry_server.h"

#define GROUP_TEXT_FIRST 1024
#define GROUP_TEXT_MOST  (1 << 20) /* enough for a group with some ten thousand members */

int telemetry_group_find(const char *name, struct telemetry_group *group)
{
	struct group found, *result = NULL;
	int rc = ERANGE;

	for (size_t len = GROUP_TEXT_FIRST; rc == ERANGE && len <= GROUP_TEXT_MOST; len *= 2) {
		char *text = malloc(len);

		rc = text != NULL ? getgrnam_r(name, &found, text, len, &result) : ENOMEM;
		free(text);
	}
	if (rc != 0)
		return -rc;
	if (result == NULL)
		return -ENOENT;
	*group = (struct telemetry_group){.gid = found.gr_gid};
	snprintf(group->name, sizeof(group->name), "%s", name);
	return 0;
}

/* If the buffer is too small, the kernel returns the required size. */
static bool has_supplementary(int fd, gid_t gid)
{
	socklen_t len = 0;
	gid_t *groups;
	bool listed = false;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
		return false;
	groups = malloc(len);
	if (groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		for (size_t i = 0; i < len / sizeof(*groups); i++)
			listed |= groups[i] == gid;
	free(groups);
	return listed;
}

bool telemetry_is_member(int fd, const struct telemetry_peer *peer, gid_t gid)
{
	return peer->gid == gid || has_supplementary(fd, gid);
}

struct telemetry_peer telemetry_peer(int fd, const struct telemetry_group *operators)
{
	struct ucred ucred;
	socklen_t len = sizeof(ucred);
	struct telemetry_peer peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &len) != 0)
		return (struct telemetry_peer){.uid = (uid_t)-1, .gid = (gid_t)-1};
	peer = (struct telemetry_peer){.uid = ucred.uid,
		.gid = ucred.gid,
		.pid = ucred.pid,
		.may_change = ucred.uid == 0 || ucred.uid == geteuid()};
	if (!peer.may_change && operators->name[0] != '\0')
		peer.may_change = telemetry_is_member(fd, &peer, operators->gid);
	return peer;
}

json_t *telemetry_denial(const struct telemetry_peer *peer, const struct telemetry_group *operators)
{
	json_t *needs;

	if (operators->name[0] != '\0')
		needs = json_sprintf("uid 0 or %u, or a member of group \"%s\" (control.operators)",
			(unsigned)geteuid(), operators->name);
	else
		needs = json_sprintf("uid 0 or %u; control.operators can name a group as well",
			(unsigned)geteuid());
	return json_pack("{ss sI so}", "denied", "this command changes something", "uid",
		(json_int_t)peer->uid, "needs", needs);
}

#define DIRECTORY_UMASK 0022
#define SOCKET_UMASK    0117 /* 0777 without these is 0660 */
#define LOCK_TRIES      100
#define LOCK_WAIT_NS    10000000 /* 100 × 10 ms: one second for another process to finish */

static int set_address(struct sockaddr_un *address, const char *path)
{
	size_t len = strlen(path);

	if (len == 0)
		return -EINVAL;
	if (len >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, len + 1);
	return 0;
}

static void socket_directory(
	const char *path, char directory[sizeof(((struct sockaddr_un *)0)->sun_path)])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash != NULL ? (size_t)(slash - path) : 0;

	if (slash == NULL)
		directory[len++] = '.';
	else if (len == 0)
		directory[len++] = '/';
	else
		memcpy(directory, path, len);
	directory[len] = '\0';
}

static int open_directory(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

/*
 * Locks the directory, because checking a stale file, removing it and binding are three steps.
 * Otherwise two processes that start together would each remove the file that the other has just
 * bound.
 */
static int lock_socket_directory(const char *directory)
{
	const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};
	int fd = open_directory(directory);

	if (fd < 0)
		return fd;
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		int rc = -errno;

		if ((rc != -EWOULDBLOCK && rc != -EINTR) || i == LOCK_TRIES) {
			close(fd);
			return rc;
		}
		nanosleep(&wait, NULL);
	}
	return fd;
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd >= 0 ? fd : -errno;
}

/* Returns 0 if no process listens there any more. */
static int socket_is_stale(const struct sockaddr_un *address)
{
	int fd = new_socket();
	int rc;

	if (fd < 0)
		return fd;
	rc = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
	close(fd);
	if (rc == ECONNREFUSED)
		return 0;
	/* Connected, queue full, or a listener of another socket type: all of them are alive. */
	if (rc == 0 || rc == EAGAIN || rc == EPROTOTYPE)
		return -EADDRINUSE;
	return -rc;
}

/* Returns 0 if the name is free, or that of a socket without a listener (*stale). */
static int look_at_name(const struct sockaddr_un *address, bool *stale)
{
	struct stat file;

	*stale = false;
	if (lstat(address->sun_path, &file) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(file.st_mode))
		return -EEXIST;
	*stale = true;
	return socket_is_stale(address);
}

static int bind_listen(int fd, const struct telemetry_group *group,
	const struct sockaddr_un *address, struct stat *file)
{
	mode_t old = umask(SOCKET_UMASK);
	int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;

	umask(old);
	if (rc != 0)
		return rc;
	/* Before listen(), so that no client can connect earlier. */
	if (group->name[0] != '\0' && lchown(address->sun_path, (uid_t)-1, group->gid) != 0)
		rc = -errno;
	if (rc == 0 && (listen(fd, TELEMETRY_MAX_CLIENTS) || lstat(address->sun_path, file)))
		rc = -errno;
	if (rc != 0)
		unlink(address->sun_path);
	return rc;
}

static int open_locked(
	const struct telemetry_group *group, const struct sockaddr_un *address, struct stat *file)
{
	bool stale;
	int rc = look_at_name(address, &stale);
	int fd;

	if (rc == 0 && stale && unlink(address->sun_path) != 0)
		rc = -errno;
	if (rc != 0)
		return rc;
	fd = new_socket();
	if (fd < 0)
		return fd;
	rc = bind_listen(fd, group, address, file);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int telemetry_socket(const char *path, const struct telemetry_group *group,
	struct sockaddr_un *address, struct stat *file)
{
	char directory[sizeof(address->sun_path)];
	int rc = set_address(address, path);
	mode_t old;
	int lock;

	if (rc != 0)
		return rc;
	socket_directory(path, directory);
	old = umask(DIRECTORY_UMASK);
	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		rc = -errno;
	umask(old);
	if (rc != 0)
		return rc;
	lock = lock_socket_directory(directory);
	if (lock < 0)
		return lock;
	rc = open_locked(group, address, file);
	close(lock);
	return rc;
}

/* Checks the directory. A missing one can be created if its parent is writable. */
static int look_at_directory(const char *path)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char above[sizeof(directory)];
	int fd;

	socket_directory(path, directory);
	fd = open_directory(directory);
	if (fd == -ENOENT) {
		socket_directory(directory, above);
		return access(above, W_OK | X_OK) == 0 ? 0 : -errno;
	}
	if (fd < 0)
		return fd;
	close(fd);
	return access(directory, W_OK | X_OK) == 0 ? 0 : -errno;
}

int telemetry_look(const char *path)
{
	struct sockaddr_un address;
	bool stale;
	int rc = set_address(&address, path);

	if (rc == 0)
		rc = look_at_directory(path);
	if (rc == 0)
		rc = look_at_name(&address, &stale);
	return rc;
}

int telemetry_chgrp(const struct sockaddr_un *address, const struct stat *file, gid_t gid)
{
	struct stat now;

	if (lstat(address->sun_path, &now) != 0 || now.st_dev != file->st_dev ||
		now.st_ino != file->st_ino)
		return 0; /* the socket has no name any more */
	return lchown(address->sun_path, (uid_t)-1, gid) == 0 ? 0 : -errno;
}

void telemetry_unlink(const struct sockaddr_un *address, const struct stat *file)
{
	struct stat now;

	if (lstat(address->sun_path, &now) != 0)
		return;
	if (now.st_dev == file->st_dev && now.st_ino == file->st_ino)
		unlink(address->sun_path);
}
