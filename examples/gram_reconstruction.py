"""What the descriptor remembers of a view: P_n f of the paper's room, and how the rest shrinks."""

from pathlib import Path

import numpy as np

from isovist.basis import DirectionalBasis
from isovist.paper.completeness import fine_bases, parseval_gap, parseval_gap_of
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.norms import squared_norms
from isovist.paper.example import paper_room
from isovist.paper.gram.gram import Gram
from isovist.paper.report.theory_figures import draw_gap, draw_reconstruction, draw_remembered
from isovist.report.figures.figures import new_figure, save


def main(out: Path = Path("out/gram_reconstruction.png")) -> None:
    room, place = paper_room(), np.array([1.5, 2.0])
    energy = float(squared_norms(room, place[None])[0])
    print(f"‖f‖² = {energy:.10f} m², half of it is the visible area, {energy / 2:.4f} m²")

    projections = {}
    for n in (8, 32):
        basis = DirectionalBasis.circle(n)
        gram = Gram.from_basis(basis)
        F, _ = Descriptor(basis).at(room, place)
        projections[f"n = {n}"] = gram.projection(F)
        print(f"n = {n:3d}, ε = h²: rank {gram.rank}, condition {gram.condition:.3g}, "
              f"|f| = {float(gram.seminorm(F)):.6f} of {np.sqrt(energy):.6f} m")  # fmt: skip
    flat = DirectionalBasis.circle(64, 0.5)
    gram = Gram.from_basis(flat)
    F, _ = Descriptor(flat).at(room, place)
    print(f"n =  64, ε = 0.5: rank {gram.rank} of 64, |f| = {float(gram.seminorm(F)):.6f} m")

    bases = fine_bases(2)
    jumping = parseval_gap(bases, room, place)
    smooth = parseval_gap_of(bases, lambda t: np.exp(2.0 * t[:, 0]))
    print("   n   gap, jumping (m²)   gap, smooth")
    for n, a, b in zip(jumping.sizes, jumping.values, smooth.values, strict=True):
        print(f"{n:4.0f}   {a:17.6f}   {b:11.3e}")
    print(f"observed orders in h: jumping {np.round(jumping.rates, 2)}, "
          f"smooth {np.round(smooth.rates[:4], 2)}")  # fmt: skip

    figure = new_figure(11.0, 3.6)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.2, 1.0, 0.9))
    draw_reconstruction(left, room, place, projections)
    draw_remembered(middle, room, place, projections["n = 32"])
    middle.set_title("as remembered by 32 numbers")
    draw_gap(right, jumping.sizes, {"range, jumps": jumping.values})
    save(figure, out)
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
