"""``make demo``: the main job, for real, against a small portal that starts on this machine and stops by itself."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.portal.portal import Portal  # noqa: E402

OUTPUT = Path("output", "demo")
SHOWN = 3


def main() -> int:
    shutil.rmtree(ROOT / OUTPUT, ignore_errors=True)
    with Portal(datasets=120, rows_max=50) as portal:
        settings = [f"OUTPUT_DIR={OUTPUT}", "REQUESTS_PER_SECOND=20", "CRAWL_DELAY_MAX=0"]
        options = [*(word for one in settings for word in ("-s", one)), "--loglevel", "WARNING"]
        command = ["scrapy", "crawl", "hdx", "-a", f"portal={portal.url}", "-a", "q=flood", *options]
        print(f"A portal of 120 datasets listens at {portal.url}\n\n$ .venv/bin/{shlex.join(command)}\n", flush=True)
        code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
    print(f"\nexit code {code}; the portal has stopped.\n")
    print(*tree(ROOT / OUTPUT), sep="\n")
    print(f"\nNext: .venv/bin/scrapy search flood -s OUTPUT_DIR={OUTPUT}")
    return code


def tree(folder: Path, indent: str = "") -> list[str]:
    """The folder's tree, a few files of each folder."""
    entries = sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name))
    lines = [f"{indent}{folder.relative_to(ROOT) if not indent else folder.name}/"]
    files = [path for path in entries if path.is_file()]
    lines += [f"{indent}    {path.name}" for path in files[:SHOWN]]
    if len(files) > SHOWN:
        lines.append(f"{indent}    ... and {len(files) - SHOWN} more")
    for path in entries:
        if path.is_dir():
            lines += tree(path, indent + "    ")
    return lines


if __name__ == "__main__":
    sys.exit(main())
