"""The report: what the figures say, on one page; and the templates that other pages extend."""
