/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "requester.h"

#include <pwd.h>
#include <stdio.h>

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
