/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A wire whose ends follow each other, on ports of net_ring with switchable links. If one end loses
 * its link, the other goes down too. The end of the limiter restores both. The test sets the time.
 */
#include "check.h"

#include <semaphore.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include <sodium.h>

#include "clock.h"
#include "config/load.h"
#include "control_clock.h"
#include "event.h"
#include "links.h"
#include "start.h"
#include "tick.h"

#define STEP (SECOND_NS / 4)

static const char text[] = "{'limiter': 'links', 'workers': [0], 'idle': 'sleep',"
			   " 'ports': {'a': {'device': 'net_ring0'}, 'b': {'device': 'net_ring1'},"
			   " 'c': {'device': 'net_ring2'}, 'd': {'device': 'net_ring3'}},"
			   " 'wires': [{'name': 'x', 'a': 'c', 'b': 'd'},"
			   " {'name': 'w', 'a': 'a', 'b': 'b', 'link': 'follow'}],"
			   " 'control': {'socket': '/tmp/weir-links.sock'}}"; /* never opened */

static struct instance inst;
static struct config *config;
static uint64_t now;

/* A port whose link cannot be switched; NULL: none. */
static const struct port *stuck_port;

int __real_port_switch_link(const struct port *port, bool up);
int __wrap_port_switch_link(const struct port *port, bool up);

/* Number of switches of each port. `held_up` makes a switch wait for the test. */
static unsigned switches[4];
static bool held_up;
static sem_t go_on;

int __wrap_port_switch_link(const struct port *port, bool up)
{
	__atomic_add_fetch(&switches[port - inst.ports], 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&held_up, __ATOMIC_RELAXED))
		sem_wait(&go_on);
	if (port == __atomic_load_n(&stuck_port, __ATOMIC_RELAXED))
		return -EIO;
	return __real_port_switch_link(port, up);
}

static const struct port *silent_port; /* the port that does not report its link */

int __real_port_link(const struct port *port, bool *up, uint32_t *mbps);
int __wrap_port_link(const struct port *port, bool *up, uint32_t *mbps);

int __wrap_port_link(const struct port *port, bool *up, uint32_t *mbps)
{
	return port == silent_port ? -EIO : __real_port_link(port, up, mbps);
}

/* A thread that does not end within `patience` ms. */
static bool endless;
static unsigned patience;

bool __real_offload_stop(struct offload *thread, unsigned patience_ms);
bool __wrap_offload_stop(struct offload *thread, unsigned patience_ms);

bool __wrap_offload_stop(struct offload *thread, unsigned patience_ms)
{
	patience = patience_ms;
	return !endless && __real_offload_stop(thread, patience_ms);
}

static int start(void **state)
{
	const char *args[] = {"links", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
		"--no-shconf", "--log-level=1", "--lcores=(0-1)@0", "--vdev=net_ring0",
		"--vdev=net_ring1", "--vdev=net_ring2", "--vdev=net_ring3"};
	char json[sizeof(text)];

	memcpy(json, text, sizeof(text));
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (sodium_init() < 0 || rte_eal_init((int)(COUNT(args)), (char **)(uintptr_t)args) < 0)
		return -1;
	if (config_parse(json, strlen(json), "links", stderr, &config) ||
		instance_prepare(&inst, config, NULL))
		return -1;
	now = control_now();
	return 0;
}

static int stop(void **state)
{
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

/* The switching thread runs between the turns. */
static void run_for(uint64_t ns)
{
	for (uint64_t end = now + ns; now < end; now += STEP) {
		assert_false(links_run(&inst, now));
		for (unsigned i = 0; i < 5000 && inst.links->under_way.port; i++) {
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
			assert_false(links_run(&inst, now));
		}
		assert_null(inst.links->under_way.port);
	}
}

TEST(follows)
{
	run_for(SECOND_NS);
	assert_true(link_up(0) && link_up(1));
	assert_true(links_next(&inst) != UINT64_MAX);
	for (unsigned i = 0; i < 2; i++) /* the first state is not a change */
		assert_true(inst.links->ports[i].known && inst.links->ports[i].changes == 0);
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

/* The end brings up the links that Weir took down, and leaves the others down. */
TEST(left_as_it_was)
{
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[0].id), 0);
	run_for(SECOND_NS);
	assert_false(link_up(1));
	links_stop(&inst);
	assert_true(link_up(1));
	assert_false(link_up(0));
	assert_int_equal(links_start(&inst), 0); /* brings both up */
	assert_true(link_up(0));
}

/* Clocks of devices, because net_ring has none. */
static struct {
	unsigned reads[2];
	uint64_t said, before, after; /* last reading, and the times around it */
	int error;
} device;

/* Replaces the function of ethdev. */
int rte_eth_read_clock(uint16_t port, uint64_t *clock)
{
	device.reads[port == inst.ports[1].id]++;
	device.before = tick_now();
	*clock = device.said = device.before + 12345;
	device.after = tick_now();
	return device.error;
}

