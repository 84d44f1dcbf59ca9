"""How many faults the tests notice: small changes, each against the tests that run its line.

python -m benchmarks.mutate map [--tree FOLDER] [--workers 2] MAP.json
python -m benchmarks.mutate run [--tree FOLDER] [--count 150] [--seed 1] MAP.json RESULT.json

`map` runs the whole suite once, slowly: which test runs which line, how long each test takes, and
the share of lines that run, room by room.  `run` draws lines that tests run, outside compiled
kernels, changes one operator, constant or condition there in a copy of the tree, and runs the tests
of that line, short ones first, for at most a minute.  A change is killed when a test fails or
hangs.  What survives is printed, to be judged by a person: some changes make no difference.
"""

import argparse
import ast
import collections
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import coverage
import pytest
from coverage.python import PythonParser

SECONDS = 60
SOURCE = Path("src/isovist")
# Compiled code has other tests (its twins), and CUDA needs a machine that has it.
LEFT_OUT = ("compute", "kernels", "backends", "statements", "verify")

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*"}


# What pytest loads in the runs of `map`.


def processor_seconds():
    return sum(os.times()[:4])


def pytest_configure(config):
    config.seconds_of_tests = collections.Counter()
    config.failed_tests = set()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Name the test to the coverage that is measured, and count its processor time."""
    measured = coverage.Coverage.current()
    if measured is not None:
        measured.switch_context(item.nodeid)
    begun = processor_seconds()
    yield
    item.config.seconds_of_tests[function_of(item.nodeid)] += processor_seconds() - begun


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed:
        item.config.failed_tests.add(function_of(item.nodeid))


def pytest_sessionfinish(session):
    seconds, failed = session.config.seconds_of_tests, sorted(session.config.failed_tests)
    Path(os.environ["RESULTS_OF_TESTS"]).write_text(json.dumps([seconds, failed]))


def environment(tree, *more):
    """Return the environment of a run in `tree`: its sources, and no files left behind."""
    paths = [str(tree / "src"), str(tree), *map(str, more)]
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | quiet | {"PYTHONPATH": os.pathsep.join(paths)}


def test_files(tree):
    return sorted(str(path.relative_to(tree)) for path in (tree / "tests").rglob("test_*.py"))


def run_with_coverage(tree, files, folder):
    """Run `files` with coverage by test; return its data, and what the tests took."""
    folder.mkdir()
    settings = folder / "coveragerc"
    settings.write_text("[run]\nsource_pkgs = isovist\n")
    results = folder / "results.json"
    shutil.copy(__file__, folder / "test_contexts.py")  # a plug-in that any tree can load
    words = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q"]
    words += ["-p", "no:cacheprovider", "-p", "test_contexts"]
    words += ["--continue-on-collection-errors", *files]
    variables = environment(tree, folder) | {
        "COVERAGE_FILE": str(folder / "data"),
        "RESULTS_OF_TESTS": str(results),
    }
    log = (folder / "log.txt").open("w")
    subprocess.run(words, cwd=tree, env=variables, stdout=log, stderr=log, check=False)
    return folder / "data", results


def function_of(nodeid):
    return nodeid.split("[")[0]


def make_map(tree, output, workers):
    """Write which tests run each line, and the share of lines that run in each room."""
    files = test_files(tree)
    lines = collections.defaultdict(lambda: collections.defaultdict(set))
    seconds = collections.Counter()
    with (
        tempfile.TemporaryDirectory() as place,
        concurrent.futures.ThreadPoolExecutor(workers) as pool,
    ):
        runs = [
            pool.submit(run_with_coverage, tree, files[k::workers], Path(place, str(k)))
            for k in range(workers)
        ]
        for done in runs:
            data_file, results = done.result()
            print((data_file.parent / "log.txt").read_text()[-400:])
            took, failed = json.loads(results.read_text())
            seconds.update(took)
            for name in failed:  # they would fail with every change
                print(f"left out, since it fails: {name}")
                del seconds[name]
            data = coverage.CoverageData(str(data_file))
            data.read()
            for path in data.measured_files():
                for line, tests in data.contexts_by_lineno(path).items():
                    relative = str(Path(path).relative_to(tree))
                    lines[relative][line].update(function_of(test) for test in tests if test)
                    lines[relative][line]  # lines run by imports count as run
    rooms = shares(tree, lines)
    names = sorted(seconds)
    number = {name: k for k, name in enumerate(names)}
    known = {
        path: {
            line: sorted(number[t] for t in tests if t in number) for line, tests in rows.items()
        }
        for path, rows in lines.items()
    }
    tests = [[name, round(seconds[name], 3)] for name in names]
    output.write_text(json.dumps({"rooms": rooms, "tests": tests, "lines": known}))
    for room, (run, all_lines) in sorted(rooms.items()):
        print(f"{room:16}{run:7}{all_lines:7}{run / all_lines:8.1%}")


def shares(tree, lines):
    """Return how many lines run, and how many there are, by room."""
    rooms = collections.defaultdict(lambda: [0, 0])
    for path in sorted((tree / SOURCE).rglob("*.py")):
        parser = PythonParser(text=path.read_text() or "\n", filename=str(path))
        parser.parse_source()
        parts = path.relative_to(tree / SOURCE).parts
        room = rooms[parts[0] if len(parts) > 1 else "(top)"]
        room[0] += len(parser.statements & set(lines.get(str(path.relative_to(tree)), ())))
        room[1] += len(parser.statements)
    return rooms


def spans(text):
    """Return a function that cuts the source of a node: (start, end) as offsets into `text`."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    def cut(node):
        first = starts[node.lineno - 1] + node.col_offset
        return first, starts[node.end_lineno - 1] + node.end_col_offset

    return cut


