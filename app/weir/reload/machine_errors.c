/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "machine_errors.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "etcd_share.h"
#include "secret/group_keys.h"
#include "socket_groups.h"

/* The keys themselves are read again by what uses them. */
static int check_keys(const struct config *config, uid_t user, const struct complaint_sink *to)
{
	struct keyring *keyring = NULL;
	int ret = group_keys_load(&config->gossip, user, to, &keyring);

	keyring_destroy(keyring);
	return ret;
}

int machine_check(const struct config *config, uid_t user, const struct complaint_sink *to)
{
	struct telemetry_options groups = {0};
	int found = socket_groups_find(config, &groups, to);
	int password = etcd_share_check(&config->ledger, user, to);
	int keys = check_keys(config, user, to);

	return found ? found : password ? password : keys;
}

void start_errors(const struct config *config, struct reader *reader, void *wrong)
{
	const struct complaint_sink to = {config_complain, reader};

	*(bool *)wrong = machine_check(config, geteuid(), &to) != 0;
}

void key_errors(const struct config *config, struct reader *reader, void *context)
{
	const struct complaint_sink to = {config_complain, reader};

	(void)context;
	check_keys(config, geteuid(), &to);
}

int read_for_machine(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out)
{
	struct complaint_output named = {name, err};
	const struct complaint_sink to = {complaint_print_named, &named};
	int ret = config_read_document(document, name, running, err, out);

	if (ret)
		return ret;
	ret = running ? check_keys(*out, geteuid(), &to) : machine_check(*out, geteuid(), &to);
	if (ret == 0)
		return 0;
	config_free(*out);
	*out = NULL;
	return -ENOKEY;
}
