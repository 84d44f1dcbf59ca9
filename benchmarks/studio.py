"""How fast the studio is, in a browser.

    python -m benchmarks.studio [SECONDS]

Drop → verdict: a map of 1000 × 1000 cells and a scan are dropped, from the drop of each to its
result on the screen.  Live: the robot of the demo office is moved with every answer.  Frames: a
plan of 4000 × 4000 cells is panned and zoomed, 500 000 points are turned, each for SECONDS (2)
by the browser's own frame clock, which ticks 60 times a second; without a graphics card Chromium
draws in software, and that is what is measured.  Exits with 1 on an error of the page.
"""

import shutil
import sys
import tempfile
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

from isovist.apps.studio.app import studio_app
from isovist.apps.web.listening import listen
from isovist.io.maps.read import write_map
from isovist.io.scans.read import write_scan
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.simulation.demo import LIDAR, random_pose
from isovist.simulation.worlds import office_floor

FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
         "--disable-accelerated-2d-canvas")  # fmt: skip
DROP = """async (files) => {
  const carrier = new DataTransfer();
  for (const [name, text] of files) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    carrier.items.add(new File([bytes], name));
  }
  const { tab } = studio, before = tab.answers, start = performance.now();
  dispatchEvent(new DragEvent("drop", { dataTransfer: carrier }));
  while (tab.answers === before || tab.busy) await new Promise((done) => setTimeout(done, 2));
  return (performance.now() - start) / 1000;
}"""
LIVE = """async (seconds) => {
  const { tab, state } = studio, from = { ...state.robot }, first = tab.answers;
  const start = performance.now();
  for (let k = 0; performance.now() - start < 1000 * seconds; k++) {
    const [x, y] = [from.x + 0.2 * Math.cos(0.2 * k), from.y + 0.2 * Math.sin(0.2 * k)];
    tab.place({ ...from, x, y }, false);
    while (tab.busy) await new Promise((done) => setTimeout(done, 1));
  }
  return 1000 * (tab.answers - first) / (performance.now() - start);
}"""
FRAMES = """async ([seconds, what]) => {
  const { stage, space } = studio;
  const act = {
    plan(k) {
      stage.zoom(1 + 0.02 * Math.sin(k / 20));
      stage.move(3 * Math.cos(k / 15), 2 * Math.sin(k / 15));
    },
    space() {
      space.camera.position.applyAxisAngle(space.camera.up, 0.01);
      space.controls.update();
    },
  }[what];
  const gaps = [];
  await new Promise((done) => {
    let last = 0, start = 0;
    const frame = (now) => {
      if (last) gaps.push(now - last); else start = now;
      last = now;
      act(gaps.length);
      if (now - start < 1000 * seconds) requestAnimationFrame(frame); else done();
    };
    requestAnimationFrame(frame);
  });
  gaps.sort((a, b) => a - b);
  return [1000 * gaps.length / gaps.reduce((a, b) => a + b), gaps[Math.floor(0.95 * gaps.length)]];
}"""
PLAN = """() => {
  const n = 4000, codes = new Uint8Array(n * n);
  for (let k = 0; k < codes.length; k++) {
    codes[k] = k % 97 === 0 || (k / n) % 83 < 1 ? 1 : k % n > 3600 ? 2 : 0;
  }
  const plan = { codes, rows: n, columns: n, resolution: 0.05, origin: [0, 0, 0] };
  studio.stage.setPlan(plan, [[0, 0], [200, 200]]);
}"""
CLOUD = """async () => {
  await studio.show3d(true);
  const points = new Float32Array(1500000), size = [60, 40, 3];
  for (let k = 0; k < points.length; k++) points[k] = size[k % 3] * Math.random();
  studio.space.setCloud(points, 0.1);
}"""


def drop(page: Any, *paths: Path) -> float:
    """Seconds from a drop to the next answer, by the clock of the page."""
    files = [[path.name, b64encode(path.read_bytes()).decode()] for path in paths]
    return float(page.evaluate(DROP, files))


def measure(page: Any, folder: Path, seconds: float) -> None:
    """Print the rows."""
    floor = office_floor(1, length=49.0, rows=8)
    world = OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05)
    write_map(world, folder / "site.yaml")
    random = np.random.default_rng(0)
    write_scan(
        LIDAR.scan(floor.reality, random_pose(floor.reality, random), random), folder / "a.json"
    )
    page.wait_for_selector(".verdict", timeout=120_000)
    page.wait_for_function("() => !studio.tab.busy")
    page.set_default_timeout(60_000)
    rate = page.evaluate(LIVE, max(seconds, 4.0))
    print(f"live: {rate:.1f} answers/s on the demo office")
    shape = " × ".join(map(str, world.cells.shape))
    described = drop(page, folder / "site.yaml", folder / "site.pgm")
    answered = drop(page, folder / "a.json")
    verdict = page.inner_text(".verdict strong")
    print(f"map of {shape} cells dropped: first answer after {described:.2f} s")
    print(f"scan dropped: verdict ({verdict}) after {answered:.2f} s")
    page.evaluate(PLAN)
    for step, what in (("plan", "4000 × 4000 cells"), ("space", "500 000 points")):
        if step == "space":
            page.evaluate(CLOUD)
        rate, slow = page.evaluate(FRAMES, [seconds, step])
        print(f"{what}: {rate:.0f} frames/s, 95 % of them within {slow:.0f} ms")


def main() -> None:
    """Serve, open the page, measure."""
    import uvicorn
    from playwright.sync_api import sync_playwright

    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(studio_app(), log_level="warning", ws="none"))
    threading.Thread(target=server.run, args=([listener],), daemon=True).start()
    errors: list[str] = []
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        program = play.chromium.launch(executable_path=found, args=list(FLAGS))
        page = program.new_page(viewport={"width": 1280, "height": 720})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        page.wait_for_selector("body[data-ready=yes]", timeout=120_000)
        measure(page, Path(folder), seconds)
        program.close()
    server.should_exit = True
    sys.exit("; ".join(errors) or 0)


if __name__ == "__main__":
    main()
