"""Extensions: feeds, the outcome of a crawl, progress."""
