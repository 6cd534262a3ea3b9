/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SUBJECTS 64

static struct {
	FILE *out;
	char *text;
	size_t len;
	unsigned column;
	struct trace_kind kind;
	uint64_t next_ns;
	uint64_t digest, sent, sent_bytes;
	struct trace_subject subjects[SUBJECTS];
	unsigned n_subjects;
} trace;

void trace_begin(void)
{
	trace.out = open_memstream(&trace.text, &trace.len);
	if (!trace.out)
		abort();
}

char *trace_taken(void)
{
	if (fclose(trace.out))
		abort();
	return trace.text;
}

void trace_world(const struct trace_kind *kind, const char *format, ...)
{
	va_list args;

	trace.kind = *kind;
	trace.next_ns = trace.sent = trace.sent_bytes = 0;
	trace.n_subjects = 0;
	trace.digest = HASH64_BASIS;
	fputs("\n== ", trace.out);
	va_start(args, format);
	vfprintf(trace.out, format, args);
	va_end(args);
	fputc('\n', trace.out);
}

void trace_end(void)
{
	fprintf(trace.out,
		"the end: %" PRIu64 " datagrams, %" PRIu64 " bytes, digest %016" PRIx64 "\n",
		trace.sent, trace.sent_bytes, trace.digest);
	trace.kind.part = TRACE_NOTHING;
}

bool trace_watches(enum trace_part part)
{
	return trace.kind.part == part;
}

void trace_write(const char *format, ...)
{
	char words[256];
	const char *end;
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	fputs(words, trace.out);
	end = strrchr(words, '\n');
	trace.column = end ? (unsigned)strlen(end + 1) : trace.column + (unsigned)strlen(words);
}

static void write_word(const char *word)
{
	if (trace.column + 1 + strlen(word) > TRACE_COLUMNS)
		trace_write("\n   ");
	trace_write(" %s", word);
}

void trace_write_real(double value)
{
	char word[32];

	snprintf(word, sizeof(word), "%.6g", value == 0 ? 0 : value);
	write_word(word);
}

void trace_write_whole(int64_t value)
{
	char word[32];

	snprintf(word, sizeof(word), "%" PRId64, value);
	write_word(word);
}

void trace_word(uint64_t word)
{
	trace.digest = hash64_step(trace.digest, word);
	/* Mixes: a word's upper bits would otherwise reach only those above them. */
	trace.digest ^= trace.digest >> 32;
}

void trace_real(double value)
{
	float rounded = value == 0 ? 0 : (float)value;
	uint32_t word;

	memcpy(&word, &rounded, sizeof(word));
	trace_word(word);
}

void trace_word_list(const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		trace_word(words[i]);
}

void trace_real_list(const double *reals, size_t n)
{
	for (size_t i = 0; i < n; i++)
		trace_real(reals[i]);
}

void trace_bytes(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	trace_word(len);
	for (size_t i = 0; i < len; i++)
		trace.digest = hash64_step(trace.digest, at[i]);
}

void trace_sent(unsigned from, unsigned to, const void *bytes, size_t len)
{
	trace.sent++;
	trace.sent_bytes += len;
	trace_word((uint64_t)from << 32 | to);
	trace_bytes(bytes, len);
}

uint64_t trace_n_sent(void)
{
	return trace.sent;
}

void trace_sample(uint64_t now_ns)
{
	if (now_ns < trace.next_ns)
		return;
	trace.next_ns = (now_ns / trace.kind.step_ns + 1) * trace.kind.step_ns;
	trace_write("%.3f s: %" PRIu64 " datagrams, %" PRIu64 " bytes, digest %016" PRIx64 "\n",
		(double)now_ns / 1e9, trace.sent, trace.sent_bytes, trace.digest);
	trace_write_subjects();
}

void trace_called(uint64_t now_ns)
{
	if (trace.kind.by_calls)
		trace_sample(now_ns);
}

void trace_add(const void *at, unsigned number, unsigned policies, const uint64_t *ids)
{
	struct trace_subject *subject = &trace.subjects[number];

	if (number >= SUBJECTS || policies > TRACE_POLICIES)
		abort();
	*subject = (struct trace_subject){.at = at, .policies = policies};
	if (ids)
		memcpy(subject->ids, ids, policies * sizeof(*ids));
	if (number >= trace.n_subjects)
		trace.n_subjects = number + 1;
}

unsigned trace_number(const void *at)
{
	for (unsigned i = 0; i < trace.n_subjects; i++)
		if (trace.subjects[i].at == at)
			return i;
	return SUBJECTS;
}

void trace_remove(const void *at)
{
	unsigned number = trace_number(at);

	if (at && number < trace.n_subjects)
		trace.subjects[number].at = NULL;
}

const struct trace_subject *trace_subjects(unsigned *n)
{
	*n = trace.n_subjects;
	return trace.subjects;
}
