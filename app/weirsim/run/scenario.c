/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks that involve several keys of a scenario.
 */
#include "scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/lists.h"
#include "config/terms.h"
#include "policy/kind.h"
#include "scenario_messages.h"

SCENARIO_MESSAGES(MESSAGE_DEFINE)

/* Default lease: this time, or this many timeouts of gossip. */
#define LEASE_NS       (5 * SECOND_NS)
#define LEASE_TIMEOUTS 2

/* Sorted names, to find one among thousands. */
struct name_index {
	const struct limiter_config **sorted;
	const struct limiter_config *first;
	unsigned n;
};

static int compare_limiter_names(const void *a, const void *b)
{
	const struct limiter_config *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int index_names(const struct scenario *s, struct name_index *index)
{
	index->sorted = calloc(s->n_limiters + 1, sizeof(*index->sorted));
	index->first = s->limiters;
	index->n = s->n_limiters;
	if (!index->sorted)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_limiters; i++)
		index->sorted[i] = &s->limiters[i];
	qsort(index->sorted, index->n, sizeof(*index->sorted), compare_limiter_names);
	return 0;
}

/* Returns the index of a limiter, or n. */
static unsigned find_limiter(const struct name_index *index, const char *name)
{
	unsigned low = 0, high = index->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		int order = strcmp(index->sorted[middle]->name, name);

		if (order == 0)
			return (unsigned)(index->sorted[middle] - index->first);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return index->n;
}

static void check_limiter_names(struct reader *reader, const struct name_index *index)
{
	static const struct json_path limiters = {.key = "limiters"};

	for (unsigned i = 0; i < index->n; i++) {
		struct json_path at = {.parent = &limiters, .index = i};

		if (strcmp(index->first[i].name, "each") == 0 ||
			strcmp(index->first[i].name, "random") == 0)
			reader_report(reader, &at, MESSAGE(NAME_RESERVED));
	}
	for (unsigned i = 1; i < index->n; i++) {
		const struct limiter_config *one = index->sorted[i];
		struct json_path at = {.parent = &limiters, .index = (size_t)(one - index->first)};

		if (strcmp(one->name, index->sorted[i - 1]->name) == 0 && one->name[0])
			reader_report(reader, &at, MESSAGE(NAME_TWICE));
	}
}

static void check_time(struct reader *reader, const struct scenario *s)
{
	static const struct json_path warmup = {.key = "warmup"}, interval = {.key = "interval"},
				      duration = {.key = "duration"};

	if (s->duration_ns == 0)
		return;
	if (s->warmup_ns >= s->duration_ns)
		reader_report(reader, &warmup, MESSAGE(ABOVE_DURATION));
	if (SECOND_NS % s->interval_ns)
		reader_report(reader, &interval, MESSAGE(INTERVAL_NO_PART));
	else if (s->duration_ns % s->interval_ns)
		reader_report(reader, &duration, MESSAGE(NOT_MULTIPLE_OF_INTERVAL));
	else if (s->warmup_ns % s->interval_ns)
		reader_report(reader, &warmup, MESSAGE(NOT_MULTIPLE_OF_INTERVAL));
	if (s->duration_ns / s->interval_ns > SCENARIO_BINS_MAX)
		reader_report(reader, &interval, MESSAGE(INTERVAL_TOO_SHORT), SCENARIO_BINS_MAX);
}

/* Checks that the records of a run fit into memory. */
static void check_size(struct reader *reader, const struct scenario *s)
{
	static const struct json_path interval = {.key = "interval"}, traffic = {.key = "traffic"};
	uint64_t rows = (uint64_t)s->group.n_policies * s->n_limiters, flows = 0;

	for (unsigned i = 0; i < s->n_traffic; i++)
		flows += (uint64_t)s->traffic[i].count *
			 (s->traffic[i].limiter == LIMITER_EACH ? s->n_limiters : 1);
	if (flows > SCENARIO_FLOWS_MAX)
		reader_report(reader, &traffic, MESSAGE(FLOWS_TOO_MANY), (unsigned long long)flows,
			SCENARIO_FLOWS_MAX);
	else if ((rows + flows) * (s->duration_ns / s->interval_ns) > SCENARIO_CELLS_MAX)
		reader_report(reader, &interval, MESSAGE(INTERVAL_TOO_MANY_NUMBERS),
			(unsigned long long)((rows + flows) * (s->duration_ns / s->interval_ns)));
}

