/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "talkers": top senders of packets of a policy, or of none, estimated from a random
 * sample of the workers. It polls the sample and sums it up here.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "field.h"
#include "human.h"
#include "talker_key.h"
#include "talkers/talkers.h"

#define BUSY_TRIES   200
#define BUSY_MS      100
#define POLL_MS      50
#define REQUEST_MOST 256
#define CAPACITY     65536 /* senders that are counted apart: 12 MB */
#define TOP          10
#define TOP_MOST     10000
#define SEVERAL      "several"

/* State of one sample. */
struct ranking {
	struct talkers *talkers;
	struct talker_by by;
	json_t *policies; /* names to tags of samples; tag 0: no policy */
	json_t *page;     /* the last one */
};

static bool refuse_talkers(const char *word, const char *why)
{
	fprintf(stderr, "weirctl: talkers: \"%s\": %s\n", word, why);
	return false;
}

bool talkers_check(const struct request *request)
{
	struct talker_by by;

	if (request->by && !talker_by(request->by, &by))
		return refuse_talkers(request->by,
			"expected source, destination, flow, or source/24 and destination/24");
	if (request->word && (!*request->word || strpbrk(request->word, " ,")))
		return refuse_talkers(request->word, "expected a policy's name");
	if ((request->word != NULL) + request->unmatched + request->unparsed > 1)
		return refuse_talkers(request->word ? request->word : "--unparsed",
			"either a policy, --unmatched or --unparsed");
	if (request->top <= TOP_MOST)
		return true;
	fprintf(stderr, "weirctl: talkers: --top: expected 1 to %d\n", TOP_MOST);
	return false;
}

/* Waits until another client's sample has ended. */
static int begin_talkers(struct source *source, const struct request *request, json_t **answer)
{
	const char *policy = request->unmatched ? "-" : request->word;
	char text[REQUEST_MOST];
	int n = snprintf(
		text, sizeof(text), "/weir/talkers,%s", request->unparsed ? "unparsed" : "");

	if (policy)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " policy=%.128s", policy);
	if (request->for_s)
		snprintf(text + n, sizeof(text) - (size_t)n, " seconds=%u", request->for_s);
	for (unsigned i = 0;; i++) {
		int ret = source_get(source, text, answer);

		if (ret || !json_object_get(*answer, "busy") || i == BUSY_TRIES)
			return ret;
		json_decref(*answer);
		*answer = NULL;
		source->pause(source, BUSY_MS);
	}
}

/* Returns the tag of a policy's name; adds a new name. 0: no name. */
static uint32_t tag_of(struct ranking *ranking, const char *name)
{
	const json_t *tag;

	if (!name)
		return 0;
	tag = json_object_get(ranking->policies, name);
	if (!tag) {
		json_object_set_new(ranking->policies, name,
			json_integer((json_int_t)json_object_size(ranking->policies) + 1));
		tag = json_object_get(ranking->policies, name);
	}
	return (uint32_t)json_integer_value(tag);
}

/* Returns the name of a tag; NULL: none. */
static const char *name_of(const struct ranking *ranking, uint32_t tag)
{
	const char *name;
	json_t *each;

	json_object_foreach (ranking->policies, name, each)
		if (json_integer_value(each) == tag)
			return name;
	return NULL;
}

static void collect_packets(struct ranking *ranking, const json_t *page)
{
	const json_t *columns = json_object_get(page, "columns"), *row;
	size_t i;

	json_array_foreach (json_object_get(page, "packets"), i, row) {
		json_t *packet = field_row(columns, row);
		const char *verdict = json_string_value(json_object_get(packet, "verdict"));
		struct talkers_sample sample = {
			.bytes = (uint32_t)field_number(packet, "bytes"),
			.weight = (uint64_t)field_number(packet, "stands_for"),
			.dropped = verdict && strcmp(verdict, "drop") == 0,
			.tag = tag_of(
				ranking, json_string_value(json_object_get(packet, "policy"))),
		};

		talker_key_of(packet, &ranking->by, &sample.key);
		if (sample.weight)
			talkers_add(ranking->talkers, &sample);
		json_decref(packet);
	}
}

/* Reads the sample until its time is over. */
static int collect_talkers(struct source *source, struct ranking *ranking, json_int_t number)
{
	char request[64];
	bool over = false;
	int ret = 0;

	snprintf(request, sizeof(request), "/weir/talkers_read,%lld", (long long)number);
	while (!over) {
		json_t *page = NULL;

		ret = source_get(source, request, &page);
		if (ret)
			break;
		collect_packets(ranking, page);
		over = json_is_true(json_object_get(page, "over"));
		if (!over && json_array_size(json_object_get(page, "packets")) == 0)
			source->pause(source, POLL_MS);
		json_decref(ranking->page);
		ranking->page = page;
	}
	return ret;
}

/* Sets an estimate and its error margin: "share" and "share_margin". */
static void set_estimate(json_t *row, const char *name, double value, double margin)
{
	char key[32];

	json_object_set_new(row, name, json_real(value));
	snprintf(key, sizeof(key), "%s_margin", name);
	json_object_set_new(row, key, json_real(margin));
}

static json_t *talker_row(const struct ranking *ranking, const struct talker *one, double seconds)
{
	const struct talker *all = talkers_all(ranking->talkers);
	const char *policy = one->tags ? SEVERAL : name_of(ranking, one->tag);
	json_t *row = talker_key_json(&one->key, &ranking->by);
	double share, margin;

	json_object_set_new(row, "policy", policy ? json_string(policy) : json_null());
	json_object_set_new(row, "samples", json_integer((json_int_t)one->samples));
	share = talkers_share(all, one, &margin);
	set_estimate(row, "share", share, margin);
	set_estimate(
		row, "bps", one->bytes * 8 / seconds, talkers_bytes_margin(all, one) * 8 / seconds);
	set_estimate(row, "pps", one->packets / seconds, talkers_packets_margin(one) / seconds);
	share = talkers_dropped(one, &margin);
	set_estimate(row, "dropped_share", share, margin);
	json_object_set_new(row, "missed_bps", json_real(one->missed * 8 / seconds));
	return row;
}

