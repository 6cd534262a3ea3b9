/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A collector that exists, one that does not, and one that returns; on loopback.
 */
#include "check.h"
#include "scope.h"

#include <poll.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "collector.h"
#include "netflow/netflow.h"

#define PATIENCE_MS 60000

/* Opens a socket at a port, 0: any; and writes its address. */
static int listen_at(uint16_t port, char *address, size_t room)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	snprintf(address, room, "127.0.0.1:%u", ntohs(at.sin_port));
	return fd;
}

static void assert_received(int fd, const char *want)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	char got[64];

	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	assert_int_equal(recv(fd, got, sizeof(got), 0), strlen(want));
	assert_memory_equal(got, want, strlen(want));
}

static bool send_word(struct collector *collector, const char *word)
{
	return collector_send(collector, (const uint8_t *)word, strlen(word));
}

/* A port without a receiver costs the datagram before the error, and no later one. */
TEST(test_comes_back)
{
	ENDED_BY(collector_close) struct collector collector;
	struct pollfd refused = {.events = 0};
	char address[32];
	int fd = listen_at(0, address, sizeof(address));
	unsigned port;

	assert_int_equal(sscanf(address, "127.0.0.1:%u", &port), 1);
	assert_int_equal(collector_open(&collector, address), 0);
	assert_int_equal(collector_room(&collector), NETFLOW_MOST);
	assert_true(send_word(&collector, "one"));
	assert_received(fd, "one");
	close(fd);
	assert_true(send_word(&collector, "two"));
	refused.fd = collector.fd;
	assert_int_equal(poll(&refused, 1, PATIENCE_MS), 1);
	fd = listen_at((uint16_t)port, address, sizeof(address));
	assert_false(send_word(&collector, "three"));
	assert_received(fd, "three");
	assert_true(send_word(&collector, "four"));
	assert_received(fd, "four");
	close(fd);
}

/* Without a route nothing is sent, and the route is looked up again. */
TEST(test_no_way)
{
	ENDED_BY(collector_close) struct collector collector;

	assert_int_equal(collector_open(&collector, "255.255.255.255:2055"), 0); /* broadcast */
	assert_int_equal(collector_room(&collector), NETFLOW_LEAST);
	assert_false(send_word(&collector, "one"));
	collector.address = "127.0.0.1:9";
	assert_int_equal(collector_room(&collector), NETFLOW_MOST);
	assert_true(collector.fd >= 0);
	collector_close(&collector); /* can be called twice */
}

TEST(test_addresses)
{
	static const char *const wrong[] = {"", ":2055", "127.0.0.1", "127.0.0.1:", "::1:2055",
		"localhost:2055", "[::1]", "127.0.0.1:http", "127.0.0.1:70000"};
	ENDED_BY(collector_close) struct collector collector;

	for (size_t i = 0; i < COUNT(wrong); i++)
		if (collector_open(&collector, wrong[i]) != -EINVAL)
			fail_msg("%s", wrong[i]);
	assert_int_equal(collector_open(&collector, "[2001:db8::1]:2055"), 0);
	collector_close(&collector);
	assert_int_equal(collector_open(&collector, "192.0.2.1:2055"), 0);
}
