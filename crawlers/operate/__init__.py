"""What people do with crawls: sources, harvests, notices, reports, the dashboard, learned rules, commands."""
