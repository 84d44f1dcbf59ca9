"""The studio in a real Chromium: what is on the screen is what its server and the library say."""

import re
from pathlib import Path

import pytest
from tests.support.bag_writer import link, odometry, scan, write_bag
from tests.support.reports import said, untimed
from tests.support.sites import PLANE
from tests.support.studio_client import replayed
from tests.support.studio_door import PARTS, Visit, browser, drop, packed, running, short_drive

import isovist as iv

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def address():
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def program():
    with browser() as found:
        yield found


@pytest.fixture
def visit(program, address):
    """A page of the studio; at its end, that nothing went wrong on it and nobody else was asked."""
    made = Visit(program, address)
    yield made
    made.close()


def until(page, script):
    """Wait until an expression is true; as a function, for the page lets no text be evaluated."""
    page.wait_for_function(f"() => {script}")


def ask(page, script):
    return page.evaluate(f"() => {{ const tab = studio.tab; return {script}; }}")


def located(visit):
    """The page at its start, with an answer."""
    page = visit.open()
    page.wait_for_selector(".verdict")
    return page


def test_a_dropped_map_and_scan_are_answered_by_the_library(visit, tmp_path):
    iv.write_map(PLANE.world, tmp_path / "room.yaml")
    iv.write_scan(PLANE.look(PLANE.places[1]), tmp_path / "scan.json")
    page = visit.open()
    drop(page, tmp_path / "room.yaml", tmp_path / "room.pgm")
    until(page, "studio.site.name === 'room.yaml'")
    drop(page, tmp_path / "scan.json")
    page.wait_for_selector("text=Scan scan.json")
    until(page, "!studio.tab.busy && studio.tab.result && !studio.tab.result.truth")  # of the scan
    answer = iv.locate(PLANE.atlas, iv.read_scan(tmp_path / "scan.json"))
    expected = said(answer)
    assert untimed(ask(page, "tab.result.answer")) == expected
    assert page.get_attribute(".verdict", "data-verdict") == expected["verdict"] == "unique"
    best = expected["estimates"][0]
    words = page.inner_text(".places .bar[data-k='0']")
    assert f"x {best['x']:.3f} m, y {best['y']:.3f} m" in words
    assert answer.advice in page.inner_text(".verdict")


def test_the_robot_follows_the_mouse_and_the_answer_follows_the_robot(visit):
    page = located(visit)
    x, y = page.evaluate(
        """() => { window.seen = [];
        const note = () => seen.push(document.querySelector(".answer")?.innerText ?? "");
        new MutationObserver(note).observe(studio.panel, { childList: true, subtree: true });
        const { view, canvas } = studio.stage, box = canvas.getBoundingClientRect(),
        { x, y } = studio.state.robot;
        return [box.left + view.width / 2 + (x - view.x) * view.scale,
                box.top + view.height / 2 - (y - view.y) * view.scale]; }"""
    )
    before = ask(page, "tab.answers")
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 9):
        page.mouse.move(x + 4 * k, y + 2 * k)
        until(page, f"studio.tab.answers >= {before + k}")
    page.mouse.up()
    until(page, "!studio.tab.busy && studio.tab.result.why")
    robot, best = page.evaluate("[studio.state.robot, studio.tab.result.answer.estimates[0]]")
    assert abs(robot["x"] - best["x"]) + abs(robot["y"] - best["y"]) < 0.2
    assert page.inner_text(".truth")
    looks = ["coarse search only" in words for words in page.evaluate("seen") if words]
    assert (any(looks), looks[-1]) == (True, False)  # looked at closely when it is held still


TAKE = """async (files) => {
  const found = files.map(([path, text]) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return { path, file: new File([bytes], path.split("/").pop()) };
  });
  await studio.readFiles(found);
}"""


def test_a_dropped_folder_of_atlases_shows_the_map_of_the_scan(visit, tmp_path):
    files = []
    for name, atlas in (("hall.atlas", PLANE.twin_atlas), ("house.atlas", PLANE.atlas)):
        iv.write_atlas(atlas, tmp_path / name)
        parts = sorted((tmp_path / name).iterdir())
        files += [[f"site/{name}/{part.name}", packed(part)] for part in parts]
    iv.write_scan(PLANE.look(PLANE.places[1]), tmp_path / "scan.json")
    page = visit.open()
    page.evaluate(TAKE, files)
    until(page, "studio.site.name === 'hall'")
    drop(page, tmp_path / "scan.json")
    until(page, "studio.site.name === 'house' && !studio.tab.busy && studio.tab.result?.why")
    assert ask(page, "tab.result.answer.map") == "house"
    assert "on house, " in page.inner_text(".verdict")
    assert "house: x " in page.inner_text(".places .bar[data-k='0']")


