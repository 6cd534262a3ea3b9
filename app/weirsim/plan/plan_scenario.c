/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Input of weirsim plan: an aggregate, its sources, and the limiters.
 */
#include "plan_scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/value_keys.h"
#include "json/json_messages.h"
#include "json/read.h"
#include "policy/units.h"

/* Messages about scenarios: see json/message_row.h. */
#define PLAN_MESSAGES(X)                                                               \
	X(PLAN_NAME_TWICE, EXPECTED, "each name once")                                 \
	X(PLAN_EMPTY, EXPECTED, "at least one")                                        \
	X(PLAN_OVERLOADED, WARNING, "sources send as much, and will wait without end") \
	X(PLAN_BELOW_CAPACITY, EXPECTED, "no less than the capacity")                  \
	X(PLAN_NO_ROOM, EXPECTED, "room for a packet")                                 \
	X(PLAN_ABOVE_OBJECTIVE, EXPECTED, "less than the objective")

PLAN_MESSAGES(MESSAGE_DECLARE)
PLAN_MESSAGES(MESSAGE_DEFINE)

static const struct quantity_range some_rate = {
	units_parse_rate, 1000, 400 * SECOND_NS, "1kbit/s to 400Gbit/s", "bit/s"};
static const struct quantity_range some_size = {
	units_parse_size, 1, UINT64_C(1) << 39, "1B to 512GiB", "B"};
static const struct quantity_range any_time = {
	units_parse_time, 0, 3600 * SECOND_NS, "0s to 3600s", "ns"};
static const struct quantity_range slo_time = {
	units_parse_time, 1000, 100 * SECOND_NS, "1us to 100s", "ns"};

#define RATE .expected = "bit/s such as \"10Mbit/s\"", .detail = &some_rate
#define SIZE .expected = "bytes such as \"75kB\" or \"64KiB\"", .detail = &some_size
#define TIME .expected = "a time such as \"50ms\"", .detail = &any_time

static const struct key aggregate_keys[] = {
	{"limit", read_quantity, KEY_FIELD(struct plan_scenario, limit_bps), RATE,
		.required = true},
	{"burst", read_quantity, KEY_FIELD(struct plan_scenario, burst_bytes), SIZE,
		.required = true},
	{"packet", read_quantity, KEY_FIELD(struct plan_scenario, packet_bytes), SIZE},
	{"slo", read_quantity, KEY_FIELD(struct plan_scenario, slo_ns),
		.expected = "a time such as \"1ms\"", .detail = &slo_time, .required = true},
	{"constant", read_quantity, KEY_FIELD(struct plan_scenario, constant_ns), TIME},
	{"backlog", read_quantity, KEY_FIELD(struct plan_scenario, backlog_bytes), SIZE},
	{0},
};

static const struct key limiter_keys[] = {
	{"name", read_name, KEY_FIELD(struct plan_limiter, name), .required = true},
	{"capacity", read_quantity, KEY_FIELD(struct plan_limiter, capacity_bps), RATE,
		.required = true},
	{"speed", read_quantity, KEY_FIELD(struct plan_limiter, speed_bps), RATE},
	{"load", read_quantity, KEY_FIELD(struct plan_limiter, load_bps), RATE},
	{"load_batch", read_quantity, KEY_FIELD(struct plan_limiter, load_batch_bytes), SIZE},
	{0},
};

static const struct list limiter_list = {
	.keys = limiter_keys,
	.size = sizeof(struct plan_limiter),
	.count_offset = offsetof(struct plan_scenario, n_limiters),
	.max = PLACE_BROKERS,
};

static const struct key source_keys[] = {
	{"name", read_name, KEY_FIELD(struct plan_source, name), .required = true},
	{"prefix", read_ip_prefix, KEY_FIELD(struct plan_source, prefix)},
	{"key", read_name, KEY_FIELD(struct plan_source, key)},
	{"rate", read_quantity, KEY_FIELD(struct plan_source, rate_bps), RATE, .required = true},
	{"batch", read_quantity, KEY_FIELD(struct plan_source, batch_bytes), SIZE},
	{"period", read_quantity, KEY_FIELD(struct plan_source, period_ns), TIME},
	{"spread", read_quantity, KEY_FIELD(struct plan_source, spread_ns), TIME},
	{0},
};

