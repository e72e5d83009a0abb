#!/usr/bin/env python3
"""Creates an empty 16:9 deck with the master and layouts of the house style."""

import argparse
from pathlib import Path

from office import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--title", default="")
    parser.add_argument("--author", default="")
    parser.add_argument("--font", default="Calibri")
    parser.add_argument("--accent", default="1F5A7A", help="six hexadecimal digits")
    parser.add_argument("--second", default="C8643C", help="six hexadecimal digits")
    given = parser.parse_args()
    from template import new_deck

    deck = new_deck(given.title, given.author, given.accent, given.second, given.font)
    deck.save(str(given.out))
    print(f"{given.out}: an empty deck with the layouts {', '.join(one.name for one in deck.slide_layouts)}")


if __name__ == "__main__":
    run(main)
