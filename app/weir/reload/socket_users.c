/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups of the control socket: users who can read, and users who can change.
 */
#include "socket_users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pwd.h>

static int find_named_group(const char *place, const char *name, struct telemetry_group *group,
	const struct complaint_sink *to)
{
	char found[CONFIG_NAME_MAX + 64], remedy[CONFIG_NAME_MAX + 16];
	int ret;

	if (!name[0])
		return 0;
	ret = telemetry_group_find(name, group);
	if (ret == 0)
		return 0;
	snprintf(found, sizeof(found), "\"%s\"%s%s", name, ret == -ENOENT ? "" : ": ",
		ret == -ENOENT ? "" : strerror(-ret));
	snprintf(remedy, sizeof(remedy), "groupadd %s", name);
	complaint_write(to, &(struct complaint){.place = place,
				    .found = found,
				    .expected = ret == -ENOENT ? "a group of this machine" : NULL,
				    .remedy = ret == -ENOENT ? remedy : NULL,
				    .absent = ret == -ENOENT});
	return ret;
}

int socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to)
{
	int ret = find_named_group("control.group", config->control_group, &options->group, to);

	if (ret == 0)
		ret = find_named_group(
			"control.operators", config->control_operators, &options->operators, to);
	if (ret == 0 && !options->group.name[0])
		options->group = options->operators;
	return ret;
}

#define USERS_FILE "/etc/passwd"

bool requester_user(uid_t uid, char name[REQUESTER_BYTES])
{
	FILE *users = fopen(USERS_FILE, "re");
	char line[1024];
	struct passwd row, *found = NULL;

	if (!users)
		return false;
	while (fgetpwent_r(users, &row, line, sizeof(line), &found) == 0 && found->pw_uid != uid)
		found = NULL;
	if (found)
		snprintf(name, REQUESTER_BYTES, "%.40s", found->pw_name);
	fclose(users);
	return found != NULL;
}

void requester_name(uid_t uid, char name[REQUESTER_BYTES])
{
	char user[REQUESTER_BYTES];

	if (requester_user(uid, user))
		snprintf(name, REQUESTER_BYTES, "%.40s (uid %u)", user, (unsigned)uid);
	else
		snprintf(name, REQUESTER_BYTES, "uid %u", (unsigned)uid);
}
