/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One session of quotas in etcd, for a test. Reads draws from standard input, one a line, and
 * writes each reply when it arrives. Draws that are read together are sent together.
 *
 *     etcd_client LIMITER EPOCH PREFIX TIMEOUT_MS [--ca FILE] [--user USER --password-file FILE]
 *         ENDPOINT...
 *     BUDGET PERIOD TOTAL UNITS  →  BUDGET PERIOD RESULT TOTAL DRAWN LEFT WHY
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/etcd.h"

static void print_etcd_answer(
	const char *budget, uint64_t period, const char *result, const struct etcd_answer *answer)
{
	printf("%s %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", budget, period, result,
		answer->total, answer->drawn, answer->left, answer->why);
	fflush(stdout);
}

static int ask_etcd_line(struct etcd *etcd, const char *line)
{
	struct etcd_answer none = {0};
	struct etcd_draw draw = {0};
	int err;

	if (sscanf(line, "%79s %" SCNu64 " %" SCNu64 " %" SCNu64, draw.budget, &draw.period,
		    &draw.total, &draw.units) != 4)
		return -1;
	err = etcd_draw(etcd, &draw);
	if (err)
		print_etcd_answer(draw.budget, draw.period, strerrorname_np(-err), &none);
	return 0;
}

static int hear_etcd_answers(struct etcd *etcd)
{
	struct etcd_answer answer;
	int n = 0;

	while (etcd_answer(etcd, &answer) == 0) {
		print_etcd_answer(answer.budget, answer.period,
			answer.result ? strerrorname_np(-answer.result) : "0", &answer);
		n++;
	}
	return n;
}

static int serve_etcd_lines(struct etcd *etcd)
{
	struct pollfd fds[2] = {
		{.fd = 0, .events = POLLIN}, {.fd = etcd_fd(etcd), .events = POLLIN}};
	char line[256];

	while (poll(fds, 2, -1) > 0) {
		if (fds[1].revents)
			hear_etcd_answers(etcd);
		if (fds[0].revents == 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		if (ask_etcd_line(etcd, line))
			return 1;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct etcd_params params = {0};
	struct etcd *etcd;
	int first = 5, err;

	while (argc > first + 1 && strncmp(argv[first], "--", 2) == 0) {
		if (strcmp(argv[first], "--ca") == 0)
			params.ca_file = argv[first + 1];
		else if (strcmp(argv[first], "--user") == 0)
			params.user = argv[first + 1];
		else
			params.password_file = argv[first + 1];
		first += 2;
	}
	if (argc <= first)
		return 2;
	params.limiter = argv[1];
	params.epoch = strtoull(argv[2], NULL, 10);
	params.prefix = argv[3];
	params.timeout_ms = (unsigned)strtoul(argv[4], NULL, 10);
	params.endpoints = (const char *const *)argv + first;
	params.n_endpoints = (unsigned)(argc - first);
	setvbuf(stdin, NULL, _IONBF, 0); /* poll() does not see buffered input */
	err = etcd_open(&params, &etcd);
	if (err) {
		fprintf(stderr, "etcd_open: %s\n", strerror(-err));
		return 1;
	}
	err = serve_etcd_lines(etcd);
	etcd_close(etcd);
	return err;
}
