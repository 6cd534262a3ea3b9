/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "web.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ask/source.h"
#include "address.h"
#include "page.h"
#include "picture.h"
#include "slots.h"
#include "text.h"
#include "viewers.h"

#define CONNECTION_BYTES 32768 /* for headers, and then for each chunk of an answer */
#define IDLE_S           15    /* an idle connection is closed */

/* Limit from a connection's begin, or its last answer, to the end of the next answer. */
#define REQUEST_MS 30000

/*
 * Rounds that slow readers can hold, at 150 bytes per policy, before the oldest readers are ended.
 */
#define ROUNDS_MOST 8

/* Requests within this time share the answers of one round, which limits the load on limiters. */
#define FRESH_MS 500

#define TURN_MS 1000

/* Most names that a search returns. */
#define FOUND_MOST 40

/* The page can load only files from here, and no other page can show it in a frame. */
#define ONLY_OURS                                                                   \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct web {
	struct boxes_options options;
	struct host_names names;
	unsigned interval_ms; /* between two events of the page */
	struct MHD_Daemon *daemon;
	struct slot slots[SLOTS_ALL];
	unsigned kept; /* rounds whose metrics are being read */
	struct round round;
	bool asking;
	struct picture *picture;
	struct viewers *viewers;
	struct reporter *reporter; /* NULL: none */
	uint64_t began_ms;         /* begin of the last round; 0: none yet */
	uint64_t asked_ms;         /* end of the last round; 0: never */
};

