/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

/* A limiter answers between two ticks; one that takes so long is stopped, or is none. */
#define PATIENCE_S 5

/* Before the server has said how long its replies may be, and the most that it may say. */
#define GREETING_MAX 1024
#define REPLY_MAX    (1 << 20)

/* One packet, ended by a NUL. Its length or a negative errno. */
static ssize_t receive_reply(struct client *client)
{
	ssize_t n;

	do
		n = recv(client->fd, client->reply, client->room - 1, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n >= client->room)
		return -EMSGSIZE;
	client->reply[n] = '\0';
	return n;
}

/* One object, and nothing behind it. */
static int parse_reply(struct client *client, json_t **object)
{
	ssize_t n = receive_reply(client);

	*object = NULL;
	if (n < 0)
		return (int)n;
	*object = json_loadb(client->reply, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(*object))
		return 0;
	json_decref(*object);
	*object = NULL;
	return -EBADMSG;
}

/* The one member of a reply is named by the command; its value. */
static int take_value(const json_t *reply, const char *request, json_t **value)
{
	char command[128];

	snprintf(command, sizeof(command), "%.*s", (int)strcspn(request, ","), request);
	*value = json_incref(json_object_get(reply, command));
	return *value ? 0 : -EBADMSG;
}

static int ask_server(struct source *source, const char *request, json_t **value)
{
	struct client *client = (struct client *)source;
	json_t *reply;
	ssize_t n;
	int ret;

	*value = NULL;
	do
		n = send(client->fd, request, strlen(request), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EPIPE ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
	ret = parse_reply(client, &reply);
	if (ret)
		return ret;
	ret = take_value(reply, request, value);
	json_decref(reply);
	return ret;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double sleep_ms(struct source *source, unsigned ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	double began = now_s();

	(void)source;
	nanosleep(&ts, NULL); /* a signal ends it early */
	return now_s() - began;
}

static int connect_socket(const char *path)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	err = errno == EAGAIN ? ETIMEDOUT : errno;
	close(fd);
	return -err;
}

static int grow_reply_buffer(struct client *client, json_int_t room)
{
	char *reply;

	if (room < 1 || room > REPLY_MAX)
		return -EBADMSG;
	reply = realloc(client->reply, (size_t)room + 1);
	if (!reply)
		return -ENOMEM;
	client->reply = reply;
	client->room = (size_t)room + 1;
	return 0;
}

static int read_greeting(struct client *client)
{
	int ret = grow_reply_buffer(client, GREETING_MAX);

	if (ret == 0)
		ret = parse_reply(client, &client->greeting);
	if (ret == 0)
		ret = grow_reply_buffer(client,
			json_integer_value(json_object_get(client->greeting, "max_output_len")));
	return ret;
}

int client_open(struct client *client, const char *path)
{
	int ret;

	*client = (struct client){.source = {.ask = ask_server, .pause = sleep_ms}};
	client->fd = connect_socket(path);
	if (client->fd < 0)
		return client->fd;
	ret = read_greeting(client);
	if (ret)
		client_close(client);
	return ret;
}

void client_close(struct client *client)
{
	close(client->fd);
	free(client->reply);
	json_decref(client->greeting);
	*client = (struct client){.fd = -1};
}
