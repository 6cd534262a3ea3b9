/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests the doctor with results that no test machine has: the test replaces calls to the kernel, to
 * EAL and to the C library.
 */
#include "parts.h"

#include <arpa/inet.h>
#include <grp.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "checks.h"
#include "doctor.h"
#include "allocate/allocate.h"
#include "eal_args.h"
#include "eal.h"
#include "kernel_port.h"
#include "policy/value.h"
#include "store/store.h"
#include "telemetry/server.h"
#include "wire_offloads.h"

#define CARD "0000:03:00.1"

/* A path: errno of access(F_OK), and errno of access with other modes. */
struct test_path {
	const char *path;
	int seen, used;
};

/* A kernel interface: the results of each call. */
struct test_interface {
	const char *name, *address;
	struct kernel_kin kin;
	bool up;
	unsigned mtu;
	int kin_error, link_error, mtu_error;
};

static struct {
	struct test_path paths[2];
	int mode; /* the last one other than F_OK */
	struct test_interface interfaces[2];
	struct {
		unsigned port;
		const char *names, *command;
		bool fixable; /* no problem unless the port ignores offloads */
	} offloads[2];
	int offloads_error;
	uint64_t cpus;
	int trial_error;
	const char *trial_text;
	const char *conflict[2]; /* a trial with both arguments fails */
	unsigned refused, refusals_asked;
	bool runs_already, no_memory;
	const char *doubt;
	int listen_error, socket_error, store_error, fs_error;
	struct statvfs fs;
	uid_t user;
	gid_t group, groups[3];
	int n_groups;
	gid_t socket_group;
	bool groups_error; /* there is no group of this name */
} told;

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	unsigned cpu;

	if (sscanf(path, "/sys/devices/system/cpu/cpu%u/", &cpu) == 1) {
		errno = told.cpus >> cpu & 1 ? 0 : ENOENT;
		return errno ? -1 : 0;
	}
	for (size_t i = 0; i < COUNT(told.paths); i++) {
		const struct test_path *row = &told.paths[i];

		if (!row->path || strcmp(row->path, path) != 0)
			continue;
		if (mode != F_OK)
			told.mode = mode;
		errno = mode == F_OK ? row->seen : row->used;
		return errno ? -1 : 0;
	}
	return __real_access(path, mode);
}

static const struct test_interface *interface_told(const char *name)
{
	for (size_t i = 0; i < COUNT(told.interfaces); i++)
		if (told.interfaces[i].name && strcmp(told.interfaces[i].name, name) == 0)
			return &told.interfaces[i];
	fail_msg("nothing is told of %s", name);
	return NULL;
}

int __wrap_kernel_kin(const char *name, struct kernel_kin *kin);
int __wrap_kernel_kin(const char *name, struct kernel_kin *kin)
{
	*kin = interface_told(name)->kin;
	return interface_told(name)->kin_error;
}

int __wrap_ioctl(int fd, unsigned long what, ...);
int __wrap_ioctl(int fd, unsigned long what, ...)
{
	const struct test_interface *interface;
	struct ifreq *request;
	va_list more;

	va_start(more, what);
	request = va_arg(more, struct ifreq *);
	va_end(more);
	interface = interface_told(request->ifr_name);
	if (what == SIOCGIFMTU)
		request->ifr_mtu = (int)interface->mtu;
	else if (what == SIOCGIFFLAGS)
		request->ifr_flags = interface->up ? IFF_UP | IFF_RUNNING : 0;
	else
		fail_msg("ioctl %lx", what);
	errno = -(what == SIOCGIFMTU ? interface->mtu_error : interface->link_error);
	return errno ? -1 : 0;
}

/* The addresses of all interfaces, in a list that the caller frees. */
int __wrap_getifaddrs(struct ifaddrs **all);
int __wrap_getifaddrs(struct ifaddrs **all)
{
	static struct ifaddrs list[2];
	static struct sockaddr_in addresses[2];

	*all = NULL;
	for (size_t i = 0; i < COUNT(told.interfaces); i++) {
		const struct test_interface *interface = &told.interfaces[i];

		if (!interface->address)
			continue;
		addresses[i].sin_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, interface->address, &addresses[i].sin_addr), 1);
		list[i] = (struct ifaddrs){.ifa_next = *all,
			.ifa_name = (char *)(uintptr_t)interface->name,
			.ifa_addr = (struct sockaddr *)&addresses[i]};
		*all = &list[i];
	}
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *all);
void __wrap_freeifaddrs(struct ifaddrs *all)
{
}

int __wrap_wire_offloads_foresee(
	const struct config *config, wire_offloads_found found, void *context);
int __wrap_wire_offloads_foresee(
	const struct config *config, wire_offloads_found found, void *context)
{
	for (size_t i = 0; i < COUNT(told.offloads); i++)
		if (told.offloads[i].names &&
			(!told.offloads[i].fixable ||
				config->ports[told.offloads[i].port].offloads == OFFLOADS_IGNORE))
			found(context, told.offloads[i].port, "eth7", told.offloads[i].names,
				told.offloads[i].command);
	return told.offloads_error;
}