static uint64_t ms_now(void)
{
	return (uint64_t)(steady_s() * 1000);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The metrics of a round that are being sent to one reader. */
struct answer {
	struct web *web;
	struct boxes *boxes;
	struct metrics_cursor cursor;
	struct text part; /* unsent from `sent` on */
	size_t sent;
};

static void forget_answer(void *arg)
{
	struct answer *answer = arg;

	answer->web->kept -= answer->boxes->readers == 1;
	boxes_leave(answer->boxes);
	free(answer->part.bytes);
	free(answer);
}

/* Makes the next part after the previous one was sent. Returns false at the end. */
static bool next_part(struct answer *answer)
{
	text_cut(&answer->part, 0);
	answer->sent = 0;
	return metrics_next(&answer->cursor, &answer->part);
}

/* Called by the daemon when the client has room. */
static ssize_t read_answer(void *arg, uint64_t at, char *bytes, size_t most)
{
	struct answer *answer = arg;
	struct text *part = &answer->part;
	size_t n = 0;

	(void)at;
	while (n < most && (answer->sent < part->length || next_part(answer))) {
		size_t left = part->length - answer->sent, fits = most - n;

		if (left > fits)
			left = fits;
		if (left)
			memcpy(bytes + n, part->bytes + answer->sent, left);
		answer->sent += left;
		n += left;
	}
	if (part->failed) /* the client detects that the text is incomplete */
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return n ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

/*
 * Returns whether the last round is recent. While a page is open, rounds run at its interval, and
 * all clients share them.
 */
static bool is_fresh(const struct web *web)
{
	uint64_t fresh = FRESH_MS;

	if (viewers_count(web->viewers) && web->interval_ms > FRESH_MS)
		fresh = web->interval_ms;
	return web->asked_ms && ms_now() - web->asked_ms < fresh;
}

static void begin_round(struct web *web)
{
	struct looked_at looked_at;

	if (web->asking)
		return;
	web->asking = true;
	web->began_ms = ms_now();
	viewers_look(web->viewers, &looked_at);
	round_begin(&web->round, &looked_at);
}

static void enter_state(struct slot *slot, enum slot_state state)
{
	slot->state = state;
	slot->since_ms = ms_now();
}

static void resume_waiting(struct slot *slot)
{
	enter_state(slot, SLOT_ANSWERED);
	MHD_resume_connection(slot->waits);
	slot->waits = NULL;
}

/* Ends a connection. One that waits does not notice the shutdown before it is resumed. */
static void end_connection(struct slot *slot)
{
	shutdown(slot->fd, SHUT_RDWR);
	if (slot->waits)
		resume_waiting(slot);
	slot->state = SLOT_ENDING;
}

/*
 * The number of policies above --max-policies. Others are left out of one scrape, during a reload.
 */
static json_int_t policies_above(const struct metrics_of *of)
{
	return of->policies.whole ? json_integer_value(member_at(of->document, "left_out.policies"))
				  : 0;
}

static void log_policies_above(const struct web *web, const struct boxes *boxes)
{
	const struct boxes *before = picture_boxes(web->picture);

	for (unsigned i = 0; i < boxes->n; i++) {
		const struct metrics_of *of = &boxes->of[i];
		unsigned then = boxes_find(before, of->limiter, i);
		json_int_t above = policies_above(of);

		if (above == 0 ||
			(then != BOXES_MOST && above == policies_above(&before->of[then])))
			continue;
		fprintf(stderr,
			"weir-exporter: %s: %lld policies have no metrics (policies=%lld "
			"max_policies=%u)\n",
			of->limiter, (long long)above, (long long)above + (long long)of->policies.n,
			web->options.most.policies);
	}
}

/* Passes the result of a round to requests that wait for it, and to viewers of the page. */
static void end_round(struct web *web)
{
	struct boxes *boxes = round_end(&web->round);

	web->asking = false;
	web->asked_ms = boxes ? ms_now() : 0;
	if (boxes) {
		log_policies_above(web, boxes);
		reporter_note(web->reporter, boxes);
		picture_take(web->picture, boxes);
	}
	if (!viewers_count(web->viewers))
		picture_forget(web->picture);
	else if (boxes)
		viewers_send(web->viewers, web->picture, web->interval_ms);
	for (unsigned i = 0; i < SLOTS_ALL; i++)
		if (web->slots[i].waits)
			resume_waiting(&web->slots[i]);
}

/* Returns NULL without memory. */
static struct MHD_Response *make_answer(struct web *web, enum text_format format)
{
	struct boxes *boxes = picture_boxes(web->picture);
	struct answer *answer = calloc(1, sizeof(*answer));
	struct MHD_Response *response;

	if (!answer)
		return NULL;
	response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, CONNECTION_BYTES, read_answer, answer, forget_answer);
	if (!response) {
		free(answer);
		return NULL;
	}
	answer->web = web;
	answer->boxes = boxes;
	metrics_begin(&answer->cursor, format, boxes->of, boxes->n);
	web->kept += boxes->readers++ == 0;
	MHD_add_response_header(
		response, MHD_HTTP_HEADER_CONTENT_TYPE, accept_content_type(format));
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return response;
}

/* Queues a response and destroys it. */
static enum MHD_Result send_response(
	struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_words(
	struct MHD_Connection *connection, unsigned status, const char *words)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(words), (void *)(uintptr_t)words, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "5");
	return send_response(connection, status, response);
}

static struct slot *slot_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Suspends a request until the next round ends. The daemon then calls answer_request() again. */
static enum MHD_Result wait_for_round(struct web *web, struct MHD_Connection *connection)
{
	struct slot *slot = slot_of(connection);

	if (!slot)
		return MHD_NO;
	begin_round(web);
	enter_state(slot, SLOT_WAITS);
	slot->waits = connection;
	MHD_suspend_connection(connection);
	return MHD_YES;
}

/* Ends the connections that read the oldest answer. */
static void end_oldest_readers(struct web *web)
{
	struct slot *slot = slot_reads_longest(web->slots);
	uint64_t since_ms = slot ? slot->since_ms : 0;

	for (; slot && slot->since_ms - since_ms < FRESH_MS; slot = slot_reads_longest(web->slots))
		end_connection(slot);
}

/*
 * Answers with the metrics. waited: the request has waited for a round, so the answer is recent
 * enough, however long that took.
 */
static enum MHD_Result answer_metrics(
	struct web *web, struct MHD_Connection *connection, bool waited)
{
	enum text_format format = accept_format(
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	const struct boxes *boxes = picture_boxes(web->picture);
	struct MHD_Response *response = NULL;
	bool is_new;

	if (!waited && !is_fresh(web))
		return wait_for_round(web, connection);
	is_new = boxes && !boxes->readers;
	if (is_new && web->kept >= ROUNDS_MOST)
		end_oldest_readers(web);
	if (web->asked_ms && boxes && !(is_new && web->kept >= 2 * ROUNDS_MOST))
		response = make_answer(web, format);
	if (!response)
		return answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"too many slow readers, or no memory\n");
	return send_response(connection, MHD_HTTP_OK, response);
}

