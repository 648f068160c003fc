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

/* Days since 1970-01-01 to a date of the Gregorian calendar, counted from 1 March of the year 0, so
 * that the leap day is a year's last. Not gmtime_r(3): glibc's reads the time zone's file even for
 * UTC. */
static void
civil_date(uint64_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	uint64_t shifted = days + 719468; /* days from 0000-03-01 to 1970-01-01 */
	unsigned day_of_era = (unsigned)(shifted % 146097);
	unsigned year_of_era =
	    (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	unsigned day_of_year =
	    day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned month = (5 * day_of_year + 2) / 153; /* 0 = March */

	*ret_day = day_of_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = (unsigned)(shifted / 146097) * 400 + year_of_era + (*ret_month <= 2);
}

void
hl_iso_time(uint64_t real_us, char text[HL_ISO_TIME_SIZE])
{
	uint64_t seconds = real_us / 1000000;
	unsigned of_day = (unsigned)(seconds % 86400);
	unsigned year, month, day;

	civil_date(seconds / 86400, &year, &month, &day);
	snprintf(text, HL_ISO_TIME_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", year % 10000,
	    month % 100, day % 100, of_day / 3600 % 24, of_day / 60 % 60, of_day % 60,
	    (unsigned)(real_us % 1000000));
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