int __wrap_eal_trial(const struct config *config, FILE *err);
int __wrap_eal_trial(const struct config *config, FILE *err)
{
	fputs(told.trial_text, err);
	if (told.conflict[0] && !(eal_has_argument(config, told.conflict[0]) &&
					eal_has_argument(config, told.conflict[1])))
		return 0;
	return told.trial_error;
}

unsigned __wrap_eal_trial_refused(const struct config *config);
unsigned __wrap_eal_trial_refused(const struct config *config)
{
	told.refusals_asked++;
	return told.refused;
}

int __wrap_rte_eal_primary_proc_alive(const char *path);
int __wrap_rte_eal_primary_proc_alive(const char *path)
{
	assert_non_null(strstr(path, "/dpdk/weir-it/config"));
	return told.runs_already;
}

const char *__wrap_tsc_clock_doubt(void);
const char *__wrap_tsc_clock_doubt(void)
{
	return told.doubt;
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len)
{
	errno = -told.listen_error;
	return errno ? -1 : 0;
}

int __wrap_telemetry_look(const char *path);
int __wrap_telemetry_look(const char *path)
{
	return told.socket_error;
}

int __wrap_store_look(const char *directory);
int __wrap_store_look(const char *directory)
{
	return told.store_error;
}

int __wrap_getgrnam_r(
	const char *name, struct group *group, char *text, size_t size, struct group **found);
int __wrap_getgrnam_r(
	const char *name, struct group *group, char *text, size_t size, struct group **found)
{
	assert_string_equal(name, "weir");
	group->gr_gid = told.socket_group;
	*found = told.groups_error ? NULL : group;
	return 0;
}

int __wrap_statvfs64(const char *path, struct statvfs *fs);
int __wrap_statvfs64(const char *path, struct statvfs *fs)
{
	*fs = told.fs;
	return told.fs_error;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return told.user;
}

gid_t __wrap_getegid(void);
gid_t __wrap_getegid(void)
{
	return told.group;
}

int __wrap_getgroups(int size, gid_t *groups);
int __wrap_getgroups(int size, gid_t *groups)
{
	assert_true(size >= told.n_groups);
	for (int i = 0; i < told.n_groups; i++)
		groups[i] = told.groups[i];
	return told.n_groups;
}

FILE *__real_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size)
{
	return told.no_memory ? NULL : __real_open_memstream(text, size);
}

/* ---- the configuration */

static struct policy hard = {
	.name = "hard", .allocator = &allocator_central, .guarantee = GUARANTEE_HARD};

static struct patient {
	struct config config;
	struct port_config ports[2];
	struct doctor doctor;
	char root[32];
	char *text;
	size_t size;
} patient;

static int set_up(void **state)
{
	memset(&patient, 0, sizeof(patient));
	memset(&told, 0, sizeof(told));
	told.trial_text = "";
	told.cpus = UINT64_MAX;
	told.fs = (struct statvfs){.f_bavail = 1 << 20, .f_frsize = 4096};
	for (unsigned i = 0; i < 2; i++) {
		snprintf(patient.ports[i].name, sizeof(patient.ports[i].name), "%c", 'a' + i);
		snprintf(patient.ports[i].device, sizeof(patient.ports[i].device),
			"net_af_packet%u,iface=eth%u", i, i);
		patient.ports[i].mtu = 1500;
		told.interfaces[i].name = i ? "eth1" : "eth0";
		told.interfaces[i].up = true;
		told.interfaces[i].mtu = 1500;
	}
	patient.config = (struct config){
		.ports = patient.ports, .n_ports = 2, .limiter = "it", .n_workers = 3};
	for (unsigned i = 0; i < 3; i++)
		patient.config.workers[i] = 10 + i;
	strcpy(patient.root, "/none");
	return 0;
}

static int tear_down(void **state)
{
	free(patient.text);
	return 0;
}

/* Runs the check and asserts its findings, see assert_findings(). */
static void expect_findings(void (*check)(struct doctor *doctor), const char *want)
{
	free(patient.text);
	patient.doctor = (struct doctor){
		.config = &patient.config, .file = "f.json", .root = patient.root};
	doctor_begin_check(&patient.doctor, "it", "a usual remedy");
	patient.doctor.out = __real_open_memstream(&patient.text, &patient.size);
	check(&patient.doctor);
	fclose(patient.doctor.out);
	assert_findings(patient.text, want);
}

#define EXPECT_FAIL(check, words, remedy) expect_findings(check, "FAIL|" words "|remedy: |" remedy)
#define EXPECT_WARN(check, words, remedy) expect_findings(check, "warn|" words "|remedy: |" remedy)

/* ---- CPUs, and the clock */

