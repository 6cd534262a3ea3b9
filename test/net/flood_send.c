/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sends junk to gossip's port at a rate, with as few system calls as the kernel allows:
 *
 *     flood_send FROM TO PORT RATE SECONDS BYTES [SENDER [KEY]]
 *
 * Datagrams of BYTES begin like sealed gossip of format 2. SENDER is the hash of the sender's name,
 * and KEY the name of the key, both in hex. Prints the datagrams sent, the seconds, and the CPU
 * seconds, which include the kernel's delivery.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SEGMENTS   32 /* datagrams a call */
#define BYTES_MOST 1400

static double now_s(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct sockaddr_in address_of(const char *text, unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1) {
		fprintf(stderr, "flood_send: %s is no address\n", text);
		exit(EXIT_FAILURE);
	}
	return address;
}

static int open_socket(const char *from, const char *to, unsigned port, int bytes)
{
	struct sockaddr_in own = address_of(from, 0), other = address_of(to, port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) ||
		connect(fd, (struct sockaddr *)&other, sizeof(other)) ||
		setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof(bytes))) {
		perror("flood_send");
		exit(EXIT_FAILURE);
	}
	return fd;
}

static void fill_datagrams(uint8_t *at, unsigned bytes, uint32_t sender, uint32_t key)
{
	static const uint8_t begin[4] = {3, 1, 3, 3};

	sender = htonl(sender);
	key = htonl(key);
	for (unsigned i = 0; i < SEGMENTS; i++, at += bytes) {
		memset(at, (int)i, bytes);
		memcpy(at, begin, sizeof(begin));
		memcpy(at + 4, &sender, sizeof(sender));
		memcpy(at + 28, &key, sizeof(key));
	}
}

static unsigned long send_for(int fd, const uint8_t *data, size_t len, double rate, double seconds)
{
	double began = now_s(CLOCK_MONOTONIC), at = began;
	unsigned long sent = 0;

	for (; at < began + seconds; at = now_s(CLOCK_MONOTONIC)) {
		struct timespec moment = {.tv_nsec = 50000};

		if ((double)sent > (at - began) * rate)
			nanosleep(&moment, NULL);
		else if (send(fd, data, len, 0) == (ssize_t)len)
			sent += SEGMENTS;
	}
	return sent;
}

int main(int argc, char **argv)
{
	static uint8_t data[SEGMENTS * BYTES_MOST];
	unsigned bytes = argc > 6 ? (unsigned)atoi(argv[6]) : 0;
	unsigned long sent;
	double began;
	int fd;

	if (bytes < 32 || bytes > BYTES_MOST) {
		fprintf(stderr, "flood_send FROM TO PORT RATE SECONDS BYTES [SENDER [KEY]]\n");
		return EXIT_FAILURE;
	}
	fill_datagrams(data, bytes, argc > 7 ? (uint32_t)strtoul(argv[7], NULL, 16) : 0,
		argc > 8 ? (uint32_t)strtoul(argv[8], NULL, 16) : 0);
	fd = open_socket(argv[1], argv[2], (unsigned)atoi(argv[3]), (int)bytes);
	began = now_s(CLOCK_MONOTONIC);
	sent = send_for(fd, data, SEGMENTS * bytes, atof(argv[4]), atof(argv[5]));
	printf("%lu %.3f %.3f\n", sent, now_s(CLOCK_MONOTONIC) - began,
		now_s(CLOCK_PROCESS_CPUTIME_ID));
	return EXIT_SUCCESS;
}
