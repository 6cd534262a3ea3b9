/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that are described in part, for example by an address.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/value.h"

static int refuse_question(
	char why[PROBE_WHY], const char *what, const char *found, const char *expected)
{
	snprintf(why, PROBE_WHY, "%s: \"%.40s\": expected %s", what, found, expected);
	return -EINVAL;
}

static bool is_number(const char *text, unsigned most, int *out)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || number > most)
		return false;
	*out = (int)number;
	return true;
}

static int set_proto(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	int number = proto_number(text);

	if (number == 0 && (!is_number(text, UINT8_MAX, &number) || number == 0))
		return refuse_question(why, "proto", text, "a name such as \"udp\", or 1 to 255");
	question->match.proto = (uint8_t)number;
	return 0;
}

static int set_port(struct port_range *range, const char *what, const char *text, char *why)
{
	int number;

	if (!is_number(text, UINT16_MAX, &number) || number == 0)
		return refuse_question(why, what, text, "1 to 65535");
	*range = (struct port_range){(uint16_t)number, (uint16_t)number};
	return 0;
}

static int set_sport(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	return set_port(&question->match.src_port, "sport", text, why);
}

static int set_dport(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	return set_port(&question->match.dst_port, "dport", text, why);
}

static int set_vlan(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	if (!is_number(text, 4094, &question->match.vlan))
		return refuse_question(why, "vlan", text, "0 to 4094");
	return 0;
}

static int set_dscp(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	int dscp = dscp_parse(text);

	if (dscp < 0 && !is_number(text, 63, &dscp))
		return refuse_question(why, "dscp", text, "0 to 63, or a name such as \"ef\"");
	question->match.dscp = dscp;
	return 0;
}

static int set_question_wire(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	if (!name_valid(text))
		return refuse_question(why, "wire", text, "a wire's name");
	snprintf(question->wire, sizeof(question->wire), "%s", text);
	return 0;
}

static int set_question_direction(
	struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	if (strcmp(text, direction_name(DIRECTION_A_TO_B)) == 0)
		question->match.direction = DIRECTION_A_TO_B;
	else if (strcmp(text, direction_name(DIRECTION_B_TO_A)) == 0)
		question->match.direction = DIRECTION_B_TO_A;
	else
		return refuse_question(why, "direction", text, "a-to-b or b-to-a");
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct probe_question *question, const char *text, char why[PROBE_WHY]);
} facts_of_question[] = {
	{"proto=", set_proto},
	{"sport=", set_sport},
	{"dport=", set_dport},
	{"vlan=", set_vlan},
	{"dscp=", set_dscp},
	{"wire=", set_question_wire},
	{"direction=", set_question_direction},
};

static int set_fact(struct probe_question *question, const char *word, char why[PROBE_WHY])
{
	for (size_t i = 0; i < sizeof(facts_of_question) / sizeof(*facts_of_question); i++) {
		size_t n = strlen(facts_of_question[i].name);

		if (strncmp(word, facts_of_question[i].name, n) == 0)
			return facts_of_question[i].set(question, word + n, why);
	}
	return refuse_question(
		why, "word", word, "proto=, sport=, dport=, vlan=, dscp=, wire= or direction=");
}

/*
 * Sets the prefix. An address is a prefix of all its bits. Host bits below a prefix are an error.
 */
static int set_where(struct probe_question *question, const char *text, char why[PROBE_WHY])
{
	char whole[PREFIX_TEXT_MAX];

	snprintf(whole, sizeof(whole), "%s%s", text,
		strchr(text, '/')   ? ""
		: strchr(text, ':') ? "/128"
				    : "/32");
	if (strlen(text) + sizeof("/128") > sizeof(whole) || prefix_parse(whole, &question->where))
		return refuse_question(
			why, "address", text, "an address, or a prefix without host bits");
	return 0;
}

int probe_question(
	struct probe_question *question, const char *const *words, unsigned n, char why[PROBE_WHY])
{
	int ret;

	*question = (struct probe_question){.match = {.wire = CONFIG_ANY,
						    .direction = DIRECTION_ANY,
						    .vlan = CONFIG_ANY,
						    .dscp = CONFIG_ANY}};
	if (n == 0) {
		snprintf(why, PROBE_WHY, "missing ADDRESS: expected an address or a prefix");
		return -EINVAL;
	}
	ret = set_where(question, words[0], why);
	for (unsigned i = 1; ret == 0 && i < n; i++)
		ret = set_fact(question, words[i], why);
	return ret;
}