#define NO_CPU(place, cpu) "FAIL|" place ": |no CPU " cpu "|remedy: lscpu -e"

TEST_WITH(test_cpus, set_up, tear_down)
{
	told.cpus = 1 << 0 | 1 << 11;
	expect_findings(
		check_cpus_exist, NO_CPU("workers[0]", "10") "\n" NO_CPU("workers[2]", "12"));
	told.cpus = 7 << 10;
	expect_findings(check_cpus_exist, NO_CPU("control.cpu", "0"));
	told.cpus |= 1;
	expect_findings(check_cpus_exist, "");
}

TEST_WITH(test_clock, set_up, tear_down)
{
	expect_findings(check_clock, "");
	told.doubt = "the TSC stops in deep sleep";
	EXPECT_WARN(check_clock, "the TSC stops in deep sleep|expected ",
		"cat /sys/devices/system/clocksource/clocksource0/"
		"{available,current}_clocksource; dmesg | grep -i tsc");
}

/* ---- interfaces of the kernel */

TEST_WITH(test_interfaces, set_up, tear_down)
{
	struct test_interface *second = &told.interfaces[1];

	expect_findings(check_interfaces, "");
	strcpy(second->kin.master, "br7");
	EXPECT_WARN(check_interfaces, "ports.b: eth1|br7", "ip link set eth1 nomaster");
	second->kin.master[0] = '\0';
	second->up = false;
	EXPECT_WARN(check_interfaces, "ports.b: eth1|down|carrier",
		"ip link set eth1 up; ip -br link show eth1");
	second->link_error = -EIO; /* unknown */
	expect_findings(check_interfaces, "");
	second->kin_error = -EACCES;
	patient.config.n_ports = 1; /* eth1 is no port */
	expect_findings(check_interfaces, "");
	patient.config.n_ports = 2;
	expect_findings(check_interfaces, "unseen|ports.b: eth1: Permission denied|ip -br link");
	second->kin_error = -ENODEV;
	strcpy(told.interfaces[0].kin.master, "bond0");
	told.interfaces[0].address = "10.1.2.3";
	told.interfaces[0].up = false;
	expect_findings(check_interfaces,
		"warn|ports.a: eth0|bond0|remedy: ip link set eth0 nomaster\n"
		"warn|ports.a: eth0|10.1.2.3|no address|remedy: ip address flush dev eth0\n"
		"warn|ports.a: eth0|down|remedy: ip link set eth0 up; ip -br link show eth0\n"
		"FAIL|ports.b: eth1|no such interface|remedy: ip -br link");
}

/* An MTU that is too small is raised, if the interface takes that; each port has its own. */
TEST_WITH(test_mtu, set_up, tear_down)
{
	struct test_interface *second = &told.interfaces[1];

	expect_findings(check_mtu, "");
	patient.ports[1].mtu = 9000;
	second->kin.mtu_max = 9000;
	EXPECT_WARN(check_mtu, "ports.b: eth1|1500|raises|9000", "ip link set dev eth1 mtu 9000");
	patient.config.n_ports = 1;
	expect_findings(check_mtu, "");
	patient.config.n_ports = 2;
	second->kin.mtu_max = 8999;
	EXPECT_FAIL(check_mtu, "ports.b: eth1|8999|9000", "\"mtu\": 8999");
	second->mtu = 9000; /* already set: its maximum does not matter */
	expect_findings(check_mtu, "");
	second->mtu = 1500;
	second->mtu_error = -EIO;
	expect_findings(check_mtu, "");
	second->mtu_error = 0;
	second->kin_error = -ENODEV; /* check_interfaces() reports this */
	expect_findings(check_mtu, "");
	second->kin_error = 0;
	second->kin.mtu_max = 0; /* unknown */
	EXPECT_WARN(check_mtu, "ports.b: eth1|1500|raises|9048", "ip link set dev eth1 mtu 9048");
}

TEST_WITH(test_offloads, set_up, tear_down)
{
	expect_findings(check_offloads, "");
	assert_non_null(strstr(patient.doctor.facts, "ports.a eth0: no"));
	told.offloads[0].fixable = true;
	told.offloads[0].port = 1;
	told.offloads[0].names = " rx-gro";
	expect_findings(check_offloads, "");
	assert_non_null(strstr(patient.doctor.facts, "ports.b: rx-gro of eth7 on"));
	assert_null(strstr(patient.doctor.facts, "ports.b eth1"));
	assert_non_null(strstr(patient.doctor.facts, "ports.a eth0: no"));
	told.offloads[0].fixable = false;
	told.offloads[0].names = " gro lro";
	told.offloads[0].command = " gro off lro off";
	EXPECT_FAIL(check_offloads, "ports.b: gro lro of eth7|alter|expected off",
		"ethtool -K eth7 gro off lro off");
	patient.ports[1].offloads = OFFLOADS_IGNORE;
	told.offloads[1].names = " rxvlan";
	told.offloads[1].command = " rxvlan off";
	told.offloads_error = -ENOMEM;
	expect_findings(check_offloads,
		"warn|ports.b: gro lro of eth7|remedy: ethtool -K eth7 gro off lro off\n"
		"FAIL|ports.a: rxvlan of eth7|remedy: ethtool -K eth7 rxvlan off\n"
		"unseen|out of memory");
}

