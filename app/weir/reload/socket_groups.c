/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "socket_groups.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
