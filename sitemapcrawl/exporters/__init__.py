"""Item exporters that know the records of sitemaps."""