/* ---- a card whose VFIO group belongs to another user */

TEST_WITH(test_vfio, set_up, tear_down)
{
	char command[512], words[512], file[64];

	strcpy(patient.root, "/tmp/weir-doctor-XXXXXX");
	assert_non_null(mkdtemp(patient.root));
	snprintf(command, sizeof(command),
		"mkdir -p %s/sys/bus/pci/devices/" CARD " && cd %s/sys/bus/pci/devices/" CARD
		" && ln -s ../../drivers/vfio-pci driver && ln -s ../../groups/17 iommu_group",
		patient.root, patient.root);
	assert_int_equal(system(command), 0);
	strcpy(patient.ports[0].device, "net_ring0");
	strcpy(patient.ports[1].device, CARD);
	snprintf(file, sizeof(file), "%s/dev/vfio/17", patient.root);
	told.paths[0] = (struct test_path){.path = file, .used = EACCES};
	snprintf(words, sizeof(words), "FAIL|ports.b: |%s|remedy: chown USER %s", file, file);
	expect_findings(check_pci, words);
	assert_int_equal(told.mode, R_OK | W_OK);
	patient.config.n_ports = 1;
	expect_findings(check_pci, "");
	patient.config.n_ports = 2;
	told.paths[0].used = ENOENT; /* the driver creates it later */
	expect_findings(check_pci, "");
	told.paths[0].used = 0;
	expect_findings(check_pci, "");
	snprintf(command, sizeof(command), "rm -r %s", patient.root);
	assert_int_equal(system(command), 0);
}

/* ---- EAL */

#define UNTRIED "unseen|not tried"

TEST_WITH(test_eal_untried, set_up, tear_down)
{
	told.trial_error = -ENOTSUP;
	expect_findings(check_eal, UNTRIED "|--vdev|--legacy-mem");
	told.trial_text = "weir: no room for it\n";
	expect_findings(check_eal, UNTRIED "|weir: no room for it");
	for (unsigned i = 0; i < 3; i++) {
		told.cpus = ~(UINT64_C(1) << (10 + i));
		expect_findings(check_eal, UNTRIED "|CPUs");
	}
	told.cpus = ~UINT64_C(1);
	expect_findings(check_eal, UNTRIED "|CPUs");
}

/* Each device that fails has its own finding; EAL's lines about it are left out. */
TEST_WITH(test_eal_devices, set_up, tear_down)
{
	told.trial_text = "EAL: Driver cannot attach the device (net_x)\n"
			  "weir: ports.a: net_x0 does not come up\n"
			  "weir: something else\n"
			  "weir: ports.b: net_x1 does not come up\n";
	expect_findings(check_eal, "");
	for (unsigned i = 0; i < 2; i++) {
		told.trial_error = i ? -ENOTSUP : -ENODEV;
		expect_findings(check_eal, "FAIL|ports.a: net_x0 does not come up|a usual remedy\n"
					   "FAIL|ports.b: net_x1 does not come up|a usual remedy");
	}
	assert_int_equal(told.refusals_asked, 0);
}

TEST_WITH(test_eal_refuses, set_up, tear_down)
{
	char first[] = "--first", second[] = "--second";

	patient.config.eal[0] = first;
	patient.config.eal[1] = second;
	patient.config.n_eal = 2;
	told.trial_error = -EINVAL;
	told.refused = 1;
	told.trial_text = "weir: unrecognized option '--second'\n"
			  "EAL: FATAL: Invalid arguments.\n"
			  "EAL: Invalid 'command line' arguments.\n"
			  "EAL: Invalid 'lines' of others\n"
			  "no line of it\n"
			  "EAL: it has no end";
	EXPECT_FAIL(check_eal, "eal[1]: |\"--second\"|: Invalid 'lines' of others; it has no end",
		"remove \"--second\" from \"eal\" in f.json");
	assert_null(strstr(patient.text, "\"--first\""));
	told.refused = 2; /* no single argument */
	EXPECT_FAIL(check_eal, ": Invalid argument: Invalid 'lines' of others; it has no end",
		"fix the other failures, then weir --doctor f.json");
	assert_int_equal(told.refusals_asked, 2);
	told.refused = 0;
	told.trial_text = "";
	EXPECT_FAIL(check_eal, "eal[0]: |\"--first\"", "remove \"--first\" from \"eal\"");
	told.trial_error = -ENOMEM; /* not the fault of an argument */
	EXPECT_FAIL(check_eal, "Cannot allocate memory",
		"fix the other failures, then weir --doctor f.json");
	assert_int_equal(told.refusals_asked, 3);
}

