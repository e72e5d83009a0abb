"""The 16:9 template: theme, master and layouts, which replace those of python-pptx."""

import re
from dataclasses import dataclass

from pptx import Presentation
from pptx.oxml import parse_xml
from pptx.presentation import Presentation as PresentationType
from pptx.util import Emu, Inches

WIDTH, HEIGHT = 13.333, 7.5
LEFT, RIGHT, TOP, BOTTOM = 0.7, 12.63, 1.7, 6.45
INK, GREY, PALE, WHITE = "1B2733", "566470", "EEF2F5", "FFFFFF"
NAMESPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)
GROUP = (
    '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr><a:xfrm>'
    '<a:off x="0" y="0"/><a:ext cx="0" cy="0"/><a:chOff x="0" y="0"/><a:chExt cx="0" cy="0"/></a:xfrm></p:grpSpPr>'
)


@dataclass
class Place:
    """A placeholder: kind, index, box in inches, and the format of its text."""

    kind: str
    index: int
    name: str
    box: tuple[float, float, float, float]
    size: float = 20
    color: str = "tx1"
    bold: bool = False
    anchor: str = "t"
    align: str = "l"
    bullets: bool = False
    prompt: str = "Text"


TITLE = Place("title", 0, "Title", (LEFT, 0.5, RIGHT - LEFT, 1.0), 30, "tx1", True, prompt="The point, as a sentence")
SOURCE = Place("body", 20, "Source", (LEFT, 6.52, RIGHT - LEFT, 0.34), 12, "grey", anchor="ctr", prompt="Source")
FOOTER = Place("ftr", 11, "Footer", (LEFT, 6.98, 9.5, 0.3), 11, "grey", anchor="ctr", prompt="Footer")
NUMBER = Place("sldNum", 12, "Slide number", (RIGHT - 1.2, 6.98, 1.2, 0.3), 11, "grey", anchor="ctr", align="r")
COLUMN = (RIGHT - LEFT - 0.5) / 2


def body(
    index: int, x: float, width: float, top: float = TOP, bottom: float = BOTTOM, size: float = 20, anchor: str = "t"
) -> Place:
    """Returns a body with bullets."""
    return Place("body", index, f"Text {index}", (x, top, width, bottom - top), size, bullets=True, anchor=anchor)


def thing(index: int, x: float, width: float, top: float = TOP, bottom: float = BOTTOM) -> Place:
    """Returns a placeholder for a chart, table or picture."""
    return Place("obj", index, f"Content {index}", (x, top, width, bottom - top), 18, prompt="Chart, table or picture")


def head(index: int, x: float) -> Place:
    """Returns the heading of a column."""
    return Place(
        "body",
        index,
        f"Heading {index}",
        (x + 0.35, TOP + 0.3, COLUMN - 0.7, 0.5),
        22,
        "accent1",
        True,
        "ctr",
        prompt="Heading",
    )


# Name, background (None is the white of the master) and placeholders.
LAYOUTS: list[tuple[str, str | None, list[Place]]] = [
    (
        "Cover",
        "tx1",
        [
            Place("ctrTitle", 0, "Title", (LEFT, 1.9, 10.6, 2.3), 44, "bg1", True, "b", prompt="Title"),
            Place("subTitle", 1, "Subtitle", (LEFT, 4.55, 10.6, 1.2), 20, "bg2", prompt="Subtitle"),
        ],
    ),
    (
        "Section",
        "accent1",
        [
            Place("title", 0, "Title", (LEFT, 2.3, 10.6, 1.6), 38, "bg1", True, "b", prompt="Section"),
            Place("body", 1, "Text", (LEFT, 4.15, 10.6, 1.2), 20, "bg1", prompt="What it is about"),
        ],
    ),
    ("Text", None, [TITLE, body(1, LEFT, 10.9, size=22), SOURCE, FOOTER, NUMBER]),
    ("Chart", None, [TITLE, thing(1, LEFT, RIGHT - LEFT), SOURCE, FOOTER, NUMBER]),
    (
        "Chart and text",
        None,
        [TITLE, thing(1, LEFT, 7.6), body(2, 8.75, RIGHT - 8.75, anchor="ctr"), SOURCE, FOOTER, NUMBER],
    ),
    (
        "Two columns",
        None,
        [
            TITLE,
            head(1, LEFT),
            body(2, LEFT + 0.35, COLUMN - 0.7, TOP + 0.95, BOTTOM - 0.3),
            head(3, RIGHT - COLUMN),
            body(4, RIGHT - COLUMN + 0.35, COLUMN - 0.7, TOP + 0.95, BOTTOM - 0.3),
            SOURCE,
            FOOTER,
            NUMBER,
        ],
    ),
    ("Title only", None, [TITLE, SOURCE, FOOTER, NUMBER]),
    ("Blank", None, [FOOTER, NUMBER]),
]


def color(name: str) -> str:
    """Returns a colour of the theme. Grey is a fixed colour with a contrast above 4.5 on white."""
    if name == "grey":
        return f'<a:solidFill><a:srgbClr val="{GREY}"/></a:solidFill>'
    return f'<a:solidFill><a:schemeClr val="{name}"/></a:solidFill>'