/* A connection counts its segments in 32 bits; more than half of each are data. */
static uint64_t transfer_max(const struct traffic *t)
{
	return (uint64_t)(t->packet_bytes / 2) << 32;
}

static void check_web(struct reader *reader, const struct json_path *path, const struct traffic *t)
{
	struct json_path requests = {.parent = path, .key = "requests"};
	struct json_path sizes = {.parent = path, .key = "sizes"};

	if (t->requests <= 0)
		reader_report(reader, &requests, MESSAGE(REQUESTS_MISSING));
	if (t->sizes.least >= t->sizes.most)
		reader_report(reader, &sizes, MESSAGE(SIZES_REVERSED));
	else if (t->sizes.most > transfer_max(t))
		reader_report(reader, &sizes, MESSAGE(SIZES_TOO_LARGE),
			(unsigned long long)transfer_max(t));
}

/* Keys that only some kinds of traffic have. */
static const struct {
	const char *key;
	unsigned kinds; /* bits */
} meaningful[] = {
	{"congestion", 1 << TRAFFIC_TCP | 1 << TRAFFIC_WEB},
	{"ecn", 1 << TRAFFIC_TCP | 1 << TRAFFIC_WEB},
	{"size", 1 << TRAFFIC_TCP | 1 << TRAFFIC_QUIC},
	{"rate", 1 << TRAFFIC_CBR | 1 << TRAFFIC_POISSON | 1 << TRAFFIC_ON_OFF},
	{"on", 1 << TRAFFIC_ON_OFF},
	{"off", 1 << TRAFFIC_ON_OFF},
	{"requests", 1 << TRAFFIC_WEB},
	{"sizes", 1 << TRAFFIC_WEB},
};

static void check_kind(struct reader *reader, const struct json_path *path, const struct traffic *t)
{
	struct json_path rate = {.parent = path, .key = "rate"};
	struct json_path size = {.parent = path, .key = "size"};
	struct json_path ecn = {.parent = path, .key = "ecn"};
	struct json_path stop = {.parent = path, .key = "stop"};
	json_t *written = json_path_find(reader->root, path);

	for (size_t i = 0; i < sizeof(meaningful) / sizeof(meaningful[0]); i++) {
		struct json_path at = {.parent = path, .key = meaningful[i].key};

		if (json_object_get(written, meaningful[i].key) &&
			!(meaningful[i].kinds & 1u << t->kind))
			reader_report(reader, &at, MESSAGE(KEY_OF_OTHER_TRAFFIC));
	}
	if (t->ecn && t->transport > TRANSPORT_QUIC)
		reader_report(reader, &ecn, MESSAGE(ECN_NEEDS_CONGESTION));
	if (t->kind >= TRAFFIC_CBR && t->kind <= TRAFFIC_ON_OFF && t->rate_bps == 0)
		reader_report(reader, &rate, MESSAGE(RATE_MISSING));
	if (t->kind == TRAFFIC_WEB)
		check_web(reader, path, t);
	if (t->size_bytes > transfer_max(t))
		reader_report(reader, &size, MESSAGE(SIZE_TOO_LARGE),
			(unsigned long long)transfer_max(t));
	if (t->stop_ns && t->stop_ns <= t->start_ns)
		reader_report(reader, &stop, MESSAGE(STOP_BEFORE_START));
}

