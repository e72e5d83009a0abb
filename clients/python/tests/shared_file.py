"""Files that the tests of all clients share."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def read_shared(name: str) -> Any:
    """Reads a JSON file in the repository or in a source distribution."""
    places = [HERE.parents[1] / name, HERE.parent / name]
    return json.loads(next(place for place in places if place.exists()).read_text("utf-8"))