/* The remedy names each of two conflicting arguments, with the value that belongs to one. */
TEST_WITH(test_eal_conflict, set_up, tear_down)
{
	static const char *const words[] = {"--no-huge", "--in-memory", "-m", "640"};

	for (unsigned i = 0; i < 4; i++)
		patient.config.eal[i] = strdup(words[i]);
	patient.config.n_eal = 4;
	told.trial_error = -EINVAL;
	told.refused = 1;
	told.conflict[0] = words[0];
	told.conflict[1] = words[1];
	EXPECT_FAIL(check_eal, "eal[1]: |\"--in-memory\"",
		"remove \"--no-huge\" or \"--in-memory\" from \"eal\" in f.json");
	assert_null(strstr(patient.text, "640"));
	told.conflict[1] = words[2];
	told.refused = 2;
	EXPECT_FAIL(check_eal, "eal[2]: |\"-m\"", "remove \"--no-huge\" or \"-m 640\" from");
	for (unsigned i = 0; i < 4; i++)
		free(patient.config.eal[i]);
}

/* Many lines are cut at the end of the room. */
TEST_WITH(test_eal_says_much, set_up, tear_down)
{
	char text[2048] = "", expected[2048], joined[1024] = ": ";

	for (unsigned i = 0; i < 32; i++) {
		char line[64];

		snprintf(line, sizeof(line), "line %02u is about so long a one", i);
		strcat(strcat(strcat(text, "EAL: "), line), "\n");
		if (i < 20)
			strcat(strcat(joined, line), "; ");
	}
	joined[511] = '\0';
	told.trial_text = text;
	told.trial_error = -ENOMEM;
	expect_findings(check_eal,
		"FAIL|Cannot allocate memory|remedy: fix the other failures, then weir --doctor f.json");
	snprintf(expected, sizeof(expected), "%s\n", joined);
	assert_non_null(strstr(patient.text, expected));
}

TEST_WITH(test_eal_runs_already, set_up, tear_down)
{
	expect_findings(check_eal, "");
	told.no_memory = true;
	told.runs_already = true;
	expect_findings(check_eal, "");
	told.no_memory = false;
	EXPECT_FAIL(check_eal, "limiter: |it|running", "systemctl stop weir@it");
}

/* ---- files, sockets and groups */

/* A file for etcd that cannot be read is a warning, because weir starts without it. */
TEST_WITH(test_tls_files, set_up, tear_down)
{
	struct ledger_config *ledger = &patient.config.ledger;

	expect_findings(check_secrets, "");
	told.paths[0] = (struct test_path){.path = "/tls/none", .used = ENOENT};
	told.paths[1] = (struct test_path){.path = "/tls/fine"};
	strcpy(ledger->etcd_ca, "/tls/none");
	strcpy(ledger->etcd_cert, "/tls/fine");
	EXPECT_WARN(check_secrets, "ledger.etcd.ca: /tls/none: No such file or directory",
		"ls -l /tls/none");
	assert_int_equal(told.mode, R_OK);
	told.paths[0].used = EACCES;
	strcpy(ledger->etcd_ca, "/tls/fine");
	strcpy(ledger->etcd_cert, "/tls/none");
	EXPECT_WARN(
		check_secrets, "ledger.etcd.cert: /tls/none: Permission denied", "ls -l /tls/none");
	strcpy(ledger->etcd_cert, "");
	strcpy(ledger->etcd_key, "/tls/none");
	EXPECT_WARN(
		check_secrets, "ledger.etcd.key: /tls/none: Permission denied", "ls -l /tls/none");
}

TEST_WITH(test_groups, set_up, tear_down)
{
	static const struct {
		uid_t user;
		gid_t group, wanted;
		int n;
		bool may;
	} rows[] = {
		{0, 5, 70, 0, true},     /* root can give it to any group */
		{1000, 70, 70, 0, true}, /* its own group */
		{1000, 5, 70, 0, false},
		{1000, 5, 70, -1, false},
		{1000, 5, 70, 1, false},
		{1000, 5, 70, 2, true}, /* one of several */
		{1000, 5, 70, 3, true},
		{1000, 5, 69, 3, true},
		{1000, 5, 71, 3, true},
		{1000, 5, 72, 3, false},
	};

	told.groups[0] = 69;
	told.groups[1] = 70;
	told.groups[2] = 71;
	for (size_t i = 0; i < COUNT(rows); i++) {
		told.user = rows[i].user;
		told.group = rows[i].group;
		told.n_groups = rows[i].n;
		told.groups_error = false;
		told.socket_group = rows[i].wanted;
		strcpy(patient.config.control_group, "weir");
		if (rows[i].may)
			expect_findings(check_groups, "");
		else
			EXPECT_FAIL(check_groups, "control.group: \"weir\": |user 1000",
				"usermod -aG weir USER");
		told.groups_error = true;
		EXPECT_FAIL(check_groups, "control.group: \"weir\"|a group of this machine",
			"groupadd weir");
		told.groups_error = false;
		patient.config.control_group[0] = '\0'; /* none is named */
		expect_findings(check_groups, "");
	}
}