static enum MHD_Result answer_events(struct web *web, struct MHD_Connection *connection)
{
	struct slot *slot = slot_of(connection);
	struct MHD_Response *response = NULL;

	if (slot && slot_may_stream(web->slots, slot->address))
		response = viewers_admit(web->viewers, connection,
			MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "policy"));
	if (!response)
		return answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"as many look at the page as may\n");
	enter_state(slot, SLOT_STREAMS);
	return send_response(connection, MHD_HTTP_OK, response);
}

static enum MHD_Result answer_search(struct web *web, struct MHD_Connection *connection)
{
	const char *words = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "find");
	json_t *found = picture_find(web->picture, words ? words : "", FOUND_MOST);
	char *text = text_json(found);
	struct MHD_Response *response = NULL;

	json_decref(found);
	if (text)
		response = MHD_create_response_from_buffer(
			strlen(text), text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return send_response(connection, MHD_HTTP_OK, response);
}

/* Answers with a file of the page, or with status 304 if the browser has it. */
static enum MHD_Result answer_file(struct MHD_Connection *connection, const struct page_file *file)
{
	const char *has = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
	bool same = has && strcmp(has, file->tag) == 0;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		same ? 0 : file->n, (void *)(uintptr_t)file->bytes, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, file->type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, file->tag);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	MHD_add_response_header(response, "Content-Security-Policy", ONLY_OURS);
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	return send_response(connection, same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
}

static enum MHD_Result answer_path(
	struct web *web, struct MHD_Connection *connection, const char *url, bool waited)
{
	const char *host = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	if (!host_allowed(&web->names, host))
		return answer_words(connection, MHD_HTTP_MISDIRECTED_REQUEST,
			"this exporter has another name: weir-exporter --host NAME adds one\n");
	if (strcmp(url, "/metrics") == 0)
		return answer_metrics(web, connection, waited);
	if (strcmp(url, "/events") == 0)
		return answer_events(web, connection);
	if (strcmp(url, "/policies") == 0)
		return answer_search(web, connection);
	for (const struct page_file *file = page_files; file->path; file++)
		if (strcmp(url, file->path) == 0)
			return answer_file(connection, file);
	return answer_words(connection, MHD_HTTP_NOT_FOUND, "there are / and /metrics here\n");
}

/*
 * Called by the daemon with the headers, for each part of a body, and at the end, when it answers.
 * Called once more after a round that the request has waited for.
 */
static enum MHD_Result answer_request(void *arg, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *body, size_t *body_size,
	void **request)
{
	static char begun, waiting;
	struct slot *slot = slot_of(connection);

	(void)version;
	(void)body;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return *body_size ? MHD_NO
				  : answer_words(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
					    "only GET and HEAD are supported\n");
	if (!*request || *body_size) {
		*request = &begun;
		*body_size = 0;
		return MHD_YES;
	}
	if (slot && slot->state == SLOT_ASKS)
		enter_state(slot, SLOT_ANSWERED);
	if (*request == &waiting)
		return answer_path(arg, connection, url, true);
	*request = &waiting;
	return answer_path(arg, connection, url, false);
}

/* --- connections ------------------------------------------------------------------------------ */

/* Makes room immediately, because the daemon would leave new connections in the listen queue. */
static void admit_connection(
	struct web *web, struct MHD_Connection *connection, void **socket_context)
{
	struct slot *slot = slot_take(web->slots), *other;

	*socket_context = slot;
	if (!slot)
		return;
	slot->fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	slot->address = slot_address(
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr);
	enter_state(slot, SLOT_ASKS);
	other = slot_to_end(web->slots, slot, slot->since_ms);
	if (other)
		end_connection(other);
}

