"""A row of a table of times: the shortest, the median, a high one, and the ratio to what it is held against."""
import statistics


def row(name, times, base, scale, percent):
    """scale: 1e3 for milliseconds, 1e6 for microseconds; percent: which high one"""
    times = sorted(times)
    median = statistics.median(times)
    digits = 1 if scale < 1e6 else 0
    print("| %s | %.*f | %.*f | %.*f | %.2f |" % (
        name, digits, times[0] * scale, digits, median * scale,
        digits, times[len(times) * percent // 100] * scale, median / statistics.median(base)))
