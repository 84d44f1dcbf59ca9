"""Describe drives of a lost robot as words and as JSON."""

from typing import Any

from isovist.report.answers import pose_json
from isovist.simulation import Run


def run_json(run: Run) -> dict[str, Any]:
    """Return a drive of a lost robot as JSON data, in m and rad."""
    return {
        "rule": run.rule.value,
        "unique": run.unique,
        "right": run.right,
        "distance": run.distance,
        "steps": [
            {
                "distance": step.distance,
                "verdict": step.belief.verdict.value,
                "truth": pose_json(step.truth),
                "estimates": [
                    {**pose_json(e.pose), "probability": e.probability}
                    for e in step.belief.estimates
                ],
            }
            for step in run.steps
        ],
        "proposals": [
            {
                "direction": p.direction,
                "distance": p.distance,
                "gain": p.gain,
                "path": p.path.tolist(),
                "text": p.text,
            }
            for p in run.proposals
        ],
    }


def run_text(run: Run) -> str:
    """Describe a drive of a lost robot in a few lines: the proposals, and the result."""
    first = run.steps[0].belief
    lines = [f"at the start: {first.verdict.value}: {first.advice}"]
    for k, step in enumerate(run.steps[1:]):
        proposal = step.proposal
        if proposal is not None and proposal is not run.steps[k].proposal:
            lines.append(f"  after {run.steps[k].distance:4.1f} m: {proposal.text}")
    last = run.steps[-1].belief
    lines.append(f"after {run.distance:.1f} m: {last.verdict.value}: {last.advice}")
    if run.unique:
        lines.append("The answer is right." if run.right else "The answer is wrong.")
    return "\n".join(lines)
