/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "viewers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/socket.h>

#include "text.h"

/* A viewer that takes no event for this time is gone. A laptop that was asleep connects again. */
#define BEHIND_MS 10000

/* Send buffer of a stream. It is small, so a viewer that stops reading is soon detected. */
#define SEND_BUFFER (16 << 10)

#define BLOCK 16384

/* Events without a drop after which a policy that drops is shown instead. */
#define CALM_EVENTS 5

struct viewer {
	struct MHD_Connection *connection; /* NULL: unused */
	int fd;
	bool asleep; /* suspended until the next event */
	bool chosen; /* the viewer chose the policy */
	char policy[POLICY_NAME];
	unsigned calm;
	struct text text;
	size_t at;          /* bytes of `text` that were taken */
	uint64_t behind_ms; /* time since when it is too slow; 0: it is not */
};

struct viewers {
	struct viewer of[VIEWERS_MOST];
	unsigned n;
};

/* Context of a stream's response. */
struct event_stream {
	struct viewers *all;
	struct viewer *viewer;
};

struct viewers *viewers_new(void)
{
	return calloc(1, sizeof(struct viewers));
}

void viewers_free(struct viewers *viewers)
{
	free(viewers);
}

unsigned viewers_count(const struct viewers *viewers)
{
	return viewers->n;
}

void viewers_look(const struct viewers *viewers, struct looked_at *looked_at)
{
	looked_at->n = 0;
	for (unsigned i = 0; i < VIEWERS_MOST; i++)
		if (viewers->of[i].connection && *viewers->of[i].policy)
			memcpy(looked_at->names[looked_at->n++], viewers->of[i].policy,
				POLICY_NAME);
}

/* --- a stream --------------------------------------------------------------------------------- */

static ssize_t read_events(void *arg, uint64_t position, char *bytes, size_t most)
{
	struct viewer *viewer = ((struct event_stream *)arg)->viewer;
	size_t n = viewer->text.length - viewer->at;

	(void)position;
	if (n == 0) {
		viewer->asleep = true;
		MHD_suspend_connection(viewer->connection);
		return 0;
	}
	if (n > most)
		n = most;
	memcpy(bytes, viewer->text.bytes + viewer->at, n);
	viewer->at += n;
	viewer->behind_ms = 0;
	return (ssize_t)n;
}

static void end_stream(void *arg)
{
	struct event_stream *stream = arg;

	free(stream->viewer->text.bytes);
	*stream->viewer = (struct viewer){0};
	stream->all->n--;
	free(stream);
}

static struct viewer *free_viewer(struct viewers *viewers)
{
	for (unsigned i = 0; i < VIEWERS_MOST; i++)
		if (!viewers->of[i].connection)
			return &viewers->of[i];
	return NULL;
}

static struct MHD_Response *stream_response(struct viewers *viewers, struct viewer *viewer)
{
	struct event_stream *stream = malloc(sizeof(*stream));
	struct MHD_Response *response = NULL;

	if (stream) {
		*stream = (struct event_stream){viewers, viewer};
		response = MHD_create_response_from_callback(
			MHD_SIZE_UNKNOWN, BLOCK, read_events, stream, end_stream);
	}
	if (!response)
		free(stream);
	return response;
}

/* Limits the data that is sent but not confirmed, and the time that it waits. */
static int narrow_socket(struct MHD_Connection *connection)
{
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	int room = SEND_BUFFER;
	unsigned patience = BEHIND_MS;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
	return fd;
}

struct MHD_Response *viewers_admit(
	struct viewers *viewers, struct MHD_Connection *connection, const char *policy)
{
	struct viewer *viewer = free_viewer(viewers);
	struct MHD_Response *response = viewer ? stream_response(viewers, viewer) : NULL;

	if (!response)
		return NULL;
	*viewer = (struct viewer){.connection = connection,
		.fd = narrow_socket(connection),
		.chosen = policy && *policy,
		.calm = CALM_EVENTS};
	if (policy)
		snprintf(viewer->policy, sizeof(viewer->policy), "%s", policy);
	text_print(&viewer->text, "retry: 2000\n\n");
	viewers->n++;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(
		response, "X-Accel-Buffering", "no"); /* nginx would wait for more */
	return response;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Chooses the policy of a viewer that did not: one that drops, as long as it drops. */
static void choose_policy(struct viewer *viewer, struct picture *picture)
{
	const char *choice;

	if (viewer->chosen || !picture_has_rates(picture))
		return;
	if (*viewer->policy && picture_is_dropping(picture, viewer->policy))
		viewer->calm = 0;
	else if (viewer->calm < CALM_EVENTS)
		viewer->calm++;
	if (viewer->calm < CALM_EVENTS)
		return;
	choice = picture_choice(picture);
	if (choice && (!*viewer->policy || picture_is_dropping(picture, choice)))
		snprintf(viewer->policy, sizeof(viewer->policy), "%s", choice);
}

static void write_event(struct text *text, const char *name, json_t *data)
{
	char *words = text_json(data);

	if (words)
		text_print(text, "event: %s\ndata: %s\n\n", name, words);
	free(words);
	json_decref(data);
}

static void send_to_viewer(struct viewer *viewer, struct picture *picture, const struct text *group)
{
	json_t *policy;

	choose_policy(viewer, picture);
	policy = picture_policy(picture, viewer->policy);
	if (json_is_object(policy))
		json_object_set_new(policy, "chosen", json_boolean(viewer->chosen));
	text_cut(&viewer->text, 0);
	viewer->at = 0;
	text_add(&viewer->text, group->bytes, group->length);
	write_event(&viewer->text, "policy", policy);
	if (viewer->asleep) {
		viewer->asleep = false;
		MHD_resume_connection(viewer->connection);
	}
}

void viewers_send(struct viewers *viewers, struct picture *picture, unsigned interval_ms)
{
	struct text group = {0};
	json_t *json = picture_group(picture);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_object_set_new(
		json, "at", json_integer((json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
	json_object_set_new(json, "interval_ms", json_integer(interval_ms));
	write_event(&group, "group", json);
	for (unsigned i = 0; i < VIEWERS_MOST && group.bytes; i++) {
		struct viewer *viewer = &viewers->of[i];

		if (viewer->connection && viewer->at == viewer->text.length)
			send_to_viewer(viewer, picture, &group);
		else if (viewer->connection && !viewer->behind_ms)
			viewer->behind_ms = (uint64_t)(steady_s() * 1000);
	}
	free(group.bytes);
}

void viewers_end_slow(struct viewers *viewers, uint64_t now_ms)
{
	for (unsigned i = 0; i < VIEWERS_MOST; i++) {
		const struct viewer *viewer = &viewers->of[i];

		if (viewer->connection && viewer->behind_ms &&
			now_ms - viewer->behind_ms > BEHIND_MS)
			shutdown(viewer->fd, SHUT_RDWR);
	}
}

void viewers_wake(struct viewers *viewers)
{
	for (unsigned i = 0; i < VIEWERS_MOST; i++)
		if (viewers->of[i].connection && viewers->of[i].asleep) {
			viewers->of[i].asleep = false;
			MHD_resume_connection(viewers->of[i].connection);
		}
}