static void resolve_limiter(struct reader *reader, const struct json_path *path, struct traffic *t,
	const struct name_index *index)
{
	struct json_path at = {.parent = path, .key = "limiter"};
	unsigned found = find_limiter(index, t->limiter_name);

	t->limiter = (int)found;
	if (found < index->n)
		return;
	if (strcmp(t->limiter_name, "random") == 0)
		t->limiter = LIMITER_RANDOM;
	else if (strcmp(t->limiter_name, "each") == 0)
		t->limiter = LIMITER_EACH;
	else if (t->limiter_name[0] == '\0' && index->n == 1)
		t->limiter = 0;
	else
		reader_report(reader, &at, MESSAGE(WRONG_PLACE));
}

/* Returns the index of the policy that the object at `path` names, or the number of policies. */
static unsigned resolve_policy(struct reader *reader, const struct json_path *path,
	const char *name, const struct scenario *s)
{
	struct json_path at = {.parent = path, .key = "policy"};
	unsigned found = 0;

	if (name[0] == '\0' && s->group.n_policies == 1)
		return 0;
	while (found < s->group.n_policies && strcmp(s->group.policies[found].name, name) != 0)
		found++;
	if (found == s->group.n_policies)
		reader_report(reader, &at, MESSAGE(NO_POLICY_OF_SCENARIO));
	return found;
}

static void check_traffic(struct reader *reader, struct scenario *s, const struct name_index *index)
{
	static const struct json_path list = {.key = "traffic"};

	for (unsigned i = 0; i < s->n_traffic; i++) {
		struct json_path path = {.parent = &list, .index = i};
		struct traffic *t = &s->traffic[i];

		if (t->kind == TRAFFIC_QUIC)
			t->transport = TRANSPORT_QUIC;
		if (t->name[0] == '\0')
			snprintf(t->name, sizeof(t->name), "traffic%u", i + 1);
		check_kind(reader, &path, t);
		resolve_limiter(reader, &path, t, index);
		t->policy = resolve_policy(reader, &path, t->policy_name, s);
	}
}

/*
 * Returns the index of the limiter that an element of an array names; reports others and returns n.
 */
static unsigned read_limiter_name(struct reader *reader, const struct json_path *path,
	const json_t *name, const struct name_index *index)
{
	unsigned limiter = json_is_string(name) ? find_limiter(index, json_string_value(name))
						: index->n;

	if (limiter == index->n)
		reader_report(reader, path, MESSAGE(NO_LIMITER_OF_SCENARIO));
	return limiter;
}

/*
 * Assigns each limiter to the side that names it, from 1 on; or with `sets`, to all that name it.
 */
static void read_sides(struct reader *reader, const struct json_path *path, json_t *written,
	const struct name_index *index, uint32_t *sides, bool sets)
{
	size_t side, i;
	json_t *names, *name;

	json_array_foreach (written, side, names) {
		struct json_path at = {.parent = path, .index = side};

		if (!json_is_array(names))
			reader_report(reader, &at, MESSAGE(SIDE_TYPE));
		json_array_foreach (names, i, name) {
			struct json_path where = {.parent = &at, .index = i};
			unsigned limiter = read_limiter_name(reader, &where, name, index);

			if (limiter < index->n)
				sides[limiter] = sets ? sides[limiter] | 1U << side
						      : (uint32_t)side + 1;
		}
	}
}

