"""ultimate-sitemap-parser: builds the tree of a site's sitemaps from its robots.txt, then goes through every page."""

import sys

from usp.tree import sitemap_tree_for_homepage

homepage = sys.argv[1].removesuffix("robots.txt")
# Without the known paths: they would be a dozen requests for what is not there.
tree = sitemap_tree_for_homepage(homepage, use_known_paths=False)
print(sum(1 for _ in tree.all_pages()))
