/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of "ledger", for limiters with hard limits.
 */
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/keys.h"
#include "json/suggest.h"
#include "policy/units.h"

#define STORE_PATH_MAX 4000 /* leaves room below PATH_MAX for the names of a store's files */
#define STORE_FIELD    .offset = offsetof(struct ledger_config, store), .size = STORE_PATH_MAX
#define DEGREE_MAX     64
#define DRIFT_MAX_PPM  100000

#define EXPECTED_EDGE "two limiters of \"gossip\".\"roster\", such as [\"ams-1\", \"fra-1\"]"

/* Names of the roster in the order of strcmp(). */
struct member {
	const char *name;
	unsigned index;
};

static int compare_members(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

/* Returns NULL if there is no memory. */
static struct member *sort_roster(const json_t *roster, size_t *n)
{
	struct member *members = calloc(json_array_size(roster) + 1, sizeof(*members));
	const json_t *element;
	size_t i;

	*n = 0;
	if (members == NULL)
		return NULL;
	json_array_foreach (roster, i, element) {
		const char *name = json_string_value(json_object_get(element, "name"));

		if (name != NULL)
			members[(*n)++] = (struct member){name, (unsigned)i};
	}
	qsort(members, *n, sizeof(*members), compare_members);
	return members;
}

static bool find_member(
	const struct member *members, size_t n, const json_t *value, unsigned *index)
{
	struct member wanted = {.name = json_string_value(value)};
	const struct member *found = NULL;

	if (wanted.name != NULL)
		found = bsearch(&wanted, members, n, sizeof(*members), compare_members);
	if (found != NULL)
		*index = found->index;
	return found != NULL;
}

static void expect_member(struct reader *reader, const struct json_path *path, const json_t *value,
	const struct member *members, size_t n)
{
	const char *text = json_string_value(value);
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};

	for (size_t i = 0; i < n && text != NULL; i++)
		suggest_offer(&meant, text, members[i].name);
	reader_report(reader, path, MESSAGE(NO_SUCH_LIMITER),
		message_part(suggest_remedy(meant.word, remedy)));
}

/* After an error the edge stays a loop, which other checks ignore. */
static void read_edge(struct reader *reader, const struct json_path *path, const json_t *value,
	const struct member *members, size_t n, struct overlay_pair_config *edge)
{
	unsigned ends[2];

	if (!json_is_array(value) || json_array_size(value) != 2) {
		reader_report(reader, path, MESSAGE(WRONG_EDGE));
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		struct json_path at = {.parent = path, .index = i};

		if (!find_member(members, n, json_array_get(value, i), &ends[i])) {
			expect_member(reader, &at, json_array_get(value, i), members, n);
			return;
		}
	}
	if (ends[0] == ends[1])
		reader_report(reader, path, MESSAGE(EDGE_TO_ITSELF));
	else
		*edge = (struct overlay_pair_config){ends[0], ends[1]};
}

static void read_ledger_edges(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	static const struct json_path gossip = {.key = "gossip"};
	static const struct json_path roster = {.parent = &gossip, .key = "roster"};
	struct overlay_pair_config *edges;
	size_t i, n, n_members;
	struct member *members;
	json_t *element;

	n = json_array_size(value);
	if (n == 0) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	edges = list_allocate(reader, path, key, base, n);
	members = sort_roster(json_path_find(reader->root, &roster), &n_members);
	reader->no_memory |= members == NULL;
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};

		if (edges != NULL && members != NULL)
			read_edge(reader, &at, element, members, n_members, &edges[i]);
	}
	free(members);
}

static const struct list edge_list = {
	.size = sizeof(struct overlay_pair_config),
	.count_offset = offsetof(struct ledger_config, n_edges),
	.max = CONFIG_EDGES_MAX,
};

static const struct key overlay_keys[] = {
	KEY("degree", read_integer, KEY_PART, KEY_FIELD(struct ledger_config, degree),
		UNSET("none"), "neighbours of each limiter in a random graph",
		"neighbours neighbors fanout peers",
		.detail = &(const struct integer_range){2, DEGREE_MAX}),
	KEY("edges", read_ledger_edges, KEY_PART, KEY_FIELD(struct ledger_config, edges),
		UNSET("none"), "pairs of limiters that exchange shares", "links pairs adjacency",
		.detail = &edge_list, .expected = "an array of pairs of limiters", .form = "edges"),
	{0},
};