static void note_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
	enum MHD_ConnectionNotificationCode code)
{
	struct slot *slot = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		admit_connection(arg, connection, socket_context);
	else if (slot)
		*slot = (struct slot){0};
}

/* An answer was read completely: the time of the next request begins. */
static void note_answered(void *arg, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode code)
{
	struct slot *slot = slot_of(connection);

	(void)arg;
	(void)request;
	(void)code;
	if (slot && slot->state != SLOT_ENDING)
		enter_state(slot, SLOT_ASKS);
}

/*
 * Ends slow connections. A client that sends or reads a byte now and then would never be idle. A
 * request that waits for limiters is not slow itself, and streams have no end.
 */
static void end_slow_ones(struct web *web)
{
	uint64_t now = ms_now();

	for (unsigned i = 0; i < SLOTS_ALL; i++) {
		struct slot *slot = &web->slots[i];

		if ((slot->state == SLOT_ASKS || slot->state == SLOT_ANSWERED) &&
			now - slot->since_ms > REQUEST_MS)
			end_connection(slot);
	}
	viewers_end_slow(web->viewers, now);
}

/* --- the daemon ------------------------------------------------------------------------------- */

/* Frees all members that are allocated. */
static void free_web(struct web *web)
{
	round_close(&web->round);
	viewers_free(web->viewers);
	if (web->picture)
		picture_free(web->picture);
	free(web);
}

int web_open(const char *address, const struct boxes_options *options,
	const struct host_names *names, unsigned interval_ms, struct reporter *reporter,
	struct web **out)
{
	struct web *web;
	int fd = listen_open(address), ret;

	*out = NULL;
	if (fd < 0)
		return fd;
	web = calloc(1, sizeof(*web));
	if (!web) {
		close(fd);
		return -ENOMEM;
	}
	web->options = *options;
	web->names = *names;
	web->interval_ms = interval_ms;
	web->reporter = reporter;
	web->picture = picture_new();
	web->viewers = viewers_new();
	ret = web->picture && web->viewers ? round_open(&web->round, &web->options) : -ENOMEM;
	if (ret == 0) {
		web->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
			NULL, answer_request, web, MHD_OPTION_LISTEN_SOCKET, fd,
			MHD_OPTION_CONNECTION_LIMIT, (unsigned)SLOTS_ALL,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
			MHD_OPTION_NOTIFY_CONNECTION, note_connection, web,
			MHD_OPTION_NOTIFY_COMPLETED, note_answered, web, MHD_OPTION_END);
		ret = web->daemon ? 0 : -ENOMEM;
	}
	if (ret) {
		close(fd);
		free_web(web);
		return ret;
	}
	*out = web;
	return 0;
}

/* Milliseconds until something is due without an event of a descriptor. */
static int time_to_wait(struct web *web)
{
	MHD_UNSIGNED_LONG_LONG wait;
	uint64_t turn = TURN_MS, due = web->began_ms + web->interval_ms, now = ms_now();

	if (web->asking && !targets_busy(&web->round.targets))
		return 0;
	if (MHD_get_timeout(web->daemon, &wait) == MHD_YES && wait < turn)
		turn = wait;
	if (viewers_count(web->viewers) && !web->asking && (now >= due || due - now < turn))
		turn = now >= due ? 0 : due - now;
	return (int)turn;
}

void web_run(struct web *web, int signal_fd)
{
	struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN}, {.events = POLLIN}};

	fds[1].fd = MHD_get_daemon_info(web->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	while (fds[0].revents == 0) {
		targets_wait(&web->round.targets, fds, 2, time_to_wait(web));
		if (web->asking && !targets_busy(&web->round.targets))
			end_round(web);
		if (viewers_count(web->viewers) && ms_now() >= web->began_ms + web->interval_ms)
			begin_round(web);
		end_slow_ones(web);
		MHD_run(web->daemon);
	}
}

/* Stops the daemon, which requires that no connection is suspended. */
void web_close(struct web *web)
{
	viewers_wake(web->viewers);
	for (unsigned i = 0; i < SLOTS_ALL; i++)
		if (web->slots[i].waits)
			resume_waiting(&web->slots[i]);
	MHD_stop_daemon(web->daemon);
	free_web(web);
}
