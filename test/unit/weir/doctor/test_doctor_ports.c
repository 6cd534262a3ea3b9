/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests the checks of interfaces in a network namespace with nothing but a loopback, and the checks
 * of CPUs and cards without /proc and /sys.
 */
#include "loopback.h"

#include "checks.h"
#include "parts.h"

#define LOOPBACK "net_af_packet0,iface=lo"

static struct patient {
	struct config config;
	struct port_config ports[2];
	struct doctor doctor;
	char *text;
	size_t size;
} patient;

static bool alone; /* in a new network namespace */

static int set_up(void **state)
{
	memset(&patient, 0, sizeof(patient));
	for (unsigned i = 0; i < 2; i++) {
		snprintf(patient.ports[i].name, sizeof(patient.ports[i].name), "%c", 'a' + i);
		snprintf(patient.ports[i].device, sizeof(patient.ports[i].device), "net_ring%u", i);
		patient.ports[i].mtu = 1500;
	}
	patient.config = (struct config){.ports = patient.ports, .n_ports = 2};
	return 0;
}

static int tear_down(void **state)
{
	free(patient.text);
	return 0;
}

static void stand_on(unsigned port, const char *device)
{
	strcpy(patient.ports[port].device, device);
}

/* Runs the check and asserts its findings, see assert_findings(). */
static void expect_findings(void (*check)(struct doctor *doctor), const char *want)
{
	free(patient.text);
	patient.doctor = (struct doctor){
		.config = &patient.config, .file = "f.json", .root = "/none"};
	doctor_begin_check(&patient.doctor, "it", "a usual remedy");
	patient.doctor.out = open_memstream(&patient.text, &patient.size);
	check(&patient.doctor);
	fclose(patient.doctor.out);
	assert_findings(patient.text, want);
}

static void set_mtu(int mtu)
{
	struct ifreq ifr = {.ifr_mtu = mtu};

	set_interface(SIOCSIFMTU, &ifr);
}

TEST_WITH(test_interfaces, set_up, tear_down)
{
	struct ifreq up = {.ifr_flags = IFF_UP}, down = {0};

	if (!alone)
		skip();
	expect_findings(check_interfaces, "");
	stand_on(1, LOOPBACK);
	expect_findings(check_interfaces,
		"warn|ports.b: lo|down|remedy: ip link set lo up; ip -br link show lo");
	set_interface(SIOCSIFFLAGS, &up);
	set_address("10.9.8.7");
	expect_findings(check_interfaces,
		"warn|ports.b: lo|10.9.8.7|no address|remedy: ip address flush dev lo");
	set_address("0.0.0.0");
	set_interface(SIOCSIFFLAGS, &down);
}

TEST_WITH(test_no_interface, set_up, tear_down)
{
	stand_on(0, "net_af_packet0,iface=weirnone");
	expect_findings(
		check_interfaces, "FAIL|ports.a: weirnone: |no such interface|remedy: ip -br link");
	expect_findings(check_mtu, "");
}

TEST_WITH(test_mtu, set_up, tear_down)
{
	if (!alone)
		skip();
	stand_on(0, LOOPBACK);
	set_mtu(1500);
	expect_findings(check_mtu, "");
	set_mtu(1499);
	expect_findings(
		check_mtu, "warn|ports.a: lo|1499|raises|1548|remedy: ip link set dev lo mtu 1548");
}

TEST_WITH(test_frames, set_up, tear_down)
{
	stand_on(1, "net_af_packet0,iface=weirnone,framesz=1024");
	expect_findings(check_mtu, "FAIL|ports.b: |framesz|mtu|remedy: remove framesz");
	stand_on(1, "net_af_packet0,iface=weirnone,framesz=4096");
	expect_findings(check_mtu, "");
}

TEST_WITH(test_twins, set_up, tear_down)
{
	expect_findings(check_twins, "");
	stand_on(0, LOOPBACK);
	stand_on(1, "net_af_packet1,iface=lo");
	expect_findings(check_twins,
		"FAIL|ports.b: net_af_packet1,iface=lo|ports.a|expected|remedy: ip -br link");
	patient.config.n_ports = 1;
	expect_findings(check_twins, "");
}

/* A card that the machine lacks. */
TEST_WITH(test_no_card, set_up, tear_down)
{
	stand_on(1, "0000:03:00.0");
	expect_findings(check_pci, "FAIL|ports.b: |no PCI device 0000:03:00.0|remedy: lspci -D ");
}

TEST_WITH(test_no_cpu, set_up, tear_down)
{
	expect_findings(check_cpus_exist, "");
	patient.config.n_workers = 2;
	patient.config.workers[1] = 4095;
	expect_findings(check_cpus_exist, "FAIL|workers[1]: |no CPU 4095|remedy: lscpu -e");
	expect_findings(check_eal, "unseen|not tried|CPUs");
	patient.config.n_workers = 1;
	patient.config.control_cpu = 4094;
	expect_findings(check_cpus_exist, "FAIL|control.cpu: |no CPU 4094|remedy: lscpu -e");
	expect_findings(check_eal, "unseen|not tried|CPUs");
}

int main(void)
{
	alone = loopback_alone();
	return run_all_tests();
}
