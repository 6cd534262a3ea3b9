/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "socket_groups.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int find_named_group(
	const char *key, const char *name, struct telemetry_group *group, FILE *err)
{
	int ret;

	if (!name[0])
		return 0;
	ret = telemetry_group_find(name, group);
	if (ret)
		fprintf(err, "weir: control.%s: \"%s\": %s\n", key, name,
			ret == -ENOENT ? "expected a group of this machine: groupadd makes one"
				       : strerror(-ret));
	return ret;
}

int socket_groups_find(const struct config *config, struct telemetry_options *options, FILE *err)
{
	int ret = find_named_group("group", config->control_group, &options->group, err);

	if (ret == 0)
		ret = find_named_group(
			"operators", config->control_operators, &options->operators, err);
	if (ret == 0 && !options->group.name)
		options->group = options->operators;
	return ret;
}
