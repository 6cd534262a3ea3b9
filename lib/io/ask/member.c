/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ask/member.h"

#include <stdio.h>
#include <string.h>

#define MEMBER_MAX 64

const json_t *member_at(const json_t *json, const char *path)
{
	while (json && *path) {
		size_t len = strcspn(path, ".");
		char member[MEMBER_MAX];

		snprintf(member, sizeof(member), "%.*s", (int)len, path);
		json = json_object_get(json, member);
		path += len + (path[len] == '.');
	}
	return json_is_null(json) ? NULL : json;
}