def test_a_rival_shows_the_beams_that_speak_against_it(visit):
    page = located(visit)
    if page.query_selector(".refuted summary"):
        page.click(".refuted summary")
    page.hover(".places .bar[data-k='1']")
    assert re.match(r"\d+ of \d+ beams favour pose 1 over pose 2", page.inner_text(".against"))
    beams = page.evaluate("studio.stage.marks.find((mark) => mark.kind === 'beams').colours")
    assert set(beams) <= {"astray", "fits", "plain"}
    assert "plain" in beams
    page.click("label:has-text('search')")
    until(page, "studio.stage.marks[0]?.kind === 'squares'")
    page.click("button:has-text('Prove')")
    page.wait_for_selector(".proof")
    assert page.inner_text(".proof").startswith("Proof: no other place can explain the scan")


def test_a_log_that_is_played_ends_as_a_tracker_says(visit):
    page = visit.open("/#tab=follow&site=office")
    page.wait_for_selector(".report:not(:empty)")
    told = replayed(short_drive())[-1]
    assert untimed(ask(page, "tab.updates.at(-1).update")) == told
    assert page.get_attribute(".verdict", "data-verdict") == told["verdict"]
    if PARTS:
        assert page.locator(".plots canvas").count() == 2
    page.keyboard.press(",")
    assert ask(page, "tab.index") == 98
    page.locator("#timeline input").fill("10")
    assert "11 of 100" in page.inner_text("#timeline")
    page.click("#timeline button")
    until(page, "studio.tab.index > 12")
    page.keyboard.press(" ")


def test_a_robot_that_is_dragged_away_is_found_again(visit):
    page = visit.open("/#tab=follow&site=office")
    page.wait_for_selector(".report:not(:empty)")
    page.locator("#timeline input").fill("35")
    page.evaluate(
        """() => {
          const { tab } = studio, { truth } = tab.updates[35], far = tab.updates[90].truth;
          tab.grab([truth.x, truth.y])([far.x, far.y], true);
        }"""
    )
    page.wait_for_selector(".report:not(:empty)")
    jump = ask(page, "tab.jump")
    assert jump["at"] == 35
    truth = ask(page, "tab.updates[35].truth")
    assert abs(truth["x"] - jump["x"]) + abs(truth["y"] - jump["y"]) < 0.1


def test_a_survey_has_layers_and_links_look_alikes(visit):
    page = visit.open("/#tab=survey")
    page.wait_for_selector("button.main")
    page.evaluate("studio.tab.count = 20")
    page.click("button.main")
    page.wait_for_selector(".share")
    assert "of the floor" in page.inner_text(".share")
    layers = {}
    for name in ("unique", "sigma", "alike"):
        page.select_option("label:has-text('Layer') + select", name)
        layers[name] = page.evaluate("studio.stage.marks[0].values")
    assert len({str(values) for values in layers.values()}) == 3
    place = ask(page, "tab.result.layers[0].places[40]")
    page.evaluate(f"studio.tab.pick({place})")
    assert f"At ({place[0]:.1f}, {place[1]:.1f}):" in page.inner_text(".picked")
    assert page.evaluate("studio.stage.marks.some((mark) => mark.kind === 'arc')")


def test_a_lost_robot_drives_and_says_why(visit):
    page = visit.open("/#tab=explore&site=hall")
    page.click("button.main")
    page.wait_for_selector(".report:not(:empty)")
    until(page, "!studio.tab.time.playing")
    assert page.get_attribute(".verdict", "data-verdict") == "unique"
    step = ask(page, "tab.result.scene.findIndex((step) => step.ahead)")
    page.locator("#timeline input").fill(str(step))
    assert "would" in page.inner_text(".because")
    assert page.evaluate("studio.stage.marks.some((mark) => mark.arrow)")


