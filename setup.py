import sys

from setuptools import find_packages, setup

packages = find_packages(include=["sitemapcrawl", "sitemapcrawl.*"])
if "bdist_egg" in sys.argv:
    # An egg for Scrapyd holds the whole project and says where its settings are. It is built in a folder of its own,
    # for pip would take what lies in build/lib into the next wheel.
    setup(
        packages=[*packages, "settings"],
        entry_points={"scrapy": ["settings = settings.scrapyd"]},
        options={"build": {"build_base": "build/egg"}},
    )
else:
    # A wheel holds sitemapcrawl/ alone: an installed package named "settings" would shadow other people's.
    setup(packages=packages)