static json_t *collected_document(const struct ranking *ranking, const struct request *request)
{
	const struct talker *all = talkers_all(ranking->talkers);
	double seconds = field_number(ranking->page, "seconds");
	const char *of = request->unmatched ? "unmatched" : request->unparsed ? "unparsed" : "all";
	size_t most = request->top ? request->top : TOP, n;
	struct talker *top = calloc(most, sizeof(*top));
	json_t *document, *rows = json_array();

	seconds = seconds > 0 ? seconds : 1;
	document = json_pack("{s:s, s:s?, s:s, s:f, s:I, s:I, s:I, s:f}", "of",
		request->word ? "policy" : of, "policy", request->word, "by",
		request->by ? request->by : "source", "seconds", seconds, "samples",
		(json_int_t)all->samples, "packets",
		(json_int_t)field_number(ranking->page, "seen"), "lost",
		(json_int_t)field_number(ranking->page, "lost"), "unseen_below_pps",
		talkers_unseen(all) / seconds);
	set_estimate(document, "bps", all->bytes * 8 / seconds,
		talkers_bytes_margin(all, all) * 8 / seconds);
	n = top ? talkers_top(ranking->talkers, top, most) : 0;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, talker_row(ranking, &top[i], seconds));
	free(top);
	json_object_set_new(document, "talkers", rows);
	return document;
}

static int collect_document(
	struct source *source, const struct request *request, json_int_t number, json_t **document)
{
	struct ranking ranking = {.policies = json_object()};
	json_t *ended = NULL;
	char text[64];
	uint64_t seed;
	int ret = -ENOMEM;

	randombytes_buf(&seed, sizeof(seed));
	talker_by(request->by ? request->by : "source", &ranking.by);
	ranking.talkers = talkers_create(CAPACITY, seed);
	if (ranking.talkers)
		ret = collect_talkers(source, &ranking, number);
	if (ret) {
		snprintf(text, sizeof(text), "/weir/talkers_end,%lld", (long long)number);
		source->ask(source, text, &ended);
		json_decref(ended);
	} else {
		*document = collected_document(&ranking, request);
	}
	json_decref(ranking.page);
	json_decref(ranking.policies);
	talkers_free(ranking.talkers);
	return ret;
}

int talkers_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *answer = NULL, *number;
	int ret;

	*document = NULL;
	ret = begin_talkers(source, request, &answer);
	if (ret)
		return ret;
	number = json_object_get(answer, "talkers");
	if (!number) {
		*document = answer; /* with the reason */
		return 0;
	}
	ret = collect_document(source, request, json_integer_value(number), document);
	json_decref(answer);
	return ret;
}

bool talkers_refused(const json_t *document, FILE *err)
{
	const char *why = json_string_value(json_object_get(document, "refused"));

	if (json_object_get(document, "talkers"))
		return false;
	if (!err || request_denied(document, err))
		return true;
	if (why)
		fprintf(err, "weirctl: talkers: %s\n", why);
	else
		fputs("weirctl: talkers: another capture or sample is running: try again after it\n",
			err);
	return true;
}

/* Describes the size of the sample, so that three packets do not pass for a measurement. */
static json_t *basis_lines(const json_t *document)
{
	char seconds[HUMAN_MAX], unseen[HUMAN_MAX];
	double samples = field_number(document, "samples");
	double packets = field_number(document, "packets"), lost = field_number(document, "lost");
	json_t *lines = json_array();

	human_seconds(field_number(document, "seconds"), seconds);
	human_amount(field_number(document, "unseen_below_pps"), "packets/s", unseen);
	if (packets == 0)
		json_array_append_new(lines, json_sprintf("no packets in %s", seconds));
	else if (samples == packets)
		json_array_append_new(
			lines, json_sprintf("all %.0f packets of %s", packets, seconds));
	else
		json_array_append_new(lines,
			json_sprintf(
				"%.0f of %.0f packets in %s, chosen at random; senders of less than "
				"%s can be missing",
				samples, packets, seconds, unseen));
	if (lost > 0)
		json_array_append_new(
			lines, json_sprintf("%.0f more were lost: all rates are too low", lost));
	return lines;
}

int talkers_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"", "talker", KIND_TEXT},
		{"VLAN", "vlan", KIND_COUNT | OPTIONAL(3)},
		{"POLICY", "policy", KIND_TEXT | OPTIONAL(4)},
		{"SHARE", "share", KIND_SHARE},
		{"+/-", "share_margin", KIND_SHARE},
		{"RATE", "bps", KIND_BITS},
		{"+/-", "bps_margin", KIND_BITS | OPTIONAL(2)},
		{"PACKETS", "pps", KIND_PACKETS | OPTIONAL(1)},
		{"DROPPED", "dropped_share", KIND_SHARE},
		{"+/-", "dropped_share_margin", KIND_SHARE | OPTIONAL(2)},
	};
	struct field shown[sizeof(fields) / sizeof(*fields)];
	json_t *lines = basis_lines(document);
	int ret = fields_lines(lines, view);

	json_decref(lines);
	memcpy(shown, fields, sizeof(fields));
	shown[0].head = talker_by_head(json_string_value(json_object_get(document, "by")));
	if (ret == 0 && json_array_size(json_object_get(document, "talkers")))
		ret = fields_list(json_object_get(document, "talkers"), FIELDS(shown), view);
	return ret;
}
