"""Downloader middlewares: what is sent, what is tried again, and what a body may be."""
