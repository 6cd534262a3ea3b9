/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Control's checks of kernel interfaces under its ports, and their times. They run in a network
 * namespace of this process, with its loopback.
 */
#include "loopback.h"

#include <poll.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include <jansson.h>

#include "base/time.h"
#include "event.h"
#include "instance.h"
#include "interfaces.h"
#include "kernel_port.h"
#include "offload/offload.h"

#define PATIENCE_MS 60000

static struct port_config ports[2];
static struct config config = {.ports = ports, .n_ports = 2};
static char directory[] = "/tmp/weir-interfaces-XXXXXX";
static bool alone; /* in its own network namespace */

/*
 * A bridge of each interface or an error of the call; a thread that cannot start, or does not end.
 */
static struct {
	const char *master;
	int unknown, refused;
	bool endless;
	unsigned patience;
} told;

int __real_kernel_kin(const char *interface, struct kernel_kin *kin);
int __wrap_kernel_kin(const char *interface, struct kernel_kin *kin);
int __real_offload_start(struct offload *thread);
int __wrap_offload_start(struct offload *thread);
bool __real_offload_stop(struct offload *thread, unsigned patience_ms);
bool __wrap_offload_stop(struct offload *thread, unsigned patience_ms);

int __wrap_kernel_kin(const char *interface, struct kernel_kin *kin)
{
	int ret = __real_kernel_kin(interface, kin);

	if (told.master)
		snprintf(kin->master, sizeof(kin->master), "%s", told.master);
	return told.unknown ? told.unknown : ret;
}

int __wrap_offload_start(struct offload *thread)
{
	return told.refused ? told.refused : __real_offload_start(thread);
}

bool __wrap_offload_stop(struct offload *thread, unsigned patience_ms)
{
	told.patience = patience_ms;
	return !told.endless && __real_offload_stop(thread, patience_ms);
}

static void stand_on(const char *device)
{
	for (unsigned i = 0; i < 2; i++) {
		snprintf(ports[i].name, sizeof(ports[i].name), "%c", 'a' + i);
		snprintf(ports[i].device, sizeof(ports[i].device), "net_null%u", i);
	}
	if (device)
		strcpy(ports[1].device, device);
	ports[1].offloads = OFFLOADS_IGNORE;
	snprintf(config.control_socket, sizeof(config.control_socket), "%s/sock", directory);
}

static void switch_gro(bool on)
{
	struct ethtool_value value = {.cmd = ETHTOOL_SGRO, .data = on};
	struct ifreq ifr = {.ifr_data = (void *)&value};

	set_interface(SIOCETHTOOL, &ifr);
}

static unsigned count_said(uint64_t since, const char *event, char *text, size_t size)
{
	unsigned n = 0;

	for (; since < events_number(); since++) {
		json_t *row = events_get(since);

		if (strcmp(json_string_value(json_object_get(row, "event")), event) == 0) {
			snprintf(text, size, "%s", json_string_value(json_object_get(row, "text")));
			n++;
		}
		json_decref(row);
	}
	return n;
}

static void expect_nothing(struct instance *inst)
{
	char names[64] = "x";

	assert_null(inst->interfaces);
	assert_int_equal(interfaces_fd(inst), -1);
	assert_int_equal(interfaces_next(inst), UINT64_MAX);
	assert_false(interfaces_run(inst, UINT64_MAX));
	interfaces_at_work(inst, 1, names, sizeof(names));
	assert_string_equal(names, "");
	interfaces_stop(inst);
}

/* Without a kernel interface under a port there are no checks. */
TEST(test_none)
{
	struct instance inst = {.config = &config};

	stand_on(NULL);
	assert_int_equal(interfaces_start(&inst), 0);
	expect_nothing(&inst);
	stand_on("net_af_packet0,iface=lo");
	inst.borrowed = inst.ports;
	assert_int_equal(interfaces_start(&inst), 0);
	expect_nothing(&inst);
}

/* Runs one check to its end. Checks are two seconds apart, and none runs in between. */
static void look(struct instance *inst)
{
	struct pollfd fd = {.fd = interfaces_fd(inst), .events = POLLIN};
	uint64_t due = interfaces_next(inst);

	assert_false(interfaces_run(inst, due - 1));
	assert_int_equal(interfaces_next(inst), due);
	assert_false(interfaces_run(inst, due));
	assert_int_equal(interfaces_next(inst), UINT64_MAX);
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_false(interfaces_run(inst, due + 7));
	assert_int_equal(interfaces_next(inst), due + 7 + 2 * SECOND_NS);
	assert_int_equal(poll(&fd, 1, 0), 0);
}