@pytest.mark.skipif(not PARTS, reason="three.js is not there: npm could not fetch it")
def test_a_map_in_space_is_seen_in_space(visit):
    page = visit.open("/#site=space", size=(800, 500))
    until(page, "studio.space.ready")
    page.wait_for_selector(".verdict")
    assert page.evaluate("studio.space.count") > 1000
    until(page, "studio.space.group.children.length >= 2")
    frames = page.evaluate("studio.space.frames")
    page.mouse.move(250, 250)
    page.mouse.down()
    page.mouse.move(320, 265, steps=4)
    page.mouse.up()
    until(page, f"studio.space.frames > {frames}")
    page.locator(".slice input").fill("0.4")
    assert page.evaluate("studio.space.plane.constant") < 2.0
    answers = ask(page, "tab.answers")
    page.mouse.dblclick(280, 250)
    until(page, f"studio.tab.answers > {answers} && !studio.tab.busy")
    page.click("#solid")
    assert page.is_visible("#plan canvas")


def test_the_room_of_the_paper_moves_with_the_point(visit):
    page = visit.open("/#tab=theory")
    page.wait_for_selector(".columns i")
    first = ask(page, "tab.result.F")
    assert len(first) == 8
    page.focus("#plan canvas")
    page.keyboard.press("Shift+ArrowRight")
    until(page, "Math.abs(studio.tab.result.point[0] - 1.35) < 1e-9")
    assert ask(page, "tab.result.F") != first
    page.locator("label:has-text('Directions') + input").fill("12")
    until(page, "studio.tab.result.F.length === 12")
    assert "|f_p − f_q|" in page.inner_text("#panel")
    arrows = page.evaluate("studio.stage.marks.filter((mark) => mark.arrow).length")
    assert arrows == 12


@pytest.mark.skipif(not PARTS, reason="three.js is not there: npm could not fetch it")
def test_what_is_no_longer_drawn_in_space_takes_no_memory_of_the_card(visit):
    page = visit.open("/#site=space", size=(400, 300))
    until(page, "studio.space.ready")
    page.wait_for_selector(".verdict")
    until(page, "!studio.tab.busy")
    before, after = page.evaluate(
        """() => { const { space, tab } = studio, { memory } = space.renderer.info;
        space.setMarks(tab.marks()); space.picture();
        const before = memory.geometries;
        for (let k = 0; k < 5; k += 1) {
          space.setCloud(new Float32Array(300), 0.1); space.setMarks(tab.marks()); space.picture();
        }
        return [before, memory.geometries]; }"""
    )
    assert after == before > 1


def test_a_shared_page_opens_from_the_disk_without_the_studio(visit, program, tmp_path):
    page = located(visit)
    for words, name in (("HTML", "view.html"), ("SVG", "view.svg"), ("PNG", "view.png")):
        page.click("#share")
        with page.expect_download() as waiting:
            page.click(f"#menu button:has-text('{words}')")
        waiting.value.save_as(tmp_path / name)
    assert (tmp_path / "view.png").read_bytes()[:4] == b"\x89PNG"
    drawing = (tmp_path / "view.svg").read_text()
    assert drawing.startswith("<svg")
    assert drawing.rstrip().endswith("</svg>")
    alone = Visit(program, "file://", offline=True)
    alone.page.goto(Path(tmp_path, "view.html").as_uri())
    alone.page.wait_for_selector("body[data-ready=yes]")
    alone.page.wait_for_selector(".verdict")
    assert alone.page.inner_text(".verdict") == page.inner_text(".verdict")
    assert alone.page.query_selector("input, select") is None
    assert alone.page.inner_text("body").startswith("Locate: plane")
    assert alone.page.evaluate(
        "document.querySelector('canvas').getBoundingClientRect().bottom <= innerHeight"
    )
    alone.close()


def test_a_reload_and_a_link_restore_the_state(visit):
    page = located(visit)
    page.evaluate("studio.tab.moveRobot([8.1, 1.4])")
    page.evaluate("studio.state.lidar.range_max = 12")
    page.keyboard.press("+")
    scale = page.evaluate("studio.stage.view.scale")
    until(page, "!studio.tab.busy")
    until(page, f"location.hash.includes('{scale}')")
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    page.wait_for_selector(".verdict")
    assert page.evaluate("[studio.state.robot.x, studio.state.lidar.range_max]") == [8.1, 12]
    assert page.evaluate("studio.stage.view.scale") == pytest.approx(scale)
    page.keyboard.press("5")
    until(page, """decodeURIComponent(location.hash).includes('"tab":"theory"')""")
    page.reload()
    page.wait_for_selector(".columns i")


