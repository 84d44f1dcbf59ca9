"""What is released: archives of the same bytes for the same files."""

import os
import runpy
import tarfile

from tests.support.paths import ROOT

SETUP = runpy.run_path(str(ROOT / "setup.py"))


def test_a_source_archive_depends_on_names_and_content_alone(tmp_path):
    made = []
    for k, time in enumerate((1e9, 1.5e9)):
        folder = tmp_path / str(k) / "isovist-0"
        (folder / "src").mkdir(parents=True)
        for name in ("b.py", "a.py", "src/run"):
            (folder / name).write_text(f"# {name}\n")
            os.utime(folder / name, (time, time))
        (folder / "a.py").chmod(0o600 if k else 0o664)
        (folder / "src/run").chmod(0o755)
        SETUP["pack"](tmp_path / f"{k}.tar.gz", folder, 1_700_000_000)
        made.append((tmp_path / f"{k}.tar.gz").read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "0.tar.gz") as tar:
        assert tar.getnames() == [
            "isovist-0", "isovist-0/a.py", "isovist-0/b.py", "isovist-0/src", "isovist-0/src/run"
        ]  # fmt: skip
        assert [info.mtime for info in tar] == [1_700_000_000] * 5
        assert tar.getmember("isovist-0/src/run").mode == 0o755
        assert tar.extractfile("isovist-0/b.py").read() == b"# b.py\n"
