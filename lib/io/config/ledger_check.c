/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Completes and checks "ledger".
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "policy/kind.h"
#include "policy/units.h"

#define LEASE_DEFAULT_NS UINT64_C(5000000000)
#define LEASE_TIMEOUTS   2 /* the default lease is at least so many timeouts of gossip */
#define LEASE_RENEWALS   4 /* renewals of a lease, at most one per interval */
#define PATH_OF_LIMITERS "/var/lib/weir/%s"

static const struct json_path path_ledger = {.key = "ledger"};
static const struct json_path path_overlay = {.parent = &path_ledger, .key = "overlay"};
static const struct json_path path_edges = {.parent = &path_overlay, .key = "edges"};
static const struct json_path path_etcd = {.parent = &path_ledger, .key = "etcd"};

void ledger_complete(struct ledger_config *ledger, const struct config *config)
{
	uint64_t lease = LEASE_TIMEOUTS * config->gossip.timeout_ns;

	if (ledger->store[0] == '\0')
		snprintf(ledger->store, sizeof(ledger->store), PATH_OF_LIMITERS, config->limiter);
	if (ledger->lease_ns == 0)
		ledger->lease_ns = lease > LEASE_DEFAULT_NS ? lease : LEASE_DEFAULT_NS;
}

/*
 * After a lease the backup neighbour takes over the reserved share. Gossip must count a limiter as
 * lost before that: a short outage of the network must not cost a live limiter its share.
 */
static void check_lease(struct reader *reader, const struct config *config)
{
	struct json_path at = {.parent = &path_ledger, .key = "lease"};
	char text[UNITS_TEXT_MAX];

	if (!reader_has(reader, &path_ledger, "lease") || config->gossip.n_roster <= 1 ||
		config->ledger.lease_ns > config->gossip.timeout_ns)
		return;
	reader_report(reader, &at, MESSAGE(LEASE_BELOW_TIMEOUT),
		units_format_time(config->gossip.timeout_ns, text, sizeof(text)));
}

/* An edge, its smaller end first, and its index in the file. */
struct checked_edge {
	unsigned a, b, index;
};

static int compare_edges(const void *x, const void *y)
{
	const struct checked_edge *left = x, *right = y;

	if (left->a != right->a)
		return left->a < right->a ? -1 : 1;
	if (left->b != right->b)
		return left->b < right->b ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static void check_doubles(struct reader *reader, const struct ledger_config *ledger)
{
	struct checked_edge *edges = calloc((size_t)ledger->n_edges + 1, sizeof(*edges));
	unsigned first = 0;

	reader->no_memory |= edges == NULL;
	for (unsigned i = 0; edges && i < ledger->n_edges; i++) {
		unsigned a = ledger->edges[i].a, b = ledger->edges[i].b;

		edges[i] = (struct checked_edge){a < b ? a : b, a < b ? b : a, i};
	}
	if (edges)
		qsort(edges, ledger->n_edges, sizeof(*edges), compare_edges);
	for (unsigned i = 1; edges && i < ledger->n_edges; i++) {
		struct json_path at = {.parent = &path_edges, .index = edges[i].index};

		if (edges[i].a != edges[first].a || edges[i].b != edges[first].b)
			first = i;
		else
			reader_report(reader, &at, MESSAGE(EDGE_TWICE), edges[first].index);
	}
	free(edges);
}

/* Returns the first member of a set: members point to it, directly or by others. */
static unsigned root_of(unsigned *parent, unsigned at)
{
	while (parent[at] != at)
		at = parent[at] = parent[parent[at]];
	return at;
}

/* Rejects edges that split the group into parts, because no capacity could move between them. */
static void check_connected(struct reader *reader, const struct config *config)
{
	const struct ledger_config *ledger = &config->ledger;
	unsigned n = config->gossip.n_roster;
	unsigned *parent = calloc(n, sizeof(*parent));

	reader->no_memory |= parent == NULL;
	for (unsigned i = 0; parent && i < n; i++)
		parent[i] = i;
	for (unsigned i = 0; parent && i < ledger->n_edges; i++) {
		const unsigned a = root_of(parent, ledger->edges[i].a);
		const unsigned b = root_of(parent, ledger->edges[i].b);

		/* Joins the two parts; the smaller root remains. */
		parent[a < b ? b : a] = a < b ? a : b;
	}
	for (unsigned i = 1; parent && i < n; i++) {
		if (root_of(parent, i) == 0)
			continue;
		reader_report(reader, &path_edges, MESSAGE(EDGES_UNCONNECTED),
			config->gossip.roster[0].name, config->gossip.roster[i].name);
		break;
	}
	free(parent);
}

/* Returns false after an error in an edge, which left a loop. */
static bool edges_known(const struct ledger_config *ledger)
{
	for (unsigned i = 0; i < ledger->n_edges; i++) {
		if (ledger->edges[i].a == ledger->edges[i].b)
			return false;
	}
	return ledger->n_edges > 0;
}

static bool has_https(const struct ledger_config *ledger)
{
	for (unsigned i = 0; i < ledger->n_etcd; i++) {
		if (strncmp(ledger->etcd[i], "https:", strlen("https:")) == 0)
			return true;
	}
	return ledger->n_etcd == 0; /* all of them have errors */
}

/* Returns true if the URL's host is this machine: its whole name, not the beginning of it. */
static bool is_here(const char *url)
{
	const char *at = strstr(url, "://");
	char host[sizeof("255.255.255.255")];
	struct in_addr address;
	size_t len;

	if (at == NULL)
		return false;
	at += strlen("://");
	if (strncmp(at, "[::1]", strlen("[::1]")) == 0)
		return true;
	len = strcspn(at, ":");
	if (len >= sizeof(host))
		return false;
	memcpy(host, at, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, &address) == 1)
		return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
	return strcasecmp(host, "localhost") == 0;
}