static void listen_at(const char *address)
{
	static struct peer_config roster[] = {{.name = "it"}, {.name = "peer"}};
	struct gossip_config *gossip = &patient.config.gossip;

	gossip->roster = roster;
	gossip->n_roster = COUNT(roster);
	assert_int_equal(address_parse(address, &gossip->listen, &gossip->listen_len), 0);
}

TEST_WITH(test_listen, set_up, tear_down)
{
	listen_at("[2001:db8::7]:7946");
	expect_findings(check_listen, "");
	told.listen_error = -EADDRNOTAVAIL;
	EXPECT_WARN(check_listen, "gossip.listen: |[2001:db8::7]:7946: no interface",
		"ip -br address; ip address add 2001:db8::7 dev INTERFACE");
	told.listen_error = -EADDRINUSE;
	EXPECT_FAIL(check_listen, "gossip.listen: |[2001:db8::7]:7946: another process",
		"ss -ulpn 'sport = :7946'");
	told.listen_error = -EACCES;
	expect_findings(check_listen, "FAIL|gossip.listen: |[2001:db8::7]:7946: Permission denied");
	told.listen_error = -EADDRNOTAVAIL;
	listen_at("192.0.2.1:80");
	EXPECT_WARN(check_listen, "gossip.listen: |192.0.2.1:80: no interface",
		"ip -br address; ip address add 192.0.2.1 dev INTERFACE");
}

TEST_WITH(test_socket, set_up, tear_down)
{
	strcpy(patient.config.control_socket, "/run/weir/it/socket");
	expect_findings(check_socket, "");
	told.socket_error = -EADDRINUSE;
	EXPECT_FAIL(check_socket, "control.socket: /run/weir/it/socket: |running weir",
		"weirctl -s /run/weir/it/socket status");
	told.socket_error = -EEXIST;
	EXPECT_FAIL(check_socket, "control.socket: /run/weir/it/socket: |not a socket",
		"ls -l /run/weir/it/socket");
	told.socket_error = -ENOENT;
	EXPECT_FAIL(check_socket, "control.socket: /run/weir/it/socket: |directory|missing",
		"mkdir -p /run/weir/it");
	told.socket_error = -EACCES;
	EXPECT_FAIL(check_socket, "control.socket: /run/weir/it/socket: Permission denied",
		"chown USER /run/weir/it");
	told.socket_error = -ENAMETOOLONG;
	expect_findings(
		check_socket, "FAIL|control.socket: /run/weir/it/socket: File name too long");
	strcpy(patient.config.control_socket, "socket"); /* in the working directory */
	told.socket_error = -EACCES;
	EXPECT_FAIL(check_socket, "control.socket: socket: Permission denied", "chown USER ");
}

/* ---- the ledger's store */

TEST_WITH(test_no_store, set_up, tear_down)
{
	static const char store[] = "/led/ger/store//";

	told.store_error = -ENOENT;
	told.paths[0] = (struct test_path){.path = store, .seen = ENOENT, .used = ENOENT};
	told.paths[1] = (struct test_path){.path = "/led/ger/", .used = EACCES};
	strcpy(patient.config.ledger.store, store);
	expect_findings(check_ledger, ""); /* no policy needs a store */
	patient.config.n_policies = 1;
	patient.config.policies = &hard;
	EXPECT_FAIL(check_ledger, "ledger.store: /led/ger/: Permission denied|missing",
		"chown USER /led/ger/");
	assert_int_equal(told.mode, W_OK | X_OK);
	told.paths[1].used = ENOENT;
	EXPECT_FAIL(check_ledger, "ledger.store: /led/ger/: No such file or directory|missing",
		"mkdir -p /led/ger/");
	told.paths[1].used = 0;
	EXPECT_WARN(check_ledger, "ledger.store: /led/ger/store//: |missing|hard limits",
		"weir --new-ledger f.json");
	told.paths[0].seen = 0; /* an empty directory */
	told.paths[0].used = EACCES;
	EXPECT_FAIL(check_ledger, "ledger.store: /led/ger/store//: Permission denied|missing",
		"chown USER /led/ger/store//");
	strcpy(patient.config.ledger.store, "");
	expect_findings(check_ledger, "");
}

