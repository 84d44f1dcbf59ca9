"""Parameters of a node: topics, frames, and what it publishes."""

from dataclasses import dataclass

from isovist.errors import InputError
from isovist.poses import Pose

OUTPUTS = ("initialpose", "pose", "tf")
NO_TF = "`publish` must be initialpose or pose with `any_attitude`; tf needs level ground."


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of the node, with the names that they have in ROS.

    Attributes:
        scan: Topic of the scans.
        odom: Topic of the odometry; `tf` takes the link below `odom`, nothing does without.
        map: Topic of the map; unused where the node has an atlas, and of several maps the one
            that is loaded.
        watch: Topic of the poses of another system to be checked, e.g. `/amcl_pose`; none if empty.
        publish: What is published: `initialpose` when unique, once, until it is lost again or
            found elsewhere; `pose`, every unique pose on `/isovist/pose`; `tf`, map → odom.
        map_frame: Frame of the map, where nothing else says so.
        odom_frame: Frame of the odometry, where nothing else says so.
        sensor: T_robot_sensor; `None` takes it from tf.
        links: File of lifts and doors between several maps; none if empty.
        any_attitude: On an atlas in space, nothing says which way is up; each scan is located in
            any attitude.
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