static const struct list source_list = {
	.keys = source_keys,
	.size = sizeof(struct plan_source),
	.count_offset = offsetof(struct plan_scenario, n_sources),
	.max = PLAN_SOURCES_MAX,
};

static const struct key plan_keys[] = {
	{"aggregate", read_object, KEY_FIELD(struct plan_scenario, limit_bps),
		.detail = aggregate_keys, .required = true},
	{"limiters", read_list, KEY_FIELD(struct plan_scenario, limiters),
		.expected = "an array of limiters", .detail = &limiter_list, .required = true},
	{"sources", read_list, KEY_FIELD(struct plan_scenario, sources),
		.expected = "an array of sources", .detail = &source_list, .required = true},
	{"seed", read_integer, KEY_FIELD(struct plan_scenario, seed),
		.detail = &(const struct integer_range){0, INT64_MAX}},
	{0},
};

/* A text and the index of its element. */
struct text_of {
	const char *text;
	unsigned i;
};

static int compare_texts(const void *a, const void *b)
{
	const struct text_of *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->i > y->i) - (x->i < y->i);
}

/* Returns the sorted texts of n elements that are `size` apart, or NULL. */
static struct text_of *sort_texts(const char *first, size_t size, unsigned n)
{
	struct text_of *texts = calloc((size_t)n + 1, sizeof(*texts));

	if (texts == NULL)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		texts[i] = (struct text_of){first + i * size, i};
	qsort(texts, n, sizeof(*texts), compare_texts);
	return texts;
}

/* Each struct begins with its name; an empty one has been reported. */
static void check_unique_names(
	struct reader *reader, const char *array, const void *first, size_t size, unsigned n)
{
	struct json_path root = {.key = array};
	struct text_of *texts = sort_texts(first, size, n);

	reader->no_memory |= texts == NULL;
	for (unsigned i = 1; texts && i < n; i++) {
		struct json_path element = {.parent = &root, .index = texts[i].i};
		struct json_path at = {.parent = &element, .key = "name"};

		if (texts[i].text[0] != '\0' && strcmp(texts[i].text, texts[i - 1].text) == 0)
			reader_report(reader, &at, MESSAGE(PLAN_NAME_TWICE));
	}
	free(texts);
}

static void check_some(struct reader *reader, const char *array, unsigned n)
{
	struct json_path at = {.key = array};

	if (n == 0 && json_is_array(json_object_get(reader->root, array)))
		reader_report(reader, &at, MESSAGE(PLAN_EMPTY));
}

static void check_limiter(struct reader *reader, const struct plan_scenario *plan, unsigned i)
{
	struct json_path limiters = {.key = "limiters"};
	struct json_path limiter = {.parent = &limiters, .index = i};
	struct json_path at = {.parent = &limiter, .key = "speed"};
	const struct plan_limiter *l = &plan->limiters[i];

	if (l->speed_bps > 0 && l->speed_bps < l->capacity_bps)
		reader_report(reader, &at, MESSAGE(PLAN_BELOW_CAPACITY));
}

static void check_plan_scenario(struct reader *reader, const struct plan_scenario *plan)
{
	struct json_path aggregate = {.key = "aggregate"};
	struct json_path at = {.parent = &aggregate, .key = "burst"};
	struct json_path constant = {.parent = &aggregate, .key = "constant"};
	struct json_path limit = {.parent = &aggregate, .key = "limit"};
	uint64_t sum = 0;

	if (reader->no_memory)
		return;
	check_some(reader, "limiters", plan->n_limiters);
	check_some(reader, "sources", plan->n_sources);
	check_unique_names(
		reader, "limiters", plan->limiters, sizeof(plan->limiters[0]), plan->n_limiters);
	check_unique_names(
		reader, "sources", plan->sources, sizeof(plan->sources[0]), plan->n_sources);
	for (unsigned i = 0; i < plan->n_limiters; i++)
		check_limiter(reader, plan, i);
	if (plan->burst_bytes > 0 && plan->burst_bytes < plan->packet_bytes)
		reader_report(reader, &at, MESSAGE(PLAN_NO_ROOM));
	if (plan->slo_ns > 0 && plan->constant_ns >= plan->slo_ns)
		reader_report(reader, &constant, MESSAGE(PLAN_ABOVE_OBJECTIVE));
	for (unsigned i = 0; i < plan->n_sources; i++)
		sum += plan->sources[i].rate_bps;
	if (!reader_failed(reader) && sum >= plan->limit_bps)
		reader_report(reader, &limit, MESSAGE(PLAN_OVERLOADED));
}

