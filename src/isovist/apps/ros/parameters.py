"""Parameters of a node: topics, frames, and what it publishes."""

from dataclasses import dataclass

from isovist.errors import InputError
from isovist.poses import Pose

OUTPUTS = ("initialpose", "pose", "tf")
NO_TF = "`publish` must be initialpose or pose with `any_attitude`; tf needs level ground."


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of the ROS node, with their names in ROS.

    Attributes:
        scan: Topic of the scans.
        odom: Topic of the odometry.  `tf` takes the link below `odom`; empty for no odometry.
        map: Topic of the map.  It is ignored if the node has an atlas.  If the node has several
            maps, it shows which one is loaded.
        watch: Topic of poses of another system to check, e.g. `/amcl_pose`; empty for none.
        publish: Outputs of the node.  `initialpose` publishes a unique pose once, and again after
            the robot was lost or found elsewhere.  `pose` publishes every unique pose on
            `/isovist/pose`. `tf` publishes map → odom.
        map_frame: Frame of the map, if no message names one.
        odom_frame: Frame of the odometry, if no message names one.
        sensor: T_robot_sensor; `None` takes it from tf.
        links: File of lifts and doors between several maps; empty for none.
        any_attitude: Whether each scan is located in any attitude, on a 3D atlas, since roll and
            pitch are unknown.
    """

    scan: str = "/scan"
    odom: str = "/odom"
    map: str = "/map"
    watch: str = ""
    publish: tuple[str, ...] = ("initialpose",)
    map_frame: str = "map"
    odom_frame: str = "odom"
    sensor: Pose | None = None
    links: str = ""
    any_attitude: bool = False

    def __post_init__(self) -> None:
        for name in self.publish:
            if name not in OUTPUTS:
                raise InputError.about("publish", f"must be of {', '.join(OUTPUTS)}, got {name!r}.")
        if self.any_attitude and "tf" in self.publish:
            raise InputError(NO_TF, code="conflict", field="publish")
        for name in ("scan", "odom", "map", "watch"):
            topic = getattr(self, name)
            exceptions = {"odom": ("", "tf"), "watch": ("",)}.get(name, ())
            if topic not in exceptions and not (
                topic.startswith("/") and len(topic.strip("/")) > 0
            ):
                raise InputError.about(name, f"must be a topic such as `/{name}`, got {topic!r}.")
