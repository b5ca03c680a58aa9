"""What the record of a job (`accel status --json`) must say once the job is over, whatever faults it has suffered."""

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED")


def contradictions(job):
    """Returns a sentence for each rule that the record of a job in a final phase breaks."""
    return [f"job {job['job_id']}: {text}" for text in [*_of_end(job), *_of_numbers(job), *_of_ranks(job)]]


def _of_end(job):
    phase, code = job["phase"], job["exit_code"]
    if phase not in FINAL:
        yield f"its phase is {phase}"
        return
    if (phase == "SUCCEEDED") != (code == 0):
        yield f"it is {phase} with exit code {code}"
    if phase == "FAILED" and "cause" not in job:
        yield "it is FAILED without a cause"
    if job["next"] != "AFTER_STOP_UNSPECIFIED":
        yield f"{job['next']} follows the final phase {phase}"
    if not int(job["ended_unix_ms"]):
        yield f"it is {phase} and has no end"
    # The failure after the last restart ends the job.
    if not int(job["spec"]["restart_window_ms"]) and job["failures"] > job["spec"]["max_restarts"] + 1:
        yield f"it failed {job['failures']} times with {job['spec']['max_restarts']} restarts"


def _of_numbers(job):
    numbers = [each["generation"] for each in job["generations"]]
    # Only the newest generations are kept.
    if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        yield f"its generations are {numbers}"
    if job["phase"] in FINAL and not all(int(each["ended_unix_ms"]) for each in job["generations"]):
        yield "a generation has no end"


def _of_ranks(job):
    for each in job["generations"]:
        next_rank = 0
        for placement in each["placements"]:
            if placement["first_rank"] != next_rank or placement["processes"] < 1:
                yield f"the ranks of generation {each['generation']} are not dense: {each['placements']}"
                break
            next_rank += placement["processes"]
        nodes = [placement["node_id"] for placement in each["placements"]]
        if len(set(nodes)) != len(nodes):
            yield f"generation {each['generation']} is on a node twice: {nodes}"