def levels(place: Place) -> str:
    """Returns the formats of the text levels of a placeholder."""
    found = []
    for level in range(1, 4 if place.bullets else 2):
        size = int(100 * (place.size if level == 1 else max(place.size - 2 * (level - 1), 14)))
        indent = 'marL="0" indent="0"'
        bullet = "<a:buNone/>"
        if place.bullets:
            left = 285750 * level
            indent = f'marL="{left}" indent="-285750"'
            sign = "•" if level == 1 else "–"
            bullet = (
                f'<a:buClr><a:schemeClr val="accent1"/></a:buClr><a:buFont typeface="Arial"/><a:buChar char="{sign}"/>'
            )
        space = 900 if place.bullets and level == 1 else 300 if place.bullets else 0
        found.append(
            f'<a:lvl{level}pPr algn="{place.align}" {indent}><a:lnSpc><a:spcPct val="100000"/></a:lnSpc>'
            f'<a:spcBef><a:spcPts val="{space}"/></a:spcBef>{bullet}'
            f'<a:defRPr sz="{size}" b="{int(place.bold)}">{color(place.color)}'
            f'<a:latin typeface="{"+mj-lt" if place.bold else "+mn-lt"}"/></a:defRPr></a:lvl{level}pPr>'
        )
    return "".join(found)


def shape(place: Place, number: int) -> str:
    """Returns the XML of a placeholder in a master or a layout."""
    x, y, width, height = (int(Inches(one)) for one in place.box)
    kind = "" if place.kind == "obj" else f' type="{place.kind}"'
    index = f' idx="{place.index}"' if place.index else ""
    text = f'<a:r><a:rPr lang="en-GB"/><a:t>{place.prompt}</a:t></a:r>'
    if place.kind == "sldNum":
        field = '<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum">'
        text = f'{field}<a:rPr lang="en-GB"/><a:t>1</a:t></a:fld>'
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{place.name}"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr>'
        f"<p:nvPr><p:ph{kind}{index}/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm>"
        f'<a:off x="{x}" y="{y}"/><a:ext cx="{width}" cy="{height}"/></a:xfrm>'
        f'<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody>'
        f'<a:bodyPr wrap="square" lIns="0" tIns="0" rIns="0" bIns="0" anchor="{place.anchor}"><a:normAutofit/>'
        f"</a:bodyPr>"
        f"<a:lstStyle>{levels(place)}</a:lstStyle><a:p>{text}</a:p></p:txBody></p:sp>"
    )


def bar(fill: str, box: tuple[float, float, float, float], number: int) -> str:
    """Returns a filled rectangle for decoration."""
    x, y, width, height = (int(Inches(one)) for one in box)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="Accent"/><p:cNvSpPr/><p:nvPr userDrawn="1"/></p:nvSpPr><p:spPr>'
        f'<a:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="{width}" cy="{height}"/></a:xfrm><a:prstGeom prst="rect">'
        f"<a:avLst/></a:prstGeom>{color(fill)}<a:ln><a:noFill/></a:ln></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>"
        f"<a:p/></p:txBody></p:sp>"
    )


def tree(ground: str | None, shapes: list[str]) -> str:
    """Returns the drawing of a master or layout."""
    back = f"<p:bg><p:bgPr>{color(ground)}<a:effectLst/></p:bgPr></p:bg>" if ground else ""
    return f"<p:cSld {NAMESPACES}>{back}<p:spTree>{GROUP}{''.join(shapes)}</p:spTree></p:cSld>"


def replace_drawing(element: object, xml: str, name: str = "") -> None:
    """Replaces the drawing of a master or layout."""
    new = parse_xml(xml)
    if name:
        new.set("name", name)
    old = element.cSld  # type: ignore[attr-defined]
    old.getparent().replace(old, new)


def set_theme(prs: PresentationType, accent: str, second: str, font: str) -> None:
    """Sets the colours and fonts of the theme."""
    part = next(rel.target_part for rel in prs.slide_master.part.rels.values() if rel.reltype.endswith("/theme"))
    xml = part.blob.decode()
    colors = {
        "dk1": INK,
        "lt1": WHITE,
        "dk2": INK,
        "lt2": PALE,
        "accent1": accent,
        "accent2": second,
        "accent3": "7A8996",
    }
    colors |= {"accent4": "4F8A5B", "accent5": "B3872B", "accent6": "6F5A94", "hlink": accent, "folHlink": GREY}
    for name, value in colors.items():
        xml = re.sub(f"<a:{name}>.*?</a:{name}>", f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>', xml, flags=re.S)
    for kind in ("majorFont", "minorFont"):
        xml = re.sub(rf"(<a:{kind}>\s*<a:latin typeface=)\"[^\"]*\"", rf'\1"{font}"', xml)
    part._blob = xml.encode()


def new_deck(title: str, author: str, accent: str, second: str, font: str) -> PresentationType:
    """Creates an empty 16:9 deck with the layouts of `LAYOUTS`."""
    prs = Presentation()
    prs.slide_width, prs.slide_height = Emu(12192000), Emu(6858000)
    set_theme(prs, accent, second, font)
    places = [TITLE, body(1, LEFT, RIGHT - LEFT), FOOTER, NUMBER]
    master = [shape(place, number) for number, place in enumerate(places, 2)]
    replace_drawing(prs.slide_master._element, tree("bg1", master))
    kept = list(prs.slide_layouts)
    for layout, (name, ground, found) in zip(kept, LAYOUTS, strict=False):
        drawn = [shape(place, number) for number, place in enumerate(found, 2)]
        if ground:
            drawn.append(bar("accent2", (LEFT, 4.33 if name == "Cover" else 4.0, 1.2, 0.06), 40))
        if name == "Two columns":
            panels = [(x, TOP, COLUMN, BOTTOM - TOP) for x in (LEFT, RIGHT - COLUMN)]
            drawn = [bar("bg2", panel, 41 + at) for at, panel in enumerate(panels)] + drawn
        replace_drawing(layout._element, tree(ground, drawn), name)
        layout._element.attrib.pop("type", None)
        layout._element.set("preserve", "1")
    for layout in kept[len(LAYOUTS) :]:
        prs.slide_layouts.remove(layout)
    core = prs.core_properties
    core.title, core.author, core.comments, core.keywords = title, author, "", ""
    return prs
