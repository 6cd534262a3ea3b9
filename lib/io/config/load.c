/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/config.h"

#include <stdlib.h>

#include "config/check.h"
#include "config/keys.h"
#include "config/load.h"
#include "json/read.h"

#define VXLAN_PORT 4789 /* IANA's */
#define SHAPE_POOL 0.5

static struct config *config_new(void)
{
	struct config *config = calloc(1, sizeof(*config));

	if (config == NULL)
		return NULL;
	config->workers[0] = 1;
	config->n_workers = 1;
	gossip_config_init(&config->gossip);
	ledger_config_init(&config->ledger);
	config->tunnels.vxlan_port = VXLAN_PORT;
	config->shape_pool = SHAPE_POOL;
	return config;
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (unsigned i = 0; i < config->n_eal; i++)
		free(config->eal[i]);
	free(config->ports);
	free(config->wires);
	free(config->gossip.roster);
	free(config->ledger.edges);
	for (unsigned i = 0; i < config->ledger.n_etcd; i++)
		free(config->ledger.etcd[i]);
	free(config->policies);
	free(config);
}

/* Ends the reader. */
static int read_config(struct reader *reader, const struct config *running, struct config **out)
{
	struct config *config = config_new();
	int rc;

	reader->no_memory |= config == NULL;
	if (config != NULL)
		read_keys(reader, NULL, reader->root, config_keys, config);
	if (!reader->no_memory && json_is_object(reader->root)) {
		config_complete(reader, config);
		config_check(reader, config);
	}
	if (!reader_failed(reader))
		config_warn(reader, config, running);
	rc = reader_finish(reader);
	if (rc == 0)
		*out = config;
	else
		config_free(config);
	return rc;
}

int config_parse(const char *text, size_t len, const char *name, FILE *err, struct config **out)
{
	struct reader reader;
	int rc = reader_parse(&reader, text, len, name, err);

	*out = NULL;
	return rc < 0 ? rc : read_config(&reader, NULL, out);
}

int config_load(const char *path, FILE *err, struct config **out)
{
	return config_load_beside(path, NULL, err, out);
}

int config_load_beside(
	const char *path, const struct config *running, FILE *err, struct config **out)
{
	struct reader reader;
	int rc = reader_load(&reader, path, err);

	*out = NULL;
	return rc < 0 ? rc : read_config(&reader, running, out);
}
