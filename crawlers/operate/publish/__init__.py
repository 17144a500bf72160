"""``scrapy publish``: the plan as people read it, their approval, and the run."""
