/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "explain": the verdict that packets would get now, and the reason. The words about a
 * packet become a frame here, and the limiter tries it.
 */
#include "command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"
#include "capture/capture.h"
#include "field.h"
#include "probe/probe.h"

#define ASKS        "/weir/explain,"
#define POLL_MS     1
#define TRIES       5000 /* polls of one packet: seconds */
#define DROPS_MS    1000 /* time in which the drops of the policy are counted */
#define PACKETS     10   /* default number, from a capture */
#define PACKETS_MAX 10000

/* The words after "explain". */
struct explained {
	struct probe_packet probe; /* with a capture: the fields that all its packets get */
	const char *file;          /* a capture, or NULL */
	unsigned packets;
};

static bool is_count(const char *word, unsigned *packets)
{
	char *end;
	unsigned long n;

	if (strncmp(word, "count=", 6) != 0)
		return false;
	n = strtoul(word + 6, &end, 10);
	*packets = *end || n == 0 || n > PACKETS_MAX ? 0 : (unsigned)n;
	return true;
}

static int read_capture_words(
	const char *const *words, unsigned n, struct explained *explained, char why[PROBE_WHY])
{
	int ret = 0;

	explained->file = words[0];
	explained->packets = PACKETS;
	for (unsigned i = 1; ret == 0 && i < n; i++) {
		if (!is_count(words[i], &explained->packets))
			ret = probe_set(&explained->probe, words[i], why);
		else if (explained->packets == 0)
			ret = -ENOENT;
		if (ret == -ENOENT)
			snprintf(why, PROBE_WHY,
				"\"%.40s\": expected count=1 to %d, wire=, direction= or worker=",
				words[i], PACKETS_MAX);
	}
	return ret;
}

static int read_hex_words(
	const char *const *words, unsigned n, struct probe_packet *probe, char why[PROBE_WHY])
{
	unsigned at = 0;
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < n; i++) {
		at = i;
		ret = strchr(words[i], '=') ? probe_set(probe, words[i], why)
					    : probe_add_hex(probe, words[i], why);
	}
	if (ret == -ENOENT)
		snprintf(why, PROBE_WHY,
			"\"%.40s\": expected length=, wire=, direction= or worker=", words[at]);
	if (ret == 0 && probe->bytes == 0) {
		snprintf(why, PROBE_WHY, "missing BYTES after \"hex\": expected digits in pairs");
		ret = -EINVAL;
	}
	if (ret == 0 && probe->len < probe->bytes)
		probe->len = probe->bytes;
	return ret;
}

static int read_words(
	const struct request *request, struct explained *explained, char why[PROBE_WHY])
{
	const char *const *words = request->words;
	unsigned n = request->n_words;

	*explained = (struct explained){.packets = 1};
	probe_init(&explained->probe);
	if (n >= 1 && strcmp(words[0], "hex") == 0)
		return read_hex_words(words + 1, n - 1, &explained->probe, why);
	if (n >= 2 && strcmp(words[0], "pcap") == 0)
		return read_capture_words(words + 1, n - 1, explained, why);
	if (n >= 1 && strcmp(words[0], "pcap") == 0) {
		snprintf(why, PROBE_WHY, "missing FILE after \"pcap\": expected a capture or -");
		return -EINVAL;
	}
	return probe_tuple(&explained->probe, words, n, why);
}

bool explain_check(const struct request *request)
{
	struct explained explained;
	char why[PROBE_WHY];

	if (read_words(request, &explained, why) == 0)
		return true;
	fprintf(stderr, "weirctl: explain: %s\n", why);
	return false;
}

/* Polls until the packet of that number has a verdict. */
static int await_answer(struct source *source, json_int_t number, json_t **answer)
{
	char request[64];

	snprintf(request, sizeof(request), ASKS "%lld", (long long)number);
	for (unsigned i = 0; i < TRIES; i++) {
		int ret = source->ask(source, request, answer);

		if (ret || !json_is_true(json_object_get(*answer, "pending")))
			return ret;
		json_decref(*answer);
		*answer = NULL;
		source->pause(source, POLL_MS);
	}
	return -ETIMEDOUT;
}