static bool goes_in_clear(const char *url)
{
	return strncmp(url, "http:", strlen("http:")) == 0 && !is_here(url);
}

static void check_in_clear(struct reader *reader, const struct ledger_config *ledger)
{
	struct json_path at = {.parent = &path_etcd, .key = "endpoints"};

	for (unsigned i = 0; i < ledger->n_etcd && !ledger->etcd_insecure; i++) {
		struct json_path endpoint = {.parent = &at, .index = i};

		if (goes_in_clear(ledger->etcd[i]))
			reader_report(reader, &endpoint, MESSAGE(ETCD_INSECURE));
	}
}

static void check_etcd(struct reader *reader, const struct ledger_config *ledger)
{
	static const char *const files[] = {"ca", "cert", "key"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !has_https(ledger); i++) {
		struct json_path at = {.parent = &path_etcd, .key = files[i]};

		if (reader_has(reader, &path_etcd, files[i]))
			reader_report(reader, &at, MESSAGE(NEEDS_HTTPS));
	}
	check_in_clear(reader, ledger);
}

void ledger_check(struct reader *reader, const struct config *config)
{
	check_lease(reader, config);
	if (edges_known(&config->ledger)) {
		check_doubles(reader, &config->ledger);
		check_connected(reader, config);
	}
	check_etcd(reader, &config->ledger);
}

static void warn_lease(struct reader *reader, const struct config *config, uint64_t interval_ns)
{
	struct json_path at = {.parent = &path_ledger, .key = "lease"};
	char text[UNITS_TEXT_MAX];

	if (config->gossip.n_roster > 1 && config->ledger.promise > 0 &&
		config->ledger.lease_ns < LEASE_RENEWALS * interval_ns)
		reader_report(reader, &at, MESSAGE(LEASE_SHORT), LEASE_RENEWALS,
			units_format_time(interval_ns, text, sizeof(text)));
}

static void warn_store(struct reader *reader, const char *store)
{
	static const char *const lost[] = {"/run/", "/var/run/", "/dev/shm/", "/tmp/"};
	struct json_path at = {.parent = &path_ledger, .key = "store"};

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		if (strncmp(store, lost[i], strlen(lost[i])) == 0)
			reader_report(reader, &at, MESSAGE(STORE_VOLATILE));
	}
}

static void warn_etcd(struct reader *reader, const struct ledger_config *ledger)
{
	struct json_path at = {.parent = &path_etcd, .key = "endpoints"};

	for (unsigned i = 0; i < ledger->n_etcd; i++) {
		struct json_path endpoint = {.parent = &at, .index = i};

		if (goes_in_clear(ledger->etcd[i]))
			reader_report(reader, &endpoint, MESSAGE(ETCD_UNENCRYPTED));
	}
}

void ledger_warn(struct reader *reader, const struct config *config, uint64_t interval_ns)
{
	if (!config_needs_ledger(config))
		return;
	warn_lease(reader, config, interval_ns);
	warn_store(reader, config->ledger.store);
	warn_etcd(reader, &config->ledger);
}