/* Each check reads the clock of a device that stamps packets. A failed reading has no effect. */
static void read_clock_of(unsigned port)
{
	struct nic_clock *clock = &inst.nic_clocks[port];
	struct nic_relation relation;
	uint64_t said;

	memset(&device, 0, sizeof(device));
	run_for(SECOND_NS);
	assert_int_equal(device.reads[0] + device.reads[port], 0);
	inst.ports[port].timestamps = true;
	do {
		run_for(2 * STEP);
		memset(&relation, 0, sizeof(relation));
	} while (!nic_clock_relation(clock, &relation) || relation.nic != device.said);
	assert_in_range(
		relation.tsc, device.before - NIC_CLOCK_APART, device.after + NIC_CLOCK_APART);
	assert_int_equal(device.reads[!port], 0);
	device.reads[port] = 0;
	assert_false(links_run(&inst, inst.links->seen_ns + STEP - 1));
	assert_int_equal(device.reads[port], 0);
	assert_false(links_run(&inst, inst.links->seen_ns + STEP));
	assert_int_equal(device.reads[port], 1);
	assert_true(nic_clock_relation(clock, &relation));
	said = relation.nic;
	device.error = -ENOTSUP;
	run_for(SECOND_NS);
	assert_true(device.reads[port] > 1);
	assert_true(nic_clock_relation(clock, &relation));
	assert_int_equal(relation.nic, said);
	inst.ports[port].timestamps = false;
}

TEST(reads_clocks)
{
	read_clock_of(0);
	read_clock_of(1);
}

/* Changes of a link count from the first reading. */
TEST(counts_changes)
{
	const struct link_state *port = &inst.links->ports[0];
	uint64_t changes;

	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(port->known && port->up);
	changes = port->changes;
	run_for(SECOND_NS);
	assert_int_equal(port->changes, changes);
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[0].id), 0);
	run_for(SECOND_NS);
	assert_false(port->up);
	assert_int_equal(port->changes, changes + 1);
	assert_int_equal(rte_eth_dev_set_link_up(inst.ports[0].id), 0);
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(port->up);
	assert_int_equal(port->changes, changes + 2);
}

/* Number of new events about the removal of the first port. */
static unsigned said_gone(uint64_t since)
{
	unsigned n = 0;

	for (uint64_t number = since; number < events_number(); number++) {
		json_t *said = events_get(number);

		if (strcmp(json_string_value(json_object_get(said, "event")), "port_gone") == 0) {
			assert_string_equal(json_string_value(json_object_get(said, "port")), "a");
			n++;
		}
		json_decref(said);
	}
	return n;
}

/* A different device is at the address of the port. Weir does not use it. */
TEST(removed)
{
	struct link_state *port = &inst.links->ports[0];
	uint64_t since = events_number(), changes = port->changes;

	assert_true(port->up && !port->gone);
	inst.ports[0].card = 7;
	run_for(SECOND_NS);
	assert_true(port->gone && !port->up);
	assert_int_equal(port->changes, changes + 1);
	assert_int_equal(said_gone(since), 1);
	assert_true(inst.links->ports[1].taken_down); /* like any lost link */
	inst.ports[0].card = 0;
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(port->gone && !port->up && inst.links->ports[1].taken_down);
	port->gone = false;
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(port->up);
}

static int wait_for_events(void **state)
{
	(void)wait_long(state);
	now = control_now();
	return 0;
}

/* Expects one new event for each of these lines, and no other event of a port. */
static void expect_lines(uint64_t since, const char *expected)
{
	unsigned lines = 0, n = 0;
	char line[256];

	for (const char *at = expected; *at; at++)
		lines += *at == '\n';
	for (; since < events_number(); since++) {
		json_t *said = events_get(since);
		const char *port = json_string_value(json_object_get(said, "port"));
		const char *other = json_string_value(json_object_get(said, "other"));
		const char *why = json_string_value(json_object_get(said, "why"));

		snprintf(line, sizeof(line), "%s %s%s%s%s%s\n",
			json_string_value(json_object_get(said, "event")), port ? port : "",
			other ? " after " : "", other ? other : "", why ? ": " : "",
			why ? why : "");
		json_decref(said);
		if (!port)
			continue;
		n++;
		if (!strstr(expected, line))
			fail_msg("event: %s", line);
	}
	assert_int_equal(n, lines);
}

/* Events report the lost end and the other end, for both ends. */
TEST_WITH(says_what_it_does, wait_for_events, NULL)
{
	uint64_t since;

	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(link_up(0) && link_up(1));
	for (unsigned lost = 0; lost < 2; lost++) {
		since = events_number();
		assert_int_equal(rte_eth_dev_set_link_down(inst.ports[lost].id), 0);
		run_for(SECOND_NS);
		expect_lines(since, lost ? "link_down b\nlink_down a\nlink_taken_down a after b\n"
					 : "link_down a\nlink_down b\nlink_taken_down b after a\n");
		since = events_number();
		assert_int_equal(rte_eth_dev_set_link_up(inst.ports[lost].id), 0);
		run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
		expect_lines(since, lost ? "link_up b\nlink_up a\nlink_brought_up a\n"
					 : "link_up a\nlink_up b\nlink_brought_up b\n");
	}
}

