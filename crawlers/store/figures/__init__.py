"""All counts and the data of all charts: of the report, the dashboard, the commands and the metrics."""
