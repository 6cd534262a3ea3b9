/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads the time zones that schedules name from tzdata (check.h).
 */
#include "config/check.h"

#include "config/config_messages.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/schedule.h"

#define ZONES_FOLDER "/usr/share/zoneinfo"

static int parse_zone_file(FILE *file, const char *name, struct zone **out)
{
	uint8_t *bytes = malloc(ZONE_FILE_MAX);
	int ret = -ENOMEM;

	if (bytes != NULL) {
		size_t len = fread(bytes, 1, ZONE_FILE_MAX, file);

		ret = ferror(file) ? -errno : zone_parse(bytes, len, name, out);
	}
	free(bytes);
	return ret;
}

/* Returns 0, -EINVAL (no valid zone file) or another negative errno. */
static int load_zone(const char *name, struct zone **out)
{
	char path[sizeof(ZONES_FOLDER) + ZONE_NAME_MAX];
	FILE *file;
	int ret;

	*out = NULL;
	snprintf(path, sizeof(path), "%s/%s", ZONES_FOLDER, name);
	file = fopen(path, "re");
	if (file == NULL)
		return -errno;
	ret = parse_zone_file(file, name, out);
	fclose(file);
	return ret;
}

static const struct zone *find_zone(const struct config *config, const char *name)
{
	for (unsigned i = 0; i < config->n_zones; i++)
		if (strcmp(zone_name(config->zones[i]), name) == 0)
			return config->zones[i];
	return NULL;
}

static int add_zone(struct config *config, const char *name)
{
	struct zone **zones = realloc(config->zones, (config->n_zones + 1) * sizeof(*zones));
	struct zone *zone;
	int ret = zones == NULL ? -ENOMEM : 0;

	if (zones != NULL)
		config->zones = zones;
	if (ret == 0)
		ret = load_zone(name, &zone);
	if (ret == 0)
		config->zones[config->n_zones++] = zone;
	return ret;
}

/* Without tzdata the whole folder is missing, which needs another message. */
static void complain_zone(struct reader *reader, const struct json_path *path, int error)
{
	FILE *utc = fopen(ZONES_FOLDER "/UTC", "re");

	reader->no_memory |= error == -ENOMEM;
	if (utc == NULL)
		reader_report(reader, path, MESSAGE(NO_ZONES), ZONES_FOLDER);
	else if (error == -ENOENT || error == -ENOTDIR || error == -EISDIR)
		reader_report(reader, path, MESSAGE(NO_SUCH_ZONE), ZONES_FOLDER);
	else
		reader_report(reader, path, MESSAGE(ZONE_UNREADABLE), strerror(-error));
	if (utc != NULL)
		fclose(utc);
}

void zones_complete(struct reader *reader, struct config *config)
{
	static const struct json_path policies = {.key = "policies"};

	for (unsigned i = 0; i < config->n_policies; i++) {
		struct json_path policy = {.parent = &policies, .index = i};
		struct json_path schedule_path = {.parent = &policy, .key = "schedule"};
		struct json_path path = {.parent = &schedule_path, .key = "zone"};
		struct schedule *schedule = config->policies[i].schedule;
		int ret = 0;

		if (schedule == NULL)
			continue;
		if (find_zone(config, schedule->zone_name) == NULL)
			ret = add_zone(config, schedule->zone_name);
		schedule->zone = find_zone(config, schedule->zone_name);
		if (ret)
			complain_zone(reader, &path, ret);
	}
}

void zones_free(struct config *config)
{
	for (unsigned i = 0; i < config->n_zones; i++)
		zone_free(config->zones[i]);
	free(config->zones);
}