/* Reads the links between some limiters. A missing key has the value of their network. */
static void read_pairs(struct reader *reader, const struct json_path *path, struct network *network,
	const struct name_index *index)
{
	struct json_path list = {.parent = path, .key = "pairs"};
	json_t *written = json_path_find(reader->root, &list), *each;
	size_t i;

	if (json_array_size(written) > SCENARIO_PAIRS_MAX) {
		reader_report(reader, &list, MESSAGE(PAIRS_NUMBER), SCENARIO_PAIRS_MAX);
		return;
	}
	network->pairs = calloc(json_array_size(written) + 1, sizeof(*network->pairs));
	reader->no_memory |= network->pairs == NULL;
	for (i = 0; network->pairs && i < json_array_size(written); i++) {
		struct json_path at = {.parent = &list, .index = i};
		struct json_path between = {.parent = &at, .key = "between"};
		struct network_pair *pair = &network->pairs[i];

		each = json_object_get(json_array_get(written, i), between.key);
		*pair = (struct network_pair){.link = *network};
		pair->sets = calloc(index->n, sizeof(*pair->sets));
		network->n_pairs++;
		reader->no_memory |= pair->sets == NULL;
		read_pair(reader, &at, json_array_get(written, i), &pair->link);
		if (json_is_array(each) && json_array_size(each) != 2)
			reader_report(reader, &between, MESSAGE(WRONG_VALUE), EXPECTED_BETWEEN, "");
		else if (pair->sets)
			read_sides(reader, &between, each, index, pair->sets, true);
	}
}

/*
 * Reads sides by name, with one more for unnamed limiters; or a number of sides, assigned in turn.
 */
static void read_partition(struct reader *reader, const struct json_path *path, struct fault *fault,
	const struct name_index *index)
{
	struct json_path at = {.parent = path, .key = "partition"};
	json_int_t n = json_integer_value(fault->partition);

	fault->side = calloc(index->n, sizeof(*fault->side));
	reader->no_memory |= fault->side == NULL;
	if (!fault->side)
		return;
	if (json_is_array(fault->partition)) {
		read_sides(reader, &at, fault->partition, index, fault->side, false);
	} else if (n < 2 || n > index->n) {
		reader_report(reader, &at, MESSAGE(SIDES_NUMBER), index->n);
	} else {
		for (unsigned i = 0; i < index->n; i++)
			fault->side[i] = i % (unsigned)n;
	}
}

static void resolve_fault(struct reader *reader, const struct json_path *path, struct fault *fault,
	const struct name_index *index)
{
	const char *key = fault->crash[0] ? "crash" : fault->restart[0] ? "restart" : "pause";
	const char *name = fault->crash[0]     ? fault->crash
			   : fault->restart[0] ? fault->restart
					       : fault->pause;
	struct json_path at = {.parent = path, .key = key};
	struct json_path at_for = {.parent = path, .key = "for"};

	fault->kind = fault->crash[0]     ? FAULT_CRASH
		      : fault->restart[0] ? FAULT_RESTART
					  : FAULT_PAUSE;
	fault->limiter = find_limiter(index, name);
	if (fault->limiter == index->n)
		reader_report(reader, &at, MESSAGE(NO_LIMITER_OF_SCENARIO));
	if ((fault->kind == FAULT_PAUSE) == (fault->for_ns > 0))
		return;
	if (fault->for_ns)
		reader_report(reader, &at_for, MESSAGE(FOR_OF_OTHER_EVENT));
	else
		reader_report(reader, &at_for, MESSAGE(PAUSE_MISSING));
}

static const struct json_path network_path = {.key = "network"};

/* Reads another network. A missing key, also "pairs", has the value of the scenario's network. */
static void change_network(struct reader *reader, const struct json_path *path, struct fault *fault,
	const struct scenario *s, const struct name_index *index)
{
	static const struct key key = {.name = "network", KEY_FIELD(struct fault, network)};
	struct json_path at = {.parent = path, .key = key.name};

	fault->kind = FAULT_NETWORK;
	fault->network = s->network;
	fault->network.pairs = NULL;
	fault->network.n_pairs = 0;
	read_network(reader, &at, fault->changed, &key, fault);
	if (!reader_failed(reader))
		read_pairs(reader, reader_has(reader, &at, "pairs") ? &at : &network_path,
			&fault->network, index);
}

/* Reads the limiters that get another limit, in their order: all, if none is named. */
static void read_changed_limiters(struct reader *reader, const struct json_path *path,
	struct fault *fault, const struct name_index *index)
{
	struct json_path list = {.parent = path, .key = "limiters"};
	json_t *written = json_path_find(reader->root, &list);
	size_t n = written ? json_array_size(written) : index->n;