def changes(text):
    """Yield (line, start, end, replacement) of every small change of a module; offsets in bytes."""
    cut = spans(text)
    source = text.encode()
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                skipped.update(map(id, ast.walk(part)))
        for decorator in getattr(node, "decorator_list", ()):
            skipped.update(map(id, ast.walk(decorator)))
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield between(cut, node.left, node.comparators[0], COMPARISONS[type(node.ops[0])])
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield between(cut, node.left, node.right, OPERATORS[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            word = "or" if isinstance(node.op, ast.And) else "and"
            yield between(cut, node.values[0], node.values[1], word)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            start, end = cut(node)
            yield node.lineno, start, end, other_constant(node.value)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            start, end = cut(node.test)
            yield node.lineno, start, end, f"(not ({source[start:end].decode()}))"


def between(cut, left, right, word):
    return left.end_lineno, cut(left)[1], cut(right)[0], f" {word} "


def other_constant(value):
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int) else repr(value * 1.5 if value else 1.0)


def all_changes(tree, known):
    """Yield (path, change) of each change on a line that tests run."""
    for path in sorted(known["lines"]):
        if any(word in path for word in LEFT_OUT):
            continue
        rows = known["lines"][path]
        text = (tree / path).read_text()
        yield from ((path, change) for change in changes(text) if rows.get(str(change[0])))


def changed(text, change):
    """Return `text` with the change, or None where it is no longer Python."""
    _, start, end, replacement = change
    source = text.encode()
    gap = source[start:end].decode()
    if gap.count(")") or gap.count("("):  # an operator in brackets of its operands
        outer = gap.replace("(", " ").replace(")", " ").strip()
        if replacement.strip() != outer and not replacement.startswith("(not"):
            replacement = gap.replace(outer, replacement.strip(), 1)
    result = (source[:start] + replacement.encode() + source[end:]).decode()
    try:
        compile(result, "changed", "exec")
    except SyntaxError:
        return None
    return result if ast.dump(ast.parse(result)) != ast.dump(ast.parse(text)) else None


def tests_of(known, path, line):
    """Return the tests of a line, short ones first, as many as fit into a minute."""
    tests = sorted(
        (known["tests"][k][1], known["tests"][k][0]) for k in known["lines"][path][str(line)]
    )
    chosen, total = [], 0.0
    for seconds, name in tests:
        total += seconds
        if chosen and total > SECONDS * 0.7:
            break
        chosen.append(name)
    return chosen


def fate(copies, known, path, change):
    """Return "killed", "hung" or "survived" for a change, tried in one of the copies."""
    tree = copies.pop()
    place = tree / path
    text, stamp = place.read_text(), place.stat()
    result = "survived"
    try:
        place.write_text(changed(text, change))
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        names = tests_of(known, path, change[0])
        code = subprocess.run(
            [*words, *names], cwd=tree, env=environment(tree), timeout=SECONDS * 1.5,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        ).returncode  # fmt: skip
        result = "killed" if code else "survived"
    except subprocess.TimeoutExpired:
        result = "hung"
    finally:
        place.write_text(text)
        os.utime(place, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        copies.append(tree)
    return result


def copies_of(tree, folder, workers):
    left_out = shutil.ignore_patterns(".git", ".venv", "node_modules", "out")
    return [
        Path(shutil.copytree(tree, folder / str(k), ignore=left_out, symlinks=True))
        for k in range(workers)
    ]


def draw(tree, known, count, seed):
    """Return `count` changes; every file is as likely as it has lines that tests run."""
    candidates = sorted(all_changes(tree, known))
    random.Random(seed).shuffle(candidates)
    drawn = []
    for path, change in candidates:
        if len(drawn) == count:
            break
        if changed((tree / path).read_text(), change) is not None:
            drawn.append((path, change))
    return drawn


def run(tree, map_file, output, count, seed, workers):
    known = json.loads(map_file.read_text())
    rows = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        copies = copies_of(tree, Path(place), workers)
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            drawn = draw(tree, known, count, seed)
            fates = pool.map(lambda row: fate(copies, known, *row), drawn)
            for (path, change), result in zip(drawn, fates, strict=True):
                line = (tree / path).read_text().splitlines()[change[0] - 1].strip()
                rows.append((result, f"{path}:{change[0]}", line, change[3].strip()))
                print(f"{len(rows):4}{time.monotonic() - begun:6.0f} s", *rows[-1], sep="  ")
                sys.stdout.flush()
                output.write_text(json.dumps(rows))
    counts = collections.Counter(row[0] for row in rows)
    print(f"{counts['killed'] + counts['hung']} of {len(rows)} killed ({counts['hung']} hung)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("map", "run"))
    parser.add_argument("--tree", type=Path, default=Path())
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("map_file", type=Path)
    parser.add_argument("result", type=Path, nargs="?")
    options = parser.parse_args()
    tree = options.tree.resolve()
    if options.what == "map":
        make_map(tree, options.map_file, options.workers)
    else:
        result = options.result or options.map_file.with_suffix(".result.json")
        run(tree, options.map_file, result, options.count, options.seed, options.workers)


if __name__ == "__main__":
    main()
