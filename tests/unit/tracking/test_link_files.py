"""Files of lifts and doors between maps."""

import isovist as iv
from isovist.tracking.link_files import read_links


def test_an_entry_joins_all_its_maps_two_by_two(tmp_path):
    path = tmp_path / "links.yaml"
    path.write_text(
        "- {a: [1, 2, 0.5], b: [3.0, 4.0, 0.0], c: [5, 6, 0]}\n- {a: [7, 8, 0], d: [9, 9, 1]}"
    )
    links = read_links(path)
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d")]
    assert [(link.first, link.second) for link in links] == pairs
    assert links[0] == iv.Link("a", iv.Pose(1, 2, 0.5), "b", iv.Pose(3, 4, 0))
    path.write_text('[{"a": [1, 2, 0.5], "b": [3, 4, 0]}]')
    assert read_links(path) == links[:1]