/* The store is in the working directory or in the root directory. */
TEST_WITH(test_store_without_directory, set_up, tear_down)
{
	patient.config.n_policies = 1;
	patient.config.policies = &hard;
	told.store_error = -ENOENT;
	told.paths[1] = (struct test_path){.path = ".", .used = EACCES};
	strcpy(patient.config.ledger.store, "s"); /* the shortest of names */
	told.paths[0] = (struct test_path){.path = "s", .seen = ENOENT};
	EXPECT_FAIL(check_ledger, "ledger.store: .: Permission denied|missing", "chown USER .");
	told.paths[0].path = "s/";
	strcpy(patient.config.ledger.store, "s/");
	EXPECT_FAIL(check_ledger, "ledger.store: .: Permission denied|missing", "chown USER .");
	told.paths[0] = (struct test_path){.path = "/s", .seen = ENOENT};
	told.paths[1].path = "/";
	strcpy(patient.config.ledger.store, "/s");
	EXPECT_FAIL(check_ledger, "ledger.store: /: Permission denied|missing", "chown USER /");
}

TEST_WITH(test_store_refused, set_up, tear_down)
{
	patient.config.n_policies = 1;
	patient.config.policies = &hard;
	strcpy(patient.config.ledger.store, "/store");
	told.paths[0] = (struct test_path){.path = "/store"};
	told.store_error = -EBUSY;
	EXPECT_FAIL(check_ledger, "ledger.store: /store: another process", "fuser -v /store");
	told.store_error = -EPROTONOSUPPORT;
	expect_findings(
		check_ledger, "FAIL|ledger.store: /store: |later|version|remedy: ls -la /store");
}

/* A warning comes if the file system has less room than a new store and its journal need. */
TEST_WITH(test_store_room, set_up, tear_down)
{
	static const struct {
		fsblkcnt_t blocks;
		fsfilcnt_t files, free_files;
		unsigned long flags;
		int error;
		bool full;
	} rows[] = {
		{256, 0, 0, 0, 0, false}, /* a file system without inodes */
		{255, 0, 0, 0, 0, true},
		{256, 10, 1, 0, 0, false},
		{256, 10, 0, 0, 0, true},
		{256, 1, 0, 0, 0, true},
		{255, 10, 0, ST_RDONLY, 0, false}, /* store_look() reports this */
		{255, 10, 0, ST_NOSUID, 0, true},
		{255, 10, 0, 0, -1, false},
	};

	patient.config.n_policies = 1;
	patient.config.policies = &hard;
	strcpy(patient.config.ledger.store, "/led/store");
	told.paths[0] = (struct test_path){.path = "/led/store"};
	for (size_t i = 0; i < COUNT(rows); i++) {
		told.fs = (struct statvfs){.f_bsize = 65536,
			.f_frsize = 4096,
			.f_blocks = 1 << 20,
			.f_bfree = 1 << 19,
			.f_bavail = rows[i].blocks,
			.f_files = rows[i].files,
			.f_ffree = 5,
			.f_favail = rows[i].free_files,
			.f_flag = rows[i].flags};
		told.fs_error = rows[i].error;
		if (rows[i].full)
			EXPECT_WARN(check_ledger, "ledger.store: /led/store: |full",
				"df -h /led/store; df -i /led/store");
		else
			expect_findings(check_ledger, "");
	}
}

/* ---- random machines */

static uint64_t seed;

static unsigned random_below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % n;
}

/* One of the errors, or mostly 0. */
static int random_error(const int *errors, unsigned n)
{
	return random_below(2) ? 0 : errors[random_below(n)];
}

