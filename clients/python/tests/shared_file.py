"""Files that the tests of all clients use."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def read_shared(name: str) -> Any:
    """The content of a file, which is in the repository or in a source distribution."""
    places = [HERE.parents[1] / name, HERE.parent / name]
    return json.loads(next(place for place in places if place.exists()).read_text("utf-8"))
