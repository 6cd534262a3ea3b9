/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of the group.
 */
#include "config/keys.h"

#include <ctype.h>
#include <string.h>

#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "json/vocabulary.h"
#include "policy/units.h"
#include "policy/value.h"

#define EXPECTED_HOST "an address and port such as \"10.0.0.1:7946\" or \"[2001:db8::1]:7946\""

/* Explains an address that is a name, or an IPv6 address whose port could be a part of it. */
static const char *address_remedy(const char *text)
{
	if (text == NULL)
		return NULL;
	if (text[0] != '[' && strchr(text, ':') != strrchr(text, ':'))
		return "an IPv6 address is written in brackets before its port";
	if (isalpha((unsigned char)text[0]))
		return "names are not looked up: write the address";
	return isdigit((unsigned char)text[0]) && strchr(text, ':') == NULL
		       ? "write a colon and the port behind it"
		       : NULL;
}

/* detail: the offset, in the same struct, of the length. */
static void read_address(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const size_t *len_offset = key->detail;
	struct sockaddr_storage address;
	socklen_t len;

	if (!json_is_string(value) || address_parse(json_string_value(value), &address, &len) < 0) {
		reader_report(reader, path, MESSAGE(WRONG_ADDRESS),
			message_part(address_remedy(json_string_value(value))));
	} else if (!address_is_one_host(&address)) {
		reader_report(reader, path, MESSAGE(ADDRESS_NOT_HOST));
	} else {
		memcpy(key_field(key, base), &address, sizeof(address));
		memcpy((char *)base + *len_offset, &len, sizeof(len));
	}
}

static bool same_address(const struct key *key, const void *a, const void *b)
{
	const size_t *len_offset = key->detail;
	socklen_t len, other_len;

	memcpy(&len, (const char *)a + *len_offset, sizeof(len));
	memcpy(&other_len, (const char *)b + *len_offset, sizeof(other_len));
	return len == other_len && memcmp(key_field(key, a), key_field(key, b), len) == 0;
}

static void read_peer_address(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct peer_config *peer = base;

	read_address(reader, path, value, key, base);
	if (peer->address_len > 0 && address_is_any(&peer->address)) {
		reader_report(reader, path, MESSAGE(ADDRESS_NOT_REACHABLE));
		peer->address_len = 0;
	}
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static void read_public_key(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	uint8_t *out = key_field(key, base);
	bool good = text && strlen(text) == 2 * CONFIG_PUBLIC_KEY;

	for (size_t i = 0; good && i < CONFIG_PUBLIC_KEY; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		good = high >= 0 && low >= 0;
		if (good)
			out[i] = (uint8_t)(high << 4 | low);
	}
	if (!good || memcmp(out, &(const uint8_t[CONFIG_PUBLIC_KEY]){0}, CONFIG_PUBLIC_KEY) == 0)
		reader_report(reader, path, MESSAGE(WRONG_PUBLIC_KEY));
}

static void read_key_files(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct gossip_config *gossip = base;
	size_t i, n = json_array_size(value);
	json_t *element;

	if (n == 0 || n > CONFIG_KEY_FILES) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	json_array_foreach (value, i, element) {
		struct key file = {.read = read_text,
			.offset = offsetof(struct gossip_config, key_files[0]) +
				  i * sizeof(gossip->key_files[0]),
			.size = sizeof(gossip->key_files[0]),
			.expected = "a path"};
		struct json_path at = {.parent = path, .index = i};

		read_text(reader, &at, element, &file, base);
	}
	gossip->n_key_files = (unsigned)n;
}

static void read_key_file(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct gossip_config *gossip = base;

	read_text(reader, path, value, key, base);
	if (gossip->n_key_files == 0)
		gossip->n_key_files = 1;
}

/* A reload can read other keys, but it cannot seal plain gossip or the reverse. */
static bool same_sealing(const struct key *key, const void *a, const void *b)
{
	const struct gossip_config *old = a, *gossip = b;

	(void)key;
	return old->insecure != gossip->insecure ||
	       (old->n_key_files == 0) == (gossip->n_key_files == 0);
}

static const struct key peer_keys[] = {
	KEY("name", read_name, KEY_LIVE, KEY_FIELD(struct peer_config, name), REQUIRED,
		"name of the limiter, unique in the group", "id node hostname limiter"),
	KEY("address", read_peer_address, KEY_LIVE, KEY_FIELD(struct peer_config, address),
		REQUIRED, "address and port to which the other limiters send",
		"ip addr host endpoint hostport peeraddress", .same = same_address,
		.detail = &(const size_t){offsetof(struct peer_config, address_len)},
		.form = "address"),
	KEY("public_key", read_public_key, KEY_LIVE, KEY_FIELD(struct peer_config, public_key),
		UNSET("none"),
		"public key that `weir --new-identity` prints. Required for all limiters with "
		"`identity_file`",
		"pubkey key identity", .form = "public-key"),
	{0},
};

static const struct list roster_list = {
	.keys = peer_keys,
	.size = sizeof(struct peer_config),
	.count_offset = offsetof(struct gossip_config, n_roster),
	.max = CONFIG_ROSTER_MAX,
};

#define ESTIMATOR_CHOICE(name, value) {name, value},
static const struct choice estimators[] = {ESTIMATORS_OF_LIMITERS(ESTIMATOR_CHOICE){0}};
static const struct choice paper_estimators[] = {ESTIMATORS_OF_PAPERS(ESTIMATOR_CHOICE){0}};
const struct choice simulated_estimators[] = {
	ESTIMATORS_OF_LIMITERS(ESTIMATOR_CHOICE) ESTIMATORS_OF_PAPERS(ESTIMATOR_CHOICE){0}};
#undef ESTIMATOR_CHOICE

static void read_estimator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	for (const struct choice *paper = paper_estimators; text && paper->name; paper++)
		if (strcmp(text, paper->name) == 0) {
			key_store(key, base, CHOICE_REFUSED);
			reader_report(reader, path, MESSAGE(ESTIMATOR_SIMULATED));
			return;
		}
	read_marked_choice(reader, path, value, key, base);
}

