"""Strict mode: documents are held to the letter of the protocol."""

from settings.default import *  # noqa: F403

SITEMAPCRAWL_STRICT = True
