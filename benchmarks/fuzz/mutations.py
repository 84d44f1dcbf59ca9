"""Ways to damage a file: its bytes, its words, its tree, what is packed inside it.

Every way takes the content and a generator of random numbers and gives other content.
"""

import bz2
import copy
import gzip
import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import yaml

Random = np.random.Generator
WORDS = (
    b"nan", b"inf", b"-inf", b"1e308", b"-1e308", b"-1", b"0", b"1e-308", b"99999999999999999999",
    b"2147483648", b"4294967296", b"-2147483649", b"1e9", b"65536", b"3.5", b"abc", b"", b"0x10",
    b"\xff\xfe", b"\x1b[31m", b"9" * 5000, b"- - -", b"{", b"]", b"\n", b"\0",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, "", "x" * 3000, "nan", "\x1b[31m\n", -1, 0, 1, 2**31, -(2**63), 10**30, 0.5, 1e308,
    -1e308, 1e-308, math.nan, math.inf, -math.inf, [], {}, [[]], [None], {"type": "x"}, [1e9, 1e9],
    "..", "/dev/zero", "\ud800",
)  # fmt: skip
WHOLE = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
         0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)  # fmt: skip

LARGE = 1 << 25
"""Bytes after which a file is wounded no more."""


def damage(name: str, content: bytes, random: Random) -> bytes:
    """Other content for a file of that name, mostly one wound, sometimes several."""
    ways = [damage_bytes]
    if _is_text(content):
        ways += [damage_words, damage_words, damage_lines]
    if name.endswith((".json", ".geojson")):
        ways += [damage_json, damage_json, damage_json]
    if name.endswith((".yaml", ".yml")):
        ways += [damage_yaml, damage_yaml]
    if name.endswith((".gz", ".bz2")):
        ways += [damage_packed, damage_packed]
    if name.endswith(".npz"):
        ways += [damage_arrays, damage_arrays]
    if b"\n" in content[:200]:  # a header in text before what is not
        ways += [damage_header]
    for _ in range(int(random.choice([1, 1, 1, 2, 4]))):
        content = ways[int(random.integers(len(ways)))](content or b"\0", random)
        if len(content) > LARGE:
            break  # lines that were doubled and doubled again would fill the memory here
    return content


def damage_bytes(content: bytes, random: Random) -> bytes:
    """Flip, overwrite, cut, double, drop or swell."""
    data = bytearray(content)
    if not data:
        return b"\0"
    at = int(random.integers(len(data)))
    size = int(min(2.0 ** random.uniform(0, 12), len(data) - at))
    way = int(random.integers(9))
    if way == 0:
        data[at] ^= 1 << int(random.integers(8))
    elif way == 1:
        data[at : at + size] = random.bytes(size)
    elif way == 2:
        del data[at:]
    elif way == 3:
        del data[at : at + size]
    elif way == 4:
        data[at:at] = data[at : at + size]
    elif way == 5:
        data += random.bytes(size)
    elif way == 6:
        data[at : at + size] = bytes([int(random.choice([0, 0xFF, 0x20]))]) * size
    else:
        width = int(random.choice([1, 2, 4, 8]))
        value = int(WHOLE[int(random.integers(len(WHOLE)))]) & ((1 << 8 * width) - 1)
        order = "little" if random.random() < 0.8 else "big"
        data[at : at + width] = value.to_bytes(width, order)
    return bytes(data)


def damage_header(content: bytes, random: Random) -> bytes:
    """A word among the first 500 bytes."""
    return damage_words(content[:500], random) + content[500:]


def damage_words(content: bytes, random: Random) -> bytes:
    """A number or name becomes a hostile one."""
    found = list(re.finditer(rb"[-+.\w]+", content))
    if not found:
        return damage_bytes(content, random)
    spot = found[int(random.integers(len(found)))]
    return content[: spot.start()] + _pick(WORDS, random) + content[spot.end() :]


def damage_lines(content: bytes, random: Random) -> bytes:
    """Lines are dropped, doubled, swapped or put together."""
    lines = content.splitlines(keepends=True)
    a, b = (int(random.integers(len(lines))) for _ in range(2))
    way = int(random.integers(4))
    if way == 0:
        del lines[min(a, b) : max(a, b) + 1]
    elif way == 1:
        lines[a:a] = [lines[b]] * int(random.choice([1, 3, 300]))
    elif way == 2:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines[a] = lines[a].rstrip() + b" "
    return b"".join(lines)


