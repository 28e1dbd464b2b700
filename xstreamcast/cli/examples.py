"""``xcast examples``: the examples that come with the package, as files to work with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from xstreamcast.cli.options import Argument


def examples_command(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="A folder that is not there yet.")] = Path("examples"),
) -> None:
    """Copy the examples that come with the package to a folder: streams, feeds, queries, notebooks.

    The documentation's commands name them as examples/…, which is also the folder's name by default.

    Examples:

      xcast examples

      xcast watch -f examples/sigmod04/accounts/fraud.xq --stream credit=examples/sigmod04/accounts/credit.xml
    """
    import shutil

    import xstreamcast
    from xstreamcast.errors import Place, error, file_error

    try:
        shutil.copytree(Path(xstreamcast.__file__).parent / "examples", folder)
    except FileExistsError:
        raise error("XSC0006", "there is such a folder already", Place(str(folder)), "name another one") from None
    except OSError as fault:
        raise file_error(fault, folder) from None
    print(f"{sum(file.is_file() for file in folder.rglob('*'))} files in {folder}")
