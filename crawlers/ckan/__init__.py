"""CKAN, and HDX, which is one: a portal's action API, its listing, and the exports of a dataset or a resource."""

from crawlers.ckan.spider import CKANSpider

__all__ = ["CKANSpider"]