/* Numbers the groups of equal keys from 1. */
static int number_groups(struct plan_scenario *plan)
{
	const struct plan_source *sources = plan->sources;
	struct text_of *texts = sort_texts(sources[0].key, sizeof(sources[0]), plan->n_sources);
	uint32_t group = 0;

	if (texts == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < plan->n_sources; i++) {
		if (texts[i].text[0] == '\0')
			continue;
		if (i == 0 || strcmp(texts[i].text, texts[i - 1].text) != 0)
			group++;
		plan->place_sources[texts[i].i].group = group;
	}
	free(texts);
	return 0;
}

static int make_plan_problem(struct plan_scenario *plan)
{
	plan->place_sources = calloc(plan->n_sources, sizeof(plan->place_sources[0]));
	if (plan->place_sources == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < plan->n_sources; i++) {
		const struct plan_source *s = &plan->sources[i];
		uint64_t batch = s->batch_bytes > 0 ? s->batch_bytes : plan->packet_bytes;

		plan->place_sources[i] = (struct place_source){
			.rate = (double)s->rate_bps / 8,
			.batch = (double)batch,
			.period = (double)s->period_ns / SECOND_NS,
			.spread = (double)s->spread_ns / SECOND_NS,
		};
	}
	for (unsigned i = 0; i < plan->n_limiters; i++) {
		const struct plan_limiter *l = &plan->limiters[i];

		plan->brokers[i] = (struct place_broker){
			.capacity = (double)l->capacity_bps / 8,
			.speed = (double)l->speed_bps / 8,
			.load = (double)l->load_bps / 8,
			.load_batch = (double)l->load_batch_bytes,
		};
	}
	plan->problem = (struct place_problem){
		.aggregate = {.limit = plan->limit_bps / 8,
			.burst = plan->burst_bytes,
			.least = plan->packet_bytes,
			.slo = (double)plan->slo_ns / SECOND_NS,
			.constant = (double)plan->constant_ns / SECOND_NS,
			.backlog = (double)plan->backlog_bytes},
		.sources = plan->place_sources,
		.n_sources = plan->n_sources,
		.brokers = plan->brokers,
		.n_brokers = plan->n_limiters,
		.principles = PLACE_ALL,
		.seed = plan->seed,
	};
	return number_groups(plan);
}

int plan_scenario_load(const char *path, FILE *err, struct plan_scenario **out)
{
	struct plan_scenario *plan;
	struct reader reader;
	int ret = reader_load(&reader, path, err);

	*out = NULL;
	if (ret)
		return ret;
	plan = calloc(1, sizeof(*plan));
	reader.no_memory |= plan == NULL;
	if (plan) {
		plan->packet_bytes = 1500;
		plan->seed = 1;
		read_keys(&reader, NULL, reader.root, plan_keys, plan);
	}
	if (plan && json_is_object(reader.root))
		check_plan_scenario(&reader, plan);
	ret = reader_finish(&reader);
	if (ret == 0)
		ret = make_plan_problem(plan);
	if (ret)
		plan_scenario_free(plan);
	else
		*out = plan;
	return ret;
}

void plan_scenario_free(struct plan_scenario *plan)
{
	if (!plan)
		return;
	free(plan->sources);
	free(plan->limiters);
	free(plan->place_sources);
	free(plan);
}
