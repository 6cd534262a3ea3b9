/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "capture": a sample of packets with their verdicts, as pcapng or a line each. It
 * polls the packets that workers have taken; when it ends, so does the capture.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "answers.h"
#include "ask/source.h"
#include "capture/pcapng.h"
#include "field.h"

#define BUSY_TRIES   50
#define BUSY_MS      100
#define POLL_MS      50
#define REQUEST_MOST 512
#define DATA_MOST    65536
#define SECONDS_MOST 86400

static volatile sig_atomic_t capture_ends;

static void end_capture(int number)
{
	(void)number;
	capture_ends = 1;
}

/* Output of the packets. */
struct taker {
	FILE *out;
	bool lines; /* writes text or JSON; otherwise pcapng */
	bool json;
	struct pcapng pcapng;
	unsigned long n;
};

bool capture_check(const struct request *request)
{
	for (unsigned i = 0; i < 2; i++) {
		const char *text = i ? request->reason : request->policy;

		if (!text || (*text && !strpbrk(text, " ,")))
			continue;
		fprintf(stderr, "weirctl: capture: \"%s\": expected a name\n", text);
		return false;
	}
	if (request->write && strcmp(request->write, "-") == 0 && isatty(STDOUT_FILENO)) {
		fputs("weirctl: capture: standard output is a terminal: -w FILE\n", stderr);
		return false;
	}
	return true;
}

static void add_wish(char *text, size_t room, const char *key, const char *value)
{
	size_t used = strlen(text);

	if (value)
		snprintf(text + used, room - used, " %s=%s", key, value);
}

/* Writes the request for the server, which refuses a wrong time. */
static void write_request(const struct request *request, char text[REQUEST_MOST])
{
	unsigned long s = request->seconds ? typed_seconds(request->seconds, TYPED_UNIT_OPTIONAL,
						     SECONDS_MOST)
					   : 0;
	char count[24], seconds[24];

	snprintf(seconds, sizeof(seconds), "%lu", s);
	snprintf(text, REQUEST_MOST, "/weir/capture,%s", request->whole ? "whole" : "");
	add_wish(text, REQUEST_MOST, "policy", request->policy);
	add_wish(text, REQUEST_MOST, "reason", request->reason);
	add_wish(text, REQUEST_MOST, "seconds", s ? seconds : request->seconds);
	add_wish(text, REQUEST_MOST, "rate", request->rate);
	snprintf(count, sizeof(count), "%lu", request->count);
	add_wish(text, REQUEST_MOST, "count", request->count ? count : NULL);
}

/* Reports a refusal of the server; false: there is none. */
static bool complain_of_answer(const json_t *answer)
{
	const char *why = json_string_value(json_object_get(answer, "refused"));

	if (request_denied(answer, stderr))
		return true;
	if (why)
		fprintf(stderr, "weirctl: capture: %s\n", why);
	else if (json_object_get(answer, "busy"))
		fputs("weirctl: capture: another one is under way\n", stderr);
	else
		return false;
	return true;
}

/* Begins a capture. A capture that has just ended is still busy for a moment. */
static int begin_capture(struct source *source, const struct request *request, json_t **answer)
{
	char text[REQUEST_MOST];

	write_request(request, text);
	for (unsigned i = 0;; i++) {
		int ret = source_get(source, text, answer);

		if (ret || !json_object_get(*answer, "busy") || i == BUSY_TRIES || capture_ends)
			return ret;
		json_decref(*answer);
		*answer = NULL;
		source->pause(source, BUSY_MS);
	}
}

static const char *text_of(const json_t *packet, const char *key, const char *none)
{
	const char *text = json_string_value(json_object_get(packet, key));

	return text ? text : none;
}

/* "drop (limit), policy video", for people. */
static void describe_packet(const json_t *packet, char *text, size_t room)
{
	const char *reason = text_of(packet, "reason", NULL);
	const char *policy = text_of(packet, "policy", NULL);

	snprintf(text, room, "%s%s%s%s%s%s", text_of(packet, "verdict", "?"), reason ? " (" : "",
		reason ? reason : "", reason ? ")" : "", policy ? ", policy " : ", no policy",
		policy ? policy : "");
}

static int take_pcapng(struct taker *taker, const json_t *packet)
{
	static uint8_t data[DATA_MOST];
	const char *text = text_of(packet, "data", "");
	char comment[256], interface[PCAPNG_NAME];
	size_t captured = 0;

	if (sodium_base642bin(data, sizeof(data), text, strlen(text), NULL, &captured, NULL,
		    sodium_base64_VARIANT_ORIGINAL))
		return -EBADMSG;
	describe_packet(packet, comment, sizeof(comment));
	snprintf(interface, sizeof(interface), "%s %s", text_of(packet, "wire", "?"),
		text_of(packet, "direction", "?"));
	return pcapng_write(&taker->pcapng,
		&(struct pcapng_packet){
			.interface = interface,
			.comment = comment,
			.time_ns = (uint64_t)json_integer_value(json_object_get(packet, "at_ns")),
			.bytes = (uint32_t)field_number(packet, "bytes"),
			.captured = (uint32_t)captured,
			.data = data,
		});
}

