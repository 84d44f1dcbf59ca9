from isovist.localization.advice import ADDITIONAL_REASONS as ADDITIONAL_REASONS
from isovist.localization.advice import SENTENCES as SENTENCES
from isovist.localization.answer import Answer as Answer
from isovist.localization.answer import Estimate as Estimate
from isovist.localization.answer import Proof as Proof
from isovist.localization.answer import Verdict as Verdict
from isovist.localization.answer import ellipse_radius as ellipse_radius
from isovist.localization.answer import is_same_place as is_same_place
from isovist.localization.answer_stream import LocateOptions as LocateOptions
from isovist.localization.answer_stream import ScanGroup as ScanGroup
from isovist.localization.answer_stream import scan_locator as scan_locator
from isovist.localization.candidates.height_slices import SliceMap as SliceMap
from isovist.localization.candidates.height_slices import competitors_of as competitors_of
from isovist.localization.candidates.height_slices import (
    height_slice_candidates as height_slice_candidates,
)
from isovist.localization.candidates.lower_bounds import LowerBounds as LowerBounds
from isovist.localization.candidates.map_selection import CoarseBounds as CoarseBounds
from isovist.localization.candidates.map_selection import MapSelection as MapSelection
from isovist.localization.candidates.map_streams import AnyCandidates as AnyCandidates
from isovist.localization.candidates.map_streams import find_candidates as find_candidates
from isovist.localization.candidates.node_search import Candidates as Candidates
from isovist.localization.candidates.node_search import NodeSearch as NodeSearch
from isovist.localization.candidates.node_search import best_headings as best_headings
from isovist.localization.candidates.node_search import distinct_indices as distinct_indices
from isovist.localization.candidates.node_search import encode as encode
from isovist.localization.candidates.node_search import min_costs as min_costs
from isovist.localization.candidates.node_subsets import search_node_subsets as search_node_subsets
from isovist.localization.candidates.streams import JoinedCandidates as JoinedCandidates
from isovist.localization.decision.decide import RULES as RULES
from isovist.localization.decision.decide import decide as decide
from isovist.localization.decision.evidence import Evidence as Evidence
from isovist.localization.decision.probability import probabilities as probabilities
from isovist.localization.decision.rules import Rule as Rule
from isovist.localization.decision.rules import apply_rules as apply_rules
from isovist.localization.decision.search_loop import Search as Search
from isovist.localization.decision.search_loop import attempt as attempt
from isovist.localization.decision.search_loop import cost_ratio as cost_ratio
from isovist.localization.decision.search_loop import has_rivals as has_rivals
from isovist.localization.decision.search_loop import rivals_of as rivals_of
from isovist.localization.fitting.covariance import coordinate_vector as coordinate_vector
from isovist.localization.fitting.covariance import covariances as covariances
from isovist.localization.fitting.covariance import information as information
from isovist.localization.fitting.covariance import major_axis as major_axis
from isovist.localization.fitting.covariance import to_robot_frame as to_robot_frame
from isovist.localization.fitting.final_fit import RANGE_BIAS_PRIOR as RANGE_BIAS_PRIOR
from isovist.localization.fitting.final_fit import final_fit as final_fit
from isovist.localization.fitting.final_fit import uniform_beams as uniform_beams
from isovist.localization.interpretations.alternative_scans import (
    find_better_alternative as find_better_alternative,
)
from isovist.localization.interpretations.any_attitude import ATTITUDE_NEEDS_3D as ATTITUDE_NEEDS_3D
from isovist.localization.interpretations.any_attitude import MAX_ATTITUDES as MAX_ATTITUDES
from isovist.localization.interpretations.any_attitude import (
    AttitudeHypothesis as AttitudeHypothesis,
)
from isovist.localization.interpretations.any_attitude import all_up_directions as all_up_directions
from isovist.localization.interpretations.any_attitude import as_level_robot as as_level_robot
from isovist.localization.interpretations.any_attitude import (
    attitude_hypotheses as attitude_hypotheses,
)
from isovist.localization.interpretations.any_attitude import check_attitude as check_attitude
from isovist.localization.interpretations.any_attitude import levelling_tilt as levelling_tilt
from isovist.localization.interpretations.hints import Hint as Hint
from isovist.localization.interpretations.hints import hints as hints
from isovist.localization.interpretations.levelling import resolve_tilt as resolve_tilt
from isovist.localization.kernels import compile_kernels as compile_kernels
from isovist.localization.locate import preview as preview
from isovist.localization.query.query import Query as Query
from isovist.localization.query.region import Region as Region
from isovist.localization.query.scan_views import select_beams as select_beams
from isovist.localization.query.search_space import AnyMaps as AnyMaps
from isovist.localization.query.search_space import AnyRegion as AnyRegion
from isovist.localization.query.search_space import Regions as Regions
from isovist.localization.query.search_space import SearchRegion as SearchRegion
from isovist.localization.query.search_space import (
    estimates_in_map_frames as estimates_in_map_frames,
)
from isovist.localization.query.search_space import region_around as region_around
from isovist.localization.query.search_space import search_region as search_region
from isovist.localization.query.search_space import search_space_of as search_space_of
from isovist.localization.query.search_space import to_common_frame as to_common_frame
from isovist.localization.query.search_space import to_map_frame as to_map_frame
from isovist.localization.reasons import Facts as Facts
from isovist.localization.reasons import Reason as Reason
from isovist.localization.scoring.coarse_to_fine import CandidateFitter as CandidateFitter
from isovist.localization.scoring.coarse_to_fine import refit as refit
from isovist.localization.scoring.contrast import MIN_FAVOUR as MIN_FAVOUR
from isovist.localization.scoring.contrast import Contrast as Contrast
from isovist.localization.scoring.contrast import contrast as contrast
from isovist.localization.scoring.contrast import rate_at as rate_at
from isovist.localization.scoring.hypotheses import Fits as Fits
from isovist.localization.scoring.hypotheses import group_ratings as group_ratings
from isovist.localization.scoring.hypotheses import is_refuted as is_refuted
from isovist.localization.scoring.hypotheses import log_likelihoods as log_likelihoods
from isovist.localization.scoring.likelihood_climb import climb_likelihood as climb_likelihood
from isovist.localization.scoring.removed_walls import (
    adjusted_log_likelihoods as adjusted_log_likelihoods,
)
from isovist.localization.scoring.removed_walls import (
    allow_for_removed_walls as allow_for_removed_walls,
)
from isovist.localization.scoring.removed_walls import see_through_settings as see_through_settings
from isovist.localization.scoring.weak_axis import widen_along_weak_axis as widen_along_weak_axis
from isovist.localization.settings import LocalizationSettings as LocalizationSettings
from isovist.localization.verification.branch_and_bound import PoseProblem as PoseProblem
from isovist.localization.verification.branch_and_bound import (
    search_pose_boxes as search_pose_boxes,
)
from isovist.localization.verification.check import Check as Check
from isovist.localization.verification.check import check as check
from isovist.localization.verification.upper_bounds import UpperBoundMap as UpperBoundMap
from isovist.localization.verification.upper_bounds import pack_lines as pack_lines
from isovist.localization.workers import PICKLE_PROTOCOL as PICKLE_PROTOCOL
from isovist.localization.workers import SINGLE_CORE as SINGLE_CORE
from isovist.localization.workers import SIZE_BYTES as SIZE_BYTES
from isovist.localization.workers import WORKER_ENDED as WORKER_ENDED
from isovist.localization.workers import Worker as Worker
from isovist.localization.workers import WorkerEndedError as WorkerEndedError
from isovist.localization.workers import Workers as Workers
from isovist.localization.workers import answer_requests as answer_requests
from isovist.localization.workers import check_workers as check_workers
from isovist.localization.workers import locate_requests as locate_requests
from isovist.localization.workers import run_worker as run_worker
from isovist.localization.workers import split_scans as split_scans