def test_bad_files_are_one_sentence_and_the_page_lives_on(visit, tmp_path):
    page = located(visit)
    for name, data in (
        ("map.yaml", b"image: ["), ("photo.png", b"\x89PNG"), ("scan.json", b"{}"),
        ("run.log", b"nothing"), ("letter.txt", b"hello"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        drop(page, tmp_path / name)
        page.wait_for_selector(f"#toast.bad:has-text({name!r})")
        assert re.fullmatch(r"[^\n]+\.", page.inner_text("#toast"))
    page.evaluate("studio.toast('')")
    page.evaluate("studio.tab.moveRobot([-50, -50])")
    page.wait_for_selector("#toast.bad:not([hidden])")
    page.evaluate("studio.tab.moveRobot([5.2, 6.4])")
    until(page, "studio.tab.result.truth.x === 5.2")


@pytest.mark.parametrize("link", ["#site=nothing", "#%", "#{"])
def test_a_link_that_leads_nowhere_is_told_and_the_studio_begins_anew(visit, link):
    page = visit.open(f"/{link}")
    page.wait_for_selector("#toast.bad:not([hidden])")
    page.wait_for_selector(".verdict")
    assert page.evaluate("studio.site.key") == "plane"


def test_of_two_maps_that_are_chosen_the_last_is_shown(visit):
    """Whichever comes first."""
    page, held = located(visit), []

    def hold(route):
        held.append(route)

    page.route("**/sites/hall", hold)
    page.evaluate("() => { window.first = studio.open('hall'); return studio.open('office'); }")
    held[0].continue_()
    page.evaluate("() => window.first")
    shown = "[studio.site.key, studio.state.site, document.getElementById('site').value]"
    assert page.evaluate(shown) == ["office"] * 3


def test_a_folder_that_cannot_be_read_is_told(visit):
    page = located(visit)
    page.evaluate(
        """() => {
        const locked = { readEntries: (done, fail) => fail(new Error("it is locked")) };
        DataTransferItem.prototype.webkitGetAsEntry = () => (
          { isFile: false, name: "site", createReader: () => locked });
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["x"], "site"));
        dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    )
    page.wait_for_selector("#toast.bad:has-text('it is locked')")


def test_a_topic_of_a_bag_with_several_is_chosen_on_the_page(visit, tmp_path):
    way = [odometry(10.0 + k, (0.1 * k, 0.0, 0.0)) for k in range(3)]
    sits = link(10.0, "base", "laser", topic="/tf_static")
    both = [scan(11.0, topic="/front"), scan(11.0, topic="/back")]
    path = write_bag(tmp_path, [sits, *way, *both])
    page = located(visit)
    drop(page, path)
    page.wait_for_selector("#toast:has-text('2 topics of type LaserScan')")
    page.click("#toast button:has-text('/front')")
    page.wait_for_selector(".report:not(:empty)")
    assert ask(page, "tab.updates.length") == 1


def test_everything_can_be_done_by_keys_and_has_a_name(visit):
    page = located(visit)
    names = []
    for number in "12345":
        page.keyboard.press(number)
        selected = page.locator("[role=tab][aria-selected=true]")
        names.append(selected.inner_text())
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, canvas, summary")]
            .filter((e) => e.checkVisibility() && !(e.labels?.length || e.getAttribute("aria-label")
              || e.textContent.trim())).map((e) => e.outerHTML)"""
        )
        assert nameless == []
    assert names == ["Locate", "Follow", "Survey", "Explore", "Theory"]
    page.keyboard.press("1")
    page.wait_for_selector(".verdict")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.keyboard.press("Escape")
    page.wait_for_selector("#keys", state="hidden")
    x = page.evaluate("studio.state.robot.x")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("studio.state.robot.x") == pytest.approx(x + 0.1)
    page.keyboard.press("s")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "menuitem"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_map_and_answer_without_scrolling_aside(program, address, dark):
    visit = Visit(program, address, size=(390, 844), dark=dark)
    page = located(visit)
    for number in "12345":
        page.keyboard.press(number)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        assert page.locator("#plan").bounding_box()["height"] > 250
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    visit.close()