static const struct choice identity_choices[] = {
	{"required", IDENTITIES_REQUIRED},
	{"optional", IDENTITIES_OPTIONAL},
	{0},
};

static const struct choice loan_choices[] = {
	{"none", LOANS_NONE},
	{"soft", LOANS_SOFT},
	{"all", LOANS_ALL},
	{0},
};

/* The default of loans depends on the estimator, which has a complaint of its own. */
static bool same_loans(const struct key *key, const void *a, const void *b)
{
	const struct gossip_config *old = a, *gossip = b;

	(void)key;
	return old->estimator != gossip->estimator || old->loans == gossip->loans;
}

static const struct choice source_choices[] = {
	{"roster", SOURCES_ROSTER},
	{"any", SOURCES_ANY},
	{0},
};

static const struct vocabulary_entry estimator_values[] = {
	{"state", "full fullstate"},
	{"tree", "hierarchical"},
	{0},
};

static const struct vocabulary_entry identities_values[] = {
	{"required", "strict mandatory"},
	{"optional", "permissive"},
	{0},
};

static const struct vocabulary_entry sources_values[] = {
	{"roster", "strict peers"},
	{"any", "all"},
	{0},
};

const struct key gossip_keys[] = {
	KEY("listen", read_address, KEY_FIXED, KEY_FIELD(struct gossip_config, listen),
		UNSET("this limiter's in `roster`"),
		"local address for datagrams. `\"0.0.0.0:7946\"` and `\"[::]:7946\"` are allowed. "
		"While no interface has it, packets pass and an alarm shows it",
		"bind address bindaddr listenaddress port advertise", .same = same_address,
		.detail = &(const size_t){offsetof(struct gossip_config, listen_len)},
		.form = "address", .common = true),
	KEY("roster", read_list, KEY_LIVE, KEY_FIELD(struct gossip_config, roster), REQUIRED,
		"the limiters of the group, including this one. A reload adds new ones, see [The "
		"members](group.md#the-members)",
		"peers members nodes neighbours neighbors seeds hosts servers",
		.expected = "an array of the limiters of the group, this one included",
		.detail = &roster_list, .common = true, .group = "roster"),
	KEY("join", read_bool, KEY_LIVE, KEY_FIELD(struct gossip_config, join), DEFAULT("false"),
		"true: `roster` has only this limiter and some of the others. At a start without "
		"kept members all limits are 0 until one of them has reported the rest",
		"seeds seed partial bootstrap joining learner"),
	KEY("key_file", read_key_file, KEY_KIND, KEY_FIELD(struct gossip_config, key_files[0]),
		UNSET("none"), "the key that seals gossip, see below",
		"key secret psk password sharedkey keyfilename", .same = same_sealing,
		.expected = "a path", .form = "text", .common = true, .secret = true,
		RELATIONS({EXCLUDES("key_files", REMOVE_ONE)})),
	KEY("key_files", read_key_files, KEY_LIVE, NO_FIELD, UNSET("none"),
		"instead of `key_file`, while a group [changes its key](#another-key): the first "
		"key seals, both open",
		"keys secrets keyring rotation",
		.expected = "an array of 1 or 2 paths: of the key that seals, and of one that only "
			    "opens",
		.form = "paths", .common = true, .secret = true),
	KEY("identity_file", read_text, KEY_LIVE, KEY_FIELD(struct gossip_config, identity_file),
		UNSET("none"),
		"this limiter's own secret, see [Identities](#identities). Every limiter of the "
		"roster then has a `public_key`",
		"privatekey identity nodekey ownkey", .expected = "a path", .common = true,
		.secret = true, RELATIONS({NEEDS_EITHER("key_file", "key_files")})),
	KEY("identities", read_choice, KEY_LIVE, KEY_FIELD(struct gossip_config, identities),
		DEFAULT("\"required\""),
		"`optional`: Weir also accepts limiters without a proof of identity, while a group "
		"gets its identities",
		"authentication verifypeers peerauth requireidentity", .detail = identity_choices,
		.value_words = identities_values, RELATIONS({NEEDS("identity_file")})),
	KEY("insecure", read_bool, KEY_FIXED, KEY_FIELD(struct gossip_config, insecure),
		DEFAULT("false"), "true: gossip without a key, with a warning",
		"noauth plaintext unencrypted allowinsecure nokey",
		RELATIONS({EXCLUDES("key_file", REMOVE_ONE), .unless = "false"},
			{EXCLUDES("key_files", REMOVE_ONE), .unless = "false"})),
	KEY("sources", read_choice, KEY_FIXED, KEY_FIELD(struct gossip_config, sources),
		DEFAULT("\"roster\""), "accepted source addresses of datagrams, see below",
		"allowfrom acl permitfrom acceptfrom", .detail = source_choices,
		.value_words = sources_values),
	KEY("differs_alarm", read_quantity, KEY_LIVE,
		KEY_FIELD(struct gossip_config, differs_alarm_ns), DEFAULT("\"60s\""),
		"a [config mismatch](guarantees.md#config-mismatch) that lasts longer is an alarm "
		"in `/weir/health`. A reload changes this key",
		"mismatchalarm driftalarm configmismatch", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 1000000000,
			86400000000000, "1s to 24h", "ns"}),
	KEY("overshoot_alarm", read_real, KEY_LIVE,
		KEY_FIELD(struct gossip_config, overshoot_alarm), DEFAULT("0.5"),
		"a part of each soft limit: an [alarm](symptoms.md#the-group-exceeds-a-limit) if "
		"the group may enforce so much more than the limit for 10 s. 0: no alarm",
		"exceedalarm overlimitalarm overrun",
		.detail = &(const struct real_range){0, 100, .below = false}),
	KEY("branching", read_integer, KEY_FIXED, KEY_FIELD(struct gossip_config, branching),
		UNSET("`3` with `state`, `8` with `tree`"),
		"with `state` the peers that receive a message in each estimate interval, with "
		"`tree` the largest number of children of a limiter",
		"fanout gossipnodes degree width", .detail = &(const struct integer_range){1, 64},
		.simulated = true, .group = "branching"),
	KEY("timeout", read_quantity, KEY_FIXED, KEY_FIELD(struct gossip_config, timeout_ns),
		DEFAULT("\"1s\""), "a peer without messages for this time is lost, see below",
		"deadinterval suspicion failuretimeout peertimeout holdtime",
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000, 3600000000000,
			"100ms to 3600s", "ns"},
		.simulated = true, .group = "gossip timeout"),
	KEY("datagram", read_quantity, KEY_FIXED, KEY_FIELD(struct gossip_config, datagram_max),
		DEFAULT("\"1200B\""), "largest UDP payload. With a quota at least 582B",
		"mtu packetsize maxmessage udpsize", .expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 256, 8972,
			"256B to 8972B", "B"},
		.simulated = true),
	KEY("estimator", read_estimator, KEY_FIXED, KEY_FIELD(struct gossip_config, estimator),
		UNSET("`\"state\"` up to 64 limiters, `\"tree\"` above"),
		"method for the sums over the group, see [Estimators](#estimators)",
		"aggregation algorithm method protocol compensate", .detail = estimators,
		.form = "choice", .simulated = true, .value_words = estimator_values,
		.group = "estimator"),
	KEY("loans", read_marked_choice, KEY_FIXED, KEY_FIELD(struct gossip_config, loans),
		UNSET("`\"soft\"` with `state`, otherwise `\"none\"`"),
		"limits whose unused tokens the limiters lend each other, see [Token "
		"loans](../design/loans.md)",
		"lend lending borrow borrowing tokenloans", .same = same_loans,
		.detail = loan_choices, .simulated = true,
		RELATIONS({.key = "estimator", VALUES_OF("state"), .unless = "none"})),
	{0},
};
