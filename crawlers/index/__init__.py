"""What is known of each document: a cache of the manifests, so a re-run asks for what changed and nothing else."""

from crawlers.index.index import Held, Index, Known, from_the_beginning, listing, scope
from crawlers.index.unchanged import SkipUnchanged

__all__ = ["Held", "Index", "Known", "SkipUnchanged", "from_the_beginning", "listing", "scope"]
