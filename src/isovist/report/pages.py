"""Write surveys as one self-contained HTML page, with tables and pictures inside."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from isovist.report.comparisons import difference_text
from isovist.report.surveys import area_words, sensor_words, share_text, survey_rows
from isovist.surveying import Survey

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #22303c; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: 0.3rem 1rem 0.3rem 0; border-bottom: 1px solid #c9d3da;
         vertical-align: top; }
img { max-width: 100%; height: auto; }
"""


def survey_page(name: str, surveys: Sequence[Survey], picture: bytes) -> str:
    """Return a self-contained HTML page with the surveys of a site.

    Args:
        name: Name of the site.
        surveys: The survey of one sensor, or of two that are compared.
        picture: Picture of the surveys, as PNG.
    """
    texts = [share_text(survey) for survey in surveys]
    texts += [difference_text(surveys)] if len(surveys) == 2 else []
    columns = [survey_rows(survey) for survey in surveys]
    rows = [[row[0][0], *(text for _, text in row)] for row in zip(*columns, strict=True)]
    image = b64encode(picture).decode("ascii")
    parts = [
        *(f"<p>{escape(text)}</p>" for text in texts),
        _table(rows),
        f'<p><img alt="Where one scan is enough" src="data:image/png;base64,{image}"></p>',
    ]
    for survey in surveys:
        if survey.areas:
            parts.append(f"<h2>Worst areas with a {escape(sensor_words(survey.lidar))}</h2>")
            listed = enumerate(survey.areas, start=1)
            parts.append(_table([str(k), area_words(area)] for k, area in listed))
    title = escape(f"Survey of {name}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _table(rows: Iterable[Sequence[str]]) -> str:
    lines = (
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(text)}</td>' for text in rest)}</tr>"
        for first, *rest in rows
    )
    return "<table>\n" + "\n".join(lines) + "\n</table>"
