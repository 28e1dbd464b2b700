"""What a continuous query on Spark tells and saves does not depend on the process: not on its hash seed.

Spark gives its workers the seed 0, and the driver has any. So whoever goes on from a saved state, at whichever boundary
of micro-batches, must number the regions of an answer as the one who saved it would have.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def run(script: str, seed: int, *args: Any) -> str:
    """A script of this folder in a process with a hash seed."""
    paths = [str(HERE), *[str(HERE.parent / name) for name in ("properties", "run")], str(HERE.parents[1])]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(HERE / script), *map(str, args)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


SEEDS = (22, 1, 13)
"""Who goes on from what 0 has saved."""
TOGETHER = int(os.environ.get("SEEDS_OF_A_RUN", "1"))
"""So many of them go on with each of the runs: with 1 they share these, with 3, as by ``make law``, each has all."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """By seed: what was told in each run. All but 0 have nothing at each boundary but what 0 saved there."""
    folder = tmp_path_factory.mktemp("seeds")
    result: dict[int, dict[str, Any]] = {seed: {} for seed in (0, *SEEDS)}
    shares = [(SEEDS[(first + more) % 3], first) for more in range(TOGETHER) for first in range(3)]
    for seed, states in ((0, []), *[(seed, [folder / "0", 3, first]) for seed, first in shares]):
        run("seeded_motion.py", seed, folder / str(seed), *states)
        result[seed] |= pickle.loads((folder / str(seed)).read_bytes())["told"]
    return result


@pytest.mark.xdist_group("seeds")  # the processes run once
def test_what_is_told_is_the_same_under_every_hash_seed(told: dict[int, dict[str, Any]]) -> None:
    assert sorted(name for seed in SEEDS for name in told[seed]) == sorted([*told[0]] * TOGETHER)
    for seed in SEEDS:
        for name, batches in told[seed].items():
            assert batches == told[0][name], (seed, name)
    assert sum(bool(rows) for batches in told[0].values() for rows in batches) > len(told[0]), "something is told"


@pytest.mark.spark
def test_a_driver_whose_hash_seed_is_not_its_workers_goes_on_from_their_states(tmp_path: Path) -> None:
    assert json.loads(run("seeded_driver.py", 22, tmp_path)) == {"workers": "0", "answers": "as from scratch"}