#define RANDOM_ERROR(...) \
	random_error((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void random_interface(struct test_interface *interface)
{
	interface->kin_error = RANDOM_ERROR(-ENODEV, -EACCES);
	interface->link_error = RANDOM_ERROR(-EIO);
	interface->mtu_error = RANDOM_ERROR(-EIO);
	interface->up = random_below(2);
	interface->mtu = random_below(2) ? 1500 : 900;
	interface->kin.mtu_max = random_below(2) ? 0 : 1000;
	interface->address = random_below(3) ? NULL : "10.1.2.3";
	snprintf(interface->kin.master, sizeof(interface->kin.master), "%s",
		random_below(3) ? "" : "br7");
}

static void random_told(void)
{
	for (unsigned i = 0; i < 2; i++)
		random_interface(&told.interfaces[i]);
	told.cpus = random_below(2) ? UINT64_MAX : random_below(1 << 14);
	told.trial_error = RANDOM_ERROR(-EINVAL, -ENOMEM, -ENOTSUP, -ENODEV);
	told.trial_text = random_below(2) ? "" : "weir: ports.a: net_x0 does not come up\n";
	told.refused = random_below(3);
	told.runs_already = random_below(4) == 0;
	told.doubt = random_below(2) ? NULL : "the TSC jumps";
	told.listen_error = RANDOM_ERROR(-EADDRINUSE, -EADDRNOTAVAIL, -EACCES);
	told.socket_error = RANDOM_ERROR(-EADDRINUSE, -EEXIST, -ENOENT, -EACCES, -ENAMETOOLONG);
	told.store_error = RANDOM_ERROR(-ENOENT, -EBUSY, -EPROTONOSUPPORT, -EIO);
	told.fs.f_bavail = random_below(2) ? 1 << 20 : 1;
	told.user = random_below(2) ? 0 : 1000;
	told.socket_group = 70;
	strcpy(patient.config.control_group, random_below(2) ? "weir" : "");
	told.offloads[0].names = random_below(2) ? " gro lro" : NULL;
	told.offloads[0].command = " gro off lro off";
	told.offloads[0].fixable = random_below(2);
}

static void random_config(void)
{
	static char no_huge[] = "--no-huge", m[] = "-m", megabytes[] = "640";
	struct config *config = &patient.config;

	config->n_workers = 1 + random_below(3);
	config->idle = random_below(2) ? IDLE_POLL : IDLE_SLEEP;
	config->n_policies = random_below(2);
	config->policies = &hard;
	config->n_eal = random_below(2) ? 3 : 0;
	config->eal[0] = no_huge;
	config->eal[1] = m;
	config->eal[2] = megabytes;
	for (unsigned i = 0; i < 2; i++)
		if (random_below(3) == 0)
			snprintf(patient.ports[i].device, sizeof(patient.ports[i].device),
				"net_ring%u", i);
	strcpy(config->control_socket, "/run/weir/it/socket");
	strcpy(config->ledger.store, random_below(2) ? "/led/store" : "");
	if (random_below(2))
		listen_at("192.0.2.1:80");
}

/* The report of the doctor as text or JSON, to be freed. */
static char *report(bool json)
{
	char *text;
	size_t size;
	FILE *out = __real_open_memstream(&text, &size);

	doctor_run(&patient.config, "f.json", json, out);
	fclose(out);
	return text;
}

static bool is_check(const json_t *row, const char *name)
{
	return strcmp(json_string_value(json_object_get(row, "check")), name) == 0;
}

/* Asserts that an "ok" row names the things that it has looked at. */
static void assert_ok_row(const json_t *row, const char *found)
{
	const struct config *config = &patient.config;
	char interface[IFNAMSIZ];

	if (strstr(found, ", or ") || strstr(found, " or none"))
		fail_msg("either/or: %s", found);
	for (unsigned i = 0; i < config->n_ports; i++)
		if ((is_check(row, "interface") || is_check(row, "offloads")) &&
			kernel_interface(&config->ports[i], interface) &&
			!strstr(found, interface) && !strstr(found, "eth7"))
			fail_msg("no %s in: %s", interface, found);
	for (unsigned i = 0; i < config->n_eal; i++)
		assert_true(!is_check(row, "eal") || strstr(found, config->eal[i]));
	assert_true(!is_check(row, "cpus") || strstr(found, "CPU 10"));
	assert_true(!is_check(row, "listen") || strstr(found, "192.0.2.1:80"));
	assert_true(!is_check(row, "socket") || strstr(found, config->control_socket));
	assert_true(!is_check(row, "ledger") || strstr(found, config->ledger.store));
	assert_true(!is_check(row, "groups") || strstr(found, "weir"));
}

/* Asserts one row of JSON, and its line at `*text`, which moves on. */
static void assert_row(const json_t *row, char **text)
{
	const char *verdict = json_string_value(json_object_get(row, "verdict"));
	const char *found = json_string_value(json_object_get(row, "found"));
	const char *remedy = json_string_value(json_object_get(row, "remedy"));
	char *line;

	assert_true(found && *found);
	if (strcmp(verdict, "n/a") == 0)
		return;
	if (strcmp(verdict, "ok") == 0)
		assert_ok_row(row, found);
	if ((strcmp(verdict, "FAIL") == 0 || strcmp(verdict, "warn") == 0) && (!remedy || !*remedy))
		fail_msg("seed %llu: no remedy: %s", (unsigned long long)seed, found);
	line = next_finding(text);
	assert_non_null(line);
	/* Free memory changes between the two reports. */
	if (strncmp(line, verdict, strlen(verdict)) != 0 ||
		(!is_check(row, "memory") && !strstr(line, found)) ||
		(remedy && !strstr(line, remedy)))
		fail_msg("%s: %s: not in the line: %s", verdict, found, line);
}

/* Every "ok" row has facts, every problem has a remedy, and both forms agree. */
TEST_WITH(test_random_machines, set_up, tear_down)
{
	for (unsigned round = 0; round < ROUNDS(200); round++) {
		char *json, *text, *rest, *json_rest, *line;
		unsigned n = 0;

		tear_down(state);
		set_up(state);
		seed = round;
		random_told();
		random_config();
		json = json_rest = report(true);
		text = rest = report(false);
		while ((line = strsep(&json_rest, "\n")) && *line) {
			json_t *row = json_loads(line, 0, NULL);

			assert_non_null(row);
			if (json_object_get(row, "verdict")) {
				assert_row(row, &rest);
				n++;
			}
			json_decref(row);
		}
		assert_true(n >= 20);
		assert_non_null(strstr(next_finding(&rest), "fit: "));
		assert_null(next_finding(&rest));
		free(json);
		free(text);
	}
}