/* An event reports an address at the start, and an offload that is switched on later, once. */
TEST(test_looks)
{
	struct instance inst = {.config = &config};
	uint64_t began = events_number(), now = control_now();
	char text[256], names[128];

	if (!alone)
		skip();
	stand_on("net_af_packet0,iface=lo");
	switch_gro(false);
	set_address("10.9.8.7");
	assert_int_equal(interfaces_start(&inst), 0);
	assert_int_equal(count_said(began, "port_has_address", text, sizeof(text)), 1);
	assert_non_null(strstr(text, "port b: lo has the address 10.9.8.7: "));
	assert_int_equal(count_said(began, "port_in_bridge", text, sizeof(text)), 0);
	assert_in_range(interfaces_next(&inst), now + 2 * SECOND_NS, control_now() + 2 * SECOND_NS);
	interfaces_at_work(&inst, 1, names, sizeof(names));
	assert_null(strstr(names, "gro"));
	began = events_number();
	look(&inst);
	assert_int_equal(count_said(began, "offloads", text, sizeof(text)), 0);
	switch_gro(true);
	look(&inst);
	assert_int_equal(count_said(began, "offloads", text, sizeof(text)), 1);
	assert_string_equal(text,
		"ports.b: another program has switched on rx-gro of lo: ethtool -K lo gro off");
	interfaces_at_work(&inst, 1, names, sizeof(names));
	assert_non_null(strstr(names, "lo:rx-gro"));
	interfaces_at_work(&inst, 0, names, sizeof(names));
	assert_string_equal(names, "");
	look(&inst);
	assert_int_equal(count_said(began, "offloads", text, sizeof(text)), 1);
	interfaces_stop(&inst);
	expect_nothing(&inst);
}

/* Each of several ports is reported. */
TEST(test_both)
{
	struct instance inst = {.config = &config};
	uint64_t began;
	char text[256];

	if (!alone)
		skip();
	stand_on("net_af_packet0,iface=lo");
	strcpy(ports[0].device, "net_af_packet1,iface=lo");
	ports[0].offloads = OFFLOADS_IGNORE;
	switch_gro(false);
	assert_int_equal(interfaces_start(&inst), 0);
	began = events_number();
	switch_gro(true);
	look(&inst);
	assert_int_equal(count_said(began, "offloads", text, sizeof(text)), 2);
	interfaces_stop(&inst);
}

/* An event names the bridge that also gets the frames of an interface, if the kernel reports it. */
TEST(test_in_bridge)
{
	struct instance inst = {.config = &config};
	uint64_t began = events_number();
	char text[256];

	if (!alone)
		skip();
	stand_on("net_af_packet0,iface=lo");
	set_address("10.9.8.7");
	told.master = "br0";
	assert_int_equal(interfaces_start(&inst), 0);
	interfaces_stop(&inst);
	assert_int_equal(count_said(began, "port_in_bridge", text, sizeof(text)), 1);
	assert_string_equal(text, "port b: lo belongs to br0, which gets every frame too: take it "
				  "out (ip link set lo nomaster)");
	assert_int_equal(count_said(began, "port_has_address", text, sizeof(text)), 1);
	began = events_number();
	told.unknown = -EIO;
	assert_int_equal(interfaces_start(&inst), 0);
	told.unknown = 0;
	told.master = NULL;
	interfaces_stop(&inst);
	assert_int_equal(count_said(began, "port_in_bridge", text, sizeof(text)), 0);
	assert_int_equal(count_said(began, "port_has_address", text, sizeof(text)), 0);
}

/* Without a thread nothing is allocated. A thread that does not end keeps its memory. */
TEST(test_thread)
{
	struct instance inst = {.config = &config};
	uint64_t began = events_number();
	struct interfaces *interfaces;
	char text[256];

	if (!alone)
		skip();
	stand_on("net_af_packet0,iface=lo");
	told.refused = -EAGAIN;
	assert_int_equal(interfaces_start(&inst), -EAGAIN);
	told.refused = 0;
	expect_nothing(&inst);
	assert_int_equal(interfaces_start(&inst), 0);
	interfaces = inst.interfaces;
	told.endless = true;
	interfaces_stop(&inst);
	told.endless = false;
	assert_int_equal(told.patience, 2000);
	expect_nothing(&inst);
	assert_int_equal(count_said(began, "offloads_hang", text, sizeof(text)), 1);
	inst.interfaces = interfaces;
	interfaces_stop(&inst);
	expect_nothing(&inst);
	assert_int_equal(count_said(began, "offloads_hang", text, sizeof(text)), 1);
}

static int begin(void **state)
{
	return !mkdtemp(directory);
}

static int end(void **state)
{
	return rmdir(directory);
}

TEST_GROUP(begin, end)

int main(void)
{
	alone = loopback_alone();
	return run_all_tests();
}
