/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ask/client.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "fd_pass/fd_pass.h"

/* Bytes of the greeting, and the largest reply size that a server can announce. */
#define GREETING_MAX 1024
#define REPLY_MAX    (1 << 20)

double steady_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Sets the socket's timeout to the time that is left. Returns 0 or -ETIMEDOUT. */
static int set_patience(int fd, double patience_s, double until_s)
{
	double left = until_s > 0 ? until_s - steady_s() : patience_s;
	struct timeval patience;

	if (left <= 0)
		return -ETIMEDOUT;
	patience.tv_sec = (time_t)left;
	patience.tv_usec = (suseconds_t)((left - (double)patience.tv_sec) * 1e6) + 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return 0;
}

/* Receives one packet and adds a NUL. Returns its length or a negative errno. */
static ssize_t receive_reply(struct client *client)
{
	union fd_pass control;
	struct iovec data = {client->reply, client->room - 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t n;

	fd_pass_expect(&message, &control);
	do
		n = recvmsg(client->fd, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		int fd = fd_pass_take(&message);

		if (client->taken >= 0)
			close(client->taken);
		client->taken = fd;
	}
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n >= client->room)
		return -EMSGSIZE;
	client->reply[n] = '\0';
	return n;
}

/* Receives a reply, which must be exactly one JSON object. */
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

/* Shortens the timeout to the time that is left for all answers together. */
static int renew_patience(const struct client *client)
{
	if (client->until_s == 0)
		return 0;
	return set_patience(client->fd, client->patience_s, client->until_s);
}

static int send_to_server(struct source *source, const char *request)
{
	struct client *client = (struct client *)source;
	struct iovec data = {(char *)(uintptr_t)request, strlen(request)};
	union fd_pass control;
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	int ret = renew_patience(client);
	ssize_t n;

	if (ret)
		return ret;
	fd_pass_attach(&message, &control, client->given);
	do
		n = sendmsg(client->fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	return errno == EPIPE ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
}

static int receive_from_server(struct source *source, const char *request, json_t **value)
{
	struct client *client = (struct client *)source;
	int ret = renew_patience(client);
	char command[128];
	json_t *reply;

	*value = NULL;
	if (ret == 0)
		ret = parse_reply(client, &reply);
	if (ret)
		return ret;
	/* The reply has one member, whose name is the command. */
	snprintf(command, sizeof(command), "%.*s", (int)strcspn(request, ","), request);
	*value = json_incref(json_object_get(reply, command));
	json_decref(reply);
	return *value ? 0 : -EBADMSG;
}

static int ask_server(struct source *source, const char *request, json_t **value)
{
	int ret = send_to_server(source, request);

	*value = NULL;
	return ret ? ret : receive_from_server(source, request, value);
}

static int ask_server_with(
	struct source *source, const char *request, int given, int *taken, json_t **value)
{
	struct client *client = (struct client *)source;
	int ret;

	client->given = given;
	ret = ask_server(source, request, value);
	client->given = -1;
	*taken = client->taken;
	client->taken = -1;
	return ret;
}

static double sleep_ms(struct source *source, unsigned ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	double began = steady_s();

	(void)source;
	nanosleep(&ts, NULL); /* a signal ends it early */
	return steady_s() - began;
}

static int connect_socket(const char *path, double patience_s, double until_s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, ret;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	ret = set_patience(fd, patience_s, until_s);
	if (ret == 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)))
		ret = errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
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

int client_open(struct client *client, const char *path, double each_s, unsigned all_ms)
{
	double until_s = all_ms ? steady_s() + all_ms / 1e3 : 0;
	int ret;

	*client = (struct client){.source = {.ask = ask_server,
					  .ask_with = ask_server_with,
					  .send = send_to_server,
					  .receive = receive_from_server,
					  .pause = sleep_ms},
		.given = -1,
		.taken = -1,
		.patience_s = each_s,
		.until_s = until_s};
	client->fd = connect_socket(path, each_s, until_s);
	if (client->fd < 0)
		return client->fd;
	ret = grow_reply_buffer(client, GREETING_MAX);
	if (ret == 0)
		ret = parse_reply(client, &client->greeting);
	if (ret == 0)
		ret = grow_reply_buffer(client,
			json_integer_value(json_object_get(client->greeting, "max_output_len")));
	if (ret)
		client_close(client);
	return ret;
}

void client_close(struct client *client)
{
	close(client->fd);
	free(client->reply);
	json_decref(client->greeting);
	if (client->taken >= 0)
		close(client->taken);
	*client = (struct client){.fd = -1, .given = -1, .taken = -1};
}
