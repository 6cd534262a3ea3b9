/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "telemetry/peer.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

static bool is_listed(const gid_t *groups, size_t n, gid_t gid)
{
	while (n > 0)
		if (groups[--n] == gid)
			return true;
	return false;
}

/* If the buffer is too small, the kernel returns the required size. */
static bool has_supplementary(int fd, gid_t gid)
{
	socklen_t len = 0;
	gid_t *groups;
	bool listed;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
		return false;
	groups = malloc(len);
	listed = groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0 &&
		 is_listed(groups, len / sizeof(*groups), gid);
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
