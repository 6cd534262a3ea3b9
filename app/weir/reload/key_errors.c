/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "key_errors.h"

#include <errno.h>
#include <unistd.h>

#include "secret/group_keys.h"

/* The keys themselves are read again by what uses them. */
static int check_keys(const struct config *config, const struct complaint_sink *to)
{
	struct keyring *keyring = NULL;
	int ret = group_keys_load(&config->gossip, geteuid(), to, &keyring);

	keyring_destroy(keyring);
	return ret;
}

void key_errors(const struct config *config, struct reader *reader, void *context)
{
	const struct complaint_sink to = {config_complain, reader};

	(void)context;
	check_keys(config, &to);
}

int read_with_keys(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out)
{
	struct complaint_output named = {name, err};
	const struct complaint_sink to = {complaint_print_named, &named};
	int ret = config_read_document(document, name, running, err, out);

	if (ret || check_keys(*out, &to) == 0)
		return ret;
	config_free(*out);
	*out = NULL;
	return -ENOKEY;
}
