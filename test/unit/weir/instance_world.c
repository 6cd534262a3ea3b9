/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "instance_world.h"

#include <rte_eal.h>
#include <rte_malloc.h>

#include <sodium.h>

#include "config/load.h"
#include "show.h"
#include "tap_session.h"
#include "worker.h"

#define KEYS                                                                      \
	"'limiter': 'test', 'workers': [0, 1], 'idle': 'sleep', "                 \
	"'ports': {'a': {'device': 'net_null0'}, 'b': {'device': 'net_null1'}}, " \
	"'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}], "                          \
	"'control': {'socket': '/tmp/weir-instance-world.sock'}" /* which is never opened */

static struct instance ports; /* has the ports that the others borrow */
static struct config *ports_config;

static char *text_of(const char *more, const char *policies)
{
	char *text;

	if (asprintf(&text, "{%s" KEYS ", 'policies': [%s]}", more, policies) < 0)
		abort();
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return text;
}

struct config *instance_world_config(const char *more, const char *policies)
{
	char *text = text_of(more, policies);
	struct config *config = NULL;

	if (config_parse(text, strlen(text), "world", stderr, &config))
		abort();
	free(text);
	return config;
}

int instance_world_start(void **state)
{
	const char *args[] = {"world", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
		"--no-shconf", "--log-level=1", "--lcores=(0-2)@0", "--vdev=net_null0",
		"--vdev=net_null1"};

	if (sodium_init() < 0 || rte_eal_init((int)(COUNT(args)), (char **)(uintptr_t)args) < 0)
		return -1;
	ports_config = instance_world_config("", "");
	return instance_prepare(&ports, ports_config, NULL);
}

int instance_world_stop(void **state)
{
	instance_stop(&ports);
	config_free(ports_config);
	return rte_eal_cleanup();
}

const struct port *instance_world_ports(void)
{
	return ports.ports;
}

/* Returns the number of DPDK's memory blocks in use. */
static unsigned count_pieces(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

void instance_world_open_more(struct instance_world *w, const char *more, const char *policies)
{
	int fd;

	memset(w, 0, sizeof(*w));
	w->pieces = count_pieces();
	w->more = more;
	strcpy(w->file, "/tmp/weir-instance-world-XXXXXX");
	fd = mkstemp(w->file);
	assert_true(fd >= 0);
	close(fd);
	instance_world_write(w, policies);
	w->config = instance_world_config(more, policies);
	assert_int_equal(instance_prepare(&w->inst, w->config, ports.ports), 0);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		worker_begin(&w->inst.workers[i]);
}

void instance_world_open(struct instance_world *w, const char *policies)
{
	instance_world_open_more(w, "", policies);
}

/* Closes the instance. Without a reload module, the policies in force must be freed here. */
void instance_world_close(struct instance_world *w)
{
	struct config *loaded = w->inst.reload ? NULL : w->inst.loaded;

	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		worker_end(&w->inst.workers[i]);
	instance_stop(&w->inst);
	assert_int_equal(w->inst.leaked, 0);
	assert_in_range(count_pieces(), 0, w->pieces); /* memory of others can be freed meanwhile */
	config_free(loaded);
	config_free(w->config);
	unlink(w->file);
}

/* Returns the keys at the top level, to be freed. A group has addresses of this process only. */
static char *keys_of(const struct world_options *options)
{
	unsigned id = (unsigned)getpid(), a = 1 + id / 254 % 254, b = 1 + id % 254;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (unsigned i = 0; i < options->group; i++) {
		if (i == 0)
			fprintf(out,
				"'gossip': {'listen': '127.%u.%u.90:7946', 'insecure': true, "
				"'roster': [{'name': 'test'",
				a, b);
		else
			fprintf(out, ", {'name': 'l%u'", i);
		fprintf(out, ", 'address': '127.%u.%u.%u:7946'}", a, b, 90 + i);
	}
	if (options->group)
		fprintf(out, "]%s}, ", options->gossip ? options->gossip : "");
	fputs(options->more ? options->more : "", out);
	assert_int_equal(fclose(out), 0);
	return text;
}

struct instance_world *instance_world_begin(const struct world_options *options)
{
	struct instance_world *w = aligned_alloc(
		_Alignof(struct instance_world), sizeof(struct instance_world));
	char *text = keys_of(options);

	assert_non_null(w);
	instance_world_open_more(w, text, options->policies);
	w->text = text;
	return w;
}

/* Workers leave the tap in their next turn. */
static void end_requests(struct instance_world *w)
{
	explain_stop(&w->inst);
	for (unsigned i = 0; i < 2 && w->inst.tap_session; i++) {
		tap_session_stop(&w->inst);
		instance_world_turn_all(w);
	}
	tap_session_stop(&w->inst);
}

void instance_world_end(struct instance_world **w)
{
	char command[64];

	end_requests(*w);
	instance_world_close(*w);
	snprintf(command, sizeof(command), "rm -r %s", (*w)->directory);
	if ((*w)->directory[0])
		assert_int_equal(system(command), 0);
	free((*w)->text);
	free(*w);
}

void instance_world_write(struct instance_world *w, const char *policies)
{
	char *text = text_of(w->more, policies);
	FILE *file = fopen(w->file, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	free(text);
}

struct policy_txn *instance_world_prepare(struct instance_world *w, const char *policies)
{
	struct policy_txn *x;

	instance_world_write(w, policies);
	assert_int_equal(policy_txn_prepare(&w->inst, w->file, w->inst.clock.hz, stderr, &x), 0);
	return x;
}

struct policy_txn *instance_world_commit(struct instance_world *w, const char *policies)
{
	struct policy_txn *x = instance_world_prepare(w, policies);

	assert_int_equal(policy_txn_commit(x), 0);
	return x;
}

void instance_world_finish(struct instance_world *w, struct policy_txn *x)
{
	for (unsigned i = 0; i < 3 && !policy_txn_finish(x); i++)
		instance_world_turn_all(w);
	assert_true(policy_txn_finish(x));
	policy_txn_free(x);
}

void instance_world_reload(struct instance_world *w, const char *policies)
{
	instance_world_finish(w, instance_world_commit(w, policies));
}

void instance_world_turn(struct instance_world *w, unsigned worker)
{
	worker_turn(&w->inst.workers[worker]);
	worker_finish(&w->inst.workers[worker]);
}

void instance_world_turn_all(struct instance_world *w)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		instance_world_turn(w, i);
}

struct policy_totals instance_world_totals(struct instance_world *w, unsigned policy)
{
	return instance_policy_totals(&w->inst, w->inst.slots.of[policy]);
}