static int explain_packet(struct source *source, const struct probe_packet *probe, json_t **answer)
{
	char request[sizeof(ASKS) + PROBE_REQUEST] = ASKS;
	unsigned tries = 0;
	int ret;

	*answer = NULL;
	if (!probe_format(probe, request + strlen(ASKS), PROBE_REQUEST))
		return -EINVAL;
	do {
		const json_t *number;

		if (*answer)
			source->pause(source, POLL_MS);
		json_decref(*answer);
		*answer = NULL;
		ret = source_get(source, request, answer);
		number = ret ? NULL : json_object_get(*answer, "asked");
		if (number) {
			json_int_t asked = json_integer_value(number);

			json_decref(*answer);
			*answer = NULL;
			ret = await_answer(source, asked, answer);
		}
		/* If another client or a reload came between, the packet is sent again. */
	} while (ret == 0 &&
		 (json_is_null(*answer) || json_is_true(json_object_get(*answer, "busy"))) &&
		 ++tries < TRIES);
	return ret == 0 && tries == TRIES ? -ETIMEDOUT : ret;
}

static int append_answer(struct source *source, const struct probe_packet *probe, json_t *document)
{
	json_t *answer = NULL;
	int ret = explain_packet(source, probe, &answer);

	if (ret == 0)
		json_array_append(document, answer);
	json_decref(answer);
	return ret;
}

/* Packets of a policy since it began; NaN if the limiter does not report them. */
struct policy_packets {
	double passed, dropped;
};

static struct policy_packets count_packets(struct source *source, const char *policy)
{
	struct policy_packets packets = {NAN, NAN};
	json_t *json = NULL;

	if (source_get_of(source, "/weir/policy", policy, &json) == 0)
		packets = (struct policy_packets){field_number(json, "passed.packets"),
			field_number(json, "dropped.packets")};
	json_decref(json);
	return packets;
}

/*
 * Adds a note if the policy drops a part of its packets: then the verdict on one packet depends on
 * the moment. Only a policy that has dropped before is observed, because that takes a second.
 */
static void note_drops(struct source *source, json_t *answer)
{
	const char *policy = json_string_value(json_object_get(answer, "policy"));
	struct policy_packets before, now;
	double dropped;

	if (!policy)
		return;
	before = count_packets(source, policy);
	if (!(before.dropped > 0))
		return;
	source->pause(source, DROPS_MS);
	now = count_packets(source, policy);
	dropped = now.dropped - before.dropped;
	if (dropped > 0)
		json_array_append_new(json_object_get(answer, "notes"),
			json_sprintf("this policy dropped %.0f of %.0f packets in the second "
				     "after this one",
				dropped, dropped + now.passed - before.passed));
}

/* Adds a message about the file in place of a verdict. */
static void append_complaint(json_t *document, const char *file, const char *why)
{
	json_array_append_new(
		document, json_pack("{s:o}", "refused", json_sprintf("%s: %s", file, why)));
}

static int explain_capture(
	struct source *source, const struct explained *explained, FILE *file, json_t *document)
{
	struct capture_packet packet;
	struct probe_packet probe;
	struct capture capture;
	struct frame frame;
	int ret = 0, read = 1;

	capture_init(&capture, file);
	while (ret == 0 && json_array_size(document) < explained->packets &&
		(read = capture_next(&capture, &packet)) == 1) {
		if (!link_supported(packet.link)) {
			append_complaint(
				document, explained->file, "expected packets of Ethernet or IP");
			break;
		}
		/* The frame that the limiter would receive. */
		link_frame(&packet, &frame);
		probe = explained->probe;
		probe.bytes = frame.captured < PROBE_FRAME ? frame.captured : PROBE_FRAME;
		probe.len = frame.bytes < UINT16_MAX ? frame.bytes : UINT16_MAX;
		memcpy(probe.frame, frame.data, probe.bytes);
		ret = append_answer(source, &probe, document);
	}
	if (read < 0)
		append_complaint(document, explained->file, capture_error(&capture));
	capture_free(&capture);
	return ret;
}

