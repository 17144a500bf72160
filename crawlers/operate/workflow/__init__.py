"""Files for unattended runs: workflows of GitHub Actions, units of systemd, lines for cron."""