	fault->limiters = calloc(n + 1, sizeof(*fault->limiters));
	reader->no_memory |= fault->limiters == NULL;
	for (size_t i = 0; fault->limiters && i < n; i++) {
		struct json_path at = {.parent = &list, .index = i};

		fault->limiters[fault->n_limiters++] = written ? read_limiter_name(reader, &at,
									 json_array_get(written, i),
									 index)
							       : (unsigned)i;
	}
}

/* Reads another limit of a policy, which the limiters read one after the other. */
static void read_change(struct reader *reader, const struct json_path *path, struct fault *fault,
	const struct scenario *s, const struct name_index *index)
{
	static const struct json_path policies = {.key = "policies"};
	struct json_path policy = {.parent = &policies};
	json_t *terms = json_pack("{s:O, s:O*}", "limit", fault->limit, "burst", fault->burst);

	fault->kind = FAULT_LIMIT;
	fault->policy = resolve_policy(reader, path, fault->policy_name, s);
	policy.index = fault->policy;
	reader->no_memory |= terms == NULL;
	if (terms && fault->policy < s->group.n_policies)
		config_read_terms(reader, path, terms, &s->group.policies[fault->policy], index->n,
			reader_has(reader, &policy, "burst"), &fault->terms);
	json_decref(terms);
	read_changed_limiters(reader, path, fault, index);
}

/* Reports keys of an event that require "limit". */
static void check_requires_limit(
	struct reader *reader, const struct json_path *path, const struct fault *fault)
{
	static const char *const keys[] = {"policy", "burst", "limiters", "every"};

	for (size_t i = 0; !fault->limit && i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct json_path at = {.parent = path, .key = keys[i]};

		if (reader_has(reader, path, keys[i]))
			reader_report(reader, &at, MESSAGE(POLICY_WITHOUT_LIMIT));
	}
}

static void check_faults(struct reader *reader, struct scenario *s, const struct name_index *index)
{
	static const struct json_path list = {.key = "events"};

	for (unsigned i = 0; i < s->n_faults; i++) {
		struct json_path path = {.parent = &list, .index = i};
		struct json_path at = {.parent = &path, .key = "heal"};
		struct fault *f = &s->faults[i];
		unsigned n_kinds = (f->partition != NULL) + reader_has(reader, &path, "heal") +
				   (f->changed != NULL) + (f->limit != NULL) +
				   (f->crash[0] != '\0') + (f->restart[0] != '\0') +
				   (f->pause[0] != '\0');

		check_requires_limit(reader, &path, f);
		if (n_kinds != 1) {
			reader_report(reader, &path, MESSAGE(EVENT_KIND));
		} else if (f->partition) {
			f->kind = FAULT_PARTITION;
			read_partition(reader, &path, f, index);
		} else if (reader_has(reader, &path, "heal")) {
			f->kind = FAULT_HEAL;
			if (!f->heal)
				reader_report(reader, &at, MESSAGE(EVENT_NOT_TRUE));
		} else if (f->changed) {
			change_network(reader, &path, f, s, index);
		} else if (f->limit) {
			read_change(reader, &path, f, s, index);
		} else {
			resolve_fault(reader, &path, f, index);
		}
	}
}

/* Returns why the first policy does not have a number of the summary; NULL: it has. */
static const char *what_policy_lacks(const struct policy *policy, const char *key)
{
	if (strncmp(key, "aggregate_ratio", strlen("aggregate_ratio")) == 0 &&
		!summary_has_ratio(policy))
		return "limits no bytes of all sources";
	if (strcmp(key, "spent_ratio") == 0 && !policy_is_quota(policy))
		return "has no total";
	if (strcmp(key, "sum_of_limits_max_ratio") == 0 && policy->limit_bps == 0)
		return "has no limit in addition to its total";
	return NULL;
}

