/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the files and groups of this machine that a configuration names: key files, a
 * password's file, groups. Names of users who request changes.
 */
#include "machine_errors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <pwd.h>
#include <unistd.h>

#include "config/config_messages.h"
#include "etcd_share.h"
#include "json/seen.h"
#include "ledger_store.h"
#include "policy/kind.h"
#include "secret/group_keys.h"
#include "secret/trusted.h"

/* Another writer of the store could make units be spent twice. */
static int check_store(const struct config *config, uid_t user, const struct complaint_sink *to)
{
	struct trusted_refusal refusal = {0};
	char found[2 * TRUSTED_TEXT];
	int ret = config_needs_ledger(config)
			  ? ledger_store_check(config->ledger.store, user, &refusal)
			  : 0;

	if (ret == 0)
		return 0;
	snprintf(found, sizeof(found), "%s: %s", config->ledger.store, refusal.what);
	complaint_write(to, &(struct complaint){.place = "ledger.store",
				    .found = found,
				    .expected = refusal.expected,
				    .remedy = refusal.remedy});
	return ret;
}

/* Checks all that a reload can change, and the store. It cannot change the login for etcd. */
static int check_reload(const struct config *config, uid_t user, const struct complaint_sink *to)
{
	struct telemetry_options groups = {0};
	struct keyring *keyring = NULL;
	int found = socket_groups_find(config, &groups, to);
	int keys = group_keys_load(&config->gossip, user, to, &keyring);
	int store = check_store(config, user, to);

	keyring_destroy(keyring); /* only checked: their user reads the keys again */
	return found ? found : keys ? keys : store;
}

struct files_check {
	struct reader *reader;
	uid_t user;
	bool starts; /* or only --check: then a file can belong to its author */
	int ret;
};

static int check_owners(
	const char *path, const struct stat *state, uid_t user, struct trusted_refusal *refusal)
{
	int ret = trusted_parents(path, user, refusal);

	return ret ? ret : trusted_status(path, state, user, S_IWGRP | S_IWOTH, refusal);
}

/* Standard input has no path that could be checked, and is skipped. */
static void check_seen_file(void *context, const char *path, const struct stat *state)
{
	struct files_check *check = context;
	struct trusted_refusal refusal = {0}, author = {0};
	char found[2 * TRUSTED_TEXT];

	if ((!S_ISREG(state->st_mode) && !S_ISDIR(state->st_mode)) ||
		check_owners(path, state, check->user, &refusal) != -EPERM)
		return;
	if (!check->starts && check_owners(path, state, state->st_uid, &author) != -EPERM) {
		reader_report(check->reader, NULL, MESSAGE(FILE_UNTRUSTED),
			message_part(refusal.remedy), path, refusal.what);
		return;
	}
	check->ret = -EPERM;
	snprintf(found, sizeof(found), "%s: %s", path, refusal.what);
	reader_report(check->reader, NULL, MESSAGE(CANNOT_APPLY), message_part(refusal.expected),
		message_part(refusal.remedy), found);
}

int files_check(struct reader *reader, uid_t user, bool starts)
{
	struct files_check check = {.reader = reader, .user = user, .starts = starts};

	seen_each(reader->seen, check_seen_file, &check);
	return check.ret;
}

int machine_check(const struct config *config, uid_t user, const struct complaint_sink *to)
{
	int password = etcd_share_check(&config->ledger, user, to);
	int other = check_reload(config, user, to);

	return password ? password : other;
}

void start_errors(const struct config *config, struct reader *reader, void *wrong)
{
	const struct complaint_sink to = {config_complain, reader};

	*(bool *)wrong = machine_check(config, geteuid(), &to) != 0;
	*(bool *)wrong |= files_check(reader, geteuid(), true) != 0;
}

void reload_errors(const struct config *config, struct reader *reader, void *context)
{
	const struct complaint_sink to = {config_complain, reader};

	(void)context;
	check_reload(config, geteuid(), &to);
	files_check(reader, geteuid(), true);
}

int read_for_machine(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out)
{
	struct complaint_output named = {name, err};
	const struct complaint_sink to = {complaint_print_named, &named};
	int ret = config_read_document(document, name, running, err, out);

	if (ret)
		return ret;
	ret = running ? check_reload(*out, geteuid(), &to) : machine_check(*out, geteuid(), &to);
	if (ret == 0)
		return 0;
	config_free(*out);
	*out = NULL;
	return -ENOKEY;
}

/* --- users of the control socket -------------------------------------------------------------- */

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
