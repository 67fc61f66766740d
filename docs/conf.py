"""Sphinx settings of the documentation. `make docs` builds it; docs/making makes the pages that come from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import wengert

sys.path.insert(0, str(Path(__file__).resolve().parent))
from making.docstrings import escape_docstring, is_numpys
from making.everything import make_everything
from making.glossary import link_words

project = "Wengert"
author = "The Wengert developers"
copyright = author
version = release = wengert.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design"]
myst_enable_extensions = ["colon_fence"]  # cards are written with them
exclude_patterns = ["_build", "_generated"]
myst_heading_anchors = 3
# pages that are notebooks (tour, loops) run when the site is built, and an error in one fails the build
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nitpicky = False

autodoc_typehints = "none"  # the docstrings tell types where they matter
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
napoleon_use_rtype = False  # Returns tells it all
napoleon_use_ivar = True  # fields of named tuples are described once
toc_object_entries = False  # a page of one function needs no list of it

html_theme = "pydata_sphinx_theme"
html_title = f"Wengert {release}"
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wengert.css"]
html_js_files = ["filter.js"]
html_sidebars = {
    "index": [],
    "tour": [],
    "ops/*": [],
    "names": [],
    "kinks": [],
    "performance": [],
    "changelog": [],
}  # pages that need the width
html_theme_options = {
    "logo": {"text": "Wengert"},
    "show_prev_next": False,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "names": [], "kinks": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Any) -> None:
    app.connect("builder-inited", make_everything)
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)
    app.connect("autodoc-skip-member", is_numpys)
    app.connect("doctree-resolved", link_words)