static void check_expect(struct reader *reader, const struct scenario *s)
{
	static const struct json_path expect = {.key = "expect"};

	for (unsigned i = 0; i < s->n_expect; i++) {
		struct json_path at = {.parent = &expect, .key = s->expect[i].key};
		const char *why = what_policy_lacks(&s->group.policies[0], s->expect[i].key);

		if (why)
			reader_report(reader, &at, MESSAGE(POLICY_LACKS), why);
	}
}

/* Checks the ledger as in a configuration: a lease is longer than the timeout of gossip. */
static void check_scenario_ledger(struct reader *reader, struct scenario *s)
{
	static const struct json_path ledger = {.key = "ledger"};
	static const struct json_path lease = {.parent = &ledger, .key = "lease"};
	uint64_t timeout = s->group.gossip.timeout_ns;

	if (s->ledger.lease_ns == 0)
		s->ledger.lease_ns = LEASE_TIMEOUTS * timeout > LEASE_NS ? LEASE_TIMEOUTS * timeout
									 : LEASE_NS;
	else if (s->n_limiters > 1 && s->ledger.lease_ns <= timeout)
		reader_report(reader, &lease, MESSAGE(LEASE_BELOW_GOSSIP));
}

static void check_sim_scenario(struct reader *reader, struct scenario *s)
{
	static const struct json_path policies = {.key = "policies"};
	struct name_index index;

	if (reader->no_memory)
		return;
	group_check(reader, &s->group, s->n_limiters);
	check_time(reader, s);
	check_scenario_ledger(reader, s);
	if (s->group.n_policies == 0 && json_is_array(json_object_get(reader->root, "policies")))
		reader_report(reader, &policies, MESSAGE(POLICIES_MISSING));
	if (s->n_limiters == 0 || s->group.n_policies == 0)
		return;
	if (index_names(s, &index)) {
		reader->no_memory = true;
		return;
	}
	check_limiter_names(reader, &index);
	check_traffic(reader, s, &index);
	read_pairs(reader, &network_path, &s->network, &index);
	check_faults(reader, s, &index);
	check_size(reader, s);
	check_expect(reader, s);
	free(index.sorted);
}

/* Also ends the reader. */
static int read_scenario(struct reader *reader, struct scenario **out)
{
	struct scenario *s = calloc(1, sizeof(*s));
	int ret;

	reader->no_memory |= s == NULL;
	if (s) {
		scenario_init(reader, s);
		read_keys(reader, NULL, reader->root, scenario_keys, s);
	}
	if (s && json_is_object(reader->root))
		check_sim_scenario(reader, s);
	ret = reader_finish(reader);
	if (ret)
		scenario_free(s);
	else
		*out = s;
	return ret;
}

int scenario_load(const char *path, FILE *err, struct scenario **out)
{
	struct reader reader;
	int ret = reader_load(&reader, path, err);

	*out = NULL;
	if (ret)
		return ret;
	if (lists_expand(&reader) < 0) {
		fprintf(err, "%s: a list changes while it is read: try again\n", path);
		reader.errors++;
	}
	return read_scenario(&reader, out);
}

int scenario_parse(const char *text, size_t len, const char *name, FILE *err, struct scenario **out)
{
	struct reader reader;
	int ret = reader_parse(&reader, text, len, name, err);

	*out = NULL;
	return ret ? ret : read_scenario(&reader, out);
}

static void pairs_free(struct network *network)
{
	for (unsigned i = 0; i < network->n_pairs; i++)
		free(network->pairs[i].sets);
	free(network->pairs);
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_faults; i++) {
		free(s->faults[i].side);
		free(s->faults[i].limiters);
		pairs_free(&s->faults[i].network);
	}
	pairs_free(&s->network);
	group_free(&s->group);
	free(s->limiters);
	free(s->faults);
	free(s->traffic);
	free(s->expect);
	free(s);
}
