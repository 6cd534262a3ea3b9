/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests the checks that read only /proc and /sys, with files that the test writes.
 */
#include "parts.h"

#include <ftw.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "checks.h"
#include "doctor.h"
#include "police/policy_state.h"

#define CARD   "0000:03:00.0"
#define DEVICE "/sys/bus/pci/devices/" CARD
#define OTHER  "0000:82:00.1"
#define PAGES  "/sys/kernel/mm/hugepages/hugepages-2048kB"
#define GIANTS "/sys/kernel/mm/hugepages/hugepages-1048576kB"

struct paper {
	char root[32];
	struct config config;
	struct port_config ports[2];
	struct doctor doctor;
	char *text;
	size_t size;
	uint64_t huge_free;
	int next_file;
};

static void make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

static void put(const struct paper *paper, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", paper->root, name);
	make_directories(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_link(const struct paper *paper, const char *name, const char *target)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s", paper->root, name);
	make_directories(path);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

/* The descriptor of the next open file; it is the same again if no file is left open. */
static int next_file(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static int set_up(void **state)
{
	struct paper *paper = calloc(1, sizeof(*paper));

	paper->next_file = next_file();
	strcpy(paper->root, "/tmp/weir-doctor-XXXXXX");
	assert_non_null(mkdtemp(paper->root));
	for (unsigned i = 0; i < 2; i++) {
		snprintf(paper->ports[i].name, sizeof(paper->ports[i].name), "%c", 'a' + i);
		snprintf(paper->ports[i].device, sizeof(paper->ports[i].device), "net_ring%u", i);
		paper->ports[i].mtu = 1500;
	}
	paper->config = (struct config){.ports = paper->ports,
		.n_ports = 2,
		.workers = {2, 3},
		.n_workers = 2,
		.idle = IDLE_POLL,
		.shape_pool = 0.5};
	*state = paper;
	return 0;
}

static int remove_it(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct paper *paper = *state;

	nftw(paper->root, remove_it, 8, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(next_file(), paper->next_file);
	free(paper->text);
	free(paper);
	return 0;
}

/* Returns the findings of a check; "" for none. */
static const char *ask(struct paper *paper, void (*check)(struct doctor *doctor))
{
	free(paper->text);
	paper->doctor = (struct doctor){
		.config = &paper->config, .file = "f.json", .root = paper->root};
	doctor_begin_check(&paper->doctor, "it", "a usual remedy");
	paper->doctor.out = open_memstream(&paper->text, &paper->size);
	check(&paper->doctor);
	fclose(paper->doctor.out);
	return paper->text;
}

#define assert_says(paper, check, verdict, words)                                            \
	do {                                                                                 \
		const char *said_ = ask(paper, check);                                       \
		if (strncmp(said_, verdict, strlen(verdict)) != 0 || !strstr(said_, words))  \
			fail_msg("expected %s with \"%s\", got: %s", verdict, words, said_); \
	} while (0)

#define assert_well(paper, check) assert_string_equal(ask(paper, check), "")

/* Asserts all findings, see assert_findings(). */
#define assert_text(paper, check, want) assert_findings(ask(paper, check), want)

TEST(lists)
{
	assert_true(cpu_list_has("0-3,8", 0) && cpu_list_has("0-3,8", 3) && cpu_list_has("8", 8));
	assert_false(cpu_list_has("0-3,8", 4) || cpu_list_has("0-3,8", 9) || cpu_list_has("", 0));
	assert_false(cpu_list_has("(null)", 0));
}

TEST_WITH(isolation, set_up, tear_down)
{
	struct paper *paper = *state;

	assert_says(paper, check_cpus_isolated, "warn", "isolcpus=2,3");
	put(paper, "/sys/devices/system/cpu/isolated", "3\n");
	assert_says(paper, check_cpus_isolated, "warn", "on CPU 2,");
	put(paper, "/sys/devices/system/cpu/isolated", "1-3\n");
	assert_well(paper, check_cpus_isolated);
	put(paper, "/sys/devices/system/cpu/isolated", "\n");
	paper->config.idle = IDLE_SLEEP;
	assert_well(paper, check_cpus_isolated);
}

TEST_WITH(siblings, set_up, tear_down)
{
	struct paper *paper = *state;

	put(paper, "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
	assert_well(paper, check_cpus_shared);
	put(paper, "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n");
	assert_says(paper, check_cpus_shared, "warn", "workers[1]: CPU 3");
	paper->config.workers[1] = 2;
	assert_says(paper, check_cpus_shared, "warn", "workers[1]: worker 0");
}

TEST_WITH(far_from_the_card, set_up, tear_down)
{
	struct paper *paper = *state;

	strcpy(paper->ports[0].device, CARD);
	assert_well(paper, check_numa);
	put(paper, DEVICE "/numa_node", "-1\n");
	assert_well(paper, check_numa);
	put(paper, DEVICE "/numa_node", "1\n");
	put(paper, "/sys/devices/system/node/node1/cpulist", "2-3\n");
	assert_well(paper, check_numa);
	put(paper, "/sys/devices/system/node/node1/cpulist", "3-7\n");
	assert_says(paper, check_numa, "warn", "workers[0]: CPU 2 and ports.a");
	/* Now with the card at the second port. */
	strcpy(paper->ports[1].device, CARD);
	strcpy(paper->ports[0].device, "net_tap0");
	assert_says(paper, check_numa, "warn", "workers[0]: CPU 2 and ports.b");
}

#define FAR(worker, cpu, port, node, cpus)                                                 \
	"warn|workers[" worker "]: |CPU " cpu "|ports." port "|node " node "|one of " cpus \
	"|remedy: lscpu -e"

/* Finds each pair of a worker and a card on different nodes. */
TEST_WITH(far_from_some_cards, set_up, tear_down)
{
	struct paper *paper = *state;

	strcpy(paper->ports[0].device, CARD);
	strcpy(paper->ports[1].device, OTHER);
	put(paper, DEVICE "/numa_node", "0\n");
	put(paper, "/sys/bus/pci/devices/" OTHER "/numa_node", "1\n");
	assert_well(paper, check_numa); /* CPUs of the nodes unknown */
	put(paper, "/sys/devices/system/node/node0/cpulist", "0-3\n");
	put(paper, "/sys/devices/system/node/node1/cpulist", "4-7\n");
	assert_text(paper, check_numa,
		FAR("0", "2", "b", "1", "4-7") "\n" FAR("1", "3", "b", "1", "4-7"));
	paper->config.workers[0] = 4;
	assert_text(paper, check_numa,
		FAR("0", "4", "a", "0", "0-3") "\n" FAR("1", "3", "b", "1", "4-7"));
	paper->config.workers[1] = 7;
	paper->config.n_ports = 1;
	assert_text(paper, check_numa,
		FAR("0", "4", "a", "0", "0-3") "\n" FAR("1", "7", "a", "0", "0-3"));
	paper->config.n_workers = 0;
	assert_well(paper, check_numa);
}

/* Three workers: one finding for each pair. */
TEST_WITH(several_siblings, set_up, tear_down)
{
	struct paper *paper = *state;

	paper->config.n_workers = 3;
	paper->config.workers[2] = 3;
	put(paper, "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n");
	assert_text(paper, check_cpus_shared,
		"warn|workers[1]: |CPU 3|CPU 2|worker 0|core|remedy: lscpu -e\n"
		"warn|workers[2]: |CPU 3|CPU 2|worker 0|core|remedy: lscpu -e\n"
		"warn|workers[2]: |worker 1|CPU 3|core|remedy: lscpu -e");
	assert_int_equal(paper->doctor.n[DOCTOR_WARN], 3);
}

TEST_WITH(several_that_are_not_isolated, set_up, tear_down)
{
	struct paper *paper = *state;

	paper->config.n_workers = 3;
	paper->config.workers[2] = 14;
	put(paper, "/sys/devices/system/cpu/isolated", "3-13\n");
	assert_text(paper, check_cpus_isolated,
		"warn|workers: |CPU 2,14,|expected isolated CPUs|isolcpus=2,14 nohz_full=2,14 "
		"rcu_nocbs=2,14|update-grub");
	paper->config.idle = IDLE_SLEEP;
	assert_well(paper, check_cpus_isolated);
}

/* A path that is too long names no file, and not the file of a shorter path. */
TEST_WITH(paths_that_are_too_long, set_up, tear_down)
{
	struct paper *paper = *state;
	char name[MACHINE_PATH + 2], line[16];
	size_t room = MACHINE_PATH - 1 - strlen(paper->root), at = 0;

	for (; at < room; at++)
		name[at] = at % 100 ? 'a' : '/';
	name[at] = '\0';
	put(paper, name, "12\n");
	assert_true(machine_line(paper->root, line, sizeof(line), "%s", name));
	assert_string_equal(line, "12");
	assert_int_equal(machine_number(paper->root, -1, "%s", name), 12);
	strcpy(name + at, "b");
	assert_false(machine_line(paper->root, line, sizeof(line), "%s", name));
	assert_int_equal(machine_number(paper->root, -1, "%s", name), -1);
	assert_false(machine_line(name, line, sizeof(line), "%s", "/b"));
}

/* The finding lists the CPUs of this machine. */
TEST_WITH(cpus_that_are_not_there, set_up, tear_down)
{
	struct paper *paper = *state;

	paper->config.workers[0] = 0;
	paper->config.workers[1] = 4095;
	put(paper, "/sys/devices/system/cpu/online", "0-3\n");
	assert_text(paper, check_cpus_exist,
		"FAIL|workers[1]: |no CPU 4095|one of 0-3|remedy: lscpu -e");
}

/* A killed process leaves a page file without a lock, which EAL frees. */
static void left_behind(struct paper *paper, off_t bytes)
{
	char path[128];
	int fd;

	put(paper, "/dev/hugepages/rtemap_0", "");
	snprintf(path, sizeof(path), "%s/dev/hugepages/rtemap_0", paper->root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	assert_says(paper, check_hugepages, "FAIL", "2 hugepages of 2 MB are free, of 512");
	close(fd);
}

TEST_WITH(hugepages, set_up, tear_down)
{
	struct paper *paper = *state;

	put(paper, "/proc/self/mounts", "nodev /dev/hugepages hugetlbfs rw 0 0\n");
	assert_says(paper, check_hugepages, "FAIL", "0 hugepages of 2 MB are free, of 0 reserved");
	put(paper, PAGES "/nr_hugepages", "512\n");
	put(paper, PAGES "/free_hugepages", "2\n");
	assert_says(paper, check_hugepages, "FAIL",
		"2 hugepages of 2 MB are free, of 512 reserved: expected at least 28\n");
	/* The missing pages and 64 more. */
	assert_non_null(strstr(paper->text, "remedy: sysctl vm.nr_hugepages=602 (and"));
	put(paper, "/proc/meminfo", "Hugepagesize:    1048576 kB\n");
	put(paper, GIANTS "/nr_hugepages", "4\n");
	assert_says(paper, check_hugepages, "FAIL",
		"4 MB of hugepages are free, of 5120 MB reserved: expected at least 56 MB\n");
	assert_non_null(strstr(paper->text, "remedy: echo 602 > " PAGES "/nr_hugepages\n"));
	put(paper, "/proc/meminfo", "Hugepagesize:    2048 kB\n");
	put(paper, GIANTS "/nr_hugepages", "0\n");
	left_behind(paper, 40 << 20); /* 20 more, too few */
	assert_says(paper, check_hugepages, "FAIL", "22 hugepages of 2 MB are free, of 512");
	left_behind(paper, 64 << 20);
	assert_well(paper, check_hugepages);
	put(paper, PAGES "/free_hugepages", "512\n");
	assert_well(paper, check_hugepages);
	put(paper, "/proc/self/mounts", "proc /proc proc rw 0 0\n");
	assert_says(paper, check_hugepages, "FAIL",
		"no hugetlbfs is mounted: expected one at /dev/hugepages");
	put(paper, "/proc/self/mounts", "nodev /dev/hugepages hugetlbfs rw 0 0\n");
	paper->config.eal[paper->config.n_eal++] = (char[]){"--huge-dir=/mnt/huge"};
	assert_says(paper, check_hugepages, "FAIL", "expected one at /mnt/huge");
	put(paper, "/proc/self/mounts", "nodev /mnt/huge hugetlbfs rw 0 0\n");
	assert_well(paper, check_hugepages);
	paper->config.eal[0] = (char[]){"--huge-dir=/mnt/huge/weir"};
	assert_well(paper, check_hugepages);
	paper->config.eal[0] = (char[]){"--huge-dir=/mnt/huge2"};
	assert_says(paper, check_hugepages, "FAIL", "expected one at /mnt/huge2");
	paper->config.eal[0] = (char[]){"--huge-dir"}; /* without a value */
	assert_well(paper, check_hugepages);
	paper->config.eal[paper->config.n_eal++] = (char[]){"/mnt/else"};
	assert_says(paper, check_hugepages, "FAIL", "expected one at /mnt/else");
	put(paper, "/proc/self/mounts",
		"proc /mnt/else proc rw 0 0\nnodev /mnt/else hugetlbfs rw 0 0\n"
		"nodev /mnt/huge hugetlbfs rw 0 0\n");
	assert_well(paper, check_hugepages);
	paper->config.n_eal = 1;
	put(paper, "/proc/self/mounts", "proc /proc proc rw 0 0\n");
	paper->config.eal[0] = (char[]){"--in-memory"};
	assert_well(paper, check_hugepages);
	strcpy(paper->ports[0].device, CARD);
	put(paper, DEVICE "/numa_node", "1\n");
	assert_says(
		paper, check_hugepages, "warn", "ports.a: no hugepage is free on its NUMA node 1");
	put(paper, "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages",
		"1\n");
	assert_well(paper, check_hugepages);
}

static const char *explain(struct paper *paper, bool ran_out)
{
	FILE *out;

	free(paper->text);
	out = open_memstream(&paper->text, &paper->size);
	doctor_explain_memory(&paper->config, paper->huge_free, ran_out, paper->root, out);
	fclose(out);
	return paper->text;
}

/* The explanation after a start without memory. */
TEST_WITH(few_at_a_start, set_up, tear_down)
{
	struct paper *paper = *state;

	put(paper, "/proc/self/mounts", "nodev /dev/hugepages hugetlbfs rw 0 0\n");
	assert_findings(explain(paper, false),
		"weir: |0 hugepages|0 reserved|at least 28|vm.nr_hugepages=92 |\"184\"]");
	put(paper, PAGES "/nr_hugepages", "30\n");
	put(paper, PAGES "/free_hugepages", "26\n");
	paper->huge_free = doctor_free_huge(paper->root);
	put(paper, PAGES "/free_hugepages", "25\n"); /* VFIO holds one until exit */
	assert_non_null(strstr(explain(paper, true), "26 hugepages of 2 MB are free, of 30"));
	assert_non_null(strstr(paper->text, "vm.nr_hugepages=96 "));
	put(paper, PAGES "/free_hugepages", "28\n");
	paper->huge_free = doctor_free_huge(paper->root);
	assert_string_equal(explain(paper, false), "");
	assert_non_null(strstr(explain(paper, true),
		"28 hugepages of 2 MB are free, of 30 reserved: expected about 42; remedy: "
		"sysctl vm.nr_hugepages=108 "));
	/* More pages than the estimate were free, and still too few. */
	put(paper, PAGES "/nr_hugepages", "200\n");
	paper->huge_free = 100 << 21;
	assert_non_null(strstr(explain(paper, true),
		"100 hugepages of 2 MB are free, of 200 reserved: expected about 101; remedy: "
		"sysctl vm.nr_hugepages=265 "));
	paper->huge_free = 28 << 21;
	put(paper, "/proc/self/mounts", "proc /proc proc rw 0 0\n");
	assert_findings(
		explain(paper, false), "weir: |hugetlbfs|mount -t hugetlbfs nodev /dev/hugepages");
	strcpy(paper->ports[0].device, CARD); /* a card needs hugepages */
	paper->huge_free = 26 << 21;
	assert_non_null(strstr(explain(paper, false), "(and in /etc/sysctl.d to keep it)\n"));
	strcpy(paper->ports[0].device, "net_ring0");
	paper->config.eal[paper->config.n_eal++] = (char[]){"--no-huge"};
	paper->config.eal[paper->config.n_eal++] = (char[]){"-m8"};
	put(paper, "/proc/meminfo", "MemAvailable:    9000000 kB\n");
	assert_non_null(strstr(
		explain(paper, true), "weir: eal: EAL is given 8 MB without hugepages: expected"));
}

TEST_WITH(memory, set_up, tear_down)
{
	struct paper *paper = *state;

	paper->config.eal[paper->config.n_eal++] = (char[]){"--no-huge"};
	paper->config.eal[paper->config.n_eal++] = (char[]){"-m640"};
	assert_says(paper, check_memory, "unseen", "MemAvailable");
	put(paper, "/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    9000000 kB\n");
	assert_well(paper, check_hugepages);
	paper->config.eal[1] = (char[]){"-m8"};
	assert_says(
		paper, check_memory, "FAIL", "8 MB without hugepages: expected at least 87 MB\n");
	assert_non_null(strstr(paper->text, "remedy: \"eal\": [\"--no-huge\", \"-m\", \"214\"]\n"));
	paper->config.eal[1] = (char[]){"-m86"};
	assert_says(paper, check_memory, "FAIL", "EAL is given 86 MB");
	paper->config.eal[1] = (char[]){"-m87"};
	assert_well(paper, check_memory);
	paper->config.eal[1] = (char[]){"-m"}; /* without a value */
	assert_says(paper, check_memory, "FAIL", "eal: EAL is given 0 MB without hugepages");
	paper->config.eal[1] = (char[]){"-m"};
	paper->config.eal[paper->config.n_eal++] = (char[]){"640"};
	assert_well(paper, check_memory);
	put(paper, "/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    9000 kB\n");
	assert_says(paper, check_memory, "FAIL", "8 MB of memory are free");
}

/* Each policy takes memory at each worker, in addition to the packets. */
TEST_WITH(many_policies, set_up, tear_down)
{
	const uint64_t need = (UINT64_C(3) << 20) * sizeof(struct policy_state);
	struct paper *paper = *state;
	char row[64], words[128];

	paper->config.n_workers = 3;
	paper->config.workers[2] = 4;
	paper->config.n_policies = 1 << 20;
	snprintf(row, sizeof(row), "MemAvailable: %llu kB\n", (unsigned long long)need / 1024);
	put(paper, "/proc/meminfo", row);
	assert_well(paper, check_memory);
	snprintf(row, sizeof(row), "MemAvailable: %llu kB\n", (unsigned long long)need / 1024 - 1);
	put(paper, "/proc/meminfo", row);
	snprintf(words, sizeof(words),
		"%llu MB of memory are free: expected at least %llu MB for "
		"1048576 policies\n",
		(unsigned long long)(need - 1024) >> 20, (unsigned long long)need >> 20);
	assert_says(paper, check_memory, "FAIL", words);
}

/* A valid NUMA node of a card needs free hugepages. */
TEST_WITH(nodes_without_pages, set_up, tear_down)
{
	static const struct {
		const char *node;
		bool said;
	} rows[] = {{"-1", false}, {"0", true}, {"15", true}, {"16", false}};
	struct paper *paper = *state;
	char words[128];

	strcpy(paper->ports[1].device, CARD);
	put(paper, "/proc/self/mounts", "nodev /dev/hugepages hugetlbfs rw 0 0\n");
	put(paper, PAGES "/nr_hugepages", "512\n");
	put(paper, PAGES "/free_hugepages", "512\n");
	for (size_t i = 0; i < COUNT(rows); i++) {
		put(paper, DEVICE "/numa_node", rows[i].node);
		if (!rows[i].said) {
			assert_well(paper, check_hugepages);
			continue;
		}
		snprintf(words, sizeof(words), "ports.b: no hugepage is free on its NUMA node %s,",
			rows[i].node);
		assert_says(paper, check_hugepages, "warn", words);
	}
	put(paper, "/sys/devices/system/node/node15/hugepages/hugepages-2048kB/free_hugepages",
		"1\n");
	put(paper, DEVICE "/numa_node", "15");
	assert_well(paper, check_hugepages);
}

TEST_WITH(cards, set_up, tear_down)
{
	struct paper *paper = *state;

	assert_well(paper, check_pci);
	strcpy(paper->ports[0].device, CARD);
	assert_says(paper, check_pci, "FAIL", "ports.a: there is no PCI device " CARD);
	put(paper, DEVICE "/vendor", "0x8086\n");
	assert_says(paper, check_pci, "FAIL", CARD " has no driver");
	put_link(paper, DEVICE "/driver", "../../../bus/pci/drivers/ixgbe");
	assert_says(paper, check_pci, "FAIL", "kernel driver ixgbe");
	assert_non_null(strstr(paper->text, "dpdk-devbind.py --bind=vfio-pci " CARD));
	put_link(paper, DEVICE "/driver", "../../../bus/pci/drivers/mlx5_core");
	assert_well(paper, check_pci);
	put_link(paper, DEVICE "/driver", "../../../bus/pci/drivers/vfio-pci");
	assert_says(paper, check_pci, "FAIL", "in no IOMMU group: expected an IOMMU");
	put(paper, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
	assert_says(paper, check_pci, "warn", "write to any memory");
	put_link(paper, DEVICE "/iommu_group", "../../../kernel/iommu_groups/7");
	assert_well(paper, check_pci);
}

TEST_WITH(rights, set_up, tear_down)
{
	struct paper *paper = *state;

	put(paper, "/proc/self/status", "Name:\tweir\nCapEff:\t0000000000000000\n");
	assert_well(paper, check_rights);
	strcpy(paper->ports[0].device, "net_af_packet0,iface=eth1");
	assert_says(paper, check_rights, "FAIL", "lacks CAP_NET_RAW");
	assert_non_null(strstr(paper->text, "lacks CAP_NET_ADMIN"));
	put(paper, "/proc/self/status", "CapEff:\t0000000000003000\n");
	assert_well(paper, check_rights);
	put(paper, "/proc/self/status", "CapEff:\t0000000000002000\n");
	assert_says(paper, check_rights, "FAIL", "lacks CAP_NET_ADMIN");
	strcpy(paper->ports[0].device, "net_af_xdp0,iface=eth1");
	put(paper, "/proc/self/status", "CapEff:\t0000000000003000\n");
	assert_says(paper, check_rights, "FAIL", "lacks CAP_SYS_ADMIN");
	put(paper, "/proc/self/status", "CapEff:\t000000c000003000\n");
	assert_says(paper, check_rights, "FAIL", "lacks CAP_SYS_ADMIN");
	put(paper, "/proc/self/status", "CapEff:\t0000000000207000\n");
	assert_well(paper, check_rights);
	put(paper, "/proc/self/status", "Name:\tweir\n");
	assert_says(paper, check_rights, "unseen", "/proc/self/status");
}

#define LACKS(capability) "FAIL|user %u lacks " capability "|XDP programs|remedy: |systemd"

/* XDP programs of wires need two rights, and CAP_SYS_ADMIN grants both. */
TEST_WITH(rights_of_wires, set_up, tear_down)
{
	static const struct {
		const char *effective;
		bool bpf, perfmon; /* missing rights */
	} rows[] = {
		{"0", true, true},
		{"4000000000", true, false},
		{"8000000000", false, true},
		{"c000000000", false, false},
		{"200000", false, false},
		{"ffffff3fffdfffff", true, true},
	};
	struct wire wires[] = {{.fail = FAIL_CLOSED, .b = 1}, {.fail = FAIL_CLOSED, .b = 1}};
	char bpf[256], perfmon[256], status[64], text[512];
	struct paper *paper = *state;

	snprintf(bpf, sizeof(bpf), LACKS("CAP_BPF"), (unsigned)geteuid());
	snprintf(perfmon, sizeof(perfmon), LACKS("CAP_PERFMON"), (unsigned)geteuid());
	paper->config.wires = wires;
	paper->config.n_wires = 2;
	for (unsigned fails = 0; fails < 2; fails++) {
		wires[1].fail = fails ? FAIL_OPEN : FAIL_CLOSED;
		for (size_t i = 0; i < COUNT(rows); i++) {
			snprintf(status, sizeof(status), "CapEff:\t%s\n", rows[i].effective);
			put(paper, "/proc/self/status", status);
			snprintf(text, sizeof(text), "%s%s%s", rows[i].bpf ? bpf : "",
				rows[i].bpf && rows[i].perfmon ? "\n" : "",
				rows[i].perfmon ? perfmon : "");
			assert_text(paper, check_rights, fails ? text : "");
		}
	}
}

TEST_WITH(locked_memory, set_up, tear_down)
{
	struct paper *paper = *state;
	struct rlimit usual, little;

	put(paper, "/proc/self/status", "CapEff:\t0000000000000000\n");
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &usual), 0);
	little = (struct rlimit){1 << 20, usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &little), 0);
	assert_well(paper, check_rights);
	strcpy(paper->ports[0].device, CARD);
	assert_says(paper, check_rights, "FAIL", "lock only 1 MB of memory");
	put(paper, "/proc/self/status", "CapEff:\t0000000000004000\n");
	assert_well(paper, check_rights);
	strcpy(paper->ports[0].device, "net_af_xdp0,iface=eth1");
	put(paper, "/proc/self/status", "CapEff:\t0000000000203000\n");
	assert_says(paper, check_rights, "FAIL", "lock only 1 MB of memory");
	put(paper, "/proc/self/status", "CapEff:\t0000000000207000\n");
	assert_well(paper, check_rights);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &usual), 0);
}
