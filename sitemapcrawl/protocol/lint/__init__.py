"""The linter: the bytes of a sitemap or index in, every rule that they break out, with line and column.

To add a rule: a row in :mod:`.rules`, and the check in the module of its subject.
"""

from sitemapcrawl.protocol.lint.document import Document, lint
from sitemapcrawl.protocol.lint.finding import Finding
from sitemapcrawl.protocol.lint.rules import RULES, Rule

__all__ = ["RULES", "Document", "Finding", "Rule", "lint"]