def damage_json(content: bytes, random: Random) -> bytes:
    """One branch of the tree becomes something else; bytes where there is no tree any more."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return damage_bytes(content, random)
    if random.random() < 0.02:
        return b"[" * 100_000 + content
    return json.dumps(damage_tree(tree, random)).encode()


def damage_yaml(content: bytes, random: Random) -> bytes:
    """The same for YAML; at times with anchors that swell, or a tag that would make an object."""
    try:
        tree = yaml.safe_load(content)
        text = yaml.safe_dump(damage_tree(tree, random), allow_unicode=True)
    except (yaml.YAMLError, RecursionError, ValueError, AttributeError):
        return damage_bytes(content, random)
    way = random.random()
    if way < 0.1:
        return b"a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n" + text.encode(errors="replace")
    if way < 0.2:
        return b"x: !!python/object/apply:os.system [exit]\n" + text.encode(errors="replace")
    return text.encode(errors="replace")


def damage_tree(tree: Any, random: Random) -> Any:
    """The same for what is made of dicts, lists and tuples: a changed copy."""
    holder: list[Any] = [copy.deepcopy(tree)]
    node: Any = holder
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[int(random.integers(len(keys)))]
        child = node[key]
        leaf = not isinstance(child, dict | list | tuple) or not child
        if leaf or (node is not holder and random.random() < 0.15):
            break
        if isinstance(child, tuple):
            node[key] = child = list(child)
        node = child
    way = random.random()
    if way < 0.1 and node is not holder:
        del node[key]
    elif way < 0.2 and isinstance(node, list) and node is not holder:
        node[key:key] = [copy.deepcopy(node[key])] * int(random.choice([1, 2, 500]))
    else:
        node[key] = _pick(VALUES, random)
    return holder[0]


def damage_packed(content: bytes, random: Random) -> bytes:
    """What is inside an archive of one file, packed again."""
    for module in (gzip, bz2):
        try:
            inside = module.decompress(content)
        except (OSError, EOFError, ValueError, gzip.zlib.error):  # type: ignore[attr-defined]
            continue
        ways: list[Callable[..., bytes]] = [damage_words, damage_lines, damage_bytes]
        return module.compress(ways[int(random.integers(3))](inside or b"\n", random))
    return damage_bytes(content, random)


def damage_arrays(content: bytes, random: Random) -> bytes:
    """One array of an `.npz`: its values, its shape, its type, its name or its bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # damaged before
        members = {}
    if not members:
        return damage_bytes(content, random)
    name = sorted(members)[int(random.integers(len(members)))]
    if random.random() < 0.4:
        members[name] = damage_bytes(members[name], random)
    elif random.random() < 0.2:
        members["x\x1b.npy"] = members.pop(name)
    else:
        try:
            array = np.load(io.BytesIO(members[name]))
        except Exception:  # damaged before
            return damage_bytes(content, random)
        stream = io.BytesIO()
        np.save(stream, damage_array(array, random))
        members[name] = stream.getvalue()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return stream.getvalue()


def damage_array(array: np.ndarray, random: Random) -> np.ndarray:
    """Hostile values, another shape or another type."""
    way = int(random.integers(7))
    array = array.real if array.dtype.kind == "c" else array  # damaged before
    if array.dtype.kind == "U":
        return array[:0]
    with np.errstate(all="ignore"):
        if way == 0:
            return array.astype(
                _pick(("f2", "f4", "f8", "i1", "i8", "u8", "c16", "?", "U4"), random)
            )
        if way == 1:
            return array[: len(array) // 2] if array.ndim else array[None]
        if way == 2:
            return array.reshape(-1)
        if way == 3:
            return np.zeros((0, *array.shape[1:]), array.dtype)
        array = np.array(array)
        if array.dtype.kind == "f":
            value = _pick((math.nan, math.inf, -1.0, 0.0, 1e38, 1e300, 1e-300, 1e9), random)
        else:
            value = _pick((0, 1, 3, 127, -1, 2**31, 2**62), random)
        some = random.random(array.shape) < random.choice([0.01, 0.5, 1.0])
        if not some.any() and array.size:
            some.reshape(-1)[int(random.integers(array.size))] = True
        array[some] = np.asarray(value).astype(array.dtype)
        return array


def _pick(choices: Any, random: Random) -> Any:
    return choices[int(random.integers(len(choices)))]


def _is_text(content: bytes) -> bool:
    return b"\0" not in content[:2000] and bool(content)
