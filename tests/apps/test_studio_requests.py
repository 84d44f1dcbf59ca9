"""Broken requests: a sample of those of `python -m benchmarks.fuzz`, and what was found once."""

import numpy as np
import pytest
from benchmarks.fuzz import requests
from benchmarks.fuzz.readers import WrongError


@pytest.mark.slow
@pytest.mark.parametrize("path", requests.SOUND)
def test_sound_requests_are_answered(path):
    asked = requests.door().ask("POST", path, json=requests.SOUND[path])
    assert asked.status_code == 200
    requests.check(asked)


@pytest.mark.slow
@pytest.mark.parametrize("kind", requests.ASKED)
def test_broken_requests_are_answered_or_refused_in_one_clear_line(kind):
    for case in range(60):
        requests.ASKED[kind](np.random.default_rng([5, case]))


@pytest.mark.parametrize("path", requests.PATHS)
def test_no_address_leads_out_of_the_pages(path):
    asked = requests.door().ask("GET", path)
    requests.check(asked)
    assert asked.status_code in (200, 404)
    assert "Starlette(" not in asked.text


def test_half_a_character_in_a_title_is_shared_as_a_question_mark():
    view = b'{"title": "a \\ud800 b", "marks": []}'
    asked = requests.door().ask("POST", "/share", content=view)
    assert asked.status_code == 200
    assert "<title>a ? b</title>" in asked.text


def test_answers_that_are_not_clear_are_findings():
    import httpx

    for answer, text in (
        (httpx.Response(500, text="oh"), "status 500: oh"),
        (httpx.Response(400, text="oh"), "no JSON: 'oh'"),
        (httpx.Response(400, json={"error": "no stop"}), "no clear line: 'no stop'"),
    ):
        with pytest.raises(WrongError) as error:
            requests.check(answer)
        assert str(error.value) == text
