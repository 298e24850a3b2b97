"""What is written in the benchmark of writing: rows of loc, lastmod, changefreq and priority, the same for every program."""

CHANGEFREQS = ("daily", "weekly", "monthly", "yearly")
SITE = "https://example.com"
MAX_ROWS = 50_000  # of a file


def rows(count):
    for number in range(count):
        second = number % 86400
        yield (
            f"{SITE}/products/category-{number % 97:02}/another-item-{number:07}.html",
            f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00:00",
            CHANGEFREQS[number % 4],
            number % 10 / 10,
        )