static void read_ledger_overlay(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	struct ledger_config *ledger = base;
	char word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];
	const char *meant = text != NULL ? suggest_of_list("ring", text, word) : NULL;
	size_t n_keys = 0;
	const char *name;
	json_t *member;

	json_object_foreach (value, name, member)
		n_keys += !key_is_remark(name);
	if (text != NULL && strcmp(text, "ring") == 0)
		ledger->ring = true;
	else if (n_keys == 1)
		read_keys(reader, path, value, overlay_keys, ledger);
	else
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected,
			message_part(suggest_remedy(meant, remedy)));
}

static bool same_overlay(const struct key *key, const void *a, const void *b)
{
	const struct ledger_config *old = a, *ledger = b;

	(void)key;
	return old->ring == ledger->ring && old->degree == ledger->degree &&
	       old->n_edges == ledger->n_edges &&
	       (old->n_edges == 0 ||
		       memcmp(old->edges, ledger->edges, old->n_edges * sizeof(*old->edges)) == 0);
}

static const struct key tree_keys[] = {
	KEY("degree", read_integer, KEY_FIXED, KEY_FIELD(struct ledger_config, tree_degree),
		UNSET("4"), "largest number of neighbours of a limiter in the tree of quotas",
		"fanout branching children arity",
		.detail = &(const struct integer_range){2, DEGREE_MAX},
		.group = "degree of the tree"),
	{0},
};

#define MESSAGES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Returns the length of the "name", "192.0.2.1" or "[2001:db8::1]" at the start of the text. */
static size_t host_length(const char *text)
{
	size_t n = strspn(text, MESSAGES ".-");
	unsigned char address[sizeof(struct in6_addr)];
	char copy[INET6_ADDRSTRLEN];

	if (*text != '[')
		return n;
	n = strcspn(text + 1, "]");
	if (text[1 + n] != ']' || n >= sizeof(copy))
		return 0;
	memcpy(copy, text + 1, n);
	copy[n] = '\0';
	return inet_pton(AF_INET6, copy, address) == 1 ? n + 2 : 0;
}

static bool port_valid(const char *text)
{
	size_t n = strspn(text, "0123456789");
	long port = strtol(text, NULL, 10);

	return n > 0 && n <= 5 && text[n] == '\0' && port >= 1 && port <= UINT16_MAX;
}

/* Returns true for http:// or https://, a host and an optional port. The client adds the path. */
static bool endpoint_valid(const char *url)
{
	size_t scheme = strncmp(url, "https://", 8) == 0  ? 8
			: strncmp(url, "http://", 7) == 0 ? 7
							  : 0;
	size_t host = scheme > 0 ? host_length(url + scheme) : 0;
	const char *rest = url + scheme + host;

	return host > 0 && host < 256 && (*rest == '\0' || (*rest == ':' && port_valid(rest + 1)));
}

static void read_endpoint(struct reader *reader, const struct json_path *path, json_t *value,
	struct ledger_config *ledger)
{
	const char *text = json_string_value(value);

	if (text == NULL || !endpoint_valid(text)) {
		reader_report(reader, path, MESSAGE(WRONG_ENDPOINT));
		return;
	}
	for (unsigned i = 0; i < ledger->n_etcd; i++) {
		if (strcmp(ledger->etcd[i], text) == 0) {
			reader_report(reader, path, MESSAGE(ENDPOINT_TWICE));
			return;
		}
	}
	ledger->etcd[ledger->n_etcd] = strdup(text);
	if (ledger->etcd[ledger->n_etcd] != NULL)
		ledger->n_etcd++;
	else
		reader->no_memory = true;
}

static void read_endpoints(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	size_t i, n = json_array_size(value);
	json_t *element;

	if (n == 0 || n > CONFIG_ETCD_MAX) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};

		read_endpoint(reader, &at, element, base);
	}
}

static bool same_endpoints(const struct key *key, const void *a, const void *b)
{
	const struct ledger_config *old = a, *ledger = b;
	bool same = old->n_etcd == ledger->n_etcd;

	(void)key;
	for (unsigned i = 0; same && i < old->n_etcd; i++)
		same = strcmp(old->etcd[i], ledger->etcd[i]) == 0;
	return same;
}

static void read_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	size_t n = text != NULL ? strlen(text) : 0;

	if (n < 2 || n >= key->size || text[0] != '/' || text[n - 1] == '/' ||
		strspn(text, MESSAGES "_.-/") != n)
		reader_report(reader, path, MESSAGE(PATH_CHARACTERS), key->expected, key->size - 1);
	else
		memcpy(key_field(key, base), text, n + 1);
}

#define QUOTE_(x) #x
#define QUOTE(x)  QUOTE_(x)