int explain_gather(struct source *source, const struct request *request, json_t **document)
{
	struct explained explained;
	char why[PROBE_WHY];
	FILE *file = stdin;
	int ret;

	*document = NULL;
	ret = read_words(request, &explained, why);
	if (ret)
		return ret;
	*document = json_array();
	if (!explained.file) {
		ret = append_answer(source, &explained.probe, *document);
		if (ret == 0)
			note_drops(source, json_array_get(*document, 0));
		return ret;
	}
	if (strcmp(explained.file, "-") != 0)
		file = fopen(explained.file, "re");
	if (file)
		return explain_capture(source, &explained, file, *document);
	append_complaint(*document, explained.file, strerror(errno));
	return 0;
}

bool explain_refused(const json_t *document, FILE *err)
{
	const json_t *answer;
	bool refused = false;
	size_t i;

	json_array_foreach (document, i, answer) {
		const char *why = json_string_value(json_object_get(answer, "refused"));

		if (why && err)
			fprintf(err, "weirctl: explain: %s\n", why);
		refused |= why != NULL;
	}
	return refused;
}

int explain_print(const json_t *document, struct view *view)
{
	static const struct field rows[] = {
		{"SOURCE", "packet.src", KIND_TEXT},
		{"DESTINATION", "packet.dst", KIND_TEXT},
		{"PROTO", "packet.proto", KIND_TEXT},
		{"PORT", "packet.dst_port", KIND_TEXT},
		{"BYTES", "packet.bytes", KIND_COUNT},
		{"POLICY", "policy", KIND_TEXT},
		{"VERDICT", "verdict", KIND_TEXT},
		{"REASON", "reason", KIND_TEXT},
	};
	static const struct field one[] = {
		{"verdict", "verdict", KIND_TEXT},
		{"reason", "reason", KIND_TEXT},
		{"policy", "policy", KIND_TEXT},
		{"charged", "charged", KIND_COUNT},
		{"counts", "count", KIND_TEXT},
		{"limit here", "state.local_limit", KIND_RATE},
		{"burst here", "state.local_burst", KIND_UNITS},
		{"left at the worker", "state.level", KIND_COUNT},
		{"left for all workers", "state.level_shared", KIND_COUNT},
		{"colour", "state.colour", KIND_TEXT},
		{"packets that wait", "state.waiting_packets", KIND_COUNT},
		{"wire", "wire", KIND_TEXT},
		{"direction", "direction", KIND_TEXT},
		{"worker", "worker", KIND_COUNT},
		{"frame's bytes", "packet.bytes", KIND_COUNT},
		{"before its IP header", "packet.l2_bytes", KIND_COUNT},
		{"VLAN tags", "packet.vlans", KIND_TEXT},
		{"family", "packet.family", KIND_TEXT},
		{"inside a tunnel", "packet.inside_tunnel", KIND_TEXT},
		{"source", "packet.src", KIND_TEXT},
		{"destination", "packet.dst", KIND_TEXT},
		{"DSCP", "packet.dscp", KIND_TEXT},
		{"protocol", "packet.proto", KIND_TEXT},
		{"source port", "packet.src_port", KIND_TEXT},
		{"destination port", "packet.dst_port", KIND_TEXT},
		{"fragment", "packet.fragment", KIND_TEXT},
		{"not understood", "packet.unparsed", KIND_TEXT},
		{"not known", "packet.unknown", KIND_TEXT},
	};
	const json_t *answer = json_array_get(document, 0);

	if (json_array_size(document) != 1)
		return fields_list(document, FIELDS(rows), view);
	fields_detail(answer, FIELDS(one), view);
	return fields_lines(json_object_get(answer, "notes"), view);
}
