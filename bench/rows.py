"""A table of times: the shortest, the median, a high one, and the ratio to what it is held against."""
import statistics

UNITS = {1e3: "ms", 1e6: "us"}


def head(base, scale, percent):
    unit = UNITS[scale]
    print("| what | min %s | median %s | p%d %s | x %s |" % (unit, unit, percent, unit, base))
    print("|---|---|---|---|---|")


def row(name, times, base, scale, percent):
    """scale: 1e3 for milliseconds, 1e6 for microseconds; percent: which high one"""
    times = sorted(times)
    median = statistics.median(times)
    digits = 1 if scale < 1e6 else 0
    print("| %s | %.*f | %.*f | %.*f | %.2f |" % (
        name, digits, times[0] * scale, digits, median * scale,
        digits, times[len(times) * percent // 100] * scale, median / statistics.median(base)))
