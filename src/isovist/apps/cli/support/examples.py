"""One example for each command, shown below its help."""

EXAMPLES = (
    "isovist demo --figure demo.png",
    "isovist sample samples",
    "isovist build office.yaml -o office.atlas",
    "isovist info office.atlas --check",
    "isovist map make run.log.gz -o office.yaml",
    "isovist map convert office.yaml office.geojson --tolerance 0.05",
    "isovist locate office.atlas scan.json --why --figure answer.png",
    "isovist check office.atlas scan.json 2.30 2.40 0.70",
    "isovist track office.atlas run.mcap --scan-topic /scan --tum way.tum",
    "isovist explore warehouse.yaml --seed 3 --figure drive.gif",
    "isovist survey warehouse.yaml --range-max 10 -o survey.html",
    "isovist paper tables --channels 12 --temperature 0.3 --figure paper.png",
    "isovist paper verify --quick",
    "isovist paper locate office.yaml scan.json --channels 32",
    "isovist paper track map.yaml log.npz --start 100 --stop 120",
    "isovist paper fit-basis office.yaml -o basis.json --channels 32",
    "isovist paper metric office.yaml --figure metric.png",
    "isovist paper steer plan.geojson 3.0 0.8 --legs 4",
    "isovist ros --map office.atlas --scan /scan --odom /odom --router",
    "isovist studio office.yaml drive.mcap",
    "isovist serve --library floors --port 8080",
    "isovist warm-up",
    "isovist bench carmen intel.log.gz --json",
    "isovist bench scans map.yaml scans.npz --held-out",
    "isovist bench simulate warehouse.yaml --count 100 --range-max 10",
    "isovist bench simulate3d building.bt --height 1 --rings 16",
    "isovist bench cross intel.log.gz aces.log.gz --count 50",
    "isovist bench calibrate --plans 70 --scans 10 --resume calibration.jsonl",
    "isovist bench starts intel.log.gz --reach 8",
    "isovist bench follow map.yaml run.npz --held-out",
    "isovist bench kidnap map.yaml run.npz --count 20",
)


def example_of(command: str) -> str:
    """Return the example call of a command, such as "locate" or "bench carmen"."""
    return "Example: " + next(
        line for line in EXAMPLES if f"{line} ".startswith(f"isovist {command} ")
    )
