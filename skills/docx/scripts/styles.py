"""The styles of the house style. Every style that a report uses is defined here."""

from docx.document import Document as DocumentType
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Cm, Pt, RGBColor

INK = "22303C"
GREY = "56646F"
PALE = "EEF2F5"
RULE = "C5CED6"
# Paragraph styles: size, space before, space after, lines, bold, colour ("accent" is replaced).
PARAGRAPHS: dict[str, tuple[float, float, float, float, bool, str]] = {
    "Normal": (10.5, 0, 6, 1.15, False, INK),
    "Title": (24, 0, 4, 1.0, True, INK),
    "Subtitle": (12, 0, 18, 1.1, False, GREY),
    "Heading 1": (16, 20, 6, 1.05, True, "accent"),
    "Heading 2": (12.5, 14, 4, 1.05, True, INK),
    "Heading 3": (10.5, 10, 3, 1.05, True, GREY),
    "List Bullet": (10.5, 0, 3, 1.15, False, INK),
    "List Bullet 2": (10.5, 0, 3, 1.15, False, INK),
    "List Number": (10.5, 0, 3, 1.15, False, INK),
    "List Number 2": (10.5, 0, 3, 1.15, False, INK),
    "Caption": (9, 8, 4, 1.0, False, GREY),
    "Footer": (8.5, 0, 0, 1.0, False, GREY),
    "Header": (8.5, 0, 0, 1.0, False, GREY),
    "TOC Heading": (16, 0, 8, 1.05, True, "accent"),
    "toc 1": (10.5, 6, 2, 1.1, True, INK),
    "toc 2": (10.5, 0, 2, 1.1, False, INK),
    "toc 3": (10, 0, 2, 1.1, False, GREY),
    "House Table Text": (9.5, 2, 2, 1.05, False, INK),
    "House Table Head": (9.5, 3, 3, 1.05, True, INK),
    "House After Table": (6, 0, 4, 1.0, False, INK),
    "House Picture": (10.5, 6, 4, 1.0, False, INK),
    "House Note": (10.5, 8, 10, 1.15, False, INK),
}
TABLE = f"""<w:style {nsdecls("w")} w:type="table" w:customStyle="1" w:styleId="HouseTable">
<w:name w:val="House Table"/><w:basedOn w:val="TableNormal"/><w:uiPriority w:val="59"/><w:qFormat/>
<w:tblPr><w:tblStyleRowBandSize w:val="1"/><w:tblInd w:w="100" w:type="dxa"/><w:tblBorders>
<w:top w:val="single" w:sz="8" w:space="0" w:color="{INK}"/>
<w:bottom w:val="single" w:sz="8" w:space="0" w:color="{INK}"/>
<w:insideH w:val="single" w:sz="4" w:space="0" w:color="{RULE}"/></w:tblBorders>
<w:tblCellMar><w:top w:w="20" w:type="dxa"/><w:left w:w="100" w:type="dxa"/>
<w:bottom w:w="20" w:type="dxa"/><w:right w:w="100" w:type="dxa"/></w:tblCellMar></w:tblPr></w:style>"""


def set_font(document: DocumentType, style: str, name: str, size: float, color: str) -> None:
    """Sets font, size and colour of a style, for all scripts. Removes theme fonts, which would override the name."""
    it = document.styles[style]
    it.font.name, it.font.size = name, Pt(size)
    it.font.color.rgb = RGBColor.from_string(color)
    fonts = it.element.get_or_add_rPr().get_or_add_rFonts()
    for kind in ("ascii", "hAnsi", "eastAsia", "cs"):
        fonts.attrib.pop(qn(f"w:{kind}Theme"), None)
        fonts.set(qn(f"w:{kind}"), name)
    fonts.attrib.pop(qn("w:cstheme"), None)


def apply_styles(document: DocumentType, font: str, accent: str, language: str) -> None:
    """Sets all styles and the language of the spelling checker, and corrects defects of the empty template."""
    styles = document.styles
    for name, (size, before, after, lines, bold, color) in PARAGRAPHS.items():
        if name not in styles:
            _add_style(document, name)
        set_font(document, name, font, size, accent if color == "accent" else color)
        style = styles[name]
        style.font.bold, style.font.italic = bold, False
        layout = style.paragraph_format
        layout.space_before, layout.space_after, layout.line_spacing = Pt(before), Pt(after), lines
        layout.widow_control = True
        for spacing in style.element.iter(qn("w:rPr")):
            for child in spacing.findall(qn("w:spacing")) + spacing.findall(qn("w:kern")):
                spacing.remove(child)
    for name in ("Heading 1", "Heading 2", "Heading 3"):
        styles[name].paragraph_format.keep_with_next = True
    for name in ("Header", "Footer", "Title"):
        for tag in ("w:tabs", "w:pBdr"):
            for child in styles[name].element.iter(qn(tag)):
                child.getparent().remove(child)
                break
    _add_note(document, accent)
    _add_link_style(document, accent)
    styles.element.append(parse_xml(TABLE))
    styles["House Table Text"].paragraph_format.alignment = WD_ALIGN_PARAGRAPH.LEFT
    for level, name in enumerate(("toc 1", "toc 2", "toc 3")):
        styles[name].paragraph_format.left_indent = Cm(0.6 * level)
    for found in styles.element.iter(qn("w:lang")):
        found.set(qn("w:val"), language)
    for zoom in document.settings.element.iter(qn("w:zoom")):
        zoom.set(qn("w:percent"), "100")


def _add_style(document: DocumentType, name: str) -> None:
    style = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = document.styles["Normal"]
    style.hidden, style.quick_style = False, True
    if name.startswith("toc "):
        style.next_paragraph_style = document.styles["Normal"]


def _add_note(document: DocumentType, accent: str) -> None:
    """Defines the note: a bar on its left and a pale background."""
    style = document.styles["House Note"]
    properties = style.element.get_or_add_pPr()
    border = f'<w:left w:val="single" w:sz="24" w:space="8" w:color="{accent}"/>'
    for xml in (
        f"<w:pBdr {nsdecls('w')}>{border}</w:pBdr>",
        f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{PALE}"/>',
    ):
        properties.insert_element_before(
            parse_xml(xml),
            "w:tabs",
            "w:suppressAutoHyphens",
            "w:spacing",
            "w:ind",
            "w:contextualSpacing",
            "w:jc",
        )
    style.paragraph_format.left_indent = Cm(0.35)
    style.paragraph_format.keep_together = True


def _add_link_style(document: DocumentType, accent: str) -> None:
    if "Hyperlink" in document.styles:
        return
    style = document.styles.add_style("Hyperlink", WD_STYLE_TYPE.CHARACTER)
    style.font.underline = True
    style.font.color.rgb = RGBColor.from_string(accent)
    style.element.insert(1, OxmlElement("w:uiPriority"))
    style.element[1].set(qn("w:val"), "99")
