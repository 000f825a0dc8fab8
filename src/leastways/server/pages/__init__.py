"""The pages of the service, for the person and for the auditor. They work without JavaScript, and better with it."""

from leastways.server.pages.site import DEMO_TEXTS, add_index, add_pages

__all__ = ["DEMO_TEXTS", "add_index", "add_pages"]
