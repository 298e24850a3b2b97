import sys

from setuptools import find_packages, setup

packages = find_packages(include=["sitemapcrawl", "sitemapcrawl.*"])
if {"bdist_egg", "clean"} & set(sys.argv):
    # An egg for Scrapyd holds the whole project and says where its settings are. It is built in a folder of its own,
    # for pip would take what lies in build/lib into the next wheel. "clean --all", which scrapyd-deploy runs first, must
    # find the same folder: a module that was removed from the source would be in the next egg otherwise.
    setup(
        packages=[*packages, "settings"],
        entry_points={"scrapy": ["settings = settings.scrapyd"]},
        options={"build": {"build_base": "build/egg"}},
    )
else:
    # A wheel holds sitemapcrawl/ alone: an installed package named "settings" would shadow other people's. The commands
    # that need no project are there in any folder.
    commands = [f"{name} = sitemapcrawl.commands.{name}:Command" for name in ("build", "lint")]
    setup(packages=packages, entry_points={"scrapy.commands": commands})