/* An event names a link that cannot be switched and the reason. At the start it is an error. */
TEST_WITH(cannot_be_switched, wait_for_events, NULL)
{
	uint64_t since;

	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	for (unsigned i = 0; i < 2; i++) {
		char words[128];

		links_stop(&inst);
		since = events_number();
		stuck_port = &inst.ports[i];
		assert_int_equal(links_start(&inst), -EIO);
		assert_null(inst.links);
		snprintf(words, sizeof(words), "link_not_switched %s: Input/output error\n",
			i ? "b" : "a");
		expect_lines(since, words);
		stuck_port = NULL;
		assert_int_equal(links_start(&inst), 0);
	}
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(link_up(0) && link_up(1));
	since = events_number();
	__atomic_store_n(&stuck_port, &inst.ports[1], __ATOMIC_RELAXED);
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[0].id), 0);
	for (unsigned i = 0; i < 8 && events_number() - since < 3; i++)
		run_for(STEP); /* each check tries again */
	expect_lines(since, "link_down a\nlink_taken_down b after a\n"
			    "link_not_switched b: Input/output error\n");
	assert_true(link_up(1));
	__atomic_store_n(&stuck_port, NULL, __ATOMIC_RELAXED);
	assert_int_equal(rte_eth_dev_set_link_up(inst.ports[0].id), 0);
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
}

/* During a switch of a port its link is not read, and no other port is switched. */
TEST(one_at_a_time)
{
	const struct link_state *port = &inst.links->ports[1];
	unsigned before;

	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(link_up(0) && link_up(1));
	before = switches[1];
	assert_int_equal(sem_init(&go_on, 0, 0), 0);
	__atomic_store_n(&held_up, true, __ATOMIC_RELAXED);
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[0].id), 0);
	for (unsigned i = 0; i < 40 && !inst.links->under_way.port; i++, now += STEP)
		assert_false(links_run(&inst, now));
	assert_ptr_equal(inst.links->under_way.port, &inst.ports[1]);
	assert_false(inst.links->under_way.up);
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[1].id), 0);
	for (unsigned i = 0; i < 40; i++, now += STEP)
		assert_false(links_run(&inst, now));
	assert_true(port->up);
	__atomic_store_n(&held_up, false, __ATOMIC_RELAXED);
	sem_post(&go_on);
	run_for(SECOND_NS);
	assert_false(port->up);
	assert_int_equal(switches[1], before + 1);
	assert_int_equal(rte_eth_dev_set_link_up(inst.ports[0].id), 0);
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(link_up(0) && link_up(1));
	sem_destroy(&go_on);
}

/* Only wires with "link": "follow" are switched. Others never are, also not at the start. */
TEST(others_do_not_follow)
{
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[2].id), 0);
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(link_up(3));
	assert_false(inst.links->ports[2].up || inst.links->ports[3].taken_down);
	assert_int_equal(rte_eth_dev_set_link_up(inst.ports[2].id), 0);
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	links_stop(&inst);
	assert_int_equal(links_start(&inst), 0);
	run_for(SECOND_NS);
	assert_int_equal(switches[2] + switches[3], 0);
	assert_true(links_fd(&inst) >= 0);
	assert_int_equal(links_next(&inst), inst.links->seen_ns + STEP);
}

/* A port that does not report its link keeps its last state. */
TEST(does_not_say)
{
	const struct link_state *port = &inst.links->ports[0];
	uint64_t changes = port->changes;

	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
	assert_true(port->up && port->known);
	silent_port = &inst.ports[0];
	assert_int_equal(rte_eth_dev_set_link_down(inst.ports[0].id), 0);
	run_for(SECOND_NS);
	assert_true(port->up && link_up(1));
	assert_int_equal(port->changes, changes);
	silent_port = NULL;
	run_for(SECOND_NS);
	assert_false(port->up);
	assert_int_equal(port->changes, changes + 1);
	assert_int_equal(rte_eth_dev_set_link_up(inst.ports[0].id), 0);
	run_for(LINK_FOLLOW_UP_NS + SECOND_NS);
}

/* The end does not wait for a device whose switch does not return. */
TEST_WITH(never_ends, wait_for_events, NULL)
{
	struct links *links = inst.links;
	uint64_t since = events_number();
	json_t *said;

	endless = true;
	links_stop(&inst);
	endless = false;
	assert_null(inst.links);
	assert_int_equal(patience, 2000);
	said = events_get(since);
	assert_string_equal(json_string_value(json_object_get(said, "event")), "link_hangs");
	json_decref(said);
	assert_int_equal(events_number(), since + 1);
	assert_true(links->follows);
	assert_true(__real_offload_stop(&links->thread, 60000));
	free(links);
	assert_int_equal(links_start(&inst), 0);
	run_for(SECOND_NS);
}

TEST_GROUP(start, stop)
