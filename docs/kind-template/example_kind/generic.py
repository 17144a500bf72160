from example_kind.spider import ExampleSpider


class Example(ExampleSpider):
    """Any example catalogue, the one that -a url= names."""

    name = "example"
