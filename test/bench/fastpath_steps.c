/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counts the instructions of this thread, on the CPU itself and with all its vector instructions.
 * The trap flag of the CPU raises SIGTRAP after each instruction. A guest without performance
 * counters has this flag too, and the count is exact.
 *
 * Code that reads a clock does more on one run than on another. Meanwhile the thread therefore has
 * a clock of its own. The kernel raises SIGSEGV for each reading of the TSC. The handler returns a
 * time that is later by the same amount each time, so two runs of one program do the same work.
 */
#include "fastpath.h"

#ifdef RTE_ARCH_X86_64

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <rte_cycles.h>

#define TRAP_FLAG    0x100
#define UNCOUNTABLE  77     /* exit status, as of a test that is skipped */
#define READINGS_A_S 500000 /* readings in a second of the clock: a burst takes 2 us */

static struct {
	uint64_t now, step; /* ticks */
	uint64_t steps;
	greg_t at; /* the instruction that comes next */
} counter;

/* An instruction that repeats itself (rep) traps after each repetition, and counts once. */
static void count_step(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	(void)sig;
	(void)info;
	counter.steps += u->uc_mcontext.gregs[REG_RIP] != counter.at;
	counter.at = u->uc_mcontext.gregs[REG_RIP];
}

/* Bytes of the instruction at `code` if it reads the TSC, otherwise 0. */
static unsigned tsc_reading(const uint8_t *code)
{
	static const uint8_t rdtsc[] = {0x0f, 0x31}, rdtscp[] = {0x0f, 0x01, 0xf9};

	if (memcmp(code, rdtsc, sizeof(rdtsc)) == 0)
		return sizeof(rdtsc);
	return memcmp(code, rdtscp, sizeof(rdtscp)) == 0 ? sizeof(rdtscp) : 0;
}

/* Replaces the instruction by a reading of this thread's clock. */
static void read_clock(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	greg_t *regs = u->uc_mcontext.gregs;
	unsigned bytes = tsc_reading((const uint8_t *)(uintptr_t)regs[REG_RIP]);

	(void)info;
	if (bytes == 0) {
		signal(sig, SIG_DFL); /* the instruction faults again */
		return;
	}
	counter.now += counter.step;
	counter.steps++;
	regs[REG_RAX] = (greg_t)(counter.now & UINT32_MAX);
	regs[REG_RDX] = (greg_t)(counter.now >> 32);
	if (bytes == 3) /* rdtscp, the CPU's number */
		regs[REG_RCX] = 0;
	regs[REG_RIP] += bytes;
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	if (sigaction(sig, &action, NULL))
		die("no handler for signal %d", sig);
}

void steps_begin(void)
{
	uint64_t before;

	if (counter.step == 0) {
		counter.now = rte_rdtsc();
		counter.step = rte_get_tsc_hz() / READINGS_A_S;
		handle(SIGTRAP, count_step);
		handle(SIGSEGV, read_clock);
	}
	before = counter.now;
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) || (rte_rdtsc(), counter.now == before)) {
		fprintf(stderr, "the kernel does not hide the TSC, so counts depend on time\n");
		exit(UNCOUNTABLE);
	}
}

void steps_end(void)
{
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
}

/* Below the red zone, which may be in use where these are inlined. */
static inline void set_trap_flag(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orl %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
}

static inline void clear_trap_flag(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andl %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(~TRAP_FLAG)
			 : "memory", "cc");
}

static uint64_t step_turns(const struct contender *c, unsigned n)
{
	counter.steps = 0;
	set_trap_flag();
	counted_turns(c, n);
	clear_trap_flag();
	return counter.steps;
}

uint64_t steps_of_turns(const struct contender *c, unsigned n)
{
	uint64_t none = step_turns(c, 0);

	return step_turns(c, n) - none;
}

#else

void steps_begin(void)
{
	die("--step: expected an x86-64 CPU");
}

void steps_end(void)
{
}

uint64_t steps_of_turns(const struct contender *c, unsigned n)
{
	(void)c;
	(void)n;
	return 0;
}

#endif
