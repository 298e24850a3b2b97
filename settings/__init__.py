"""Profiles of settings: a module a way of running the project. ``SCRAPY_PROJECT=strict scrapy crawl …`` chooses one."""