static const struct key etcd_keys[] = {
	KEY("endpoints", read_endpoints, KEY_FIXED, NO_FIELD, REQUIRED,
		"a host and a port: `\"https://192.0.2.1:2379\"`. Weir tries them one after the "
		"other",
		"urls servers hosts url addresses", .same = same_endpoints,
		.expected = "an array of 1 to " QUOTE(CONFIG_ETCD_MAX) " URLs",
		.form = "endpoints"),
	KEY("prefix", read_prefix, KEY_FIXED, KEY_FIELD(struct ledger_config, etcd_prefix),
		DEFAULT("\"/weir\""), "beginning of the keys in etcd, without `/` at the end",
		"path root namespace keyprefix", .expected = "where keys begin, such as \"/weir\",",
		.form = "etcd-prefix"),
	KEY("ca", read_text, KEY_FIXED, KEY_FIELD(struct ledger_config, etcd_ca),
		UNSET("the system's"),
		"certificates that verify the servers, see below. Only with https",
		"cacert cafile trustedca cacertificate", .expected = "a path"),
	KEY("cert", read_text, KEY_FIXED, KEY_FIELD(struct ledger_config, etcd_cert), UNSET("none"),
		"this limiter's certificate for https", "certificate clientcert certfile",
		.expected = "a path", RELATIONS({NEEDS("key")})),
	KEY("key", read_text, KEY_FIXED, KEY_FIELD(struct ledger_config, etcd_key), UNSET("none"),
		"its private key for https", "privatekey keyfile clientkey pem",
		.expected = "a path", .secret = true, RELATIONS({NEEDS("cert")})),
	KEY("user", read_text, KEY_FIXED, KEY_FIELD(struct ledger_config, etcd_user),
		UNSET("no login"), "user name for the login to etcd", "username login account",
		.expected = "a user", RELATIONS({NEEDS("password_file")})),
	KEY("password_file", read_text, KEY_FIXED,
		KEY_FIELD(struct ledger_config, etcd_password_file), UNSET("none"),
		"file with that user's password, in one line of at most 255 bytes",
		"password passwd passwordpath secret pass", .expected = "a path", .secret = true,
		RELATIONS({NEEDS("user")})),
	KEY("insecure", read_bool, KEY_FIXED, KEY_FIELD(struct ledger_config, etcd_insecure),
		DEFAULT("false"), "true: allows `http` to other machines, with a warning",
		"plaintext skipverify noverify tlsskipverify http"),
	{0},
};

const struct key ledger_keys[] = {
	KEY("store", read_text, KEY_FIXED, STORE_FIELD, UNSET("`/var/lib/weir/LIMITER`"),
		"directory for the records that must survive a crash, see below",
		"path dir directory datadir file statedir", .expected = "a path"),
	KEY("lease", read_quantity, KEY_FIXED, KEY_FIELD(struct ledger_config, lease_ns),
		UNSET("`\"5s\"`, or twice the timeout of gossip if that is more"),
		"time for which a limiter uses its reserved share without messages from its backup "
		"neighbour, see below",
		"ttl leasetime hold leaseduration", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 200000000,
			24 * 3600 * SECOND_NS, "200ms to 24h", "ns"},
		.group = "lease"),
	KEY("promise", read_integer, KEY_FIXED, KEY_FIELD(struct ledger_config, promise),
		DEFAULT("50"),
		"percent of a limiter's share that its backup neighbour can take when this limiter "
		"is lost, see below",
		"reserve backup reservation percent share",
		.detail = &(const struct integer_range){0, 100}, .group = "promise"),
	KEY("drift", read_integer, KEY_FIXED, KEY_FIELD(struct ledger_config, drift_ppm),
		DEFAULT("1000"),
		"largest error of clock rates for leases, in parts per million. NTP slews by up to "
		"500",
		"clockskew skew ppm clockdrift",
		.detail = &(const struct integer_range){0, DRIFT_MAX_PPM}, .group = "drift"),
	KEY("overlay", read_ledger_overlay, KEY_FIXED, NO_FIELD,
		UNSET("all pairs up to 16 limiters, a random graph above"),
		"the neighbours that exchange shares ([which graph](../design/gdrl.md#which-graph))",
		"topology graph mesh neighbours neighbors", .same = same_overlay,
		.expected = "\"ring\", {\"degree\": N} or {\"edges\": [[\"A\", \"B\"], ...]}",
		.form = "overlay", .keys = overlay_keys, .group = "overlay"),
	KEY("tree", read_object, KEY_PART, NO_FIELD, UNSET("4"),
		"largest number of neighbours of a limiter in the tree of quotas",
		"hierarchy aggregation spanningtree", .detail = tree_keys),
	KEY("etcd", read_object, KEY_PART, NO_FIELD, UNSET("none"),
		"limiters draw quotas from etcd, see below", "kv consensus raft backend consul",
		.detail = etcd_keys),
	{0},
};
