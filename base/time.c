/*
 * Clocks as numbers and text, and ULIDs: identifiers that sort by time.
 */
#include <sys/random.h>

#include <stdio.h>
#include <time.h>

#include "base/base.h"

#include "base/banned.h"

uint64_t
hl_now_mono_ms(void)
{
	struct timespec now;

	HL_BUG_ON(clock_gettime(CLOCK_MONOTONIC, &now) != 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t
hl_now_real_us(void)
{
	struct timespec now;

	HL_BUG_ON(clock_gettime(CLOCK_REALTIME, &now) != 0);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void
hl_iso_time(uint64_t real_us, char text[HL_ISO_TIME_SIZE])
{
	time_t seconds = (time_t)(real_us / 1000000);
	struct tm tm;

	HL_BUG_ON(gmtime_r(&seconds, &tm) == NULL);
	size_t n = strftime(text, HL_ISO_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, HL_ISO_TIME_SIZE - n, ".%06uZ", (unsigned)(real_us % 1000000));
}

int
hl_ulid(char text[HL_ULID_SIZE], struct hl_err *err)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	unsigned char noise[10];
	uint64_t ms = hl_now_real_us() / 1000;

	if (getrandom(noise, sizeof(noise), 0) != (ssize_t)sizeof(noise))
		return hl_err_sys(err, HLI_02, "cannot read random bytes");
	for (unsigned i = 0; i < 10; i++)
		text[i] = digits[(ms >> (45 - 5 * i)) & 31];
	/* 80 bits in 16 groups of five; 32 of the lowest bits of each byte would waste three. */
	for (unsigned i = 0; i < 16; i++) {
		unsigned bit = i * 5;
		unsigned pair =
		    (unsigned)noise[bit / 8] << 8 | (bit / 8 + 1 < 10 ? noise[bit / 8 + 1] : 0U);
		text[10 + i] = digits[(pair >> (11 - bit % 8)) & 31];
	}
	text[26] = '\0';
	return 0;
}