static int take_line(struct taker *taker, const json_t *packet)
{
	uint64_t at = (uint64_t)json_integer_value(json_object_get(packet, "at_ns"));
	char text[256];

	if (taker->json) {
		if (json_dumpf(packet, taker->out, JSON_COMPACT))
			return -EIO;
		return fputc('\n', taker->out) == EOF ? -EIO : 0;
	}
	describe_packet(packet, text, sizeof(text));
	return fprintf(taker->out, "%" PRIu64 ".%06u %s %s %.0f bytes: %s\n", at / 1000000000,
		       (unsigned)(at % 1000000000 / 1000), text_of(packet, "wire", "?"),
		       text_of(packet, "direction", "?"), field_number(packet, "bytes"), text) < 0
		       ? -EIO
		       : 0;
}

static int take_packets(struct taker *taker, const json_t *page)
{
	const json_t *packet;
	size_t i;
	int ret = 0;

	json_array_foreach (json_object_get(page, "packets"), i, packet) {
		ret = taker->lines ? take_line(taker, packet) : take_pcapng(taker, packet);
		if (ret)
			return ret;
		taker->n++;
	}
	return fflush(taker->out) ? -errno : 0;
}

static void sum_up(const struct taker *taker, const json_t *page)
{
	double missed = field_number(page, "not_examined");

	fprintf(stderr, "weirctl: %lu packets; of the matching ones %.0f over the rate, %.0f lost",
		taker->n, field_number(page, "over_rate"), field_number(page, "lost"));
	if (missed > 0)
		fprintf(stderr, "; %.0f of %.0f packets were examined",
			field_number(page, "examined"), field_number(page, "examined") + missed);
	fputc('\n', stderr);
}

/* Reads until the capture is over, or the user ends it. */
static int read_capture(struct source *source, struct taker *taker, json_int_t number)
{
	char request[64];
	bool over = false;
	int ret = 0;

	while (ret == 0 && !over) {
		json_t *page = NULL;
		size_t n;

		snprintf(request, sizeof(request), "/weir/capture_read,%lld", (long long)number);
		ret = source_get(source, request, &page);
		if (ret)
			break;
		ret = take_packets(taker, page);
		n = json_array_size(json_object_get(page, "packets"));
		over = capture_ends || json_is_true(json_object_get(page, "over"));
		if (over)
			sum_up(taker, page);
		json_decref(page);
		if (!over && n == 0)
			source->pause(source, POLL_MS);
	}
	return ret;
}

static int open_taker(struct taker *taker, const struct options *options, uint32_t snaplen)
{
	const char *file = options->request.write;

	*taker = (struct taker){.out = stdout, .lines = file == NULL, .json = options->json};
	if (!file)
		return 0;
	if (strcmp(file, "-") != 0)
		taker->out = fopen(file, "wxe");
	if (!taker->out)
		return -errno;
	return pcapng_begin(&taker->pcapng, taker->out, snaplen, "weirctl " WEIR_VERSION);
}

static int close_taker(struct taker *taker)
{
	int ret = fflush(taker->out) || ferror(taker->out) ? -EIO : 0;

	if (taker->out != stdout && fclose(taker->out))
		ret = -errno;
	return ret;
}

static int capture_to_file(
	struct source *source, const struct options *options, const json_t *begun)
{
	json_int_t number = json_integer_value(json_object_get(begun, "capture"));
	const char *file = options->request.write ? options->request.write : "standard output";
	struct taker taker;
	json_t *ended = NULL;
	char request[64];
	int ret = open_taker(&taker, options, (uint32_t)field_number(begun, "snaplen")), closed;

	if (ret == 0)
		ret = read_capture(source, &taker, number);
	snprintf(request, sizeof(request), "/weir/capture_end,%lld", (long long)number);
	source->ask(source, request, &ended);
	json_decref(ended);
	closed = taker.out ? close_taker(&taker) : 0;
	if (ret == 0)
		ret = closed;
	if (ret == -ENOENT)
		fputs("weirctl: capture: the limiter has ended it\n", stderr);
	else if (ret)
		fprintf(stderr, "weirctl: %s: %s\n", file, strerror(-ret));
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int capture_of_target(struct target *target, const struct options *options)
{
	struct source *source = &target->client.source;
	json_t *answer = NULL;
	int status = EXIT_FAILURE, ret;

	target_open(target);
	ret = begin_capture(source, &options->request, &answer);
	target->error = -ret;
	if (ret)
		answers_complain(target, options);
	else if (!complain_of_answer(answer))
		status = capture_to_file(source, options, answer);
	json_decref(answer);
	return status;
}

int capture_run(const struct options *options)
{
	const struct sigaction action = {.sa_handler = end_capture, .sa_flags = (int)SA_RESETHAND};
	int status = EXIT_FAILURE;
	struct targets targets;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!answers_find(options, &targets))
		return status;
	if (targets.n == 1)
		status = capture_of_target(&targets.each[0], options);
	else
		fputs("weirctl: capture: of one limiter at a time\n", stderr);
	targets_free(&targets);
	return status;
}
