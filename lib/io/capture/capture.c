/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads captures with libpcap, from front to back, also from a pipe.
 */
#include "capture/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/dlt.h>
#include <stdarg.h>
#include <string.h>

#include <pcap/pcap.h>

void capture_init(struct capture *capture, FILE *file)
{
	*capture = (struct capture){.file = file};
}

void capture_free(struct capture *capture)
{
	if (capture->pcap)
		pcap_close(capture->pcap); /* closes the file */
	else if (capture->file && capture->file != stdin)
		fclose(capture->file);
	*capture = (struct capture){0};
}

/* Formats the error of libpcap or Weir for the packet after the last one read. Returns `code`. */
__attribute__((format(printf, 3, 4))) static int capture_fail(
	struct capture *capture, int code, const char *format, ...)
{
	va_list ap;
	int n = 0;

	if (capture->pcap)
		n = snprintf(capture->error, sizeof(capture->error), "packet %" PRIu64 ": ",
			capture->packets + 1);
	va_start(ap, format);
	vsnprintf(capture->error + n, sizeof(capture->error) - (size_t)n, format, ap);
	va_end(ap);
	return code;
}

/*
 * Distinguishes the errors: libpcap checks a length before it reads, so only a truncated file is at
 * its end.
 */
static int why_not_read(const struct capture *capture)
{
	return ferror(capture->file) ? -EIO : feof(capture->file) ? -ENODATA : -EBADMSG;
}

static int open_capture(struct capture *capture)
{
	char reason[PCAP_ERRBUF_SIZE];
	int extended;

	capture->pcap = pcap_fopen_offline_with_tstamp_precision(
		capture->file, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (!capture->pcap)
		return capture_fail(capture, why_not_read(capture), "%s", reason);
	capture->link = pcap_datalink(capture->pcap);
	extended = pcap_datalink_ext(capture->pcap);
	if (LT_FCS_LENGTH_PRESENT(extended))
		capture->fcs = 2 * LT_FCS_LENGTH((uint32_t)extended); /* in units of 16 bits */
	return 0;
}

/* Impossible lengths mean a damaged file; the message has the packet's number. */
static int check_lengths(struct capture *capture, const struct pcap_pkthdr *header)
{
	if (header->len > CAPTURE_BYTES_MAX)
		return capture_fail(capture, -EBADMSG, "has %u bytes: the most is %u", header->len,
			CAPTURE_BYTES_MAX);
	if (header->caplen > header->len)
		return capture_fail(
			capture, -EBADMSG, "%u bytes captured of %u", header->caplen, header->len);
	return 0;
}

/*
 * Returns the time in ns. A pcap file counts seconds in unsigned 32 bits, up to 2106, which libpcap
 * reads as signed.
 */
static __int128 capture_time(const struct capture *capture, const struct pcap_pkthdr *header)
{
	int64_t seconds = header->ts.tv_sec;

	if (seconds < 0 && pcap_major_version(capture->pcap) == PCAP_VERSION_MAJOR)
		seconds = (uint32_t)seconds;
	/* The capture is opened for nanoseconds, so tv_usec counts these. */
	return (__int128)seconds * 1000000000 + header->ts.tv_usec;
}

static int accept_packet(struct capture *capture, const struct pcap_pkthdr *header,
	const uint8_t *data, struct capture_packet *packet)
{
	__int128 time = capture_time(capture, header);
	uint32_t bytes = header->len;
	int ret = check_lengths(capture, header);

	if (ret == 0 && (time < 0 || time > INT64_MAX))
		ret = capture_fail(capture, -EBADMSG,
			"has a time before 1970, or too far after it for nanoseconds in 63 bits");
	if (ret)
		return ret;
	bytes -= bytes < capture->fcs ? bytes : capture->fcs;
	*packet = (struct capture_packet){
		.number = ++capture->packets,
		.time_ns = (uint64_t)time,
		.timed = time > 0,
		.link = capture->link,
		.bytes = bytes,
		.captured = header->caplen < bytes ? header->caplen : bytes,
		.data = data,
	};
	return 1;
}

int capture_next(struct capture *capture, struct capture_packet *packet)
{
	struct pcap_pkthdr *header;
	const uint8_t *data;
	int ret = capture->ended;

	if (ret == 0 && !capture->pcap)
		ret = open_capture(capture);
	if (ret == 0) {
		ret = pcap_next_ex(capture->pcap, &header, &data);
		if (ret == 1)
			ret = accept_packet(capture, header, data, packet);
		else if (ret == PCAP_ERROR_BREAK)
			return 0;
		else
			ret = capture_fail(
				capture, why_not_read(capture), "%s", pcap_geterr(capture->pcap));
	}
	if (ret < 0)
		capture->ended = ret;
	return ret;
}

const char *capture_error(const struct capture *capture)
{
	return capture->error;
}

/* --- link layer ------------------------------------------------------------------------------- */

#define ETHER_LEN  14
#define ETHER_TYPE 12 /* offset of the EtherType */

#define RAW_OF_OPENBSD 14 /* DLT_RAW as OpenBSD writes it */

static bool link_is_raw(int link)
{
	return link == DLT_RAW || link == DLT_IPV4 || link == DLT_IPV6 || link == RAW_OF_OPENBSD;
}

bool link_supported(int link)
{
	return link == DLT_EN10MB || link_is_raw(link);
}

/*
 * Writes an Ethernet header for a raw IP packet, without addresses. The first byte of the packet
 * gives the type. Returns its length. If nothing was captured, the header ends before the type.
 */
static uint32_t ether_header(const struct capture_packet *packet, uint8_t *data)
{
	static const uint8_t type4[] = {0x08, 0x00}, type6[] = {0x86, 0xdd};
	uint8_t version;

	memset(data, 0, ETHER_LEN);
	if (packet->captured == 0)
		return ETHER_TYPE;
	version = packet->data[0] >> 4;
	if (version == 4 || version == 6)
		memcpy(data + ETHER_TYPE, version == 4 ? type4 : type6, sizeof(type4));
	return ETHER_LEN;
}

void link_frame(const struct capture_packet *packet, struct frame *frame)
{
	bool raw = link_is_raw(packet->link);
	uint32_t header = raw ? ether_header(packet, frame->data) : 0;
	uint32_t room = sizeof(frame->data) - header;
	uint32_t n = packet->captured < room ? packet->captured : room;

	memcpy(frame->data + header, packet->data, n);
	frame->time_ns = packet->time_ns;
	frame->bytes = packet->bytes + (raw ? ETHER_LEN : 0);
	frame->captured = header + n;
	frame->cut = packet->captured < packet->bytes;
}
