/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A wire whose ends follow each other, on ports of net_ring, whose links can be switched: what the
 * one loses the other loses, and both are as they were when the limiter ends. Time is the test's.
 */
#include "check.h"

#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include <sodium.h>

#include "clock.h"
#include "config/load.h"
#include "links.h"
#include "start.h"

#define STEP (SECOND_NS / 4)

static const char text[] =
	"{'limiter': 'links', 'workers': [0], 'idle': 'sleep',"
	" 'ports': {'a': {'device': 'net_ring0'}, 'b': {'device': 'net_ring1'}},"
	" 'wires': [{'name': 'w', 'a': 'a', 'b': 'b', 'link': 'follow'}],"
	" 'control': {'socket': '/tmp/weir-links.sock'}}"; /* which is never opened */

static struct instance inst;
static struct config *config;
static uint64_t now;

static int start(void **state)
{
	const char *args[] = {"links", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry",
		"--no-shconf", "--log-level=1", "--lcores=(0-1)@0", "--vdev=net_ring0",
		"--vdev=net_ring1"};
	char json[sizeof(text)];

	(void)state;
	memcpy(json, text, sizeof(text));
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (sodium_init() < 0 ||
		rte_eal_init((int)(sizeof(args) / sizeof(args[0])), (char **)(uintptr_t)args) < 0)
		return -1;
	if (config_parse(json, strlen(json), "links", stderr, &config) ||
		instance_prepare(&inst, config, NULL))
		return -1;
	now = control_now();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	instance_stop(&inst);
	config_free(config);
	return rte_eal_cleanup();
}

static bool link_up(unsigned port)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(inst.ports[port].id, &link), 0);
	return link.link_status == RTE_ETH_LINK_UP;
}

/* The thread that switches gets its time between the turns. */
static void run_for(uint64_t ns)
{
	for (uint64_t end = now + ns; now < end; now += STEP) {
		links_run(&inst, now);
		for (unsigned i = 0; i < 5000 && inst.links->under_way.port; i++) {
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
			links_run(&inst, now);
		}
		assert_null(inst.links->under_way.port);
	}
}

static void follows(void **state)
{
	(void)state;
	run_for(SECOND_NS);
	assert_true(link_up(0) && link_up(1));
	assert_true(links_next(&inst) != UINT64_MAX);
	for (unsigned lost = 0; lost < 2; lost++) {
		assert_int_equal(rte_eth_dev_set_link_down(inst.ports[lost].id), 0);
		run_for(SECOND_NS);
		assert_false(link_up(!lost));
		assert_true(inst.links->ports[!lost].taken_down);
		assert_int_equal(rte_eth_dev_set_link_up(inst.ports[lost].id), 0);
		run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
		assert_true(link_up(!lost));
		assert_false(inst.links->ports[!lost].taken_down);
	}
}

/* What is down by us at the end is brought up; what somebody else has down is his. */
static void left_as_it_was(void **state)
{
	(void)state;
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[0].id), 0);
	run_for(SECOND_NS);
	assert_false(link_up(1));
	links_stop(&inst);
	assert_true(link_up(1));
	assert_false(link_up(0));
	assert_int_equal(links_start(&inst), 0); /* which brings both up */
	assert_true(link_up(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows),
		cmocka_unit_test(left_as_it_was),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
