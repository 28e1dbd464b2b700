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


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """By seed: what was told in each run. The others have nothing at each boundary but what 0 saved there; 1 and 13
    share the runs."""
    folder = tmp_path_factory.mktemp("seeds")
    result = {}
    for seed, others in ((0, []), (22, [0]), (1, [0, 2, 0]), (13, [0, 2, 1])):
        states = [folder / str(others[0]), *others[1:]] if others else []
        run("seeded_motion.py", seed, folder / str(seed), *states)
        result[seed] = pickle.loads((folder / str(seed)).read_bytes())["told"]
    return result


@pytest.mark.xdist_group("seeds")  # the processes run once
@pytest.mark.parametrize("seeds", [(22,), (1, 13)])
def test_what_is_told_is_the_same_under_every_hash_seed(
    told: dict[int, dict[str, Any]], seeds: tuple[int, ...]
) -> None:
    assert sorted(name for seed in seeds for name in told[seed]) == sorted(told[0])
    for seed in seeds:
        for name, batches in told[seed].items():
            assert batches == told[0][name], (seed, name)
    assert sum(bool(rows) for batches in told[0].values() for rows in batches) > len(told[0]), "something is told"


@pytest.mark.spark
def test_a_driver_whose_hash_seed_is_not_its_workers_goes_on_from_their_states(tmp_path: Path) -> None:
    assert json.loads(run("seeded_driver.py", 22, tmp_path)) == {"workers": "0", "answers": "as from scratch"}
