"""What is installed: the distribution, its version, and how to get its optional parts.

The distribution is called ``qsim-queue``, because ``qsim`` on the Python package index is a simulator of quantum
circuits; the packages and the command keep their names.

>>> install_hint("lab")
"pip install 'qsim-queue[lab]'"
"""

from __future__ import annotations

DISTRIBUTION = "qsim-queue"


def install_hint(extra: str) -> str:
    """The command that installs an optional part."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def version() -> str:
    """The version of qsim, or "uninstalled" in a checkout that was never installed."""
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "uninstalled"
